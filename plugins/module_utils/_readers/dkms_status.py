# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `dkms status`.

Two shapes: `nvidia/580.126.09, 6.8.0-90-generic, x86_64: installed` (dkms 3) and
`nvidia, 470.57.02, 5.4.0-80-generic, x86_64: installed` (dkms 2). `added` has no
kernel. A warning in brackets means that the module in force is not the built one.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    ERROR,
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

KIND = "dkms-status"
TITLE = "Kernel modules that DKMS builds"
VERSIONS = "dkms 2.2 to 3.2"
SOURCES = ("https://github.com/dell/dkms",)
PROVEN = True
_STATES = ("added", "built", "installed", "broken")
FIELDS = {
    "node": {
        "module_count": Field(int, "entries"),
    },
    "dkms": {
        "module": Field(str, "name"),
        "version": Field(str, "version"),
        "kernel": Field(str, "kernel; null where it is built for none"),
        "architecture": Field(str, "machine"),
        "state": Field(str, "how far it has come", None, _STATES),
        "differs_from_built": Field(bool, "another copy of the module is installed than was built"),
        "original_exists": Field(bool, "the kernel's own module was put aside"),
    },
}
_LINE = re.compile(
    r"^([A-Za-z0-9][\w.+-]{0,99})(?:/|, )([\w.+:~-]{1,99})"
    r"(?:, ([\w.+~-]{1,99}), ([\w-]{1,30}))?: ([a-z]{3,20})\b(.*)$",
    re.ASCII,
)


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    lines = [line for line in text.split("\n")[:100] if line.strip()]
    found = [_LINE.match(line) for line in lines]
    if any(one and one.group(5) in _STATES for one in found):
        return 92
    return 90 if "Could not locate dkms.conf" in text and len(lines) < 10 else 0


def read(data: Data) -> Reading:
    """Read one output; entities `dkms:<module>_<version>_<kernel>`."""
    reading = Reading(KIND)
    node = reading.add(Entity(""))
    for line_number, line in numbered_lines(decode(data)):
        found = _LINE.match(line)
        if found:
            _module(reading, line_number, found)
        elif re.match(r"^(?:Error!|dkms: command not found|File: .*does not exist)", line):
            reading.note(
                "tool_error", "dkms reported an error", line=line_number, verbatim=line.strip()
            )
        elif line.strip():
            reading.note(
                "malformed", "not a line of dkms status", line=line_number, verbatim=line.strip()
            )
    count = len(reading.entities) - 1
    node.values["module_count"] = count
    if not count:
        told = any(one.code == "tool_error" for one in reading.problems)
        if not told:
            reading.note("missing_value", "dkms lists no module, or this is another output")
        reading.quality = ERROR if told else UNREADABLE
    return reading


def _module(reading: Reading, line_number: int, found: t.Match[str]) -> None:
    module, version, kernel, architecture, state, rest = found.groups()
    parts = [module, version, kernel or "any"]
    entity = Entity("dkms:" + "_".join(parts).replace(":", "_"))
    entity.values.update(
        {
            "module": module,
            "version": version,
            "kernel": kernel,
            "architecture": architecture,
            "state": state,
            "differs_from_built": "Diff between built and installed" in rest,
            "original_exists": "original_module exists" in rest.lower(),
        }
    )
    if state not in _STATES:
        entity.notes["state"] = "verbatim"
        reading.note(
            "unknown_value",
            "not a state of dkms that we know",
            line=line_number,
            entity=entity.path,
            field="state",
            verbatim=state,
        )
    reading.add(entity, line_number)
