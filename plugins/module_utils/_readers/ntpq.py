# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `ntpq -p` (also -pn): the time servers that ntpd asks, and which it follows.

Format: two lines of header, then a server a line; the first character tells what ntpd
makes of it, `*` the one that it follows, `o` one with a pulse. Names are cut to 15
characters. Versions: ntp 4.2.6 to 4.2.8, NTPsec 1.2. Source: ntpq(8), peers.
"""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _pasted, _plain
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data

KIND = "ntpq"
TITLE = "ntpq -p: time servers of ntpd"
VERSIONS = "ntp 4.2.6 to 4.2.8, NTPsec 1.2"
SOURCES = ("ntpq(8)",)
PROVEN = True
_TALLIES = {
    " ": "reject",
    "x": "falseticker",
    ".": "excess",
    "-": "outlier",
    "+": "candidate",
    "#": "backup",
    "*": "system_peer",
    "o": "pps_peer",
}
FIELDS = {
    "node": {
        "time_source_count": Field(int, "servers listed"),
        "time_synchronised": Field(bool, "ntpd follows one of them"),
        "time_source": Field(str, "the one that it follows; null where it follows none"),
        "time_offset_ms": Field(float, "offset to that one", "ms"),
    },
    "time_source": {
        "name": Field(str, "name or address, cut to 15 characters"),
        "selection": Field(str, "what ntpd makes of it", values=tuple(_TALLIES.values())),
        "reference": Field(str, "what it follows itself"),
        "stratum": Field(int, "16 is not synchronised"),
        "type": Field(str, "u unicast, b broadcast, l local, s symmetric, p pool, as printed"),
        "last_heard_s": Field(int, "since the last answer; null where there was none", "s"),
        "poll_s": Field(int, "interval of the questions", "s"),
        "reach": Field(int, "last eight answers as bits; 255 is all, 0 none"),
        "delay_ms": Field(float, "round trip", "ms"),
        "offset_ms": Field(float, "its clock less ours", "ms"),
        "jitter_ms": Field(float, "spread of the offsets", "ms"),
    },
}
_HEADER = re.compile(r"^\s*remote\s+refid\s+st t when poll reach\s+delay\s+offset\s+\S+\s*$")
_ALONE = re.compile(r"^[ x.+#*o-][A-Za-z0-9][A-Za-z0-9.:_-]{14,254}$")
_RULE = re.compile(r"^=+$")
_FOLLOWED = frozenset({"system_peer", "pps_peer"})
_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_WORDS = 9


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    head = _pasted.text_of(text[:8000])
    if re.search(r"(?m)^\s*remote\s+refid\s+st t when poll reach", head):
        return 97
    return 90 if re.search(r"(?m)^ntpq: ", head) else 0


def read(data: Data) -> Reading:
    """Read one list. Entities: "", `time_source:<n>` in the order of the list."""
    reading = Reading(KIND, tool_name="ntpq")
    header, name = False, ""
    lines = _pasted.lines(data, dedent=False)
    indent = _indent(lines)
    for number, whole in lines:
        line = whole[indent:] if whole[:indent].isspace() else whole
        # A name that is too long stands in a line of its own.
        alone = _ALONE.match(line) if header else None
        if _HEADER.match(line):
            header = True
        elif line.strip().startswith("ntpq: ") or "No association" in line:
            _plain.note(
                reading, "tool_error", "ntpd did not answer", line=number, verbatim=line.strip()
            )
        elif alone:
            name = line.rstrip()
        elif not _RULE.match(line.strip()) and not (
            header and (_source(reading, number, line) or _source(reading, number, name + line))
        ):
            _pasted.strange(reading, number, line, "a line of ntpq -p")
    if not reading.entities:
        return _plain.nothing(reading, "a server below ntpq's header")
    followed = [one for one in reading.entities if one.values["selection"] in _FOLLOWED]
    first = followed[0].values if followed else {}
    node = {
        "time_source_count": len(reading.entities),
        "time_synchronised": bool(followed),
        "time_source": first.get("name"),
        "time_offset_ms": first.get("offset_ms"),
    }
    reading.entities.insert(0, Entity("", values=node))
    return reading


def _indent(lines: list[tuple[int, str]]) -> int:
    """Return how far the list was moved to the right: its rule begins in the first column."""
    rules = [len(line) - len(line.lstrip()) for _n, line in lines if _RULE.match(line.strip())]
    return rules[0] if rules else 0


def _source(reading: Reading, number: int, line: str) -> bool:
    """Read a server's line; return whether it is one."""
    tally, rest = line[0], line[1:].split()
    # A long name runs into the reference: `clock.team-cymr 10.62.58.119`; it has a blank yet.
    if tally not in _TALLIES or len(rest) != _WORDS + 1:
        return False
    name, reference, stratum, kind, heard, poll, reach, *milliseconds = rest
    entity = reading.add(Entity(f"time_source:{len(reading.entities)}"), number)
    entity.values.update({"name": name, "selection": _TALLIES[tally], "reference": reference})
    entity.values["type"] = kind
    if len(name) >= 15:
        entity.notes["name"] = "rounded"
    _plain.put(reading, entity, "stratum", stratum, _plain.integer, number)
    _plain.put(reading, entity, "last_heard_s", heard, _seconds, number)
    _plain.put(reading, entity, "poll_s", poll, _seconds, number)
    _plain.put(reading, entity, "reach", reach, _octal, number)
    for label, word in zip(("delay_ms", "offset_ms", "jitter_ms"), milliseconds):
        _plain.put(reading, entity, label, word, _plain.decimal, number)
    return True


def _seconds(word: str) -> int | None:
    found = re.match(r"^([0-9]{1,9})([smhd]?)$", word)
    return int(found.group(1)) * _UNITS[found.group(2)] if found else None


def _octal(word: str) -> int | None:
    return int(word, 8) if re.match(r"^[0-7]{1,3}$", word) else None
