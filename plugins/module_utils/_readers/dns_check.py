# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of ROCm's GPU validation cluster checks of names: forward and reverse look-ups.

Format: `DNS:<host>:fwd=OK|MISS rev=OK|MISS|SKIP`, a host a line. Source: ROCm/gpu-operator,
example/gpu-validation-cluster.
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

KIND = "dns-check"
TITLE = "Name look-ups of the GPU validation cluster"
VERSIONS = "ROCm/gpu-operator 1.4"
SOURCES = ("https://github.com/ROCm/gpu-operator, example/gpu-validation-cluster",)
# One sample, authored by its maintainers; no second public output was found.
PROVEN = False
_ANSWERS = {"ok": True, "pass": True, "hit": True, "miss": False, "fail": False, "skip": None}
FIELDS = {
    "node": {
        "host_count": Field(int, "hosts that were looked up"),
        "missing_hosts": Field(list, "hosts without a forward record"),
    },
    "host": {
        "forward": Field(bool, "the name has an address; null where it was not asked"),
        "reverse": Field(bool, "the address has the name; null where it was not asked"),
    },
}
_LINE = re.compile(r"^DNS:([A-Za-z0-9][A-Za-z0-9._-]{0,252}):fwd=(\S{1,40})(?:\s+rev=(\S{1,40}))?$")


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    found = re.search(r"(?m)^DNS:\S+:fwd=\S", _pasted.text_of(text[:20000]))
    return 97 if found else 0


def read(data: Data) -> Reading:
    """Read one output. Entities: "", `host:<name>`."""
    reading = Reading(KIND)
    for number, line in _pasted.lines(data):
        found = _LINE.match(line.strip())
        if not found:
            _pasted.strange(reading, number, line, "`DNS:<host>:fwd=...`")
            continue
        host = reading.add(Entity(f"host:{found.group(1)}"), number)
        for name, word in (("forward", found.group(2)), ("reverse", found.group(3))):
            _answer(reading, host, name, word, number)
    if not reading.entities:
        return _plain.nothing(reading, "`DNS:<host>:fwd=...`")
    missing = [one.path[5:] for one in reading.entities if one.values["forward"] is False]
    node = Entity("", values={"host_count": len(reading.entities)})
    node.values["missing_hosts"] = list(missing)
    reading.entities.insert(0, node)
    return reading


def _answer(reading: Reading, host: Entity, name: str, word: str | None, number: int) -> None:
    host.values[name] = _ANSWERS.get((word or "skip").lower())
    if word and word.lower() not in _ANSWERS:
        says = f"an answer that is not known for {name}"
        where = {"line": number, "entity": host.path, "field": name, "verbatim": word}
        _plain.note(reading, "unknown_value", says, **where)
