# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `dcgmi discovery -l`: GPUs and switches that DCGM sees.

Format: `8 GPUs found.`, a table of `| id | label: value |` rows, and the same for NvSwitches
and CPUs. Versions: DCGM 2.0 to 4.7. Source: dcgmi(8), discovery.
"""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._identity import pci_address
from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _plain
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    ERROR,
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data

KIND = "dcgmi-discovery"
TITLE = "dcgmi discovery: GPUs that DCGM sees"
VERSIONS = "DCGM 2.0 to 4.7"
SOURCES = ("dcgmi(8), discovery",)
PROVEN = True
FIELDS = {
    "node": {
        "gpu_count": Field(int, "GPUs that DCGM says it found"),
        "nvswitch_count": Field(int, "switches that it says it found"),
        "cpu_count": Field(int, "processors that it says it found"),
    },
    "gpu": {"name": Field(str, "product name")},
    "nvswitch": {"id": Field(int, "DCGM's number of the switch")},
}
_FOUND = re.compile(r"^([0-9]{1,4}) (GPUs?|NvSwitche?s?|CPUs?|ConnectX|NvLinks?) found\.?$")
_COUNTS = {"GPU": "gpu_count", "NvS": "nvswitch_count", "CPU": "cpu_count"}
_ROW = re.compile(r"^\|\s*([0-9]{0,5})\s*\|\s?(.*?)\s*\|$")
_SWITCH = re.compile(r"^\|\s*([0-9]{1,5})\s*\|$")
_RULE = re.compile(r"^\+[-=+]*\+?$")
_TITLE = re.compile(r"^\|\s*(?:GPU|Switch|CPU|ConnectX) ID\s*\|")
_ERROR = re.compile(r"^(?:Error|Unable)\b")


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    head = text[:20000]
    return 96 if re.search(r"(?m)^[0-9]+ GPUs? found\.?\s*$", head) else 0


def read(data: Data) -> Reading:
    """Read one output. Entities: "", `gpu:N`, `nvswitch:N`."""
    reading = Reading(KIND, tool_name="dcgmi")
    node = Entity("")
    gpu: Entity | None = None
    for number, line in _plain.lines(data):
        word = line.strip()
        found, row, switch = _FOUND.match(word), _ROW.match(word), _SWITCH.match(word)
        if found:
            name = _COUNTS.get(found.group(2)[:3])
            node.values.update({name: int(found.group(1))} if name else {})
        elif _ERROR.match(word):
            _plain.note(reading, "tool_error", "dcgmi said an error", line=number, verbatim=word)
        elif switch:
            path = f"nvswitch:{int(switch.group(1))}"
            reading.add(Entity(path, values={"id": int(switch.group(1))}), number)
        elif row and row.group(2):
            gpu = _row(reading, gpu, row, number)
        elif not _RULE.match(word) and not _TITLE.match(word) and not re.match(r"^\|\s*\|", word):
            _plain.malformed(reading, number, line, "a line of dcgmi discovery")
    if not node.values:
        return _plain.nothing(reading, "`<n> GPUs found.`")
    return _compare(reading, node)


def _row(reading: Reading, gpu: Entity | None, row: re.Match[str], number: int) -> Entity | None:
    if row.group(1):
        gpu = reading.add(Entity(f"gpu:{int(row.group(1))}"), number)
    pair = _plain.label(row.group(2))
    if gpu is None or pair is None:
        return gpu
    label, value = pair
    if label == "Name":
        gpu.values["name"] = value or None
    elif label == "PCI Bus ID":
        gpu.ids["pci"] = pci_address(value)
    elif label == "Device UUID":
        gpu.ids["uuid"] = value or None
    return gpu


def _compare(reading: Reading, node: Entity) -> Reading:
    gpus = [one for one in reading.entities if one.path.startswith("gpu:")]
    told = node.values.get("gpu_count")
    if isinstance(told, int) and told != len(gpus):
        code = "truncated" if told > len(gpus) else "inconsistent"
        _plain.note(reading, code, f"it says {told} GPUs, and {len(gpus)} are listed")
    reading.entities.insert(0, node)
    if not gpus and any(one.code == "tool_error" for one in reading.problems):
        reading.quality = ERROR
    return reading
