"""ipmitool: mc info, sdr, sensor, sel, fru and power, on the server's own interface.

Layouts: ipmitool 1.8.18 and 1.8.19 (https://github.com/ipmitool/ipmitool). A cleared event log
stays so: the BMC keeps it when the server boots (/var/lib/trackbed-lab/bmc.json).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ..common import keeping
from ..common.console import say_all
from ..common.firmware_tools import of_package
from ..common.places import machine
from . import sensors

_KEPT = "/var/lib/trackbed-lab/bmc.json"
_CLOSED = "Could not open device at /dev/ipmi0 or /dev/ipmi/0 or /dev/ipmidev/0"
_LOCAL = ("open", "imb")

Bmc = Mapping[str, Any]
Command = Callable[[Bmc, "list[str]"], Iterable[str]]


class RefusedError(Exception):
    """What the program says before it ends with an error."""


def main(argv: list[str] | None = None) -> int:
    """Run the program."""
    words = (sys.argv if argv is None else argv)[1:]
    try:
        found = _chosen(words)
    except RefusedError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    say_all(found)
    return 0


def _chosen(words: list[str]) -> Iterable[str]:
    rest = list(words)
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option == "-V":
            return [f"ipmitool version {of_package('ipmitool') or 'unknown'}"]
        if option != "-I" or not rest or rest.pop(0) not in _LOCAL:
            raise RefusedError(f"ipmitool of the lab knows this server's BMC alone, not {option}")
    if not rest:
        raise RefusedError("No command provided!")
    name, *others = rest
    commands: dict[str, Command] = {
        "mc": _mc, "bmc": _mc, "sdr": _sdr, "sensor": _sensor, "sel": _sel, "fru": _fru,
        "chassis": _chassis, "power": _power,
    }  # fmt: skip
    if name not in commands:
        raise RefusedError(f"Invalid command: {name}")
    if os.geteuid() != 0:
        raise RefusedError(f"{_CLOSED}: Permission denied")
    return commands[name](machine()["bmc"], others)


def _only(words: list[str], *allowed: list[str]) -> None:
    """Raise RefusedError for words that are not understood."""
    if words not in allowed:
        raise RefusedError(f"Invalid command: {' '.join(words)}")


def _mc(bmc: Bmc, words: list[str]) -> Iterator[str]:
    _only(words, ["info"])
    return _about(bmc["controller"])


def _about(about: Mapping[str, Any]) -> Iterator[str]:
    product = about["product_id"]
    for label, value in (
        ("Device ID", about["device_id"]),
        ("Device Revision", about["device_revision"]),
        ("Firmware Revision", about["firmware"]),
        ("IPMI Version", about["ipmi"]),
        ("Manufacturer ID", about["manufacturer_id"]),
        ("Manufacturer Name", about["manufacturer"]),
        ("Product ID", f"{product} (0x{product:04x})"),
        ("Product Name", about["product"]),
        ("Device Available", about["available"]),
        ("Provides Device SDRs", about["provides_sdrs"]),
    ):
        yield f"{label:<26}: {value}"
    yield f"{'Additional Device Support':<26}:"
    yield from (f"    {what}" for what in about["support"])
    yield f"{'Aux Firmware Rev Info':<26}: "
    yield from (f"    {byte}" for byte in about["auxiliary"])


def _sdr(bmc: Bmc, words: list[str]) -> Iterator[str]:
    if words[:1] == ["type"] and len(words) > 1:
        kind = " ".join(words[1:]).lower()
        return (sensors.extended(s) for s in bmc["sensors"] if s["type"].lower() == kind)
    _only(words, [], ["list"], ["list", "full"], ["list", "all"], ["elist"], ["elist", "full"])
    line = sensors.extended if words[:1] == ["elist"] else sensors.listed
    return (line(sensor) for sensor in bmc["sensors"])


def _sensor(bmc: Bmc, words: list[str]) -> Iterator[str]:
    _only(words, [], ["list"])
    return (sensors.with_limits(sensor) for sensor in bmc["sensors"])


def _sel(bmc: Bmc, words: list[str]) -> Iterable[str]:
    if words == ["clear"]:
        with keeping.changing(_KEPT) as (kept,):
            kept["cleared"] = len(bmc["events"])
        return ["Clearing SEL.  Please allow a few seconds to erase."]
    _only(words, ["list"], ["elist"])
    events = bmc["events"][keeping.read(_KEPT).get("cleared", 0) :]
    return (_event(at, event, named=words == ["elist"]) for at, event in enumerate(events, 1))


def _event(at: int, event: Mapping[str, Any], *, named: bool) -> str:
    sensor = event["sensor"] if named else f"#0x{event['number']:02x}"
    state = "Asserted" if event["asserted"] else "Deasserted"
    when = f"{event['date']} | {event['time']}"
    return f"{at:4x} | {when} | {event['type']} {sensor} | {event['event']} | {state}"


def _fru(bmc: Bmc, words: list[str]) -> Iterator[str]:
    _only(words, [], ["print"], ["list"], ["print", "0"])
    return _inventory(bmc["inventory"])


def _inventory(fields: Mapping[str, str]) -> Iterator[str]:
    yield "FRU Device Description : Builtin FRU Device (ID 0)"
    yield from (f" {label:<22}: {value}" for label, value in fields.items())
    yield ""


def _chassis(bmc: Bmc, words: list[str]) -> Iterable[str]:
    _only(words, ["power", "status"])
    return [f"Chassis Power is {bmc['power']}"]


def _power(bmc: Bmc, words: list[str]) -> Iterable[str]:
    _only(words, ["status"])
    return _chassis(bmc, ["power", "status"])
