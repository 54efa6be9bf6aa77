# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `systemctl status UNIT...`. Source: systemd 232 to 257, LC_ALL=C."""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    ABSENT,
    UNREADABLE,
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import (
    Data,
    decode,
    numbered_lines,
)

KIND = "systemctl"
TITLE = "Units by systemctl status"
VERSIONS = "systemd 232 to 257"
SOURCES = ("https://www.freedesktop.org/software/systemd/man/latest/systemctl.html",)
PROVEN = True
# systemd, src/basic/unit-def.c
STATES = (
    "active",
    "reloading",
    "inactive",
    "failed",
    "activating",
    "deactivating",
    "maintenance",
    "refreshing",
)
FIELDS = {
    "node": {"failed_count": Field(int, "units that have failed")},
    "unit": {
        "load_state": Field(str, "loaded, not-found, masked, bad-setting, error"),
        "enabled": Field(str, "enabled, disabled, static, masked ..."),
        "active_state": Field(str, "active, inactive, failed, activating ..."),
        "sub_state": Field(str, "running, exited, dead, or the result of a failure"),
        "description": Field(str, "description"),
        "messages": Field(list, "last lines of the unit's log, without their time and host"),
    },
}
_UNIT = re.compile(r"^[●○\u00d7x*↻] ([\w@.:\\-]{1,200}\.[a-z]{3,10})(?: - (.*))?$")
_LOADED = re.compile(r"^ +Loaded: ([a-z-]{3,20})(?: \([^;()]{0,300}; ([a-z-]{3,20})[;)])?")
_ACTIVE = re.compile(r"^ +Active: ([a-z-]{3,20})(?: \(([^()]{1,60})\))?")
_LOG = re.compile(r"^[A-Z][a-z]{2} [ 0-9][0-9] [0-9:]{8} \S+ ([^\s:]{1,80}: .*)$")
_MISSING = re.compile(r"^Unit (\S{1,200}) could not be found\.")


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    if re.search(r"(?m)^ +Loaded: [a-z-]+.*\n(?:.*\n){0,6}? +Active: [a-z]", text):
        return 94
    return 92 if _MISSING.match(text) else 0


def read(data: Data) -> Reading:
    """Read one output; entities `unit:<name>`."""
    reading = Reading(KIND)
    node = reading.add(Entity(""))
    unit: Entity | None = None
    for line_number, line in numbered_lines(decode(data)):
        head, missing = _UNIT.match(line), _MISSING.match(line)
        found = head or missing
        if found:
            name = found.group(1)
            unit = reading.add(Entity("unit:" + re.sub("[/:]", "_", name)), line_number)
            unit.values["description"] = (head.group(2) or None) if head else None
        if missing and unit is not None:
            unit.values["load_state"] = "not-found"
            reading.note("tool_absent", "the unit is not there", line=line_number, verbatim=line)
        elif unit is not None:
            _line(unit, line)
    return _finish(reading, node)


def _line(unit: Entity, line: str) -> None:
    loaded, active, log = _LOADED.match(line), _ACTIVE.match(line), _LOG.match(line)
    if loaded:
        unit.values.update({"load_state": loaded.group(1), "enabled": loaded.group(2)})
    elif active:
        result = active.group(2)
        unit.values["active_state"] = active.group(1)
        unit.values["sub_state"] = result.replace("Result: ", "") or None if result else None
    elif log:
        messages = unit.values.setdefault("messages", [])
        if isinstance(messages, list) and len(messages) < 1000:
            messages.append(log.group(1))


def _finish(reading: Reading, node: Entity) -> Reading:
    units = reading.entities[1:]
    for unit in units:
        state = unit.values.get("active_state")
        if state is not None and state not in STATES:
            unit.notes["active_state"] = "verbatim"
            where = {"entity": unit.path, "field": "active_state", "verbatim": state}
            reading.note("unknown_value", "not a state of a unit", **where)
    there = [one for one in units if one.values.get("load_state") != "not-found"]
    known = [one.values.get("active_state") for one in there]
    told = all(state in STATES for state in known)
    node.values["failed_count"] = known.count("failed") if told else None
    for unit in units:
        if "active_state" not in unit.values and unit.values.get("load_state") != "not-found":
            reading.note("truncated", f"{unit.path} has no `Active:`", entity=unit.path)
    if not units:
        reading.note("other_format", "no unit in this text")
        reading.quality = UNREADABLE
    elif all(one.values.get("load_state") == "not-found" for one in units):
        reading.quality = ABSENT
        if not reading.problems:
            reading.note("tool_absent", "systemd knows no such unit")
    return reading
