# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One row of ipmitool's lists of sensors, in each of their forms. Private to trackbed.cluster."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._reading import Entity

STATUSES = ("ok", "ns", "nc", "cr", "nr", "us", "na", "lnc", "lcr", "lnr", "unc", "ucr", "unr")
# ipmitool's unit -> the one that Redfish and its reader use; others stay as printed.
UNITS = {
    "degrees c": "Cel",
    "c": "Cel",
    "volts": "V",
    "volt": "V",
    "v": "V",
    "watts": "W",
    "w": "W",
    "amps": "A",
    "amp": "A",
    "a": "A",
    "rpm": "RPM",
    "percent": "Percent",
    "%": "Percent",
}
THRESHOLDS = (
    "lower_non_recoverable",
    "lower_critical",
    "lower_caution",
    "upper_caution",
    "upper_critical",
    "upper_non_recoverable",
)
_NO_READING = frozenset(
    {"not readable", "no reading", "disabled", "na", "n/a", "not available", "unknown"}
)
_NUMBER = re.compile(
    r"^(-?[0-9]{1,15}(?:\.[0-9]{1,9})?)(?: \(\+/- [0-9.]{1,15}\))?(?:\s+(\S.{0,39}))?$"
)
_HEX = re.compile(r"^0x[0-9a-fA-F]{1,8}$")
_SENSOR_NUMBER = re.compile(r"^[0-9A-Fa-f]{1,2}h$")
_STATUS = re.compile(r"^[a-z]{2,3}$")
_ENTITY = re.compile(r"^[0-9]{1,3}\.[0-9]{1,3}$")
_STATES = {"nominal": "ok", "warning": "nc", "critical": "cr", "n/a": "ns"}


def of_line(line: str, columns: t.Sequence[str] = ()) -> Entity | None:
    """Return the sensor of a line; None where it is not a row. `columns` as FreeIPMI heads them."""
    cells = _cells(line)
    if columns and len(cells) == len(columns):
        return _freeipmi(dict(zip(columns, cells)))
    while len(cells) > 3 and not cells[-1]:
        cells.pop()
    if len(cells) < 3 or not cells[0] or len(cells[0]) > 64:
        return None
    sensor = None
    if _SENSOR_NUMBER.match(cells[1]) and _STATUS.match(cells[2]):
        sensor = _elist(cells)
    elif len(cells) >= 4 and _is_sensor(cells):
        sensor = _sensor(cells)
    elif len(cells) == 3 and cells[2] in STATUSES:
        sensor = _list(cells[0], cells[1], cells[2])
    elif "|" not in line and len(cells) in (4, 5) and cells[3] in STATUSES:
        sensor = _list(cells[0], f"{cells[1]} {cells[2]}".strip(), cells[3])
    return sensor


def put_text(sensor: Entity, word: str) -> None:
    """Put what a reading's column says: `25 degrees C`, `110 Watts, Presence detected`, `0x00`."""
    values = sensor.values
    values["text"] = word or None
    first, _comma, rest = word.partition(", ")
    number = _NUMBER.match(first)
    states = [one.strip() for one in (rest if number else word).split(", ") if one.strip()]
    values["reading"], values["reading_units"] = None, None
    if number:
        values["reading"] = float(number.group(1))
        values["reading_units"] = unit(number.group(2) or "")
    elif _HEX.match(word):
        values["state_bits"], states = word.lower(), []
    elif word.lower() in _NO_READING:
        sensor.notes["reading"], states = "not_supported", []
    values["states"] = list(states)


def unit(word: str) -> str | None:
    """Return the unit by its Redfish name; None where there is none."""
    word = word.strip()
    return UNITS.get(word.lower(), None if word.lower() in ("", "unspecified", "n/a") else word)


def number(word: str) -> float | None:
    """Return the number that begins a text: `75.000`, `42.000 (0x2a)`."""
    found = _NUMBER.match(word.strip())
    return float(found.group(1)) if found else None


def _cells(line: str) -> list[str]:
    mark = "|" if "|" in line else ","
    word = line.strip()
    if mark == "|" and word.startswith("|"):  # a table in markdown
        word = word.strip("|")
    return [one.strip() for one in word.split(mark, 40)]


def _new(name: str) -> Entity:
    return Entity("", values={"name": name})


def _list(name: str, word: str, status: str) -> Entity:
    sensor = _new(name)
    put_text(sensor, word)
    sensor.values["status"] = status
    return sensor


def _elist(cells: list[str]) -> Entity:
    sensor = _list(
        cells[0], " ".join(cells[4:6]) if len(cells) > 5 else "".join(cells[4:5]), cells[2]
    )
    if cells[2] not in STATUSES:
        sensor.notes["status"] = "verbatim"
    sensor.values["sensor_number"] = int(cells[1][:-1], 16)
    entity = cells[3].replace(" ", "") if len(cells) > 3 else ""
    sensor.values["ipmi_entity"] = entity if _ENTITY.match(entity) else None
    return sensor


def _is_sensor(cells: list[str]) -> bool:
    """Return whether it is a row of `ipmitool sensor`: value, unit, status, six thresholds."""
    if len(cells) < 9 or not (cells[3] in STATUSES or _HEX.match(cells[3])):
        return False
    return all(number(one) is not None or one.lower() == "na" for one in cells[4:10])


def _sensor(cells: list[str]) -> Entity:
    sensor = _new(cells[0])
    discrete = cells[2] == "discrete"
    put_text(sensor, cells[1])
    values = sensor.values
    if values["reading"] is not None:
        values["reading_units"] = unit(cells[2])
        values["text"] = f"{cells[1]} {cells[2]}"
    if discrete and _HEX.match(cells[3]):
        values["event_bits"], values["status"] = cells[3].lower(), None
    else:
        values["status"] = cells[3]
    for name, word in zip(THRESHOLDS, cells[4:10]):
        values[name] = number(word)
    return sensor


def _freeipmi(row: dict[str, str]) -> Entity | None:
    if not row["ID"].isdigit() or not row.get("Name"):
        return None
    sensor = _new(row["Name"])
    event = row.get("Event", "")
    put_text(sensor, f"{row.get('Reading', '')} {row.get('Units', '')}".strip())
    events = [one.strip().strip("'") for one in event.split("' '") if one.strip(" '")]
    states = [one for one in events if one.lower() not in ("ok", "n/a")]
    values = sensor.values
    if values["reading"] is None:
        sensor.notes["reading"] = "not_supported"
    values["states"], values["text"] = list(states), event.strip("'") or None
    values["sensor_type"] = row.get("Type") or None
    fallback = "ok" if events == ["OK"] else "ns" if event.strip("'") == "N/A" else None
    values["status"] = _STATES.get(row.get("State", "").lower(), fallback)
    return sensor
