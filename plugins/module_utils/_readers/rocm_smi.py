# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of the table that `rocm-smi` prints.

Two shapes: `GPU Temp AvgPwr SCLK ...` (ROCm up to 5) and `Device [Model : Revision]
Temp Power Partitions ...` with the name on a line of its own (ROCm 6), or
`Device Node IDs Temp ...` (ROCm 6.1 on). After a hang the cells are `N/A`,
`None`, `unknown`, and the log says `ERROR:`.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    UNREADABLE,
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import (
    Data,
    absence,
    decode,
    number,
    numbered_lines,
)

KIND = "rocm-smi"
TITLE = "AMD GPUs by rocm-smi, table"
VERSIONS = "rocm-smi of ROCm 3 to 6.4"
SOURCES = ("https://github.com/ROCm/rocm_smi_lib",)
PROVEN = True

# Column -> (value name, units that it may have, type, what it says, unit)
_COLUMNS: dict[str, tuple[str, tuple[str, ...], type, str, str | None]] = {
    "temp": ("temperature_c", ("c", "°c"), float, "temperature", "°C"),
    "avgpwr": ("power_draw_w", ("w",), float, "power", "W"),
    "power": ("power_draw_w", ("w",), float, "power", "W"),
    "sclk": ("graphics_clock_mhz", ("mhz",), int, "graphics clock", "MHz"),
    "mclk": ("memory_clock_mhz", ("mhz",), int, "memory clock", "MHz"),
    "fan": ("fan_pct", ("%",), float, "fan", "%"),
    "perf": ("performance_level", (), str, "auto, high, low, manual ...", None),
    "pwrcap": ("power_limit_w", ("w",), float, "limit", "W"),
    "vram%": ("memory_used_pct", ("%",), float, "VRAM in use", "%"),
    "gpu%": ("utilization_gpu_pct", ("%",), float, "graphics core", "%"),
}
FIELDS = {
    "node": {
        "gpu_count": Field(int, "rows of the table"),
        "log_end_seen": Field(bool, "the log has its last line"),
    },
    "gpu": {
        **{name: Field(kind, says, unit) for name, _u, kind, says, unit in _COLUMNS.values()},
        "name": Field(str, "name, cut by rocm-smi"),
        "device_id": Field(str, "PCI device"),
        "memory_partition": Field(str, "NPS1, NPS4 ..."),
        "compute_partition": Field(str, "SPX, CPX ..."),
        "readable": Field(bool, "false where the card answers nothing: hung or lost"),
    },
}
_ROW = re.compile(r"^([0-9]{1,4})\s+(\S.*)$")
_DEVICE = re.compile(r"\[?(0x[0-9a-f]{4})\s*[:,]\s*(0x[0-9a-f]{2,4}|[0-9]{1,6})\s*\]?")
_PARTITIONS = re.compile(r"\b(NPS[0-9]|N/A), +([A-Z]{3}|N/A)(?:, +[0-9]+)?")


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    if "ROCm System Management Interface" in text and "Concise Info" in text:
        return 95
    return 90 if re.search(r"(?m)^(?:GPU|Device)\s.*\bSCLK\s+MCLK\s+Fan\s+Perf\s", text) else 0


def read(data: Data) -> Reading:
    """Read one table; entities `gpu:N` and the node."""
    reading = Reading(KIND)
    node = reading.add(Entity("", values={"log_end_seen": False}))
    columns: list[str] = []
    last: Entity | None = None
    for line_number, line in numbered_lines(decode(data)):
        row = _ROW.match(line)
        if re.match(r"^(?:GPU|Device)\s.*\bSCLK\b", line):
            columns = [one for one in line.lower().split() if one in _COLUMNS]
        elif columns and row:
            last = _row(reading, columns, row, line_number)
        elif last is not None and re.match(r"^\s{4,}[A-Za-z]", line):
            last.values.setdefault("name", line.strip())
            last = None
        elif "End of ROCm SMI Log" in line:
            node.values["log_end_seen"] = True
        elif re.match(r"^\s*(?:ERROR|WARNING):", line):
            reading.note(
                "tool_error", "rocm-smi complained", line=line_number, verbatim=line.strip()
            )
    return _finish(reading, node)


def _row(
    reading: Reading, columns: list[str], row: t.Match[str], line_number: int
) -> Entity | None:
    entity = Entity(f"gpu:{int(row.group(1))}")
    rest = row.group(2)
    device, partitions = _DEVICE.search(rest.lower()), _PARTITIONS.search(rest)
    if device:
        entity.values["device_id"] = device.group(1)
    if partitions:
        for name, word in zip(("memory_partition", "compute_partition"), partitions.groups()):
            entity.values[name] = None if absence(word) else word
        rest = rest.replace(partitions.group(0), " ")
    if device:
        rest = rest[: device.start()] + " " + rest[device.end() :]
        node_ids = re.match(r"^\s*[0-9]{1,4}\s+", rest)  # ROCm 6.1: the node comes before the ids
        rest = rest[node_ids.end() :] if node_ids else rest
    cells = rest.split()
    if len(cells) != len(columns):
        reading.note(
            "malformed",
            f"a row of {len(cells)} cells below {len(columns)} columns",
            line=line_number,
            verbatim=row.group(0),
        )
        return None
    for column, cell in zip(columns, cells):
        _put(entity, column, cell)
    measured = [entity.values.get(name) for name in ("temperature_c", "power_draw_w")]
    entity.values["readable"] = any(one is not None for one in measured)
    kept = reading.add(entity, line_number)
    if kept is entity and not entity.values["readable"]:
        reading.note(
            "unreadable_value",
            "neither temperature nor power can be read: the GPU may be hung or lost",
            line=line_number,
            entity=entity.path,
            verbatim=row.group(0),
        )
    return kept


def _put(entity: Entity, column: str, cell: str) -> None:
    name, units, kind, _says, _unit = _COLUMNS[column]
    if absence(cell) is not None or cell.lower() == "unsupported":
        entity.values[name], entity.notes[name] = None, "not_supported"
        return
    if kind is str:
        entity.values[name] = cell
        return
    value = number(cell, units)
    if value is None:
        entity.values[name], entity.notes[name] = None, "unreadable"
    else:
        entity.values[name] = int(value) if kind is int else float(value)


def _finish(reading: Reading, node: Entity) -> Reading:
    count = len(reading.entities) - 1
    node.values["gpu_count"] = count
    if not count:
        reading.note("missing_value", "no row of a GPU")
        reading.quality = UNREADABLE
    elif not node.values["log_end_seen"]:
        reading.note("truncated", "the line `End of ROCm SMI Log` is missing")
    return reading
