# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `ibswinfo`: an unmanaged InfiniBand switch, asked over the fabric.

Format: `label | value` lines between rules, a title of two rules first; `PSUn status`
begins the block of a power supply. What the switch does not tell is left out or blank.
Versions: ibswinfo 0.6 to 0.8. Source: https://github.com/stanford-rc/ibswinfo.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._identity import guid
from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _plain
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data

KIND = "ibswinfo"
TITLE = "ibswinfo: an unmanaged InfiniBand switch"
VERSIONS = "ibswinfo 0.6 to 0.8"
SOURCES = ("https://github.com/stanford-rc/ibswinfo",)
PROVEN = True
_STATES = {"ok": "ok", "error": "error", "not present": "not_present", "fatal": "fatal"}
_STATE = Field(str, "as the switch sees it", values=tuple(sorted(set(_STATES.values()))))
FIELDS = {
    "switch": {
        "model": Field(str, "family, as the title names it"),
        "part_number": Field(str, "part number"),
        "product": Field(str, "product name"),
        "revision": Field(str, "revision"),
        "port_count": Field(int, "ports"),
        "psid": Field(str, "board id"),
        "firmware_version": Field(str, "firmware"),
        "uptime_s": Field(int, "since the last start", "s"),
        "temperature_c": Field(int, "now", "C"),
        "temperature_max_c": Field(int, "highest since the start", "C"),
        "fan_state": _STATE,
        "node_description": Field(str, "name of the switch in the fabric"),
    },
    "psu": {
        "state": _STATE,
        "part_number": Field(str, "part number"),
        "dc_power_state": _STATE,
        "fan_state": _STATE,
        "power_w": Field(int, "power", "W"),
    },
    "fan": {"speed_rpm": Field(int, "speed", "rpm")},
}
_SWITCH = {
    "part number": ("part_number", _plain.text),
    "product name": ("product", _plain.text),
    "revision": ("revision", _plain.text),
    "ports": ("port_count", _plain.integer),
    "psid": ("psid", _plain.text),
    "firmware version": ("firmware_version", _plain.text),
    "temperature (c)": ("temperature_c", _plain.integer),
    "max temp (c)": ("temperature_max_c", _plain.integer),
    "node description": ("node_description", _plain.text),
}
_PSU = {"p/n": ("part_number", _plain.text), "power (w)": ("power_w", _plain.integer)}
_PSU_STATES = {"dc power": "dc_power_state", "fan status": "fan_state"}
_RULE = re.compile(r"^[=-]{10,}$")
_TITLE = re.compile(r"^(\S.{0,60}?) Mellanox Technologies$")
_SUPPLY = re.compile(r"^PSU([0-9]{1,2}) status$", re.IGNORECASE)
_FAN = re.compile(r"^fan#([0-9]{1,3}) \(rpm\)$", re.IGNORECASE)
_UPTIME = re.compile(r"^(?:([0-9]{1,6})d-)?([0-9]{1,2}):([0-9]{2}):([0-9]{2})$")
_ERROR = re.compile(r"^(?:ERR|error|-E-|WARN)", re.IGNORECASE)


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    head = text[:4000]
    if re.search(r"(?m)^PSID +\| ", head) and re.search(r"(?m)^part number +\| ", head):
        return 97
    return 90 if re.search(r"(?m)^PSU0 status +\|", head) else 0


def read(data: Data) -> Reading:
    """Read one output. Entities: `switch:<guid>`, `psu:<n>`, `fan:<n>`."""
    reading = Reading(KIND, tool_name="ibswinfo")
    switch = Entity("switch:0")
    parts: dict[str, Entity] = {}
    supply: Entity | None = None
    for number, line in _plain.lines(data):
        word = line.strip()
        title = _TITLE.match(word)
        pair = _plain.label(word, "|")
        if _RULE.match(word):
            supply = None if not line.startswith(" ") else supply
        elif title:
            switch.values["model"] = title.group(1)
        elif pair:
            supply = _pair(reading, switch, parts, supply, pair, number)
        elif _ERROR.match(word):
            _plain.note(reading, "tool_error", "an error of the tool", line=number, verbatim=word)
        else:
            _plain.malformed(reading, number, line, "`label | value`")
    return _whole(reading, switch, parts)


def _whole(reading: Reading, switch: Entity, parts: dict[str, Entity]) -> Reading:
    if not switch.values and not switch.ids and not parts:
        return _plain.nothing(reading, "`part number | ...`")
    if switch.ids.get("guid"):
        switch.path = f"switch:{switch.ids['guid']}"
    for name in ("part_number", "firmware_version", "temperature_c", "fan_state"):
        if name not in switch.values:
            where = {"entity": switch.path, "field": name}
            _plain.note(reading, "missing_value", f"the switch does not tell {name}", **where)
    reading.add(switch)
    for path, part in parts.items():
        reading.add(part)
        if path.startswith("psu:") and "power_w" not in part.values:
            where = {"entity": path, "field": "power_w"}
            _plain.note(reading, "missing_value", "the supply does not tell its power", **where)
    return reading


def _pair(
    reading: Reading,
    switch: Entity,
    parts: dict[str, Entity],
    supply: Entity | None,
    pair: tuple[str, str],
    line: int,
) -> Entity | None:
    """Put one pair where it belongs; return the power supply whose block goes on."""
    name, value = pair
    starts, fan, key = _SUPPLY.match(name), _FAN.match(name), name.lower()
    if starts:
        supply = parts.setdefault(f"psu:{starts.group(1)}", Entity(f"psu:{starts.group(1)}"))
        _state(reading, supply, "state", value, line)
    elif fan:
        one = parts.setdefault(f"fan:{fan.group(1)}", Entity(f"fan:{fan.group(1)}"))
        _value(reading, one, "speed_rpm", value, _plain.integer, line)
    elif supply is not None and key in _PSU_STATES:
        _state(reading, supply, _PSU_STATES[key], value, line)
    elif supply is not None and key in _PSU:
        _value(reading, supply, *_PSU[key][:1], value, _PSU[key][1], line)
    elif key in ("s/n", "serial number"):
        (supply if supply is not None and key == "s/n" else switch).ids["serial"] = value or None
    elif key == "guid":
        switch.ids["guid"] = guid(value)
    elif key == "fan status":
        _state(reading, switch, "fan_state", value, line)
    elif key.startswith("uptime"):
        _value(reading, switch, "uptime_s", value, _seconds, line)
    elif key in _SWITCH:
        _value(reading, switch, _SWITCH[key][0], value, _SWITCH[key][1], line)
    return supply


def _value(
    reading: Reading,
    entity: Entity,
    name: str,
    word: str,
    reader: t.Callable[[str], t.Any],
    line: int,
) -> None:
    if not word:  # the switch did not answer for it
        entity.values[name] = None
        where = {"line": line, "entity": entity.path, "field": name}
        _plain.note(reading, "missing_value", f"{name} is blank", **where)
    else:
        _plain.put(reading, entity, name, word, reader, line)


def _state(reading: Reading, entity: Entity, name: str, word: str, line: int) -> None:
    known = _STATES.get(word.lower())
    if word and known is None:
        entity.values[name], entity.notes[name] = word, "verbatim"
        where = {"line": line, "entity": entity.path, "field": name, "verbatim": word}
        _plain.note(reading, "unknown_value", f"{name} is not one that is known", **where)
    else:
        _value(reading, entity, name, known or "", _plain.text, line)


def _seconds(word: str) -> int | None:
    found = _UPTIME.match(word)
    if found is None:
        return None
    days, hours, minutes, seconds = (int(one or 0) for one in found.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds
