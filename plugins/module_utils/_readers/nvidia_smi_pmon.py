# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `nvidia-smi pmon`: the processes on each GPU, by sample.

Format: two lines that begin with `#` name the columns and their units; columns came
with the driver (jpg and ofa with 550, fb and ccpm with -s m), so they are found by
name. A GPU without a process has `-` as its process; -o D and -o T put the time before
it. Windows and consumer cards refuse. Seen: drivers 545 to 560, and older ones.
Source: nvidia-smi(1), pmon.
"""

from __future__ import annotations

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _monitor
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data

KIND = "nvidia-smi-pmon"
TITLE = "nvidia-smi pmon: processes on the GPUs"
VERSIONS = "drivers 545 to 560 and older"
SOURCES = ("nvidia-smi(1), pmon",)
PROVEN = True
FIELDS = {
    "node": {"process_count": Field(int, "processes in this output")},
    "gpu": {"process_count": Field(int, "processes on this GPU; 0 where it is idle")},
    "process": {
        "pid": Field(int, "process"),
        "type": Field(str, "C computes, G draws, as printed"),
        "utilization_sm_pct": Field(int, "of its samples with a busy SM", "%"),
        "utilization_memory_pct": Field(int, "of its samples with memory traffic", "%"),
        "utilization_encoder_pct": Field(int, "encoder", "%"),
        "utilization_decoder_pct": Field(int, "decoder", "%"),
        "utilization_jpeg_pct": Field(int, "JPEG engine", "%"),
        "utilization_ofa_pct": Field(int, "optical flow engine", "%"),
        "memory_used_mib": Field(int, "frame buffer", "MiB"),
        "protected_memory_used_mib": Field(int, "confidential compute", "MiB"),
        "command": Field(str, "name of the program, as far as it was printed"),
    },
}
_COLUMNS = {
    "sm": "utilization_sm_pct",
    "mem": "utilization_memory_pct",
    "enc": "utilization_encoder_pct",
    "dec": "utilization_decoder_pct",
    "jpg": "utilization_jpeg_pct",
    "ofa": "utilization_ofa_pct",
    "fb": "memory_used_mib",
    "ccpm": "protected_memory_used_mib",
}


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    columns = {one.lower() for one in _monitor.header(text)}
    if {"pid", "type"} <= columns:
        return 97
    return 60 if not columns and _monitor.is_refusal(text, "pmon") else 0


def read(data: Data) -> Reading:
    """Read the samples; of a process that comes again the last one is kept.

    Entities: "", `gpu:<n>`, `gpu:<n>/process:<pid>`.
    """
    reading = Reading(KIND, tool_name="nvidia-smi")
    found: dict[str, Entity] = {}
    counts: dict[str, set[str]] = {}
    for row in _monitor.rows(data, reading):
        gpu = f"gpu:{row.gpu}"
        counts.setdefault(gpu, set())
        pid = row.words.get("pid", "-")
        if pid in ("-", ""):
            continue
        process = _monitor.integer(reading, row, "pid")
        if process is None:
            continue
        counts[gpu].add(pid)
        entity = Entity(f"{gpu}/process:{process}", values={"pid": process})
        _monitor.fill(reading, row, entity, _COLUMNS)
        entity.values["type"] = _monitor.text(row.words.get("type"))
        entity.values["command"] = _monitor.text(row.words.get("command"))
        found[entity.path] = entity
    if not counts:
        return _monitor.nothing(reading, data)
    total = sum(len(pids) for pids in counts.values())
    reading.add(Entity("", values={"process_count": total}))
    for gpu, pids in counts.items():
        reading.add(Entity(gpu, values={"process_count": len(pids)}))
    for entity in found.values():
        reading.add(entity)
    return reading
