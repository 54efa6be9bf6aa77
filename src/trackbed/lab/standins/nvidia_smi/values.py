"""How single values are written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

NOTHING = "N/A"
_FORMS = {
    "": "{}", "C": "{} C", "MHz": "{} MHz", "MiB": "{} MiB", "us": "{} us", "KB/s": "{} KB/s",
    "banks": "{} bank(s)", "x": "{}x", "W": "{:.2f} W", "mV": "{:.3f} mV", "pct": "{} %",
    "pct2": "{:.2f}%", "pct2s": "{:.2f} %",
}  # fmt: skip
_WORDS = {
    "on": ("Enabled", "Disabled"),
    "yes": ("Yes", "No"),
    "act": ("Active", "Not Active"),
}


def lookup(view: Any, path: str) -> Any:
    """Return the value at a dotted path of the view; KeyError where there is none."""
    for key in path.split("."):
        view = view[int(key)] if isinstance(view, list) else view[key]
    return view


def written(value: Any, way: str, hexadecimal: str = "0x") -> str:
    """Return a value as the program writes it; None is N/A. `hexadecimal` goes before such."""
    if value is None:
        return NOTHING
    if way in _WORDS:
        return _WORDS[way][0 if value else 1]
    return hexadecimal + str(value) if way == "hex" else _FORMS[way].format(value)


def evaluate(expression: str, view: Mapping[str, Any], hexadecimal: str = "0x") -> str:
    """Return what a table's value says of a GPU: a quoted text, or a path and a way to write it."""
    if expression.startswith('"'):
        return expression.strip('"')
    path, _, way = expression.partition(":")
    return written(lookup(view, path), way, hexadecimal)
