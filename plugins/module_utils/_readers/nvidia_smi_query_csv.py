# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `nvidia-smi --query-gpu=... --format=csv` and of `--query-compute-apps`.

Format: a header of column names with units in brackets, and a row a GPU or process. With
`noheader` the columns cannot be known, so such rows are kept as they are, cell by cell:
what a cell says of itself (an identity, a unit) is all that is concluded. Cells in brackets
are states: `[N/A]`, `[Not Supported]`, `[Unknown Error]`, `[GPU requires reset]`. Versions:
driver 418 to 610. Source: nvidia-smi(1), --help-query-gpu.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._identity import (
    pci_address,
    serial,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _plain
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._nvidia_gpu import (
    GPU_FIELDS,
    VALUES,
    Value,
    convert,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._nvidia_query import (
    NAMES,
    ORDER,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data

KIND = "nvidia-smi-query-csv"
TITLE = "nvidia-smi --query-gpu: values of each GPU, CSV"
VERSIONS = "driver 418 to 610"
SOURCES = ("nvidia-smi(1), --help-query-gpu",)
PROVEN = True
_OWN = tuple(
    Value(f"ecc_{span}_{sort}_total", (), "int", f"{sort} errors of all kinds, {span}")
    for span in ("volatile", "aggregate")
    for sort in ("corrected", "uncorrected")
)
_BY_NAME = {value.name: value for value in (*VALUES, *_OWN)}
FIELDS = {
    "node": {
        "driver_version": Field(str, "driver that is loaded"),
        "row_count": Field(int, "rows below the header"),
    },
    "gpu": {
        **GPU_FIELDS,
        **{value.name: value.field() for value in _OWN},
        "other": Field(dict, "columns without a name here, as printed; null for what is none"),
        "readable": Field(bool, "the GPU answered; false where it is lost or waits for a reset"),
    },
    "process": {
        "pid": Field(int, "process"),
        "name": Field(str, "program"),
        "gpu_uuid": Field(str, "GPU that it runs on"),
        "memory_used_mib": Field(int, "memory of that GPU", "MiB"),
    },
    "row": {
        "cells": Field(list, "cells without a header: numbers, texts, null for what is none"),
        "units": Field(list, "unit of each cell, null where it has none"),
        "readable": Field(bool, "no cell says that the GPU did not answer"),
    },
}
_COLUMN = re.compile(r"^([A-Za-z][A-Za-z0-9_.]{1,80})(?: \[([^\]]{1,10})\])?$")
_KNOWN = frozenset(NAMES) | {"index", "uuid", "gpu_uuid", "serial", "gpu_serial", "pci.bus_id",
                             "gpu_bus_id", "driver_version", "timestamp", "count", "pid",
                             "process_name", "used_memory", "used_gpu_memory"}  # fmt: skip
_CELL = re.compile(r"^(-?[0-9]{1,18}(?:\.[0-9]{1,6})?)(?: (MiB|W|MHz|%|C|us|KB/s|ms))?$")
_UUID = re.compile(r"^GPU-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
_STATE = re.compile(r"^\[.{1,80}\]$")
_SICK = re.compile(r"unknown error|requires reset|is lost", re.IGNORECASE)
_ERROR = re.compile(
    r"^(?:NVIDIA-SMI has failed|Failed to initialize NVML|No devices were found|Unable to"
    r'|Field ".{1,80}" is not a valid field|.*: command not found$)'
)
_MAX_ROWS = 4096


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    lines = [line for line in text[:20000].split("\n")[:50] if line.strip()]
    if not lines:
        return 0
    if any(_header(line) for line in lines[:5]):
        return 95
    rows = [line.split(",") for line in lines[:-1] or lines]
    uuids = all(any(_UUID.match(cell.strip()) for cell in row) for row in rows)
    if uuids and all(len(row) > 1 for row in rows):
        return 85
    # A row of numbers and bracketed states alone says no more than that.
    plain = all(_CELL.match(cell.strip()) or _STATE.match(cell.strip()) for r in rows for cell in r)
    states = any(_STATE.match(cell.strip()) for row in rows for cell in row)
    return 70 if plain and states and all(len(row) > 2 for row in rows) else 0


def read(data: Data) -> Reading:
    """Read one output. Entities: "", `gpu:N` or `process:<pid>`; without header `row:N`."""
    reading = Reading(KIND, tool_name="nvidia-smi")
    node = Entity("", values={"row_count": 0})
    columns: list[str] = []
    count = 0
    for number, line in _plain.lines(data):
        cells = [cell.strip() for cell in line.split(",")]
        header = _header(line)
        if _ERROR.match(line.strip()):
            says = "nvidia-smi did not answer"
            _plain.note(reading, "tool_error", says, line=number, verbatim=line.strip())
        elif header and not count:
            columns = header
        elif len(cells) == 1 or count >= _MAX_ROWS:
            _plain.malformed(reading, number, line, "a row of cells")
        else:
            count += 1
            if columns and len(cells) != len(columns):
                says = f"{len(cells)} cells where {len(columns)} were expected"
                _plain.note(reading, "malformed", says, line=number, verbatim=line.strip())
            _row(reading, node, columns, cells, number)
    if not count:
        if columns:
            _plain.note(reading, "truncated", "there is no row below the header")
            reading.entities.insert(0, node)
            return reading
        return _plain.nothing(reading, "a header of --query-gpu, or a row")
    _same_width(reading)
    node.values["row_count"] = count
    reading.entities.insert(0, node)
    return reading


def _same_width(reading: Reading) -> None:
    """Say of rows without a header which are shorter than the longest."""
    cells = {one.path: one.values.get("cells") for one in reading.entities}
    widths = {path: len(row) for path, row in cells.items() if isinstance(row, list)}
    longest = max(widths.values(), default=0)
    for path, width in widths.items():
        if width < longest:
            says = f"{width} cells where other rows have {longest}"
            _plain.note(reading, "malformed", says, entity=path)


def _header(line: str) -> list[str]:
    """Return the names of the columns of a header, in lower case; none where it is no header."""
    found = [_COLUMN.match(cell.strip()) for cell in line.split(",")]
    names = [one.group(1).lower() for one in found if one]
    if len(names) < len(found) or not _KNOWN & set(names):
        return []
    telling = {"index", "name", "uuid", "pid", "gpu_uuid"} & set(names)
    return names if telling or any("." in name for name in names) else []


def _row(reading: Reading, node: Entity, columns: list[str], cells: list[str], number: int) -> None:
    if not columns:
        _bare(reading, cells, number)
        return
    found = dict(zip(columns, cells))
    driver = found.get("driver_version", "")
    if driver and not _STATE.match(driver):
        node.values.setdefault("driver_version", driver)
        reading.tool_version = driver
    if "pid" in found:
        _process(reading, found, number)
    else:
        _gpu(reading, found, number)


def _gpu(reading: Reading, found: dict[str, str], number: int) -> None:
    index = found.get("index", "")
    listed = sum(one.path.startswith("gpu:") for one in reading.entities)
    path = f"gpu:{int(index)}" if re.match(r"^[0-9]{1,4}$", index) else f"gpu:{listed}"
    gpu = reading.add(Entity(path), number)
    gpu.ids = {
        "pci": pci_address(found.get("pci.bus_id") or found.get("gpu_bus_id") or ""),
        "uuid": _text(found.get("uuid") or found.get("gpu_uuid") or ""),
        "serial": serial(_text(found.get("serial") or found.get("gpu_serial") or "") or ""),
    }
    others: dict[str, t.Any] = {}
    for column in sorted(found, key=lambda one: ORDER.get(one, len(ORDER))):
        name = NAMES.get(column)
        if name is None:
            others[column] = _text(found[column])
        elif gpu.values.get(name) is None:
            _value(reading, gpu, _BY_NAME[name], found[column], number)
    sick = [column for column, cell in found.items() if _SICK.search(cell)]
    gpu.values["readable"] = not sick
    gpu.values["other"] = dict(others)
    if sick:
        where = {"line": number, "entity": path, "field": NAMES.get(sick[0])}
        says = f"{path} did not answer for {', '.join(sick[:6])}"
        _plain.note(reading, "unreadable_value", says, verbatim=found[sick[0]], **where)


def _value(reading: Reading, gpu: Entity, value: Value, cell: str, number: int) -> None:
    word = cell[1:-1] if _STATE.match(cell) else cell
    kept, note = convert(value, word)
    gpu.values[value.name] = kept
    gpu.notes.pop(value.name, None)
    if note:
        gpu.notes[value.name] = note
    if note == "verbatim":
        where = {"line": number, "entity": gpu.path, "field": value.name, "verbatim": cell}
        _plain.note(reading, "unknown_value", "not a value that is known", **where)


def _text(cell: str) -> str | None:
    return None if not cell or _STATE.match(cell) or cell == "N/A" else cell


def _process(reading: Reading, found: dict[str, str], number: int) -> None:
    pid = found["pid"]
    if not re.match(r"^[0-9]{1,9}$", pid):
        _plain.note(reading, "unknown_value", "a process without number", line=number, verbatim=pid)
        return
    path = f"process:{int(pid)}"
    if reading.entity(path) is not None:  # one process on several GPUs
        path = f"{path}_{number}"
    memory = re.match(r"^([0-9]{1,9})(?: MiB)?$", found.get("used_memory")
                      or found.get("used_gpu_memory") or "")  # fmt: skip
    entity = reading.add(Entity(path), number)
    entity.values = {
        "pid": int(pid),
        "name": _text(found.get("process_name") or found.get("name") or ""),
        "gpu_uuid": _text(found.get("gpu_uuid") or ""),
        "memory_used_mib": int(memory.group(1)) if memory else None,
    }


def _bare(reading: Reading, cells: list[str], number: int) -> None:
    """Keep a row without header: numbers with their units, identities, states as null."""
    row = reading.add(Entity(f"row:{len(reading.entities)}"), number)
    kept: list[t.Any] = []
    units: list[t.Any] = []
    for cell in cells[:400]:
        found = _CELL.match(cell)
        units.append(found.group(2) if found else None)
        if found:
            number_text = found.group(1)
            kept.append(float(number_text) if "." in number_text else int(number_text))
        else:
            kept.append(_text(cell))
        if _UUID.match(cell):
            row.ids["uuid"] = cell
        elif re.match(r"^[0-9A-Fa-f]{8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]$", cell):
            row.ids["pci"] = pci_address(cell)
    sick = [cell for cell in cells if _SICK.search(cell)]
    row.values = {"cells": list(kept), "units": list(units), "readable": not sick}
    if sick:
        says = f"{row.path} did not answer for {len(sick)} of its cells"
        where = {"line": number, "entity": row.path, "verbatim": sick[0]}
        _plain.note(reading, "unreadable_value", says, **where)
