"""mlxlink and mstlink: the command line, and the text or JSON of the sections."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..common import adapters
from ..common.console import say, say_all
from ..common.firmware_tools import VERSION_FLAGS, version_line
from ..common.json_text import styled
from .sections import Section, Value, sections

ERROR = 1
_ASKED = {
    "-m": "module", "--show_module": "module", "-c": "counters", "--show_counters": "counters",
    "-e": "eye", "--show_eye": "eye",
}  # fmt: skip
_LABEL = 34  # columns of a label, MFT 4.30


class RefusedError(Exception):
    """What the program says before it ends with an error."""


@dataclass
class Call:
    """One call of the program."""

    program: str
    device: str = ""
    json: bool = False
    asked: set[str] = field(default_factory=set)


def main(argv: list[str] | None = None) -> int:
    """Run the program whose name is the first argument."""
    program, *words = sys.argv if argv is None else argv
    if words and words[0] in VERSION_FLAGS:
        say(version_line(Path(program).name))
        return 0
    call = Call(Path(program).name)
    try:
        found = list(_told(call, words))
    except RefusedError as error:
        if call.json:
            say(styled({"status": {"code": ERROR, "message": str(error)}}))
        else:
            sys.stderr.write(f"\n-E- {error}\n")
        return ERROR
    if call.json:
        say(styled(_document(found)))
    else:
        say_all(_lines(found))
    return 0


def _told(call: Call, words: list[str]) -> Iterable[Section]:
    _parse(call, words)
    nic = adapters.find(call.device)
    if nic is None or os.geteuid() != 0:
        raise RefusedError(f"Failed to open device {call.device}")
    return sections(nic, call.program, call.asked)


def _parse(call: Call, words: list[str]) -> None:
    rest = list(words)
    call.json = "--json" in rest
    while rest:
        word = rest.pop(0)
        if word in ("-d", "--device") and rest:
            call.device = rest.pop(0)
        elif word in ("-p", "--port") and rest:
            port = rest.pop(0)
            if port != "1":  # a port of its own has a device of its own
                raise RefusedError(f"Invalid port number: {port}")
        elif word in _ASKED:
            call.asked.add(_ASKED[word])
        elif word != "--json":
            raise RefusedError(f'Invalid option "{word}": {call.program} of the lab has it not')
    if not call.device:
        raise RefusedError("Provide device name using -d")


def _lines(found: Iterable[Section]) -> Iterator[str]:
    for section in found:
        yield from ("", section.title, "-" * len(section.title))
        for label, value in section.values.items():
            yield f"{label:<{_LABEL}} : {_text(value)}"
    yield ""


def _text(value: Value) -> str:
    if value.several is None:
        return value.text
    listed = ",".join(f"{one:>{value.width}}" for one in value.several)
    return listed if value.mask is None else f"{value.mask} ({listed})"


def _document(found: Iterable[Section]) -> dict[str, Any]:
    output = {
        section.title: {label: _json(value) for label, value in section.values.items()}
        for section in found
    }
    return {"result": {"output": output}, "status": {"code": 0, "message": "success"}}


def _json(value: Value) -> Any:
    if value.several is None:
        return value.text
    listed: dict[str, Any] = {"values": value.several}
    return listed if value.mask is None else {"mask": value.mask, **listed}
