# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of amd-smi's text: `metric`, `static`, `list` (trees), `monitor` and `topology` (tables).

Traps: amd-smi counts each partition of a GPU as a GPU of its own unless it
prints a column XCP; `...` in a pasted output means that rows were left out.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils import _identity
from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _amd_gpu
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    ERROR,
    UNREADABLE,
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import (
    Data,
    absence,
    decode,
    number,
    numbered_lines,
)

KIND = "amd-smi-text"
TITLE = "AMD GPUs by amd-smi, text"
VERSIONS = "amd-smi of ROCm 6.0 to 7.2"
SOURCES = ("https://rocm.docs.amd.com/projects/amdsmi/en/latest/how-to/amdsmi-cli-tool.html",)
PROVEN = True
FIELDS = {
    **_amd_gpu.FIELDS,
    "partition": _amd_gpu.FIELDS["gpu"],
    "link": {
        "access": Field(str, "enabled or disabled: whether one can reach the other's memory"),
        "weight": Field(int, "weight; more is farther"),
        "hops": Field(int, "hops"),
        "type": Field(str, "xgmi or pcie"),
        "numa_bandwidth": Field(str, "least and greatest bandwidth, as printed"),
    },
}
_TABLES = {
    "ACCESS TABLE": "access",
    "WEIGHT TABLE": "weight",
    "HOPS TABLE": "hops",
    "LINK TYPE TABLE": "type",
    "NUMA BW TABLE": "numa_bandwidth",
}
_GPU = re.compile(r"^GPU:\s*([0-9]{1,4})\s*$")
_KEY = re.compile(r"^( +)([A-Za-z][\w /.%-]{0,60}?):(?: +(.*))?$", re.ASCII)
_MONITOR = re.compile(
    r"^\s*(?:TIMESTAMP +)?GPU +(?:XCP +)?(?:POWER|PVIOL|GPU_T|GPU_TEMP|GFX|MEM|VRAM|SINGLE|PCIE)"
)
_CELL = re.compile(r"\S+(?: (?:W|°C|C|%|MB|GB|MHz|Mb/s|V)(?= |$))?")
_ERROR = re.compile(
    r"AMDSMI_STATUS_(?!SUCCESS)[A-Z_]+|[Aa]md[Ss]mi\w*Exception|Unable to (?:detect|find) any GPU"
    r"|amdgpu (?:driver )?(?:is )?not (?:initialized|loaded)"
)


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    if re.search(r"(?m)^\$ amd-smi ", text):
        return 94
    if re.search(r"(?m)^GPU: [0-9]{1,4}\s*\n +[A-Z][A-Z_]+:", text):
        return 93
    if "LINK TYPE TABLE:" in text or "ACCESS TABLE:" in text:
        return 92
    head = text[:4000].split("\n")
    return 91 if any(_MONITOR.match(line) for line in head) else 0


def read(data: Data) -> Reading:
    """Read one output; entities `gpu:N`, `gpu:N/clock:<engine>`, `link:<a>--<b>`."""
    text = _Text()
    for line_number, line in numbered_lines(decode(data)):
        text.take(line_number, line)
    return text.finish()


class _Text:
    """Reads line by line; a tree is gathered per GPU, a table row by row."""

    def __init__(self) -> None:
        self.reading = Reading(KIND)
        self.gpu: int | None = None
        self.gpu_line = 0
        self.tree: dict[str, t.Any] = {}
        self.stack: list[tuple[int, dict[str, t.Any]]] = []
        self.columns: list[str] = []
        self.table: str | None = None
        self.peers: list[str] = []

    def take(self, line_number: int, line: str) -> None:
        """Take one line."""
        gpu = _GPU.match(line)
        if gpu:
            self._close()
            self.gpu, self.gpu_line = int(gpu.group(1)), line_number
            self.tree = {}
            self.stack = [(-1, self.tree)]
            self.columns, self.table = [], None
        elif line.strip().rstrip(":") in _TABLES:
            self.table, self.peers = _TABLES[line.strip().rstrip(":")], []
        elif _MONITOR.match(line):
            self._close()
            self.columns = [one.lower() for one in line.split()]
        elif line.strip() == "...":
            self.reading.note("truncated", "`...` stands for rows left out", line=line_number)
        elif _ERROR.search(line):
            self.reading.note(
                "tool_error", "amd-smi reported an error", line=line_number, verbatim=line.strip()
            )
        elif line.strip() and not line.startswith("$"):
            self._body(line_number, line)

    def _body(self, line_number: int, line: str) -> None:
        if self.gpu is not None:
            self._key(line)
        elif self.table is not None:
            self._peer(line_number, line.split())
        elif self.columns:
            self._row(line_number, line)

    def _key(self, line: str) -> None:
        found = _KEY.match(line)
        if found is None:
            return
        indent, key, value = len(found.group(1)), found.group(2).lower(), found.group(3)
        while len(self.stack) > 1 and self.stack[-1][0] >= indent:
            self.stack.pop()
        parent = self.stack[-1][1]
        if value is not None and value.strip():
            parent.setdefault(key, value.strip())
        elif len(self.stack) < 12:
            child: dict[str, t.Any] = {}
            parent[key] = child
            self.stack.append((indent, child))

    def _close(self) -> None:
        """Keep the GPU whose tree has ended."""
        if self.gpu is None:
            return
        entity = Entity(f"gpu:{self.gpu}")
        if self.reading.add(entity, self.gpu_line) is entity:
            _amd_gpu.fill(self.reading, entity, self.tree)
        self.gpu = None

    def _row(self, line_number: int, line: str) -> None:
        cells = _CELL.findall(line)
        if len(cells) != len(self.columns):
            self.reading.note(
                "malformed",
                f"a row of {len(cells)} cells below {len(self.columns)} columns",
                line=line_number,
                verbatim=line.strip(),
            )
            return
        row = dict(zip(self.columns, cells))
        index, part = number(row.get("gpu", "")), number(row.get("xcp", ""))
        if not isinstance(index, int) or not 0 <= index < 10_000:
            self.reading.note("malformed", "a row without the number of a GPU", line=line_number)
            return
        path = f"gpu:{index}"
        if part is not None and self.reading.entity(path) is not None:
            path = f"{path}/partition:{int(part)}"
        entity = Entity(path)
        if self.reading.add(entity, line_number) is entity:
            _amd_gpu.fill(self.reading, entity, row)

    def _peer(self, line_number: int, words: list[str]) -> None:
        addresses = [_identity.pci_address(one) for one in words]
        if words and None not in addresses:  # the heading of the columns
            self.peers = [one for one in addresses if one is not None]
            return
        own = addresses[0] if addresses else None
        if own is None or len(words) != len(self.peers) + 1:
            self.reading.note(
                "malformed",
                f"a row of {len(words)} cells, not an address and {len(self.peers)} cells",
                line=line_number,
                verbatim=" ".join(words),
            )
            return
        gpu = self.reading.entity(f"gpu:{own}")
        if gpu is None:
            self.reading.add(Entity(f"gpu:{own}", ids={"pci": own}))
        for peer, word in zip(self.peers, words[1:]):
            if own < peer:  # each pair once
                self._link(own, peer, word)

    def _link(self, own: str, peer: str, word: str) -> None:
        path = f"link:gpu:{own}--gpu:{peer}"
        link = self.reading.entity(path) or self.reading.add(Entity(path))
        name = self.table or ""
        missing = absence(word)
        if missing:
            link.values[name], link.notes[name] = None, missing
        elif name in ("weight", "hops"):
            value = number(word)
            link.values[name] = int(value) if value is not None else None
        else:
            link.values[name] = word if name == "numa_bandwidth" else word.lower()

    def finish(self) -> Reading:
        """Sum up."""
        self._close()
        gpus = [one for one in self.reading.entities if re.match(r"^gpu:[^/]*$", one.path)]
        if gpus:
            node = Entity("", values={"logical_gpu_count": len(gpus)})
            self.reading.entities.insert(0, node)
        elif any(one.code == "tool_error" for one in self.reading.problems):
            self.reading.quality = ERROR
        else:
            self.reading.note("other_format", "no GPU in this text")
            self.reading.quality = UNREADABLE
        return self.reading
