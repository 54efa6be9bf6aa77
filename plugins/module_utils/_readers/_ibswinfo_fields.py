# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ibswinfo tells of a switch: labels, names of the values, and how they are read.

Private to trackbed.cluster. Source: https://github.com/stanford-rc/ibswinfo, ibswinfo.sh.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _plain
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    Entity,
    Field,
    Reading,
)

_STATES = {"ok": "ok", "error": "error", "not present": "not_present", "fatal": "fatal"}
STATE = Field(str, "as the switch sees it", values=tuple(sorted(set(_STATES.values()))))
WORDS: dict[str, tuple[str, t.Callable[[str], t.Any]]] = {
    "part number": ("part_number", _plain.text),
    "product name": ("product", _plain.text),
    "revision": ("revision", _plain.text),
    "ports": ("port_count", _plain.integer),
    "psid": ("psid", _plain.text),
    "firmware version": ("firmware_version", _plain.text),
    "fw version": ("firmware_version", _plain.text),
    "cpld": ("cpld_version", _plain.text),
    "temperature (c)": ("temperature_c", _plain.integer),
    "cur.temp (c)": ("temperature_c", _plain.integer),
    "max temp (c)": ("temperature_max_c", _plain.integer),
    "max.temp (c)": ("temperature_max_c", _plain.integer),
    "node description": ("node_description", _plain.text),
    "node desription": ("node_description", _plain.text),  # so it is spelt up to 0.8
    "uptime (sec)": ("uptime_s", _plain.integer),
}
PSU: dict[str, tuple[str, t.Callable[[str], t.Any]]] = {
    "p/n": ("part_number", _plain.text),
    "part number": ("part_number", _plain.text),
    "power (w)": ("power_w", _plain.integer),
}
PSU_STATES = {
    "status": "state",
    "dc power": "dc_power_state",
    "dc": "dc_power_state",
    "fan status": "fan_state",
    "fan": "fan_state",
}
SERIALS = ("s/n", "serial number", "serial")
OF_PSU = ("p/n", "s/n", "dc power", "fan status", "power (w)")
_LIMITS = re.compile(r"^(-?[0-9]{1,4})/(-?[0-9]{1,4})(?: \(low/high\))?$")
_UPTIME = re.compile(r"^(?:([0-9]{1,6})d-)?([0-9]{1,2}):([0-9]{2}):([0-9]{2})$")


def put(
    reading: Reading,
    entity: Entity,
    name: str,
    word: str,
    reader: t.Callable[[str], t.Any],
    line: int,
) -> None:
    """Put a value; a blank one is None, and a problem."""
    if not word:  # the switch did not answer for it
        entity.values[name] = None
        where = {"line": line, "entity": entity.path, "field": name}
        _plain.note(reading, "missing_value", f"{name} is blank", **where)
    else:
        _plain.put(reading, entity, name, word, reader, line)


def put_state(reading: Reading, entity: Entity, name: str, word: str, line: int) -> None:
    """Put a state; one that is not known is kept as it is printed."""
    known = _STATES.get(word.lower())
    if word and known is None:
        entity.values[name], entity.notes[name] = word, "verbatim"
        where = {"line": line, "entity": entity.path, "field": name, "verbatim": word}
        _plain.note(reading, "unknown_value", f"{name} is not one that is known", **where)
    else:
        put(reading, entity, name, known or "", _plain.text, line)


def seconds(word: str) -> int | None:
    """Return the seconds of `96d-01:55:47`."""
    found = _UPTIME.match(word)
    if found is None:
        return None
    days, hours, minutes, seconds = (int(one or 0) for one in found.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def limits(word: str) -> dict[str, t.Any]:
    """Return the two thresholds of `-5/95 (low/high)`."""
    found = _LIMITS.match(word)
    return {
        f"temperature_threshold_{end}_c": int(found.group(index)) if found else None
        for index, end in enumerate(("low", "high"), 1)
    }
