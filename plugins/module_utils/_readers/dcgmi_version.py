# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `dcgmi -v`: versions of DCGM's client and of the host engine that it asked.

Format: `Label : value` lines, and the same labels again below `Hostengine build
info:`. Versions: DCGM 2.4 to 4.7. Source: dcgmi(8).
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

KIND = "dcgmi-version"
TITLE = "dcgmi -v: versions of DCGM"
VERSIONS = "DCGM 2.4 to 4.7"
SOURCES = ("dcgmi(8)",)
PROVEN = True
_LABELS = {
    "Version": "version",
    "Build ID": "build",
    "Build Date": "built",
    "Build Type": "build_type",
    "Commit ID": "commit",
    "Branch Name": "branch",
    "CPU Arch": "architecture",
}
_TYPES = {
    "version": Field(str, "version"),
    "build": Field(str, "number of the build"),
    "built": Field(str, "when it was built, as printed"),
    "build_type": Field(str, "Release, Debug, as printed"),
    "commit": Field(str, "commit it was built from"),
    "branch": Field(str, "branch it was built from"),
    "architecture": Field(str, "machine it was built for"),
}
FIELDS = {
    "node": {
        "dcgm_version": Field(str, "version of the client"),
        "hostengine_version": Field(str, "version of the host engine; null where it is not told"),
        "versions_equal": Field(bool, "client and host engine are one version"),
    },
    "program": dict(_TYPES),
}
# Errors of the client that stand in place of the host engine's part.
_ERROR = re.compile(r"^(?:Error|error|Unable to|Failed to|Cannot)\b")
_OTHERS = frozenset({"Build Platform", "CRC"})


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    head = text[:4000]
    if "Hostengine build info" in head:
        return 97
    return 92 if re.search(r"(?m)^\s*Branch Name\s*: rel_dcgm_", head) else 0


def read(data: Data) -> Reading:
    """Read one output. Entities: "", `program:client`, `program:hostengine`."""
    reading = Reading(KIND, tool_name="dcgmi")
    part = Entity("program:client")
    parts = {part.path: part}
    for number, line in _plain.lines(data):
        pair = _plain.label(line)
        if line.strip().startswith("Hostengine build info"):
            part = parts.setdefault("program:hostengine", Entity("program:hostengine"))
        elif pair and pair[0] in _LABELS:
            _plain.put(reading, part, _LABELS[pair[0]], pair[1], _plain.text, number)
        elif _ERROR.match(line.strip()):
            says = "dcgmi reported an error"
            _plain.note(reading, "tool_error", says, line=number, verbatim=line.strip())
        elif not pair or pair[0] not in _OTHERS:
            _plain.malformed(reading, number, line, "a label of dcgmi -v")
    return _whole(reading, [one for one in parts.values() if one.values])


def _whole(reading: Reading, parts: list[Entity]) -> Reading:
    versions = {one.path: one.values.get("version") for one in parts}
    client = versions.get("program:client")
    if not client:
        return _plain.nothing(reading, "`Version :`")
    engine = versions.get("program:hostengine")
    node = Entity("", values={"dcgm_version": client, "hostengine_version": engine})
    node.values["versions_equal"] = client == engine if engine else None
    if not engine and not reading.problems:
        _plain.note(reading, "missing_value", "the host engine is not told of", field="version")
    reading.add(node)
    for part in parts:
        reading.add(part)
    reading.tool_version = str(client)
    return reading
