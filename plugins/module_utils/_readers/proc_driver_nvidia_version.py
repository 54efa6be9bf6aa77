# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of /proc/driver/nvidia/version: the NVIDIA kernel module that is loaded.

Format: `NVRM version: NVIDIA UNIX x86_64 Kernel Module  520.56.06  DATE`, or `NVIDIA
UNIX Open Kernel Module for x86_64  580.159.03  Release Build  (builder)  DATE`, and
`GCC version:` with the compiler that built it (clang names itself there, too; Jetson
may have an error of the linker there). Seen: drivers 169 to 610, Jetson 34 to 540.
Source: NVIDIA/open-gpu-kernel-modules, nv-procfs.c.
"""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import (
    _nvidia_text,
    _pasted,
    _plain,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    ABSENT,
    UNREADABLE,
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data

KIND = "proc-driver-nvidia-version"
TITLE = "/proc/driver/nvidia/version: the loaded NVIDIA driver"
VERSIONS = "drivers 169 to 610, Jetson 34 to 540"
SOURCES = ("https://github.com/NVIDIA/open-gpu-kernel-modules kernel-open/nvidia/nv-procfs.c",)
PROVEN = True
FIELDS = {
    "node": {
        "driver_version": Field(str, "driver that is loaded"),
        "kernel_module": Field(str, "flavour of the modules", values=("open", "proprietary")),
        "architecture": Field(str, "machine that it was built for; null where it is not told"),
        "build": Field(str, "kind of build, where it is told"),
        "built": Field(str, "when it was built, as printed"),
        "compiler": Field(str, "compiler that built it, as printed"),
        "compiler_version": Field(str, "its version; null where the line has none"),
    }
}
_NVRM = re.compile(
    r"NVRM version: {0,8}NVIDIA (?:UNIX|Linux) {1,4}(?:(?P<open>Open) )?(?:(?P<before>\S{1,20}) )?"
    r"(?:nvidia\.o )?Kernel Module(?: for (?P<after>\S{1,20}))?"
    r"\s{1,8}(?P<version>[0-9]{1,4}\.[0-9]{1,4}(?:[.-][0-9]{1,4})?)(?P<rest>(?:\s.*)?)$"
)
_DATE = re.compile(r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) +[A-Z][a-z]{2} +[0-9].{1,28}$")
_COMPILER = re.compile(r"\bversion ([0-9]{1,3}(?:\.[0-9]{1,3}){0,3})")
_LABEL = re.compile(r"\b(NVRM|GCC) version: *(.*)$")
_ABSENT = re.compile(r"(?:No such file or directory|cannot open|can't open)", re.IGNORECASE)
_PLACE = "/proc/driver/nvidia/version"


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    if len(text) < 20000 and re.search(r"NVRM version: {0,8}NVIDIA ", text):
        return 97
    return 95 if len(text) < 1000 and _PLACE in text else 0


def read(data: Data) -> Reading:
    """Read the file; entity "". Of several nodes the first is kept."""
    reading = Reading(KIND)
    node = Entity("")
    for number, line in _joined(_pasted.lines(data)):
        found = _LABEL.search(line)
        nvrm = _NVRM.search(line)
        if nvrm:
            _keep(reading, node, _version(nvrm), number, line)
        elif found and found.group(1) == "GCC":
            _keep(reading, node, _compiler(found.group(2).strip()), number, line)
        elif found:
            says = "no driver version in the line"
            _plain.note(reading, "malformed", says, line=number, verbatim=line.strip())
        elif _PLACE in line and _ABSENT.search(line):
            says = "no NVIDIA driver is loaded"
            _plain.note(reading, "tool_absent", says, line=number, verbatim=line.strip())
        elif node.values and not _nvidia_text.is_frame(line):  # before it stand a person's words
            wanted = "`NVRM version:` or `GCC version:`"
            _pasted.strange(reading, number, line, wanted)
    return _finish(reading, node)


def _joined(lines: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """Join what a terminal or a page wrapped: the builder and the date begin no line."""
    found: list[tuple[int, str]] = []
    for number, line in lines:
        word = line.strip(" \t>|")
        goes_on = word.startswith(("(", "Release Build")) or _DATE.match(word)
        if goes_on and found and "NVRM version:" in found[-1][1]:
            found[-1] = (found[-1][0], f"{found[-1][1]} {word}")
        else:
            found.append((number, line))
    return found


def _keep(
    reading: Reading, node: Entity, values: dict[str, str | None], number: int, line: str
) -> None:
    known = {name: node.values[name] for name in values if name in node.values}
    if known and known != values:
        says = "the line comes again with other values; the first is kept"
        _plain.note(reading, "inconsistent", says, line=number, verbatim=line.strip())
    elif not known:
        node.values.update(values)


def _version(found: re.Match[str]) -> dict[str, str | None]:
    rest = found.group("rest").strip()
    date = _DATE.search(rest)
    build = rest[: date.start()] if date else rest
    build = re.sub(r"\s*\([^)]*\)?\s*", " ", build).strip()
    return {
        "driver_version": found.group("version"),
        "kernel_module": "open" if found.group("open") else "proprietary",
        "architecture": found.group("after") or found.group("before"),
        "built": date.group(0).strip() if date else None,
        "build": build[:100] or None,
    }


def _compiler(text: str) -> dict[str, str | None]:
    found = _COMPILER.search(text)
    return {"compiler": text[:200] or None, "compiler_version": found.group(1) if found else None}


def _finish(reading: Reading, node: Entity) -> Reading:
    if "driver_version" in node.values:
        if "compiler" not in node.values:
            _plain.note(reading, "missing_value", "no line `GCC version:`", field="compiler")
        reading.add(node)
    elif any(one.code == "tool_absent" for one in reading.problems):
        reading.quality = ABSENT
    else:
        reading.note("other_format", "no line `NVRM version:` with a version")
        reading.quality = UNREADABLE
    return reading
