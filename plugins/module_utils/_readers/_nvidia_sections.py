# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds the path of each label in the text of `nvidia-smi -q`, also where blanks were lost.

Private to trackbed.cluster. Labels nest by their indentation. Web pages and chats cut
it: then the known paths tell where a label belongs.
"""

from __future__ import annotations

from ansible_collections.trackbed.cluster.plugins.module_utils._readers._nvidia_labels import (
    MIG_PLACES,
    PLACES,
    PROCESS_PLACES,
)

# What stands before the first GPU.
NODE_LABELS = frozenset(
    (
        "timestamp",
        "driver version",
        "cuda version",
        "kmd version",
        "cuda umd version",
        "attached gpus",
    )
)
# Labels and sections of which no value is kept, but which end another section.
_OTHER = (
    "gpu uuid|serial number|minor number|pci/bus id|pci/bus|pci/device|pci/domain|mig device/index"
    "|mig device/bar1 memory usage/free|mig device/fb memory usage/free"
    "|mig device/fb memory usage/reserved|bar1 memory usage/free"
    "|conf compute protected memory usage/free|accounting mode|multigpu board|board id"
    "|vgpu id/fb memory usage/total|vgpu id/fb memory usage/used|vgpu id/fb memory usage/free"
    "|sparse operation mode|display mode|display attached|gpu pdi|edpp multiplier|power smoothing"
)
_SECTIONS = (
    "gpu operation mode|inforom bbx object flush|inforom time data|ibmnpu|pci/bridge chip"
    "|encoder stats|fbc stats|applications clocks|default applications clocks|deferred clocks"
    "|max customer boost clocks|clock policy|voltage|workload power profiles|supported clocks"
    "|vgpu device capability|accounted processes|processes|mig device|capabilities"
)


def _prefixes(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts))]


PATHS = frozenset(
    [place for places in PLACES.values() for place in places]
    + [f"mig device/{place}" for places in MIG_PLACES.values() for place in places]
    + [f"processes/{place}" for places in PROCESS_PLACES.values() for place in places]
    + _OTHER.split("|")
)
SECTIONS = frozenset([one for path in PATHS for one in _prefixes(path)] + _SECTIONS.split("|"))
_KNOWN = PATHS | SECTIONS
_DEEPEST = 8  # levels; the tool has four
# Labels that stand at the first level, and all labels.
TOP = frozenset(path.partition("/")[0] for path in _KNOWN)
LABELS = frozenset(path.rpartition("/")[2] for path in _KNOWN)


def is_start_of_label(word: str) -> bool:
    """Tell whether a label begins so: what the cut in the middle of a line leaves."""
    return len(word) > 1 and any(label.startswith(word) for label in LABELS | NODE_LABELS)


class Nesting:
    """Where the reading of one GPU's lines is."""

    def __init__(self, is_flat: bool) -> None:
        self._is_flat = is_flat
        self._stack: list[tuple[int, str]] = []

    def path(self, indent: int, label: str, has_value: bool) -> str:
        """Return the path of the next label."""
        if self._is_flat:
            return self._flat(label, has_value)
        while self._stack and self._stack[-1][0] >= indent:
            self._stack.pop()
        self._stack = [*self._stack[:_DEEPEST], (indent, label)]
        labels = [one for _indent, one in self._stack]
        whole = "/".join(labels)
        if whole in _KNOWN or len(labels) == 1:
            return whole
        # A line of which the first blanks were lost makes all after it seem to be below it.
        # What is below a section that is not known (a vGPU, say) stays there.
        for start in range(1, len(labels) - 1):
            rest = "/".join(labels[start:])
            if rest in _KNOWN and "/".join(labels[:start]) in _KNOWN:
                return rest
        parent = "/".join(labels[:-1])
        return label if label in TOP and label in _KNOWN and parent in _KNOWN else whole

    def _flat(self, label: str, has_value: bool) -> str:
        parts = [one for _indent, one in self._stack]
        for depth in range(len(parts), -1, -1):
            path = "/".join([*parts[:depth], label])
            if path in _KNOWN:
                inner = [label] if path in SECTIONS else []
                self._stack = [(0, one) for one in [*parts[:depth], *inner]]
                return path
        if not has_value:
            self._stack = [(0, label)]
        return "/".join([*parts, label]) if has_value else label
