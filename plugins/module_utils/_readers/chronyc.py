# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `chronyc tracking`, `sources`, `activity`, also with -c: the clock and its servers.

Format: `Label : value` lines; a row for each source, `^* NAME stratum poll reach lastrx sample`.
Offsets are the own clock less the source's, as `timedatectl` has it; `slow` is negative.
Reach is octal. Versions: chrony 1.29 to 4.6. Source: chronyc(1), client.c.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _pasted, _plain
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data

KIND = "chronyc"
TITLE = "Clock and its servers by chronyc"
VERSIONS = "chrony 1.29 to 4.6"
SOURCES = (
    "https://chrony-project.org/doc/4.6/chronyc.html",
    "https://github.com/Checkmk/checkmk, "
    "tests/unit/checks/generictests/datasets/chrony_5_regression.py",
    "https://github.com/pingcap/docs/pull/5283",
    "https://powersj.io/posts/ubuntu-bionic-chrony/",
)
PROVEN = True
_SELECTIONS = {
    "*": "selected",
    "+": "combined",
    "-": "not_combined",
    "?": "unusable",
    "x": "falseticker",
    "~": "too_variable",
}
_MODES = {"^": "server", "=": "peer", "#": "local_clock"}
LEAPS = ("normal", "insert_second", "delete_second", "not_synchronised")
FIELDS = {
    "node": {
        "time_synchronised": Field(bool, "chronyd follows a source"),
        "time_source": Field(str, "the one that it follows; null where it follows none"),
        "time_reference_id": Field(str, "its reference id, hexadecimal or an address"),
        "time_source_count": Field(int, "sources listed"),
        "online_source_count": Field(int, "sources that are online (activity)"),
        "offline_source_count": Field(int, "sources that are offline (activity)"),
        "stratum": Field(int, "distance from the reference clock; 0: not synchronised"),
        "reference_time": Field(str, "when it was told the time last, as printed"),
        "offset_s": Field(float, "own clock minus the sources'", "s"),
        "last_offset_s": Field(float, "the same at the last update", "s"),
        "rms_offset_s": Field(float, "its long-term average", "s"),
        "frequency_ppm": Field(float, "how much the uncorrected clock runs fast", "10^-6"),
        "residual_frequency_ppm": Field(float, "what is not corrected of it", "10^-6"),
        "skew_ppm": Field(float, "error bound of the frequency", "10^-6"),
        "root_delay_s": Field(float, "round trip to the reference clock", "s"),
        "root_dispersion_s": Field(float, "error on the way to it", "s"),
        "update_interval_s": Field(float, "time between the last two updates", "s"),
        "leap": Field(str, "normal, a coming leap second, or not synchronised", values=LEAPS),
    },
    "time_source": {
        "name": Field(str, "name or address; chronyc may cut it"),
        "mode": Field(str, "what it is", values=tuple(_MODES.values())),
        "selection": Field(str, "what chronyd makes of it", values=tuple(_SELECTIONS.values())),
        "stratum": Field(int, "distance from the reference clock"),
        "poll_s": Field(float, "interval of the questions", "s"),
        "reach": Field(int, "last eight answers as bits; 255 is all, 0 none"),
        "last_heard_s": Field(int, "since the last answer; null where there was none", "s"),
        "offset_s": Field(float, "own clock minus the source's, adjusted", "s"),
        "measured_offset_s": Field(float, "the same as it was measured", "s"),
        "error_bound_s": Field(float, "how wrong it can be", "s"),
    },
}
_ROW = re.compile(
    r"^([\^=#])([*+?x~-]) +(\S{1,255}) +([0-9]{1,2}) +(-?[0-9]{1,2}) +([0-7]{1,3}) +(\S{1,8})"
    r"(?: +(.{1,60}))?$"
)
_SAMPLE = re.compile(
    r"^([+-]?[0-9.]{1,12})([a-z]{1,2})\[ *([+-]?[0-9.]{1,12})([a-z]{1,2})\]"
    r" +\+/- +([0-9.]{1,12})([a-z]{1,2})$"
)
_HEADERS = re.compile(
    r"^(?:MS |Name/IP Address|={5,}|\.-|/ |\|)|"
    r"^\S{1,255} +[0-9]{1,3} +[0-9]{1,3} +[0-9]{1,8}[mhdy]? +[+-]"
)
_COUNT = re.compile(r"^210 Number of sources = ([0-9]{1,5})")
_ONLINE = re.compile(r"^([0-9]{1,5}) sources? (online|offline)$")
_ERROR = re.compile(r"^(?:[45][0-9]{2} [A-Z]|Could not |Fatal error|Unrecognized command)")
_CSV_SOURCE = re.compile(r"^[\^=#],[*+?x~-],[^,]{1,255}(?:,[^,]{0,30}){7}$")
_CSV_TRACKING = re.compile(r"^[0-9A-F]{8},[^,]{0,255},[0-9]{1,2}(?:,[^,]{1,40}){11}$")
# No source, and the own clock (`local`); the first two forms are those of chrony 1.
_NO_REFERENCE = frozenset({"0.0.0.0", "127.127.1.1", "00000000", "7F7F0101"})  # noqa: S104
_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_UNITS["y"] = 365.25 * 86400
_VALUE = re.compile(
    r"^([+-]?[0-9]{1,15}(?:\.[0-9]{1,12})?)(?: (?:seconds|ppm))?(?: (fast|slow)\b.*)?$"
)
_LABELS = {
    "System time": "offset_s",
    "Last offset": "last_offset_s",
    "RMS offset": "rms_offset_s",
    "Frequency": "frequency_ppm",
    "Residual freq": "residual_frequency_ppm",
    "Skew": "skew_ppm",
    "Root delay": "root_delay_s",
    "Root dispersion": "root_dispersion_s",
    "Update interval": "update_interval_s",
}


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    lines = [line for _number, line in _pasted.lines(text)[:200]]
    joined = "\n".join(lines)
    if re.search(r"(?m)^\s*Reference ID\s+: ", joined) and re.search(
        r"(?m)^\s*Stratum\s+: ", joined
    ):
        return 97
    if re.search(r"(?m)^\s*MS Name/IP address\s+Stratum Poll", joined):
        return 97
    if re.search(r"(?m)^[0-9]{1,5} sources? (?:online|offline)$", joined):
        return 90
    if _COUNT.search(joined) or re.search(r"(?m)^506 Cannot talk to daemon", joined):
        return 95
    one = any(_ROW.match(line.strip()) or _CSV_SOURCE.match(line) for line in lines)
    return 85 if one or any(_CSV_TRACKING.match(line) for line in lines) else 0


def read(data: Data) -> Reading:
    """Read one output. Entities: "", `time_source:<n>` in the order of the list."""
    clock = _Clock()
    for number, line in _pasted.lines(data):
        clock.take(number, line)
    return clock.finish()


class _Clock:
    """Collects what several commands of chronyc say of one clock."""

    def __init__(self) -> None:
        self.reading = Reading(KIND, tool_name="chronyc")
        self.node = Entity("")
        self.announced: int | None = None
        self.tracking = self.headed = False

    def take(self, number: int, line: str) -> None:
        """Take one line that holds something."""
        word = line.strip()
        row, pair = _ROW.match(word), _plain.label(word)
        if row:
            self._row(number, row)
        elif _CSV_SOURCE.match(word):
            self._csv_source(number, word.split(","))
        elif _CSV_TRACKING.match(word):
            self._csv_tracking(number, word.split(","))
        elif _COUNT.match(word):
            self.announced = int(word.split()[-1])
        elif _ONLINE.match(word):
            count, which = word.split()[0], word.split()[-1]
            self.node.values[f"{which}_source_count"] = int(count)
        elif _ERROR.match(word):
            says = "chronyc reported an error; is chronyd running?"
            _plain.note(self.reading, "tool_error", says, line=number, verbatim=word)
        elif pair and self._label(number, *pair):
            self.tracking = True
        elif _HEADERS.match(word):
            self.headed = self.headed or word.startswith("MS ")
        elif not _pasted.is_noise(line) and not re.match(r"^(?:200 OK|[0-9]+ sources )", word):
            _plain.malformed(self.reading, number, line, "a line of chronyc")

    def _label(self, number: int, label: str, value: str) -> bool:
        values = self.node.values
        if label == "Reference ID":
            reference, _blank, name = value.partition(" ")
            self._reference(reference, name.strip("() "))
        elif label == "Stratum":
            _plain.put(self.reading, self.node, "stratum", value, _plain.integer, number)
        elif label.startswith("Ref time"):
            values["reference_time"] = None if "1970" in value else value or None
        elif label == "Leap status":
            self._leap(number, value)
        elif label in _LABELS:
            _plain.put(self.reading, self.node, _LABELS[label], value, _measure, number)
        else:
            return False
        return True

    def _reference(self, reference: str, name: str) -> None:
        values = self.node.values
        none = reference in _NO_REFERENCE
        values["time_reference_id"] = reference or None
        values["time_source"] = None if none else name or reference or None

    def _leap(self, number: int, value: str) -> None:
        word = value.lower().replace(" ", "_")
        self.node.values["leap"] = word or None
        known = word in LEAPS
        self.node.values["time_synchronised"] = word != "not_synchronised" if known else None
        if not known:
            self.node.notes["leap"] = "verbatim"
            where = {"line": number, "entity": "", "field": "leap", "verbatim": value}
            _plain.note(self.reading, "unknown_value", "a leap status that is not known", **where)

    def _source(self, number: int, words: t.Sequence[str]) -> Entity:
        mode, state, name, stratum, poll, reach, heard = words
        count = len(self.reading.entities)
        source = self.reading.add(Entity(f"time_source:{count}"), number)
        source.values.update(
            {
                "name": name,
                "mode": _MODES[mode],
                "selection": _SELECTIONS[state],
                "stratum": int(stratum) if stratum.isdigit() else None,
                "poll_s": 2.0 ** int(poll),
                "reach": int(reach, 8),
            }
        )
        if name.endswith(">") or len(name) == 27:
            source.notes["name"] = "rounded"
        _plain.put(self.reading, source, "last_heard_s", heard, _seconds, number)
        return source

    def _row(self, number: int, row: re.Match[str]) -> None:
        source = self._source(number, row.groups()[:7])
        sample = _SAMPLE.match(row.group(8) or "")
        if sample is None:
            says = "the row ends before the last sample"
            _plain.note(self.reading, "truncated", says, line=number, entity=source.path)
            return
        parts = sample.groups()
        names = ("offset_s", "measured_offset_s", "error_bound_s")
        for name, digits, unit in zip(names, parts[::2], parts[1::2]):
            value = _plain.decimal(digits)
            scale = _UNITS.get(unit)
            source.values[name] = None if value is None or scale is None else value * scale
            source.notes[name] = "rounded"

    def _csv_source(self, number: int, cells: list[str]) -> None:
        if not re.match(r"^-?[0-9]{1,2}$", cells[4]) or not re.match(r"^[0-7]{1,3}$", cells[5]):
            _plain.malformed(self.reading, number, ",".join(cells), "a row of chronyc -c sources")
            return
        source = self._source(number, cells[:7])
        for name, word in zip(("offset_s", "measured_offset_s", "error_bound_s"), cells[7:]):
            _plain.put(self.reading, source, name, word, _measure, number)
        if source.values["last_heard_s"] == 4294967295:
            source.values["last_heard_s"] = None

    def _csv_tracking(self, number: int, cells: list[str]) -> None:
        self.tracking = True
        self._reference(cells[0], cells[1])
        self.node.values["stratum"] = int(cells[2])
        self.node.values["reference_time"] = cells[3]
        for name, word in zip(_LABELS.values(), cells[4:13]):
            _plain.put(self.reading, self.node, name, word, _measure, number)
        offset = self.node.values["offset_s"]
        if isinstance(offset, float):
            self.node.values["offset_s"] = -offset  # -c prints the correction: slow is positive
        self._leap(number, cells[13])

    def finish(self) -> Reading:
        """Derive what the list says of the whole, and compare it with what was announced."""
        reading, values = self.reading, self.node.values
        sources = list(reading.entities)
        listed = self.announced is not None or self.headed or bool(sources)
        if not values and not listed:
            return _plain.nothing(reading, "`Reference ID :` or a row of sources")
        if listed and not (values and not sources and self.announced is None):
            values["time_source_count"] = len(sources)
            followed = [one for one in sources if one.values["selection"] == "selected"]
            if not self.tracking:
                values["time_synchronised"] = bool(followed)
                values["time_source"] = followed[0].values["name"] if followed else None
        if self.announced is not None and self.announced != len(sources):
            says = f"{self.announced} sources are announced, {len(sources)} are listed"
            _plain.note(reading, "truncated", says)
        if self.tracking and "leap" not in values:
            _plain.note(reading, "truncated", "it ends before `Leap status`")
        reading.entities.insert(0, self.node)
        return reading


def _measure(word: str) -> float | None:
    """Return seconds or ppm; what is slow is negative."""
    found = _VALUE.match(word)
    if found is None:
        return None
    value = float(found.group(1))
    return -value if found.group(2) == "slow" and value else value


def _seconds(word: str) -> int | None:
    found = re.match(r"^([0-9]{1,10})([smhdy]?)$", word)
    return int(int(found.group(1)) * _UNITS[found.group(2) or "s"]) if found else None
