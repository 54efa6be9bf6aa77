"""`nvidia-smi --query-gpu` and `--query-compute-apps`: values separated by commas."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ..common.driver import Driver
from .tree import unreadable
from .values import NOTHING, evaluate

_TABLE = Path(__file__).with_name("query.txt")
_DEPRECATED = "Requested functionality has been deprecated"
_APPS = {
    "timestamp": ("", "timestamp"),
    "gpu_name": ("", "name"),
    "gpu_bus_id": ("", "bus_id"),
    "gpu_serial": ("", "serial"),
    "gpu_uuid": ("", "uuid"),
    "pid": ("", "pid"),
    "process_name": ("", "process"),
    "name": ("", "process"),
    "used_gpu_memory": ("MiB", "memory"),
    "used_memory": ("MiB", "memory"),
}
_APP_HEADS = {"name": "process_name", "used_memory": "used_gpu_memory"}


class UnknownFieldError(Exception):
    """There is no such field; the text is the program's."""


@dataclass(frozen=True)
class Field:
    """One field of the table."""

    name: str
    unit: str
    value: str
    none: str
    drivers: str
    marks: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Return all the names that it answers to."""
        return (self.name, *(mark[3:] for mark in self.marks if mark.startswith("or=")))

    def of(self, view: Any) -> str:
        """Return the value for one GPU."""
        said = unreadable(view) if "live" in self.marks else ""
        if said:
            return f"[{said}]"
        text = NOTHING if self.value == "-" else evaluate(self.value, view)
        if text == NOTHING:
            return self.none.strip('"') if self.none else f"[{NOTHING}]"
        return f"[{text}]" if text == _DEPRECATED else text


def fields(driver: Driver) -> list[Field]:
    """Return the fields that this driver has."""
    return [field for field in _table() if driver.within(field.drivers)]


@cache
def _table() -> list[Field]:
    found = []
    for line in _TABLE.read_text(encoding="utf-8").splitlines():
        if line.startswith("#") or not line.strip():
            continue
        columns = [column.strip() for column in line.split("|")]
        name, unit, value, none, drivers, marks = (columns + [""] * 6)[:6]
        found.append(Field(name, unit, value, none, drivers, tuple(marks.split())))
    return found


def gpu_rows(
    views: Sequence[Any], driver: Driver, asked: Sequence[str], form: Sequence[str]
) -> Iterator[str]:
    """Yield the lines of --query-gpu. Raises UnknownFieldError before the first."""
    known = {name: field for field in fields(driver) for name in field.names}
    chosen = [known.get(name) or _unknown(name) for name in asked]
    heads = [(field.name, field.unit) for field in chosen]
    rows = [[(field.of(view), field.unit) for field in chosen] for view in views]
    yield from _lines(heads, rows, form)


def app_rows(
    views: Sequence[Any], asked: Sequence[str], form: Sequence[str], now: str
) -> Iterator[str]:
    """Yield the lines of --query-compute-apps. Raises UnknownFieldError before the first."""
    chosen = [(name, *(_APPS.get(name) or _unknown(name))) for name in asked]
    heads = [(_APP_HEADS.get(name, name), unit) for name, unit, _key in chosen]
    rows = []
    for view in views:
        for process in view["processes"]:
            if "C" not in process["type"]:
                continue
            facts = {
                "timestamp": now,
                "name": view["name"],
                "bus_id": view["now"]["bus_id"],
                "serial": view["serial"],
                "uuid": view["uuid"],
                "pid": process["pid"],
                "process": process["name"],
                "memory": f"{process['memory_mib']} MiB",
            }
            rows.append([(str(facts[key]), unit) for _name, unit, key in chosen])
    yield from _lines(heads, rows, form)


def _unknown(name: str) -> Any:
    raise UnknownFieldError(f'Field "{name}" is not a valid field to query.')


def _lines(
    heads: Sequence[tuple[str, str]], rows: Sequence[Sequence[tuple[str, str]]], form: Sequence[str]
) -> Iterator[str]:
    if "noheader" not in form:
        yield ", ".join(f"{name} [{unit}]" if unit else name for name, unit in heads)
    for row in rows:
        yield ", ".join(
            value[: -len(unit) - 1]
            if "nounits" in form and unit and value.endswith(f" {unit}")
            else value
            for value, unit in row
        )
