# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which metrics split the fleet alike. Private to trackbed.cluster.

"HBM, GEMM and all-reduce split the same way" is one finding, not three.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from ansible_collections.trackbed.cluster.plugins.plugin_utils._information import (
    agreement,
    codes,
)

ALIKE = 0.8
"""The AMI from which two partitions are one split."""
# Of fewer nodes that both metrics know, nothing is concluded.
_FEWEST = 8


@dataclasses.dataclass(frozen=True)
class Agreement:
    """Metrics that split the fleet alike, in the order given."""

    metrics: tuple[str, ...]
    least: float
    """The lowest AMI that joined one of them to the others; 1 for a metric alone."""


def agreements(partitions: Mapping[str, Mapping[str, int]]) -> tuple[Agreement, ...]:
    """Group the metrics (metric -> node -> population) whose partitions are one split.

    A metric with one population splits nothing and is left out.
    """
    split = [name for name, parts in partitions.items() if len(set(parts.values())) > 1]
    groups: list[tuple[list[str], float]] = []
    for name in split:
        joined, least, rest = [name], 1.0, []
        for members, lowest in groups:
            best = max(alike(partitions[name], partitions[other]) for other in members)
            if best > ALIKE:
                joined, least = [*members, *joined], min(least, lowest, best)
            else:
                rest.append((members, lowest))
        groups = [*rest, (joined, least)]
    place = {name: number for number, name in enumerate(split)}
    found = [
        Agreement(tuple(sorted(members, key=place.__getitem__)), least) for members, least in groups
    ]
    return tuple(sorted(found, key=lambda one: place[one.metrics[0]]))


def alike(one: Mapping[str, int], other: Mapping[str, int]) -> float:
    """Return the AMI of two partitions over the nodes that both know; 0 of too few."""
    common = [name for name in one if name in other]
    if len(common) < _FEWEST:
        return 0.0
    return agreement(codes(one[name] for name in common), codes(other[name] for name in common))
