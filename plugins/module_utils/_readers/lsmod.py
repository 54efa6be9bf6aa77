# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `lsmod` and /proc/modules: what the kernel has loaded, and who uses it.

Format: `Module Size Used by` and one line a module: name, bytes, use count, the
modules that use it; /proc/modules has a state and an address behind them. Versions:
kmod 9 to 34, Linux 3.10 to 6.18. Sources: lsmod(8), proc(5).
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

KIND = "lsmod"
TITLE = "lsmod: loaded kernel modules"
VERSIONS = "kmod 9 to 34"
SOURCES = ("lsmod(8)", "proc(5), /proc/modules")
PROVEN = True
FIELDS = {
    "node": {
        "module_count": Field(int, "modules listed"),
        "nvidia_loaded": Field(bool, "the NVIDIA driver's core module is loaded"),
        "nouveau_loaded": Field(bool, "the kernel's own driver for NVIDIA GPUs is loaded"),
        "amdgpu_loaded": Field(bool, "the driver for AMD GPUs is loaded"),
        "peermem_loaded": Field(bool, "nvidia_peermem or the older nv_peer_mem is loaded"),
    },
    "module": {
        "size_b": Field(int, "memory that it takes", "B"),
        "use_count": Field(int, "references: modules and open handles; null where not printed"),
        "used_by": Field(list, "the modules among them"),
        "open_handles": Field(int, "references that no module holds: use_count less used_by"),
        "state": Field(str, "/proc/modules alone", values=("live", "loading", "unloading")),
    },
}
_HEADER = re.compile(r"^Module\s+Size\s+Used by\s*$")
_LINE = re.compile(
    r"^([A-Za-z0-9_-]{1,64})\s+([0-9]{1,12})\s+(-[0-9]|[0-9]{1,9}|-)"
    r"(?:\s+([A-Za-z0-9_,\[\]-]{1,4000}))?"
    r"(?:\s+(Live|Loading|Unloading)\s+0x[0-9a-f]{1,16}(?:\s+\([A-Z]{1,10}[+-]?\))?)?\s*$"
)
# Marks that older kernels put among the users.
_MARKS = frozenset({"", "-", "[permanent]", "[unsafe]"})


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    if re.search(r"(?m)^Module +Size +Used by\s*$", text[:20000]):
        return 97
    shown = r"(?m)^[a-z0-9_]+ [0-9]+ [0-9]+ \S+ (?:Live|Loading|Unloading) 0x[0-9a-f]+"
    return 95 if re.search(shown, text[:20000]) else 0


def read(data: Data) -> Reading:
    """Read one list. Entities: "", `module:<name>`."""
    reading = Reading(KIND, tool_name="lsmod")
    header = False
    for line_number, line in numbered_lines(decode(data)):
        found = _LINE.match(line)
        if _HEADER.match(line):
            header = True
        elif found:
            _module(reading, line_number, found.groups())
        elif re.search(r"(?:command )?not found$", line):
            reading.note("tool_absent", "lsmod is not installed", line=line_number, verbatim=line)
        elif line.strip():
            code = "malformed" if len(reading.problems) < 50 else "limited"
            reading.note(code, "not a line of lsmod", line=line_number, verbatim=line.strip())
    if not reading.entities and not header:
        absent = [one for one in reading.problems if one.code == "tool_absent"]
        if not absent:
            reading.note("other_format", "neither lsmod's header nor a line of /proc/modules")
        reading.quality = ABSENT if absent else UNREADABLE
        return reading
    reading.entities.insert(0, Entity("", values=dict(_node(reading))))
    return reading


def _module(reading: Reading, line_number: int, words: tuple[str | None, ...]) -> None:
    name, size, count, users, state = words
    entity = Entity("module:" + str(name).replace("-", "_"))
    entity.values["size_b"] = int(str(size))
    used_by = [one for one in (users or "").split(",") if one not in _MARKS]
    uses = None if count is None or count.startswith("-") else int(count)
    entity.values["use_count"] = uses
    entity.values["used_by"] = list(used_by)
    entity.values["open_handles"] = None if uses is None else max(uses - len(used_by), 0)
    if state:
        entity.values["state"] = state.lower()
    kept = reading.add(entity, line_number)
    if kept is entity and uses is not None and uses < len(used_by):
        says = f"{len(used_by)} modules use it, but the use count is {uses}"
        reading.note("inconsistent", says, line=line_number, entity=entity.path)


def _node(reading: Reading) -> dict[str, bool | int]:
    names = {entity.path.partition(":")[2] for entity in reading.entities}
    return {
        "module_count": len(names),
        "nvidia_loaded": bool(names & {"nvidia", "nvidia_current"}),
        "nouveau_loaded": "nouveau" in names,
        "amdgpu_loaded": "amdgpu" in names,
        "peermem_loaded": bool(names & {"nvidia_peermem", "nv_peer_mem"}),
    }
