# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `numactl -H` and `numactl -s`: NUMA nodes with their CPUs, memory and distances.

Format: `node N cpus: ...`, `node N size: ... MB`, `node N free: ... MB` and a matrix. A MB is
2^20 bytes. Grace Hopper and Grace Blackwell have nodes without CPUs: the GPUs' memory.
Versions: numactl 2.0.9 to 2.0.19. Source: numactl(8), numactl.c.
"""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _pasted, _plain
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    NOT_APPLICABLE,
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data

KIND = "numactl"
TITLE = "NUMA nodes by numactl -H; the policy by numactl -s"
VERSIONS = "numactl 2.0.9 to 2.0.19"
SOURCES = (
    "https://utcc.utoronto.ca/~cks/space/blog/linux/NUMAMemoryInfo",
    "http://what-when-how.com/Tutorial/topic-1317b18a9nc/Expert-Consolidation-in-Oracle-Database-12c-91.html",
)
PROVEN = True
FIELDS = {
    "node": {
        "numa_node_count": Field(int, "NUMA nodes"),
        "cpu_count": Field(int, "CPUs (threads) of all nodes"),
        "memory_total_mib": Field(int, "memory of all nodes", "MiB"),
        "memory_free_mib": Field(int, "free memory of all nodes", "MiB"),
        "nodes_without_cpus": Field(list, "numbers of nodes without CPUs, such as GPU memory"),
        "nodes_without_memory": Field(list, "numbers of nodes without memory"),
        "policy": Field(str, "memory policy of the shell: default, bind, interleave ..."),
        "preferred_node": Field(str, "node that is preferred, or current"),
        "cpu_bind": Field(str, "CPUs that the shell may use"),
        "node_bind": Field(str, "nodes whose CPUs it may use"),
        "memory_bind": Field(str, "nodes whose memory it may use"),
    },
    "numa": {
        "cpus": Field(str, "CPUs as ranges; null for a node without any, such as GPU memory"),
        "cpu_count": Field(int, "CPUs (threads)"),
        "memory_total_mib": Field(int, "memory", "MiB"),
        "memory_free_mib": Field(int, "free memory", "MiB"),
        "distances": Field(list, "to every node in the order of the list; 10 is itself"),
    },
}
_AVAILABLE = re.compile(r"^available: ([0-9]{1,5}) nodes? \(([0-9, -]{1,2000})\)$")
_CPUS = re.compile(r"^node ([0-9]{1,5}) cpus?:((?: [0-9]{1,6}(?:-[0-9]{1,6})?,?)*)(.*)$")
_MORE = re.compile(r"^[0-9]{1,6}(?: [0-9]{1,6})*$")
_MEMORY = re.compile(r"^node ([0-9]{1,5}) (size|free): (.{1,40})$")
_ROW = re.compile(r"^([0-9]{1,5}): ([ 0-9]{1,8000})$")
_HEAD = re.compile(r"^node((?:\s+[0-9]{1,5})+)$")
_SHOW = {
    "policy": "policy",
    "preferred node": "preferred_node",
    "physcpubind": "cpu_bind",
    "nodebind": "node_bind",
    "membind": "memory_bind",
}
_MOST_CPUS = 65_536  # of all nodes; more than any kernel of today can have
_NO_NUMA = "No NUMA support available"


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    joined = _pasted.text_of(text)
    if re.search(r"(?m)^\s*available: [0-9]{1,5} nodes? \(", joined):
        return 97
    if (
        re.search(r"(?m)^\s*node [0-9]{1,5} (?:cpus|size|free):", joined)
        or _NO_NUMA in joined[:2000]
    ):
        return 92
    found = re.search(r"(?m)^\s*physcpubind: ", joined) and re.search(r"(?m)^\s*membind: ", joined)
    return 95 if found else 0


def read(data: Data) -> Reading:
    """Read one output. Entities: "", `numa:N`."""
    table = _Table()
    for number, line in _pasted.lines(data):
        table.take(number, line)
    return table.finish()


class _Table:
    """Collects nodes."""

    def __init__(self) -> None:
        self.reading = Reading(KIND, tool_name="numactl")
        self.node = Entity("")
        self.nodes: dict[int, Entity] = {}
        self.columns: list[int] = []
        self.matrix = False
        self.cpus: re.Match[str] | None = None
        self.cpu_count = 0
        self.broken = ""

    def _numa(self, word: str) -> Entity:
        return self.nodes.setdefault(int(word), Entity(f"numa:{int(word)}"))

    def take(self, number: int, line: str) -> None:
        """Take one line that holds something."""
        word = line.strip()
        available, cpus, memory = _AVAILABLE.match(word), _CPUS.match(word), _MEMORY.match(word)
        if available:
            self.node.values["numa_node_count"] = int(available.group(1))
        elif cpus:
            self.cpus, self.broken = cpus, ""
            self._cpus(number, cpus)
        elif self.cpus is not None and _MORE.match(word):
            self._cpus(number, self.cpus, word)  # the terminal broke the list
        elif memory:
            name = "memory_total_mib" if memory.group(2) == "size" else "memory_free_mib"
            numa = self._numa(memory.group(1))
            _plain.put(self.reading, numa, name, memory.group(3), _mib, number)
        elif not self._matrix(number, word):
            self._other(number, line, word)

    def _matrix(self, number: int, word: str) -> bool:
        """Read a line of the distances; return whether it is one."""
        head, row = _HEAD.match(word), _ROW.match(word)
        if word == "node distances:":
            self.matrix = True
        elif head:
            self.columns = [int(one) for one in head.group(1).split()]
        elif row:
            self._distances(number, row)
        else:
            return False
        return True

    def _other(self, number: int, line: str, word: str) -> None:
        pair = _plain.label(word)
        if word.startswith(_NO_NUMA):
            says = "the kernel or the machine has no NUMA"
            _plain.note(self.reading, "tool_error", says, line=number, verbatim=word)
        elif pair and pair[0] in _SHOW:
            self.node.values[_SHOW[pair[0]]] = pair[1] or None
        elif not _pasted.is_noise(line) and not re.match(r"^(?:cpubind|interleavemask)\b", word):
            _plain.malformed(self.reading, number, line, "a line of numactl")

    def _cpus(self, number: int, found: re.Match[str], more: str = "") -> None:
        self.broken = f"{self.broken} {more}"
        numa = self._numa(found.group(1))
        numbers = _cpu_numbers(found.group(2) + self.broken, max(_MOST_CPUS - self.cpu_count, 0))
        known = numa.values.get("cpu_count")  # the same list, before it went on
        self.cpu_count += len(numbers) - (known if isinstance(known, int) else 0)
        if found.group(3).strip():
            where = {"line": number, "entity": numa.path, "field": "cpus"}
            _plain.note(self.reading, "malformed", "the list of CPUs has no CPU number", **where)
        numa.values["cpus"] = _ranges(numbers) or None
        numa.values["cpu_count"] = len(numbers)

    def _distances(self, number: int, found: re.Match[str]) -> None:
        numa = self._numa(found.group(1))
        numbers = [int(one[:6]) for one in found.group(2).split()]
        numa.values["distances"] = list(numbers)
        if self.columns and len(numbers) != len(self.columns):
            says = f"the row has {len(numbers)} distances, the matrix {len(self.columns)} columns"
            where = {"line": number, "entity": numa.path, "field": "distances"}
            _plain.note(self.reading, "truncated", says, **where)

    def finish(self) -> Reading:
        """Derive what follows for the machine, and compare it with what is announced."""
        reading, values = self.reading, self.node.values
        if not self.nodes and not values:
            gone = any(one.code == "tool_error" for one in reading.problems)
            _plain.nothing(reading, "`node 0 cpus:`")
            reading.quality = NOT_APPLICABLE if gone else reading.quality
            return reading
        reading.add(self.node)
        for index in sorted(self.nodes):
            reading.add(self.nodes[index])
        if self.nodes:
            self._totals()
        return reading

    def _totals(self) -> None:
        values, nodes = self.node.values, [self.nodes[one] for one in sorted(self.nodes)]
        announced = values.setdefault("numa_node_count", len(nodes))
        for name in ("cpu_count", "memory_total_mib", "memory_free_mib"):
            known = [one.values.get(name) for one in nodes]
            whole = [one for one in known if isinstance(one, int)]
            values[name] = sum(whole) if len(whole) == len(nodes) else None
        for name, source in (
            ("nodes_without_cpus", "cpu_count"),
            ("nodes_without_memory", "memory_total_mib"),
        ):
            values[name] = [
                one for one in sorted(self.nodes) if self.nodes[one].values.get(source) == 0
            ]
        lacking = [one.path for one in nodes if "distances" not in one.values]
        cut = [one.path for one in nodes if "cpu_count" not in one.values]
        if announced != len(nodes):
            says = f"{announced} nodes are announced, {len(nodes)} are listed"
            _plain.note(self.reading, "inconsistent", says)
        if cut or (lacking and (self.matrix or announced != 1)):
            says = f"no CPUs or no distances of {', '.join(sorted({*cut, *lacking})[:8])}"
            _plain.note(self.reading, "truncated", says)


def _mib(word: str) -> int | None:
    found = re.match(r"^([0-9]{1,12}) MB$", word)
    return int(found.group(1)) if found else None


def _cpu_numbers(word: str, most: int) -> list[int]:
    """Return the CPUs of `0 1 2` or `0-2, 8-10`; no more than `most`."""
    found: set[int] = set()
    for part in word.replace(",", " ").split():
        first, _dash, last = part.partition("-")
        end = min(int(last or first), int(first) + most - len(found) - 1)
        found.update(range(int(first), end + 1))
    return sorted(found)


def _ranges(numbers: list[int]) -> str:
    """Return `0-3,8-11` for the sorted numbers."""
    parts: list[list[int]] = []
    for one in numbers:
        if parts and one == parts[-1][1] + 1:
            parts[-1][1] = one
        else:
            parts.append([one, one])
    return ",".join(f"{a}-{b}" if a != b else str(a) for a, b in parts)
