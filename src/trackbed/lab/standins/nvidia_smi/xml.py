"""`nvidia-smi -q -x`: the XML, by nvsmi_device_v12.dtd or v13.dtd."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any
from xml.sax.saxutils import escape

from ..common.driver import Driver
from . import blocks
from .tree import NONE, Row, rows, unreadable
from .values import NOTHING, evaluate, lookup

_DTD = (("-579", 12), ("580-", 13))
_BLOCKS: dict[str, Callable[[Any], list[Any]]] = {
    "processes": blocks.processes_xml,
    "supported_clocks": blocks.clocks_xml,
    "mig_devices": blocks.mig_xml,
    "nothing": lambda _view: [],
}


def report(
    views: Sequence[Any], driver: Driver, asked: set[str], attached: int, now: str
) -> Iterator[str]:
    """Yield the lines; `asked` holds the sections of -d, none for all."""
    dtd = next(number for drivers, number in _DTD if driver.within(drivers))
    yield '<?xml version="1.0" ?>'
    yield f'<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v{dtd}.dtd">'
    yield "<nvidia_smi_log>"
    for tag, value in (("timestamp", now), *_versions(driver), ("attached_gpus", str(attached))):
        yield from _element(tag, value, 1)
    for view in views:
        yield f'\t<gpu id="{view["now"]["bus_id"]}">'
        for row in rows():
            if not asked or row.section in asked:
                yield from _row(row, view, driver, 2)
        yield "\t</gpu>"
        yield ""
    yield "</nvidia_smi_log>"


def _versions(driver: Driver) -> list[tuple[str, str]]:
    version, cuda = driver.installed or "", driver.cuda
    found = [("driver_version", version), ("cuda_version", cuda)]
    if driver.within("610-"):
        found += [("kmd_version", version), ("cuda_umd_version", cuda)]
    return found


def _element(tag: str, content: str | list[Any], depth: int) -> Iterator[str]:
    start = "\t" * depth
    if isinstance(content, str):
        yield f"{start}<{tag}>{escape(content)}</{tag}>"
        return
    yield f"{start}<{tag}>"
    for below, inner in content:
        yield from _element(below, inner, depth + 1)
    yield f"{start}</{tag}>"


def _row(row: Row, view: Any, driver: Driver, depth: int) -> Iterator[str]:
    if row.tag == NONE or not row.applies(view, driver):
        return
    start = "\t" * depth
    if row.value.startswith("!"):
        content = _BLOCKS[row.value[1:]](view)
        if row.tag == "mig_devices" and not content:
            yield from (f"{start}<{row.tag}>", f"{start}\tNone", f"{start}</{row.tag}>")
        else:
            yield from _element(row.tag, content, depth)
    elif not row.is_group:
        value = (unreadable(view) if row.live else "") or evaluate(row.value, view, "")
        yield from _element(row.tag, value, depth)
    elif row.value and not lookup(view, row.value[1:]):
        yield from _element(row.tag, NOTHING, depth)
    else:
        yield f"{start}<{row.tag}>"
        for below in row.rows:
            yield from _row(below, view, driver, depth + 1)
        yield f"{start}</{row.tag}>"
