"""The values of settings: how they are given, and how they are printed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

_INDEXED = re.compile(r"^([A-Z][A-Za-z0-9_]*)\[([0-9]{1,4})(?:\.\.([0-9]{1,4}))?\]$")
_BOOLEAN = {"true": 1, "1": 1, "false": 0, "0": 0}
_NUMBER = re.compile(r"^(?:[0-9]{1,10}|0[xX][0-9a-fA-F]{1,8})$")
_WHOLE = 2**32 - 2  # the last one is reserved for values that are not known

Entry = Mapping[str, Any]
Entries = Mapping[str, Entry]


class BadValueError(Exception):
    """What the program says of a name or a value."""


def places(name: str, entries: Entries) -> Iterator[tuple[str, int | None]]:
    """Yield the setting that a word names, or the places of an array: NAME, NAME[1], NAME[0..3]."""
    found = _INDEXED.match(name)
    if found is None:
        yield _known(name, entries), None
        return
    base, first, last = found.group(1), int(found.group(2)), int(found.group(3) or found.group(2))
    entry = entries[_known(base, entries)]
    most = len(entry["default"]) - 1 if entry["kind"] == "array" else -1
    if most < 0:
        raise BadValueError(f"The Device doesn't support {name} parameter")
    if max(first, last) > most:
        raise BadValueError(
            f"Index {max(first, last)} of the parameter {base} is out of range. "
            f"Maximal index is {most}"
        )
    for place in range(first, last + 1):
        yield base, place


def _known(name: str, entries: Entries) -> str:
    if name not in entries:
        raise BadValueError(f"The Device doesn't support {name} parameter")
    return name


def parsed(name: str, entry: Entry, word: str) -> int:
    """Return the number that a word stands for. Raises BadValueError."""
    kind = entry["kind"]
    number: int | None = None
    if kind == "bool":
        number = _BOOLEAN.get(word.lower())
    elif kind == "enum":
        number = entry["names"].get(word)
    if number is None and kind != "bool" and _NUMBER.match(word):
        number = int(word, 0 if word.lower().startswith("0x") else 10)
    if number is None or (kind == "enum" and number not in entry["names"].values()):
        raise BadValueError(_cannot(word, name, "Cannot parse the value"))
    least, most = entry.get("least", 0), entry.get("most", _WHOLE)
    if kind in ("number", "array") and not least <= number <= most:
        raise BadValueError(_cannot(word, name, f"The value is not in the range {least}-{most}"))
    return number


def _cannot(word: str, name: str, why: str) -> str:
    return f"Cannot set the value {word} for the parameter {name}: {why}"


def shown(entry: Entry, value: Any, place: int | None = None) -> str:
    """Return a value as the table has it: True(1), IB(1), 16, Array[0..7]."""
    kind = entry["kind"]
    if kind == "array":
        return f"Array[0..{len(value) - 1}]" if place is None else str(value[place])
    if kind == "bool":
        return f"{'True' if value else 'False'}({value})"
    if kind == "enum":
        name = next((name for name, number in entry["names"].items() if number == value), None)
        return str(value) if name is None else f"{name}({value})"
    return str(value)
