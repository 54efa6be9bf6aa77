# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `nvidia-smi --version`: versions of the program, the library and the driver.

Format: four `label : version` lines; driver 610 adds KMD and CUDA UMD and puts a
deprecation into the old lines. Without a driver its lines say N/A or an error.
Seen: driver 550 to 610. Source: nvidia-smi(1).
"""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import (
    _nvidia_text,
    _pasted,
    _plain,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data, absence, decode

KIND = "nvidia-smi-version"
TITLE = "nvidia-smi --version: versions of program, library and driver"
VERSIONS = "driver 550 to 610"
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
_DEPRECATED = re.compile(r"^\[?Deprecated\b.*|\s*\[Deprecated.*$", re.IGNORECASE)
_SMI = re.compile(r"(?i)NVIDIA-SMI version[ \t]*: ")
_OTHERS = re.compile(r"(?i)(?:NVML|DRIVER|KMD) version[ \t]*: ")
_VERSION = re.compile(r"^[0-9]{1,4}(?:\.[0-9]{1,4}){0,3}$")


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    head = text[:4000]
    if not _SMI.search(head):
        return 0
    return 97 if _OTHERS.search(head) else 70


def read(data: Data) -> Reading:
    """Read one output; entity "". Of several outputs that differ the first is kept."""
    reading = Reading(KIND, tool_name="nvidia-smi")
    node = Entity("")
    words: dict[str, tuple[str, int]] = {}
    strange: list[tuple[int, str]] = []
    for number, line in _pasted.lines(data):
        pair = _plain.label(line)
        label = pair[0].lower() if pair else ""
        if pair is None or label not in _LABELS:
            if not _nvidia_text.error_of_tool(reading, number, line):
                strange.append((number, line))
        elif words.setdefault(label, (pair[1], number))[0] != pair[1]:
            says = f"`{pair[0]}` appears with two values; the first is kept"
            where = {"line": number, "field": _LABELS[label], "verbatim": pair[1]}
            _plain.note(reading, "inconsistent", says, **where)
    first = min((number for _word, number in words.values()), default=0)
    for number, line in strange:
        if number > first and not _nvidia_text.is_frame(line):  # before it stand a person's words
            _pasted.strange(reading, number, line, "a label of nvidia-smi --version")
    if "nvidia-smi version" not in words:
        return _nvidia_text.nothing(reading, "`NVIDIA-SMI version :`", decode(data)[:20000])
    for label, name in _LABELS.items():
        if label in words and not node.values.get(name):
            _put(reading, node, name, *words[label])
    _compare(reading, node)
    return _finish(reading, node)


def _put(reading: Reading, node: Entity, name: str, text: str, number: int) -> None:
    """Put a version; the old labels of driver 610 have none, but say where it is."""
    word = _DEPRECATED.sub("", text).partition(", see ")[0].strip()
    if not word and name in node.values:
        return
    gone = absence(word.strip("[]")) or (None if word else "not_supported")
    known = bool(_VERSION.match(word))
    node.values[name] = None if gone else word
    node.notes.pop(name, None)
    where = {"line": number, "field": name, "verbatim": text}
    if gone:
        node.notes[name] = gone
    elif not known:
        node.notes[name] = "verbatim"
        _plain.note(reading, "unknown_value", f"{name} is no version that is known", **where)
    if gone == "unreadable":
        _plain.note(reading, "unreadable_value", f"{name} could not be found out", **where)


def _compare(reading: Reading, node: Entity) -> None:
    names = ("smi_version", "nvml_version", "driver_version")
    missing = [name for name in names if name not in node.values]
    if missing:
        _plain.note(reading, "truncated", f"it does not tell {', '.join(missing)}")
    smi, nvml, driver = (str(node.values.get(name) or "").split(".") for name in names)
    known = all(node.values.get(name) for name in names)
    # The library has no last number: 580.126 and 580.126.09 are of one version.
    node.values["versions_equal"] = smi == driver and smi[: len(nvml)] == nvml if known else None


def _finish(reading: Reading, node: Entity) -> Reading:
    version = node.values.get("smi_version")
    reading.tool_version = version if isinstance(version, str) else None
    reading.add(node)
    return reading
