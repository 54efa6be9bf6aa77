# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of /proc/driver/nvidia/version: the NVIDIA kernel module that is loaded.

Format: `NVRM version: NVIDIA UNIX x86_64 Kernel Module  520.56.06  DATE`, or `NVIDIA
UNIX Open Kernel Module for x86_64  580.159.03  Release Build  (builder)  DATE`, and
`GCC version:` with the compiler that built it (clang names itself there, too).
Versions: drivers 340 to 620. Source: NVIDIA/open-gpu-kernel-modules, nv-procfs.c.
"""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    ABSENT,
    UNREADABLE,
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import (
    Data,
    decode,
    numbered_lines,
)

KIND = "proc-driver-nvidia-version"
TITLE = "/proc/driver/nvidia/version: the loaded NVIDIA driver"
VERSIONS = "drivers 340 to 620"
SOURCES = ("https://github.com/NVIDIA/open-gpu-kernel-modules kernel-open/nvidia/nv-procfs.c",)
PROVEN = True
FIELDS = {
    "node": {
        "driver_version": Field(str, "driver that is loaded"),
        "kernel_module": Field(str, "flavour of the modules", values=("open", "proprietary")),
        "architecture": Field(str, "machine that it was built for"),
        "build": Field(str, "kind of build, where it is told"),
        "built": Field(str, "when it was built, as printed"),
        "compiler": Field(str, "compiler that built it, as printed"),
    }
}
_NVRM = re.compile(
    r"NVRM version: NVIDIA UNIX (?:(Open) Kernel Module for (\S{1,20})|(\S{1,20}) Kernel Module)"
    r"\s+([0-9]{3}\.[0-9]{1,4}(?:\.[0-9]{1,3})?)(.*)$"
)
_DATE = re.compile(r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) +[A-Z][a-z]{2} +.{1,30}$")
_ABSENT = re.compile(r"(?:No such file or directory|cannot open|can't open)", re.IGNORECASE)


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    if len(text) < 5000 and re.search(r"(?m)^\s*NVRM version: ", text):
        return 97
    return 95 if len(text) < 1000 and "/proc/driver/nvidia/version" in text else 0


def read(data: Data) -> Reading:
    """Read the file; entity ""."""
    reading = Reading(KIND)
    node = Entity("")
    for line_number, line in numbered_lines(decode(data)):
        label, _colon, rest = line.strip().partition(":")
        found = _NVRM.search(line)
        if found:
            _version(node, found)
        elif label == "GCC version":
            node.values["compiler"] = rest.strip() or None
        elif label == "NVRM version":
            says = "no driver version in the line"
            reading.note("malformed", says, line=line_number, verbatim=line.strip())
        elif "/proc/driver/nvidia/version" in line and _ABSENT.search(line):
            reading.note("tool_absent", "no NVIDIA driver is loaded", line=line_number)
        elif line.strip():
            says = "neither `NVRM version:` nor `GCC version:`"
            reading.note("malformed", says, line=line_number, verbatim=line.strip())
    if "driver_version" in node.values:
        if "compiler" not in node.values:
            reading.note("missing_value", "no line `GCC version:`", field="compiler")
        reading.add(node)
    elif any(one.code == "tool_absent" for one in reading.problems):
        reading.quality = ABSENT
    else:
        reading.note("other_format", "no line `NVRM version:` with a version")
        reading.quality = UNREADABLE
    return reading


def _version(node: Entity, found: re.Match[str]) -> None:
    is_open, open_machine, machine, version, rest = found.groups()
    date = _DATE.search(rest)
    node.values.update(
        {
            "driver_version": version,
            "kernel_module": "open" if is_open else "proprietary",
            "architecture": open_machine or machine,
            "built": date.group(0).strip() if date else None,
        }
    )
    build = rest[: date.start()] if date else rest
    build = re.sub(r"\s*\([^)]*\)\s*", " ", build).strip()
    if build:
        node.values["build"] = build
