# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `lsmod` and /proc/modules: what the kernel has loaded, and who uses it.

Format: `Module Size Used by` and one line a module: name, bytes, use count, the
modules that use it; /proc/modules has a state and an address behind them. Of a part of the
list (`lsmod | grep`, without its header) only what is there is concluded. Versions: kmod 9 to
34, BusyBox, Linux 3.10 to 6.18. Sources: lsmod(8), proc(5).
"""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _pasted, _plain
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data

KIND = "lsmod"
TITLE = "lsmod: loaded kernel modules"
VERSIONS = "kmod 9 to 34"
SOURCES = ("lsmod(8)", "proc(5), /proc/modules")
PROVEN = True
FIELDS = {
    "node": {
        "module_count": Field(int, "modules listed"),
        "nvidia_loaded": Field(
            bool, "the NVIDIA driver's core module is loaded; null: part of a list"
        ),
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
_HEADER = re.compile(r"^Module\s+Size\s+Used by(?:\s+(?:Tainted: |Not tainted).*)?\s*$")
_LINE = re.compile(
    r"^([A-Za-z0-9_-]{1,64})\s+([0-9]{1,12})\s+(-[0-9]|[0-9]{1,9}|-)"
    r"(?:\s+([A-Za-z0-9_,\[\]-]{1,4000}))?"
    r"(?:\s+(Live|Loading|Unloading)\s+0x[0-9a-f]{1,16}(?:\s+\([A-Z]{1,10}[+-]?\))?)?\s*$"
)
# Marks that older kernels put among the users.
_MARKS = frozenset({"", "-", "[permanent]", "[unsafe]"})
# Of a part of the list, without its header: these tell that it is one.
_TELLING = re.compile(
    r"(?m)^(?:nvidia(?:_[a-z0-9_]+)?|nouveau|amdgpu|gdrdrv|nv_peer_mem|mlx[45]_(?:core|ib)|ib_core"
    r"|rdma_cm|i915|ast|vfio|bonding)\s+[0-9]{4,9}\s+[0-9]{1,6}(?:\s+[a-z0-9_,]+)?\s*$"
)
_FILTERED = re.compile(
    r"\b(?:lsmod|/proc/modules)\b.{0,60}\b(?:e?grep|awk|head|tail)\b|\bgrep\b.*modules"
)
# No machine with a GPU has fewer modules than this: less is a part of the list.
_FEW = 8


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    head = _pasted.text_of(text[:20000])
    if re.search(r"(?m)^\s*Module\s+Size\s+Used by\b", head):
        return 97
    shown = r"(?m)^\s*[a-z0-9_]+\s+[0-9]+\s+[0-9]+\s+\S+\s+(?:Live|Loading|Unloading)\s+0x[0-9a-f]+"
    if re.search(shown, head):
        return 95
    lines = [line for line in head.split("\n") if not _pasted.is_noise(line)]
    rows = sum(bool(_LINE.match(line)) for line in lines)
    return 80 if rows and rows * 10 >= len(lines) * 9 and _TELLING.search(head) else 0


def read(data: Data) -> Reading:
    """Read one list. Entities: "", `module:<name>`."""
    reading = Reading(KIND, tool_name="lsmod")
    header = filtered = False
    for number, line in _pasted.lines(data):
        found = _LINE.match(line.strip())
        if _HEADER.match(line.strip()):
            header = True
        elif found:
            _module(reading, number, found.groups())
        elif _FILTERED.search(line):
            filtered = True
        elif re.match(r"^(?:libkmod: ERROR|lsmod: |Error: )", line.strip()):
            says = "the list could not be read"
            _plain.note(reading, "tool_error", says, line=number, verbatim=line.strip())
        elif line.strip() != "lsmod":
            _pasted.strange(reading, number, line, "a line of lsmod")
    if not reading.entities and not header:
        return _plain.nothing(reading, "lsmod's header, or a line of /proc/modules")
    live = any("state" in one.values for one in reading.entities)
    whole = not filtered and (header or (live and len(reading.entities) >= _FEW))
    if not whole:
        says = "a part of the list: whether other modules are loaded is not told"
        _plain.note(reading, "missing_value", says)
    reading.entities.insert(0, Entity("", values=dict(_node(reading, whole))))
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


def _node(reading: Reading, whole: bool) -> dict[str, bool | int | None]:
    names = {entity.path.partition(":")[2] for entity in reading.entities}

    def loaded(*wanted: str) -> bool | None:
        return bool(names & set(wanted)) or (False if whole else None)

    return {
        "module_count": len(names),
        "nvidia_loaded": loaded("nvidia", "nvidia_current"),
        "nouveau_loaded": loaded("nouveau"),
        "amdgpu_loaded": loaded("amdgpu"),
        "peermem_loaded": loaded("nvidia_peermem", "nv_peer_mem"),
    }
