"""flint and mstflint: `query` and `query full` of a device.

Labels and order: flint/subcommands.cpp of https://github.com/Mellanox/mstflint, and what newer
releases print of secured adapters.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..common import adapters
from ..common.adapters import Nic
from ..common.console import say, say_all
from ..common.firmware_tools import VERSION_FLAGS, version_line

ERROR = 1
_QUERY = ("q", "query")
_IGNORED = frozenset({"--qq", "-qq", "-y", "--yes", "-ocr", "--override_cache_replacement"})
_ROM = "Rom Info:"


class RefusedError(Exception):
    """What the program says before it ends with an error."""


@dataclass
class Call:
    """One call of the program."""

    device: str = ""
    full: bool = False


def main(argv: list[str] | None = None) -> int:
    """Run the program whose name is the first argument."""
    program, *words = sys.argv if argv is None else argv
    if words and words[0] in VERSION_FLAGS:
        say(version_line(Path(program).name))
        return 0
    try:
        call = _parse(Path(program).name, words)
        nic = adapters.find(call.device)
        if nic is None or os.geteuid() != 0:
            why = "No such file or directory" if nic is None else "Permission denied"
            raise RefusedError(f"Cannot open Device: {call.device}. {why}. MFE_CR_ERROR")
    except RefusedError as error:
        say(f"-E- {error}")
        return ERROR
    say_all(_lines(nic, full=call.full))
    return 0


def _parse(program: str, words: list[str]) -> Call:
    call = Call()
    command = ""
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word in ("-d", "--device") and rest:
            call.device = rest.pop(0)
        elif word in _QUERY and not command:
            command = word
        elif word == "full" and command:
            call.full = True
        elif word not in _IGNORED:
            raise RefusedError(f"Invalid argument: {word}: {program} of the lab does not know it")
    if not command:
        raise RefusedError("No command found.")
    if not call.device:
        raise RefusedError("For query command, a device must be specified: -d <device>")
    return call


def _lines(nic: Nic, *, full: bool) -> Iterator[str]:
    """Yield the lines about an adapter."""
    image = nic["image"]
    yield _line("Image type:", image["type"])
    yield _line("FW Version:", image["version"])
    if image["running"] != image["version"]:
        yield _line("FW Version(Running):", image["running"])
    yield _line("FW Release Date:", image["release_date"])
    if full:
        yield _line("Part Number:", image["part_number"])
        yield _line("Description:", image["description"])
    yield _line("Product Version:", image["version"])
    for at, rom in enumerate(image["rom"] or ["N/A"]):
        yield _line("" if at else _ROM, rom)
    yield _line("Description:", "UID                GuidsNumber")
    yield _line("Base GUID:", f"{nic['guid']}        {image['guid_count']}")
    yield _line("Base MAC:", f"{nic['mac']}            {image['mac_count']}")
    yield _line("Image VSD:", image["image_vsd"])
    yield _line("Device VSD:", image["device_vsd"])
    yield _line("PSID:", nic["psid"])
    yield _line("Security Attributes:", image["security"])
    if full:
        yield from _secured(nic)


def _secured(nic: Nic) -> Iterator[str]:
    image = nic["image"]
    yield _line("Default Update Method:", image["update_method"])
    yield _line("Life cycle:", image["life_cycle"])
    yield _line("Secure Boot Capable:", image["secure_boot"])
    yield _line("EFUSE Security Ver:", image["efuse_security"])
    yield _line("Image Security Ver:", image["image_security"])
    yield _line("Security Ver Program:", image["security_program"])
    if image["encryption"] is not None:
        yield _line("Encryption:", image["encryption"])


def _line(label: str, value: object) -> str:
    return f"{label:<22} {value}"
