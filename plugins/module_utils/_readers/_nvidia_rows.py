# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows of `nvidia-smi --query-...`: of GPUs, processes, retired pages, or of unknown columns.

Private to trackbed.cluster.
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
    Value,
    convert,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._nvidia_query import (
    BY_NAME,
    IDENTITIES,
    NAMES,
    ORDER,
    OWN,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import absence

FIELDS = {
    "gpu": {
        **GPU_FIELDS,
        **{value.name: value.field() for value in OWN},
        "timestamp": Field(str, "when it was asked, as printed"),
        "other": Field(dict, "columns without a name here, as printed; null for what is none"),
        "readable": Field(bool, "the GPU answered; false where it is lost or waits for a reset"),
    },
    "process": {
        "pid": Field(int, "process"),
        "name": Field(str, "program"),
        "gpu_uuid": Field(str, "GPU that it runs on"),
        "gpu_name": Field(str, "that GPU's name"),
        "memory_used_mib": Field(int, "memory of that GPU", "MiB"),
        "memory_max_mib": Field(int, "most that it used; accounted processes", "MiB"),
        "utilization_gpu_pct": Field(int, "time with a kernel running", "%"),
        "utilization_memory_pct": Field(int, "time with memory in use", "%"),
        "time_ms": Field(int, "how long it ran; 0 while it runs", "ms"),
    },
    "retired_page": {
        "address": Field(str, "address of the page"),
        "cause": Field(str, "why it was retired, as printed"),
        "timestamp": Field(str, "when, as printed"),
        "gpu_uuid": Field(str, "GPU that it is of"),
    },
    "row": {
        "columns": Field(list, "names of the columns; null where there is no header"),
        "cells": Field(list, "numbers, texts, null for what is none"),
        "units": Field(list, "unit of each cell, null where it has none"),
        "states": Field(list, "of each cell that is null: not_supported or unreadable"),
        "readable": Field(bool, "no cell says that the GPU did not answer"),
    },
}
CELL = re.compile(r"^(-?[0-9]{1,18}(?:\.[0-9]{1,6})?)(?: ?(MiB|W|MHz|%|C|us|KB/s|ms))?$")
UUID = re.compile(r"^(?:GPU|MIG)-[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$")
BUS = re.compile(r"^[0-9A-Fa-f]{8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]$")
STATE = re.compile(r"^\[.{1,80}\]$")
SICK = re.compile(r"unknown error|requires reset|is lost", re.IGNORECASE)
_DRIVER = re.compile(r"^[0-9]{3}\.[0-9]{2,3}(?:\.[0-9]{2})?$")
_WHEN = re.compile(r"^[0-9]{4}/[0-9]{2}/[0-9]{2} [0-9:.]{8,15}$")
# Of a process: our name, and its columns by version.
_PROCESS = {
    "memory_used_mib": ("used_memory", "used_gpu_memory"),
    "memory_max_mib": ("max_memory_usage",),
    "utilization_gpu_pct": ("gpu_utilization",),
    "utilization_memory_pct": ("mem_utilization",),
    "time_ms": ("time",),
}


def is_value(cell: str) -> bool:
    """Return whether a cell is a number, a state, or an identity."""
    known = (CELL, STATE, _DRIVER, _WHEN)
    return is_telling(cell) or cell == "ERR!" or any(one.match(cell) for one in known)


def is_telling(cell: str) -> bool:
    """Return whether a cell is one that nvidia-smi alone prints: a unit, a bus id, a UUID."""
    found = CELL.match(cell)
    if found:
        return found.group(2) in ("MiB", "MHz", "W", "%")
    return bool(BUS.match(cell) or UUID.match(cell))


def lost_unit(full: list[str], cells: list[str]) -> bool:
    """Return whether the last of these cells lacks the unit that a whole row has there."""
    if len(full) < len(cells):
        return False
    wanted = CELL.match(full[len(cells) - 1])
    found = CELL.match(cells[-1])
    unit = wanted.group(2) if wanted else None
    return unit is not None and (found is None or found.group(2) != unit)


def text_of(cell: str) -> str | None:
    """Return the cell, None where it stands for nothing."""
    return None if not cell or STATE.match(cell) or cell == "N/A" else cell


def ids_of(found: dict[str, str]) -> dict[str, str | None]:
    """Return the identities of the GPU that a row is of."""
    return {
        "pci": pci_address(found.get("pci.bus_id") or found.get("gpu_bus_id") or ""),
        "uuid": text_of(found.get("uuid") or found.get("gpu_uuid") or ""),
        "serial": serial(text_of(found.get("serial") or found.get("gpu_serial") or "") or ""),
    }


def gpu(reading: Reading, entity: Entity, found: dict[str, str], number: int) -> None:
    """Put the cells of a row into a GPU; values that it has already stay."""
    others = dict(_dict(entity.values.get("other")))
    for column in sorted(found, key=lambda one: ORDER.get(one, len(ORDER))):
        name = NAMES.get(column)
        if name is not None:
            if entity.values.get(name) is None:
                _value(reading, entity, BY_NAME[name], found[column], number)
        elif column not in IDENTITIES:
            others[column] = text_of(found[column])
    if text_of(found.get("timestamp", "")):
        entity.values.setdefault("timestamp", found["timestamp"])
    sick = [column for column, cell in found.items() if SICK.search(cell)]
    entity.values["readable"] = not sick and entity.values.get("readable") is not False
    entity.values["other"] = dict(others)
    if sick:
        where = {"line": number, "entity": entity.path, "field": NAMES.get(sick[0])}
        says = f"{entity.path} did not answer for {', '.join(sick[:6])}"
        _plain.note(reading, "unreadable_value", says, verbatim=found[sick[0]], **where)


def _dict(value: t.Any) -> dict[str, t.Any]:
    return value if isinstance(value, dict) else {}


def _value(reading: Reading, entity: Entity, value: Value, cell: str, number: int) -> None:
    state = STATE.match(cell)
    word = cell[1:-1].strip() if state else cell
    where = {"line": number, "entity": entity.path, "field": value.name, "verbatim": cell}
    kept, note = convert(value, word)
    if state and absence(word) is None:
        kept, note = None, "unreadable"
        _plain.note(reading, "unknown_value", "not a state that is known", **where)
    elif note == "verbatim":
        _plain.note(reading, "unknown_value", "not a value that is known", **where)
    elif note == "unreadable" and not SICK.search(cell):
        code = "no_access" if "permission" in word.lower() else "unreadable_value"
        _plain.note(reading, code, f"{value.name} could not be read", **where)
    entity.values[value.name] = kept
    entity.notes.pop(value.name, None)
    if note:
        entity.notes[value.name] = note


def process(reading: Reading, found: dict[str, str], times: int, number: int) -> None:
    """Add a process; one that runs on several GPUs has a row, and an entity, for each.

    `times` counts the rows of this process, this one included.
    """
    pid = found["pid"]
    if not re.match(r"^[0-9]{1,9}$", pid):
        _plain.note(reading, "unknown_value", "a process without number", line=number, verbatim=pid)
        return
    path = f"process:{int(pid)}" + (f"_{times}" if times > 1 else "")
    entity = reading.add(Entity(path), number)
    entity.ids = {"uuid": None, "pci": ids_of(found)["pci"]}
    name = found.get("process_name") or found.get("name") or ""
    entity.values = {
        "pid": int(pid),
        "name": text_of(name),
        "gpu_uuid": ids_of(found)["uuid"],
        "gpu_name": text_of(found.get("gpu_name", "")),
    }
    if STATE.match(name):
        entity.notes["name"] = absence(name) or "unreadable"
        if entity.notes["name"] == "unreadable":
            code = "no_access" if "permission" in name.lower() else "unreadable_value"
            where = {"line": number, "entity": path, "field": "name", "verbatim": name}
            _plain.note(reading, code, "the name of the process could not be read", **where)
    for ours, columns in _PROCESS.items():
        cell = next((found[one] for one in columns if one in found), None)
        number_found = CELL.match(cell) if cell else None
        if cell is not None or ours == "memory_used_mib":
            whole = number_found and "." not in number_found.group(1)
            entity.values[ours] = int(number_found.group(1)) if number_found and whole else None


def retired_page(reading: Reading, found: dict[str, str], index: int, number: int) -> None:
    """Add a page that was retired."""
    page = reading.add(Entity(f"retired_page:{index}"), number)
    page.values = {
        "address": text_of(found.get("retired_pages.address", "")),
        "cause": text_of(found.get("retired_pages.cause", "")),
        "timestamp": text_of(found.get("retired_pages.timestamp", "")),
        "gpu_uuid": ids_of(found)["uuid"],
    }


def _state(cell: str) -> str | None:
    """Return what a state in brackets says; of one that is not known that it is unreadable."""
    state = STATE.match(cell)
    return (absence(cell[1:-1]) or "unreadable") if state else absence(cell)


def bare(reading: Reading, cells: list[str], columns: list[str], path: str, number: int) -> None:
    """Keep a row of unknown columns: numbers with their units, identities, states as null."""
    row = reading.add(Entity(path), number)
    kept: list[t.Any] = []
    units: list[t.Any] = []
    for cell in cells[:400]:
        found = CELL.match(cell)
        units.append(found.group(2) if found else None)
        if found:
            number_text = found.group(1)
            kept.append(float(number_text) if "." in number_text else int(number_text))
        else:
            kept.append(text_of(cell))
        if UUID.match(cell):
            row.ids.setdefault("uuid", cell)
        elif BUS.match(cell):
            row.ids.setdefault("pci", pci_address(cell))
    sick = [cell for cell in cells if SICK.search(cell) and STATE.match(cell)]
    row.values = {"cells": list(kept), "units": list(units), "readable": not sick}
    row.values["states"] = [_state(cell) for cell in cells[:400]]
    row.values["columns"] = list(columns) if columns else None
    if sick:
        says = f"{row.path} did not answer for {len(sick)} of its cells"
        where = {"line": number, "entity": row.path, "verbatim": sick[0]}
        _plain.note(reading, "unreadable_value", says, **where)
