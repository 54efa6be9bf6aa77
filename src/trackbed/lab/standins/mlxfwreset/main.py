"""mlxfwreset and mstfwreset: `query`, and `reset` of an adapter.

Words: small_utils/mlxfwreset.py of https://github.com/Mellanox/mstflint and the MFT manual
(https://docs.nvidia.com/networking/display/mftv4341lts, mlxfwreset).
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from ..common import adapters
from ..common.console import agreed, say, say_all
from ..common.firmware_tools import VERSION_FLAGS, version_line
from ..common.places import place

ERROR = 1
_LEVEL = 3
_LEVELS = {
    0: ('Driver, PCI link, network link will remain up ("live-Patch")', False),
    _LEVEL: ("Driver restart and PCI reset", True),
    4: ("Warm Reboot", True),
}
_TYPES = {0: ("Full chip reset", True), 1: ('Phy-less reset ("port-alive")', False)}
_SYNCS = {0: ("Tool is the owner", True), 1: ("Driver is the owner", True)}
_DONE = ("Sending Reset Command To Fw", "Stopping Driver", "Resetting PCI", "Starting Driver")


def main(argv: list[str] | None = None) -> int:
    """Run the program whose name is the first argument."""
    program, *words = sys.argv if argv is None else argv
    if words and words[0] in VERSION_FLAGS:
        say(version_line(Path(program).name))
        return 0
    asked = _parse(Path(program).name, words)
    nic = adapters.find(asked.device)
    if nic is None or os.geteuid() != 0:
        say(f"-E- Failed to open device {asked.device}")
        return ERROR
    if asked.command in ("q", "query"):
        say_all(_levels())
        return 0
    level = _LEVEL if asked.level is None else asked.level
    supported = level in _LEVELS and _LEVELS[level][1]
    if not supported:
        say(f"-E- Requested reset level is not supported: {level}")
        return ERROR
    kind = "Minimal" if asked.level is None else "Requested"
    say(f"\n{kind} reset level for device, {asked.device}:\n\n{level}: {_LEVELS[level][0]}")
    if not agreed("Continue with reset?[y/N] ", yes=asked.yes):
        say("-E- Operation aborted by user")
        return ERROR
    if level == _LEVEL:
        adapters.restart(nic)
    say_all(_steps(level))
    return 0


def _parse(program: str, words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=program)
    parser.add_argument("-d", "--device", required=True)
    parser.add_argument("-y", "--yes", action="store_true")
    parser.add_argument("-l", "--level", type=int)
    parser.add_argument("command", choices=("q", "query", "r", "reset"))
    return parser.parse_args(words)


def _levels() -> Iterator[str]:
    for title, listed in (
        ("Reset-levels:", _LEVELS),
        ("Reset-types (relevant only for reset-levels 3,4):", _TYPES),
        ("Reset-sync (relevant only for reset-level 3):", _SYNCS),
    ):
        yield title
        first = True
        for number, (what, supported) in listed.items():
            word = "Supported" if supported else "Not Supported"
            mark = " (default)" if supported and first else ""
            first = first and not supported
            yield f"{number}: {what:<62}-{word}{mark}"
        yield ""


def _steps(level: int) -> Iterator[str]:
    """Yield what is done. A warm reboot is asked for here, and is the operator's to make."""
    for step in _DONE if level == _LEVEL else _DONE[:1]:
        yield f"-I- {step:<40}-Done"
    if level == _LEVEL:
        word = "Done" if place("/dev/mst").is_dir() else "Skipped"
        yield f"-I- {'Restarting MST':<40}-{word}"
        yield "-I- FW was loaded successfully."
    else:
        yield "-I- Please reboot machine to load new configurations."
