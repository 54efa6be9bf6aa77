"""`nvidia-smi -q`: the text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..common.driver import Driver
from . import blocks
from .tree import NONE, Row, rows, unreadable
from .values import NOTHING, evaluate, lookup

# The column of the colons: wider since a 580 of 2026 (580.105: narrow, 580.159 and 590.48: wide).
_WIDTHS = (("-580.125", 42), ("580.126-", 55))


def report(
    views: Sequence[Any], driver: Driver, asked: set[str], attached: int, now: str
) -> Iterator[str]:
    """Yield the lines; `asked` holds the sections of -d, none for all."""
    width = next(width for drivers, width in _WIDTHS if driver.within(drivers))
    yield ""
    yield "==============NVSMI LOG=============="
    yield ""
    for label, value in (("Timestamp", now), *_versions(driver)):
        yield f"{label:<{width}}: {value}"
    yield ""
    yield f"{'Attached GPUs':<{width}}: {attached}"
    for view in views:
        yield f"GPU {view['now']['bus_id']}"
        for row in rows():
            if _wanted(row, asked):
                yield from _lines(row, view, driver, 1, width)
        yield ""


def _versions(driver: Driver) -> list[tuple[str, str]]:
    version, cuda = driver.installed or "", driver.cuda
    if driver.within("-609"):
        return [("Driver Version", version), ("CUDA Version", cuda)]
    gone = "[Deprecated; will be removed in CUDA 14.0. Use {} Version instead]"
    return [
        ("Driver Version", f"{version} {gone.format('KMD')}"),
        ("CUDA Version", f"{cuda} {gone.format('CUDA UMD')}"),
        ("KMD Version", version),
        ("CUDA UMD Version", cuda),
    ]


def _wanted(row: Row, asked: set[str]) -> bool:
    return row.section in asked if asked else not row.only


def _lines(row: Row, view: Any, driver: Driver, depth: int, width: int) -> Iterator[str]:
    if row.label == NONE or not row.applies(view, driver):
        return
    start = "    " * depth + row.label
    if row.value.startswith("!"):
        yield from _block(row.value[1:], start, view, width)
    elif row.value.startswith("?") and not lookup(view, row.value[1:]):
        yield f"{start:<{width}}: {NOTHING}"
    elif row.is_group:
        yield start
    else:
        value = (unreadable(view) if row.live else "") or evaluate(row.value, view)
        yield f"{start:<{width}}: {value}"
    if row.is_group and row.value and not lookup(view, row.value[1:]):
        return
    for below in row.rows:
        yield from _lines(below, view, driver, depth + 1, width)


def _block(name: str, start: str, view: Any, width: int) -> Iterator[str]:
    lines = {
        "processes": lambda: [f"    {line}" for line in blocks.processes_text(view)],
        "supported_clocks": lambda: blocks.clocks_text(view, width),
    }[name]()
    if lines:
        yield start
        yield from lines
    else:
        yield f"{start:<{width}}: None"
