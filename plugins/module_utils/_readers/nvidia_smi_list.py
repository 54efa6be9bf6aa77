# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `nvidia-smi -L`: GPUs and their MIG devices.

Format: one line a GPU, `GPU <index>: <name> (UUID: GPU-<uuid>)`, MIG devices
indented below theirs. Seen: driver 470 to 595. A card whose name cannot be read
prints an empty one. Source: nvidia-smi(1), section "LIST OPTIONS".
"""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    UNREADABLE,
    Entity,
    Field,
    Reading,
    failed,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import (
    Data,
    decode,
    numbered_lines,
)

KIND = "nvidia-smi-L"
TITLE = "nvidia-smi -L: list of GPUs and MIG devices"
VERSIONS = "driver 470 to 595"
SOURCES = ("nvidia-smi(1)",)
PROVEN = True
FIELDS = {
    "node": {
        "gpu_count": Field(int, "GPUs listed; MIG devices do not count"),
        "mig_device_count": Field(int, "MIG devices listed"),
    },
    "gpu": {"name": Field(str, "product name")},
    "mig": {"profile": Field(str, "MIG profile, such as 1g.18gb")},
}
_GPU = re.compile(r"^GPU (\d{1,4}):\s*(.*?)\s*\(UUID:\s*(\S+?)\)$")
_MIG = re.compile(r"^\s+MIG (\S+)\s+Device\s+(\d{1,4}):\s*\(UUID:\s*(\S+?)\)$")


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    return 95 if re.search(r"(?m)^GPU \d+:.*\(UUID: \S+\)$", text) else 0


def read(data: Data) -> Reading:
    """Read the list. Entities: "" with counts, `gpu:N`, `gpu:N/mig:M`."""
    reading = Reading(KIND, tool_name="nvidia-smi")
    node = reading.add(Entity(""))
    parent = ""
    for line_number, line in numbered_lines(decode(data)):
        if not line:
            continue
        gpu, mig = _GPU.match(line), _MIG.match(line)
        if gpu:
            parent = _add_gpu(reading, line_number, *gpu.groups())
        elif mig and parent:
            path = f"{parent}/mig:{int(mig.group(2))}"
            device = Entity(path, {"uuid": mig.group(3)}, {"profile": mig.group(1)})
            reading.add(device, line_number)
        else:
            reading.note(
                "malformed",
                "not a line of this list; `GPU <n>: <name> (UUID: ...)` was expected",
                line=line_number,
                verbatim=line,
            )
    if not parent:
        return failed(KIND, UNREADABLE, "empty", "no GPU line found")
    paths = [one.path for one in reading.entities]
    node.values["mig_device_count"] = sum("/mig:" in path for path in paths)
    node.values["gpu_count"] = sum(path.startswith("gpu:") and "/" not in path for path in paths)
    return reading


def _add_gpu(reading: Reading, line: int, index: str, name: str, uuid: str) -> str:
    entity = Entity(f"gpu:{int(index)}", {"uuid": uuid}, {"name": name or None})
    if not name:
        entity.notes["name"] = "unreadable"
        reading.note(
            "unreadable_value",
            "the GPU has an empty name",
            line=line,
            entity=entity.path,
            field="name",
        )
    return reading.add(entity, line).path
