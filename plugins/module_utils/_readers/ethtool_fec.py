# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `ethtool --show-fec`: forward error correction, and its counters.

Format: `FEC parameters for NAME:`, what is configured, what is active; with -I counters,
as a sum and by lane. Older versions say `Configured FEC encodings`. Versions: ethtool
4.17 to 6.15. Source: ethtool(8).
"""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _plain
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data

KIND = "ethtool-fec"
TITLE = "ethtool --show-fec: forward error correction"
VERSIONS = "ethtool 4.17 to 6.15"
SOURCES = ("ethtool(8)",)
PROVEN = True
_ENCODINGS = {
    "none": "none",
    "off": "off",
    "auto": "auto",
    "rs": "rs",
    "baser": "base_r",
    "base-r": "base_r",
    "fc": "base_r",
    "llrs": "llrs",
}
_NAMES = tuple(sorted(set(_ENCODINGS.values())))
_COUNTERS = {
    "corrected_blocks": "fec_corrected_blocks",
    "uncorrectable_blocks": "fec_uncorrectable_blocks",
    "corrected_bits": "fec_corrected_bits",
}
FIELDS = {
    "interface": {
        "fec_configured": Field(list, "encodings that it may use", values=_NAMES),
        "fec_active": Field(str, "encoding in use; null where the link is down", values=_NAMES),
        **{name: Field(int, f"{key}, all lanes") for key, name in _COUNTERS.items()},
    },
    "lane": {name: Field(int, f"{key} of this lane") for key, name in _COUNTERS.items()},
}
_HEAD = re.compile(r"^FEC parameters for (\S{1,64}):$")
_ERROR = re.compile(r"^(?:netlink error: |Cannot get FEC settings|ethtool: )")


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    return 97 if re.search(r"(?m)^FEC parameters for \S+:\s*$", text[:20000]) else 0


def read(data: Data) -> Reading:
    """Read one output. Entities: `interface:<name>`, `interface:<name>/lane:<n>`."""
    reading = Reading(KIND, tool_name="ethtool")
    current: Entity | None = None
    counter = ""
    for number, line in _plain.lines(data):
        word = line.strip()
        head = _HEAD.match(word)
        if head:
            current = reading.add(Entity(f"interface:{head.group(1)}"), number)
        elif _ERROR.match(word):
            _plain.note(reading, "tool_error", "ethtool said an error", line=number, verbatim=word)
        elif current is None or not word.partition(":")[1]:
            _plain.malformed(reading, number, line, "a line of ethtool --show-fec")
        else:
            counter = _pair(reading, current, counter, line, number)
    for one in list(reading.entities):
        if "/" not in one.path and "fec_active" not in one.values:
            where = {"entity": one.path, "field": "fec_active"}
            _plain.note(reading, "truncated", "no line `Active FEC encoding`", **where)
    return reading if reading.entities else _plain.nothing(reading, "`FEC parameters for NAME:`")


def _pair(reading: Reading, current: Entity, counter: str, line: str, number: int) -> str:
    """Put one pair; return the counter whose lanes may follow."""
    label, value = _plain.label(line) or ("", "")
    if label.endswith("FEC encodings") and label[:6] != "Active":
        current.values["fec_configured"] = list(_names(reading, current, value, number))
    elif label.startswith("Active FEC encoding"):
        names = _names(reading, current, value, number)
        current.values["fec_active"] = names[0] if len(names) == 1 else None
    elif label in _COUNTERS:
        counter = _COUNTERS[label]
        _plain.put(reading, current, counter, value, _plain.integer, number)
    elif re.match(r"^Lane [0-9]{1,3}$", label) and counter:
        _lane(reading, current, (label, value), counter, number)
    elif label != "Statistics":
        _plain.malformed(reading, number, line, "a line of ethtool --show-fec")
    return counter


def _names(reading: Reading, entity: Entity, words: str, number: int) -> list[str]:
    found = []
    for word in words.split():
        name = _ENCODINGS.get(word.lower())
        if name is None:
            where = {"line": number, "entity": entity.path, "verbatim": word}
            _plain.note(reading, "unknown_value", "an encoding that is not known", **where)
        found.append(name or word)
    return found[:16]


def _lane(
    reading: Reading, current: Entity, pair: tuple[str, str], counter: str, number: int
) -> None:
    path = f"{current.path}/lane:{int(pair[0][5:])}"
    lane = reading.entity(path) or reading.add(Entity(path), number)
    _plain.put(reading, lane, counter, pair[1], _plain.integer, number)
