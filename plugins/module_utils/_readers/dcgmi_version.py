# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `dcgmi -v`: versions of DCGM's client and of the host engine that it asked.

Format: `Label : value` lines (4.7: below `Local build info:`), and the same labels again below
`Hostengine build info:`; of `dcgmi --version` one line. Versions: DCGM 2.4 to 4.7. Sources:
dcgmi(8), NVIDIA/DCGM dcgmi/Version.cpp.
"""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import (
    _dcgm_text,
    _pasted,
    _plain,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data

KIND = "dcgmi-version"
TITLE = "dcgmi -v: versions of DCGM"
VERSIONS = "DCGM 2.4 to 4.7"
SOURCES = (
    "dcgmi(8)",
    "https://github.com/NVIDIA/DCGM dcgmi/Version.cpp",
    "https://github.com/NVIDIA/DCGM/issues/314",
)
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
_OTHERS = frozenset({"Build Platform", "CRC"})
_TITLE = re.compile(
    r"^(?:(dcgmi|nv-hostengine)\s+version:\s*([0-9][0-9A-Za-z.+-]{0,30})"
    r"|(Local|Hostengine) build info\b.*)$"
)
_ENGINE = ("nv-hostengine", "Hostengine")
_ASKED = re.compile(r"\bnv-hostengine\s+(?:--version|-v)\b")
_LOOKS = (r"Build ID\s*:", r"Commit ID\s*:", r"Branch Name\s*:")


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    head = _pasted.text_of(text[:4000])
    if "Hostengine build info" in head or re.search(r"(?m)^\s*Local build info:\s*$", head):
        return 97
    if sum(bool(re.search(rf"(?m)^\s*{label}", head)) for label in _LOOKS) > 1:
        return 92
    return 92 if re.search(r"(?m)^(?:dcgmi|nv-hostengine)\s+version: [0-9]", head) else 0


def read(data: Data) -> Reading:
    """Read one output. Entities: "", `program:client`, `program:hostengine`."""
    reading = Reading(KIND, tool_name="dcgmi")
    part = Entity("program:client")
    parts = {part.path: part}
    last = ""
    for number, line in _pasted.lines(data):
        pair, word = _plain.label(line), line.strip()
        title = _TITLE.match(word)
        if title:
            part = _part(parts, title.group(1) or title.group(3))
            part.values.update({"version": title.group(2)} if title.group(2) else {})
        elif pair and pair[0] in _LABELS:
            name = _LABELS[pair[0]]
            if name == "version" and "build" in part.values:  # a block without its title
                part = _part(parts, "Hostengine")
            _plain.put(reading, part, name, pair[1], _plain.text, number)
        elif _ASKED.search(word):
            part = _part(parts, "nv-hostengine")
        elif (pair and pair[0] in _OTHERS) or _dcgm_text.is_rule(word):
            pass
        # A long `Build Platform` may go on in the next line.
        elif not _dcgm_text.error(reading, number, word) and last != "Build Platform":
            _pasted.strange(reading, number, line, "a label of dcgmi -v")
        last = pair[0] if pair else ""
    return _whole(reading, [one for one in parts.values() if one.values])


def _part(parts: dict[str, Entity], name: str) -> Entity:
    path = "program:hostengine" if name in _ENGINE else "program:client"
    return parts.setdefault(path, Entity(path))


def _whole(reading: Reading, parts: list[Entity]) -> Reading:
    versions = {one.path: one.values.get("version") for one in parts}
    client = versions.get("program:client")
    engine = versions.get("program:hostengine")
    if not client and not engine:
        return _plain.nothing(reading, "`Version :`")
    node = Entity("", values={"dcgm_version": client, "hostengine_version": engine})
    node.values["versions_equal"] = client == engine if client and engine else None
    if not client:
        _plain.note(reading, "missing_value", "the client is not told of", field="version")
    elif not engine and not reading.problems:
        _plain.note(reading, "missing_value", "the host engine is not told of", field="version")
    reading.add(node)
    for part in parts:
        reading.add(part)
    reading.tool_version = str(client) if client else None
    return reading
