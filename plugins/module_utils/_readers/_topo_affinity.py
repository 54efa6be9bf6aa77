# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the columns of affinity of `nvidia-smi topo -m`. Private to trackbed.cluster."""

from __future__ import annotations

import re
from collections import Counter

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _plain
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import Entity, Reading
from ansible_collections.trackbed.cluster.plugins.module_utils._text import absence

_RANGES = re.compile(r"^[0-9]{1,5}(?:-[0-9]{1,5})?(?:,[0-9]{1,5}(?:-[0-9]{1,5})?){0,1000}$")


def affinity(
    reading: Reading,
    gpu: Entity,
    words: dict[str, str] | None,
    columns: list[str],
    line: int,
) -> None:
    """Put the columns of a GPU's row into its values; what is no list of numbers is unreadable."""
    if words is None:
        forget(gpu, columns)
        says = f"{gpu.path}: it has not as many words as there are columns of affinity"
        where = {"line": line, "entity": gpu.path, "field": columns[0]}
        _plain.note(reading, "malformed", says, **where)
        return
    for name in columns:
        word = words.get(name, "")
        gone = absence(word) if word else "not_supported"
        numbers = None if gone else expand(word)
        if gone or numbers is None:
            gpu.values[name], gpu.notes[name] = None, gone or "unreadable"
        elif name == "cpu_affinity":
            gpu.values[name] = word
        elif name == "numa_affinity":
            gpu.values[name] = [*numbers]
        elif len(numbers) == 1:
            gpu.values[name] = numbers[0]
        else:
            gpu.values[name], gpu.notes[name] = None, "unreadable"
        if gpu.notes.get(name) == "unreadable":
            says = f"{gpu.path}: {name} is not a list of numbers and ranges"
            where = {"line": line, "entity": gpu.path, "field": name, "verbatim": word}
            _plain.note(reading, "malformed", says, **where)
    if "numa_affinity" in columns:
        nodes = gpu.values.get("numa_affinity")
        gpu.values["numa_node"] = nodes[0] if isinstance(nodes, list) and len(nodes) == 1 else None


def forget(gpu: Entity | None, columns: list[str]) -> None:
    """Mark all columns of a GPU as unreadable; nothing where it is no GPU."""
    if gpu is not None and gpu.path.startswith("gpu:"):
        for name in columns:
            gpu.values[name], gpu.notes[name] = None, "unreadable"


def expand(word: str) -> list[int] | None:
    """Return the numbers of `0-2,5`; None where it is no such list, or goes down."""
    if not _RANGES.match(word):
        return None
    found: list[int] = []
    for part in word.split(","):
        first, _dash, last = part.partition("-")
        low, high = int(first), int(last or first)
        if high < low or len(found) + high - low > 100_000:
            return None
        found += range(low, high + 1)
    return found


def distrust(reading: Reading) -> None:
    """Make unreadable what contradicts the other GPUs of the same NUMA node.

    CPUs are near by NUMA node, so GPUs of one node have the same: where a copy lost
    the first characters of a range, what is left looks like a range as well.
    """
    of_node: dict[str, list[Entity]] = {}
    for gpu in reading.entities:
        if gpu.path.startswith("gpu:") and gpu.values.get("numa_affinity"):
            of_node.setdefault(str(gpu.values["numa_affinity"]), []).append(gpu)
    for node, gpus in of_node.items():
        words = Counter(str(one.values["cpu_affinity"]) for one in gpus if _cpus(one))
        if len(words) < 2:
            continue
        most = words.most_common(2)
        trusted = most[0][0] if most[0][1] > most[1][1] else None
        for gpu in gpus:
            word = gpu.values.get("cpu_affinity")
            if word is None or word == trusted:
                continue
            gpu.values["cpu_affinity"], gpu.notes["cpu_affinity"] = None, "unreadable"
            says = f"{gpu.path}: other CPUs than other GPUs of NUMA node {node} have"
            where = {"entity": gpu.path, "field": "cpu_affinity", "verbatim": str(word)}
            _plain.note(reading, "inconsistent", says, **where)


def _cpus(gpu: Entity) -> bool:
    return gpu.values.get("cpu_affinity") is not None
