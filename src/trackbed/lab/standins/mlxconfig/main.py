"""mlxconfig and mstconfig: the command line, and what is read and written.

Words and order: mlxconfig/mlxcfg_ui.cpp of https://github.com/Mellanox/mstflint; the exit codes
are those that its callers report (k8snetworkplumbingwg/sriov-network-operator: exit status 3).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..common import adapters
from ..common.adapters import Nic, Values
from ..common.console import agreed, say, say_all
from ..common.firmware_tools import VERSION_FLAGS, version_line
from ..common.json_text import streamed
from ..common.places import place
from . import table
from .table import Row
from .values import BadValueError, parsed, places, shown

ABORTED, ERROR = 1, 3
_COMMANDS = {
    "q": "query", "query": "query", "s": "set", "set": "set", "r": "reset", "reset": "reset",
}  # fmt: skip
_FLAGS = {"-e": "verbose", "--enable_verbosity": "verbose", "-y": "yes", "--yes": "yes"}
_TAKES = {"-d": "device", "--dev": "device", "-j": "json", "--json_format": "json"}
_NONE = (
    "No devices found, mst might be stopped. You may need to run 'mst start' to load MST modules. "
)
_REBOOT = "-I- Please reboot machine to load new configurations."


class RefusedError(Exception):
    """What the program says before it ends with an error."""


@dataclass
class Call:
    """One call of the program."""

    program: str
    command: str = ""
    flags: set[str] = field(default_factory=set)
    values: dict[str, str] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)


def main(argv: list[str] | None = None) -> int:
    """Run the program whose name is the first argument."""
    program, *words = sys.argv if argv is None else argv
    if words and words[0] in VERSION_FLAGS:
        say(version_line(Path(program).name))
        return 0
    try:
        return _run(_parse(Path(program).name, words))
    except (RefusedError, BadValueError) as error:
        say(f"-E- {error}")
        return ERROR


def _parse(program: str, words: list[str]) -> Call:
    call = Call(program)
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word in _FLAGS:
            call.flags.add(_FLAGS[word])
        elif word in _TAKES:
            if not rest:
                raise RefusedError(f"Option {word} requires an argument.")
            call.values[_TAKES[word]] = rest.pop(0)
        elif not call.command and word in _COMMANDS:
            call.command = _COMMANDS[word]
        elif not call.command or word.startswith("-"):
            raise RefusedError(f"Invalid argument: {word}: {program} of the lab does not know it")
        else:
            call.words.append(word)
    if not call.command:
        raise RefusedError("No command found.")
    if call.command == "set" and not call.words:
        raise RefusedError("No configurations to set were specified.")
    return call


def _run(call: Call) -> int:
    if os.geteuid() != 0:
        raise RefusedError("Failed to open the device")
    devices = list(_devices(call))
    if call.command == "query":
        return _query(call, devices)
    if call.command == "reset":
        return _reset(call, devices)
    if "device" not in call.values:
        raise RefusedError("Device must be specified for the set command")
    return _set(call, *devices[0])


def _devices(call: Call) -> Iterator[tuple[str, Nic]]:
    """Yield the devices that were asked for, by the words they are asked for with."""
    word = call.values.get("device")
    if word is not None:
        nic = adapters.find(word)
        if nic is None:
            raise RefusedError("Failed to open the device")
        yield word, nic
        return
    # The vendor's own tool goes by what `mst start` made; the distribution's by the PCI bus.
    by_bus = call.program.startswith("mst")
    found = [nic for nic in adapters.adapters() if by_bus or place(nic["mst"]).exists()]
    if not found:
        raise RefusedError(_NONE)
    for nic in found:
        yield f"/sys/bus/pci/devices/{nic['pci']}/config" if by_bus else nic["mst"], nic


def _query(call: Call, devices: list[tuple[str, Nic]]) -> int:
    columns = ["default", "current", "next"] if "verbose" in call.flags else ["next"]
    documents: dict[str, Any] = {}
    for number, (word, nic) in enumerate(devices, 1):
        rows = list(_rows(nic, call.words, columns))
        if "json" in call.values:
            documents.update(table.document(number, nic, word, rows))
        else:
            say_all(table.opening(number, nic, word))
            _print_rows(rows, columns)
    if "json" in call.values:
        path = call.values["json"]
        Path(path).write_text(streamed(documents) + "\n", encoding="utf-8")
        say(f"Query output saved to {path} successfully")
    return 0


def _rows(nic: Nic, words: list[str], columns: list[str]) -> Iterator[Row]:
    entries = adapters.settings(nic)
    known: dict[str, Values] = {
        "default": adapters.defaults(nic),
        "current": adapters.running(nic),
        "next": adapters.kept(nic),
    }
    for word in words or _offered(nic, known["current"]):
        for name, index in places(word, entries):
            title = name if index is None else f"{name}[{index}]"
            entry = entries[name]
            yield Row(title, {c: shown(entry, known[c][name], index) for c in columns})


def _offered(nic: Nic, current: Values) -> list[str]:
    """Return the settings that are listed: some are only while another one is on."""
    listed = adapters.settings(nic).items()
    return [name for name, entry in listed if current.get(entry.get("needs", ""), 1)]


def _print_rows(rows: list[Row], columns: list[str]) -> None:
    say(table.header(columns))
    say_all(table.line(row, columns) for row in rows)
    if any(row.differs for row in rows):
        say(table.DIFFERS)


def _set(call: Call, word: str, nic: Nic) -> int:
    wanted = _wanted(nic, call.words)
    columns = ["next", "new"]
    rows = []
    for name, index, number in wanted:
        entry = adapters.settings(nic)[name]
        now = shown(entry, adapters.kept(nic)[name], index)
        new = str(number) if index is not None else shown(entry, number)
        rows.append(Row(name if index is None else f"{name}[{index}]", {"next": now, "new": new}))
    say_all(table.opening(1, nic, word))
    _print_rows(rows, columns)
    if not _agreed(call, "Apply new Configuration?"):
        return ABORTED
    values: Values = {}
    for name, index, number in wanted:
        if index is None:
            values[name] = number
        else:
            values.setdefault(name, list(adapters.kept(nic)[name]))[index] = number
    adapters.write(nic, values)
    say(f"Applying... Done!\n{_REBOOT}")
    return 0


def _wanted(nic: Nic, words: list[str]) -> list[tuple[str, int | None, int]]:
    """Return what is to be set: name, place in an array, value. Raises before anything is done."""
    entries = adapters.settings(nic)
    wanted = []
    for word in words:
        title, equals, value = word.partition("=")
        if not equals or not value:
            raise RefusedError(f"Invalid configuration argument: {word}")
        for name, index in places(title, entries):
            if entries[name]["kind"] == "array" and index is None:
                raise BadValueError(f"The Device doesn't support {title} parameter")
            wanted.append((name, index, parsed(name, entries[name], value)))
    return wanted


def _reset(call: Call, devices: list[tuple[str, Nic]]) -> int:
    where = f"device {call.values['device']}" if "device" in call.values else "all devices"
    if not _agreed(call, f"Reset configuration for {where}?"):
        return ABORTED
    for _word, nic in devices:
        factory, entries = adapters.defaults(nic), adapters.settings(nic)
        names = {name for word in call.words for name, _at in places(word, entries)}
        adapters.write(nic, {name: factory[name] for name in names or factory})
    say(f"Applying... Done!\n{_REBOOT}")
    return 0


def _agreed(call: Call, question: str) -> bool:
    if agreed(f"\n {question} (y/n) [n] : ", yes="yes" in call.flags):
        return True
    say("-E- Aborted by user.")
    return False
