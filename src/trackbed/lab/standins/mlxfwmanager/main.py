"""mlxfwmanager: `--query` of all adapters, or of one. There are no images to compare with.

Words and columns: mlxfwupdate of https://github.com/Mellanox/mstflint, and published outputs.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from ..common import adapters
from ..common.adapters import Nic
from ..common.console import say, say_all
from ..common.firmware_tools import VERSION_FLAGS, version_line
from ..common.places import place

ERROR = 1
_ROM = re.compile(r"^type=(\w+) version=([0-9]+)\.([0-9]+)\.([0-9]+) ")
_NONE = (
    "-E- No devices found or specified, mst might be stopped, run 'mst start' to load MST modules"
)


def main(argv: list[str] | None = None) -> int:
    """Run the program whose name is the first argument."""
    program, *words = sys.argv if argv is None else argv
    if words and words[0] in VERSION_FLAGS:
        say(version_line(Path(program).name))
        return 0
    asked: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word in ("-d", "--dev") and rest:
            asked.append(rest.pop(0))
        elif word != "--query":
            say(f"-E- Invalid argument: {word}: {Path(program).name} of the lab does not know it")
            return ERROR
    found = _devices(asked)
    if not found or os.geteuid() != 0:
        say(_NONE)
        return ERROR
    say("Querying Mellanox devices firmware ...")
    for number, (device, nic) in enumerate(found, 1):
        say_all(_about(number, device, nic))
    return 0


def _devices(asked: list[str]) -> list[tuple[str, Nic]]:
    if asked:
        known = ((word, adapters.find(word)) for word in asked)
        return [(word, nic) for word, nic in known if nic is not None]
    return [(nic["mst"], nic) for nic in adapters.adapters() if place(nic["mst"]).exists()]


def _about(number: int, device: str, nic: Nic) -> Iterator[str]:
    image = nic["image"]
    yield from ("", f"Device #{number}:", "-" * 10, "")
    for label, value in (
        ("Device Type:", image["device_type"]),
        ("Part Number:", image["part_number"]),
        ("Description:", image["description"]),
        ("PSID:", nic["psid"]),
        ("PCI Device Name:", device),
        ("Base GUID:", nic["guid"]),
        ("Base MAC:", nic["mac"]),
    ):
        yield f"  {label:<17} {value}"
    yield _row("  Versions:", "Current", "Available")
    yield _row("     FW", image["version"], "N/A")
    if image["running"] != image["version"]:
        yield _row("     FW (Running)", image["running"], "N/A")
    for name, version in sorted(_roms(image["rom"])):
        yield _row(f"     {name}", version, "N/A")
    yield from ("", "  Status:           No matching image found")


def _roms(lines: list[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        found = _ROM.match(line)
        if found:
            name, major, minor, build = found.groups()
            yield name, f"{major}.{minor}.{int(build):04d}"


def _row(label: str, current: str, available: str) -> str:
    return f"{label:<20}{current:<15}{available:<14}"
