# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `nvidia-smi --version`: versions of the program, the library and the driver.

Format: four `label : version` lines; driver 610 adds KMD and CUDA UMD and puts a
deprecation into the old lines. Versions: driver 535 to 620. Source: nvidia-smi(1).
"""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _plain
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data

KIND = "nvidia-smi-version"
TITLE = "nvidia-smi --version: versions of program, library and driver"
VERSIONS = "driver 535 to 620"
SOURCES = ("nvidia-smi(1)",)
PROVEN = True
FIELDS = {
    "node": {
        "smi_version": Field(str, "version of nvidia-smi"),
        "nvml_version": Field(str, "version of the library, without its last number"),
        "driver_version": Field(str, "driver that is loaded; null where none answers"),
        "cuda_version": Field(str, "newest CUDA that the driver serves"),
        "versions_equal": Field(bool, "program, library and driver are of one version"),
    }
}
_LABELS = {
    "nvidia-smi version": "smi_version",
    "nvml version": "nvml_version",
    "kmd version": "driver_version",
    "driver version": "driver_version",
    "cuda umd version": "cuda_version",
    "cuda version": "cuda_version",
}
_DEPRECATED = re.compile(r"^Deprecated\b|\s*\[Deprecated.*$")


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    head = text[:2000]
    found = re.search(r"(?m)^NVIDIA-SMI version\s+: ", head)
    return 97 if found and re.search(r"(?m)^NVML version\s+: ", head) else 0


def read(data: Data) -> Reading:
    """Read one output; entity ""."""
    reading = Reading(KIND, tool_name="nvidia-smi")
    node = Entity("")
    for number, line in _plain.lines(data):
        pair = _plain.label(line)
        name = _LABELS.get(pair[0].lower()) if pair else None
        if pair is None or name is None:
            _plain.malformed(reading, number, line, "a label of nvidia-smi --version")
            continue
        word = _DEPRECATED.sub("", pair[1]).partition(", see ")[0].strip()
        if word or name not in node.values:
            node.values.pop(name, None)
            node.notes.pop(name, None)
            _plain.put(reading, node, name, word, _version, number)
    if "smi_version" not in node.values:
        return _plain.nothing(reading, "`NVIDIA-SMI version :`")
    _compare(reading, node)
    reading.add(node)
    return reading


def _version(word: str) -> str | None:
    return word if re.match(r"^[0-9]{1,4}(?:\.[0-9]{1,4}){0,3}$", word) else None


def _compare(reading: Reading, node: Entity) -> None:
    names = ("smi_version", "nvml_version", "driver_version")
    missing = [name for name in names if not node.values.get(name)]
    if "nvml_version" not in node.values or "driver_version" not in node.values:
        _plain.note(reading, "truncated", f"it does not tell {', '.join(missing)}")
    smi, nvml, driver = (str(node.values.get(name)) for name in names)
    known = not missing
    node.values["versions_equal"] = (smi == driver and smi.startswith(nvml)) if known else None
    reading.tool_version = smi
