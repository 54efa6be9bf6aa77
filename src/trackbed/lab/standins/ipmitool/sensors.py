"""Sensors in the forms of `sdr`, `sdr elist` and `sensor`.

Columns: lib/ipmi_sdr.c and lib/ipmi_sensor.c of https://github.com/ipmitool/ipmitool, 1.8.18 and
1.8.19.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Sensor = Mapping[str, Any]
_LOWER = ("nr", "cr", "nc")  # lower limits in their order; upper ones are the other way round


def status(sensor: Sensor) -> str:
    """Return ok, or what the reading has crossed: nc, cr, nr; ns without a reading."""
    if sensor["status"] is not None:
        return str(sensor["status"])
    reading = sensor["reading"]
    if reading is None:
        return "ok" if _discrete(sensor) else "ns"
    for limit, word in zip(sensor["limits"][:3], _LOWER):  # noqa: B905  (Python 3.9 runs this)
        if limit is not None and reading <= limit:
            return word
    for limit, word in zip(reversed(sensor["limits"][3:]), _LOWER):  # noqa: B905
        if limit is not None and reading >= limit:
            return word
    return "ok"


def _discrete(sensor: Sensor) -> bool:
    """Say whether it has states and no readings."""
    return sensor["bits"] is not None and sensor["reading"] is None


def _value(sensor: Sensor) -> str:
    """Return the reading with its unit: whole numbers as they are, others with two digits."""
    reading = float(sensor["reading"])
    digits = 0 if reading == int(reading) else 2
    return f"{reading:.{digits}f} {sensor['unit']}"


def listed(sensor: Sensor) -> str:
    """Return a line of `sdr list`."""
    if _discrete(sensor):
        value = f"0x{sensor['bits'] & 0xFF:02x}"
    else:
        value = "no reading" if sensor["reading"] is None else _value(sensor)
    return f"{sensor['name']:<16} | {value:<17} | {status(sensor)}"


def extended(sensor: Sensor) -> str:
    """Return a line of `sdr elist`: number, entity, and the states that hold."""
    entity, _, instance = sensor["entity"].partition(".")
    said = [] if sensor["reading"] is None else [_value(sensor)]
    if sensor["reading"] is None and status(sensor) == "ns":
        said = ["No Reading"]
    text = ", ".join([*said, *sensor["states"]])
    place = f"{int(entity):2d}.{int(instance)}"
    return (
        f"{sensor['name']:<16} | {sensor['number']:02X}h | {status(sensor):<3} | {place} | {text}"
    )


def with_limits(sensor: Sensor) -> str:
    """Return a line of `sensor`: all limits, na where there is none."""
    if _discrete(sensor):
        bits = sensor["bits"]
        value, unit = f"0x{int(bits != 0):x}", "discrete"
        state = f"0x{bits & 0xFF:02x}{bits >> 8:02x}"
    elif sensor["reading"] is None:
        value, unit, state = "na", sensor["unit"] or "", "na"
    else:
        value, unit, state = f"{sensor['reading']:.3f}", sensor["unit"], status(sensor)
    line = f"{sensor['name']:<16} | {value:<10} | {unit:<10} | {state:<6}"
    return line + "".join(f"| {_limit(limit):<10}" for limit in sensor["limits"])


def _limit(limit: float | None) -> str:
    return "na" if limit is None else f"{limit:.3f}"
