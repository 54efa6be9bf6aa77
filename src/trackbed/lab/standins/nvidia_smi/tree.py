"""The table tree.txt: which lines `-q` has, in which drivers, and where their values are."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from ..common.driver import Driver
from .values import lookup

_TABLE = Path(__file__).with_name("tree.txt")
NONE = "-"  # the line is not in this form


@dataclass
class Row:
    """One line of the table and what is deeper."""

    label: str
    tag: str
    value: str
    drivers: str
    section: str = ""
    live: bool = False
    only: bool = False  # only where -d asks for its section
    condition: str = ""
    negated: bool = False
    rows: list[Row] = field(default_factory=list)

    def applies(self, view: Any, driver: Driver) -> bool:
        """Say whether this GPU and this driver have the line."""
        if not driver.within(self.drivers):
            return False
        return not self.condition or bool(lookup(view, self.condition)) != self.negated

    @property
    def is_group(self) -> bool:
        """Whether it has lines instead of a value."""
        return not self.value or self.value.startswith("?")


@cache
def rows() -> list[Row]:
    """Read the table; the rows of the first level hold the others."""
    found: list[Row] = []
    above: list[Row] = []
    for line in _TABLE.read_text(encoding="utf-8").splitlines():
        if line.startswith("#") or not line.strip():
            continue
        depth = (len(line) - len(line.lstrip(" "))) // 2
        row = _row(line)
        del above[depth:]
        if above:
            row.section = row.section or above[-1].section
            above[-1].rows.append(row)
        else:
            found.append(row)
        above.append(row)
    return found


def sections() -> set[str]:
    """Return the names that -d knows."""
    return {row.section for row in rows() if row.section}


def _row(line: str) -> Row:
    columns = [column.strip() for column in line.split("|")]
    label, tag, value, drivers, marks = (columns + [""] * 5)[:5]
    row = Row(label.replace("_", " "), tag, value, drivers)
    for mark in marks.split():
        if mark.startswith("@"):
            row.section = mark[1:]
        elif "=" in mark:
            kind, _, row.condition = mark.partition("=")
            row.negated = kind == "not"
        else:
            row.live, row.only = row.live or mark == "live", row.only or mark == "only"
    return row


def unreadable(view: Any) -> str:
    """Return what the GPU answers instead of a live value, or "" where it answers."""
    if view["reset_required"]:
        return "GPU requires reset"
    return "Unknown Error" if view["unknown_error"] else ""
