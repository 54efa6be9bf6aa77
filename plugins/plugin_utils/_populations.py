# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many populations a group of nodes that should be alike is. Private to trackbed.cluster.

Half of the nodes 20 % slower is no set of outliers: three sigma, interquartile range and MAD see
nothing there. So the populations come first, and outliers are looked for inside each of them.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping

from ansible_collections.trackbed.cluster.plugins.plugin_utils._metric import (
    EVEN,
    NOT_MEASURED,
    SPLIT,
    TOO_FEW,
    Metric,
    scaled,
    spread,
    step,
    unscaled,
)
from ansible_collections.trackbed.cluster.plugins.plugin_utils._mixture import Mixture, fit
from ansible_collections.trackbed.cluster.plugins.plugin_utils._numpy import Array, Ints, np

FEWEST = 8
"""With fewer values no population is looked for: two of three nodes are no population."""
LEAST_MEMBERS = 3
"""Fewer are strays, not a population."""
_LEAST_SHARE = 0.08
# Parts nearer than so many of their standard deviations are one part.
_APART = 3.0
# Their own spread is trusted from so many members on, and counts at all from so many.
_TRUSTED, _COUNTED = 12, 5
# Number of nodes -> the gap, in standard deviations, at which a fleet split in two halves is
# found in 95 of 100 cases or more. Measured with `make bench-judge`; between these by logarithm.
_SEEN = ((8, 10.0), (16, 6.5), (32, 5.5), (64, 4.5), (256, 4.0))


@dataclasses.dataclass(frozen=True)
class Population:
    """Nodes that are alike. Strays are members of the population that they are nearest to."""

    centre: float
    """The median, in the metric's unit."""
    spread: float
    """One standard deviation on the metric's scale: a share, or in its unit."""
    place: float
    """The centre on the metric's scale."""
    members: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Populations:
    """What a group of values is made of."""

    metric: Metric
    verdict: str
    """`even`, `split`, `too few` or `not measured`."""
    parts: tuple[Population, ...]
    """Lowest first."""
    part_of: Mapping[str, int]
    """Node -> index in `parts`."""
    missing: tuple[str, ...]
    stopped: tuple[str, ...]
    """Nodes with zero or less where a ratio was wanted."""
    smallest_gap: float | None
    """The smallest gap between two halves that would have been seen; None: none would."""

    @property
    def word(self) -> str:
        """The verdict with its number: `split(2)`."""
        return f"{SPLIT}({len(self.parts)})" if self.verdict == SPLIT else self.verdict

    @property
    def gap(self) -> float | None:
        """How much lower the lowest population is than the highest: -0.2 is 20 %; None: no two."""
        if len(self.parts) < 2:
            return None
        return step(self.parts[0].place - self.parts[-1].place, self.metric)


def populations(values: Mapping[str, float | None], metric: Metric) -> Populations:
    """Return the populations of these values: node -> value in the metric's unit.

    None and what is no finite number is left out and named in `missing`.
    """
    group = scaled(values, metric)
    count = len(group.x)
    if count < FEWEST:
        centres, spreads, label, sigma = _one_part(group.x, metric)
        verdict = TOO_FEW if count or group.stopped else NOT_MEASURED
    else:
        centres, spreads, label, sigma = _parts(group.x, metric)
        verdict = SPLIT if len(centres) > 1 else EVEN
    members: list[list[str]] = [[] for _centre in centres]
    for name, part in zip(group.names, label, strict=True):
        members[part].append(name)
    parts = tuple(
        Population(unscaled(float(centre), metric), float(sd), float(centre), tuple(names))
        for centre, sd, names in zip(centres, spreads, members, strict=True)
    )
    return Populations(
        metric,
        verdict,
        parts,
        {name: int(part) for name, part in zip(group.names, label, strict=True)},
        group.missing,
        group.stopped,
        None if count < FEWEST else max(metric.smallest_gap, sigmas_seen(count) * sigma),
    )


_Found = tuple[Array, Array, Ints, float]


def _one_part(x: Array, metric: Metric) -> _Found:
    """So few values say nothing about their own spread: the metric's repeatability holds."""
    centres = np.array([np.median(x)] if len(x) else [], dtype=float)
    spreads = np.full(len(centres), metric.repeatability)
    return centres, spreads, np.zeros(len(x), dtype=np.int64), metric.repeatability


def _parts(x: Array, metric: Metric) -> _Found:
    mixture = _merged(fit(x, metric.repeatability), metric)
    need = max(LEAST_MEMBERS, math.ceil(_LEAST_SHARE * len(x)))
    centres = mixture.centres
    members = np.bincount(_nearest(x, centres), minlength=len(centres))
    keep = np.flatnonzero(members >= need)
    if not len(keep):
        keep = np.array([int(np.argmax(members))])
    label = _nearest(x, centres[keep])
    own = [x[label == number] for number in range(len(keep))]
    spreads = np.array([_own_spread(part, mixture.sigma, metric) for part in own])
    return np.array([np.median(part) for part in own]), spreads, label, mixture.sigma


def _own_spread(x: Array, shared: float, metric: Metric) -> float:
    """Return the spread of one part; that of few members leans on what all parts share."""
    own = spread(x) if len(x) >= _COUNTED else shared
    sigma = max(metric.repeatability, own)
    return sigma if len(x) >= _TRUSTED else max(sigma, min(shared, 2 * sigma))


def _nearest(x: Array, centres: Array) -> Ints:
    return np.asarray(np.argmin(np.abs(x[:, None] - centres[None, :]), axis=1), dtype=np.int64)


def _merged(mixture: Mixture, metric: Metric) -> Mixture:
    """Join parts that are nearer than what matters, or than what their spread can tell apart."""
    centres, weights = mixture.centres, mixture.weights
    apart = max(metric.smallest_gap, _APART * mixture.sigma)
    while len(centres) > 1:
        gaps = np.diff(centres)
        at = int(np.argmin(gaps))
        if gaps[at] >= apart:
            break
        both = weights[at : at + 2]
        middle = np.average(centres[at : at + 2], weights=both)
        centres = np.concatenate([centres[:at], [middle], centres[at + 2 :]])
        weights = np.concatenate([weights[:at], [both.sum()], weights[at + 2 :]])
    return Mixture(centres, weights, mixture.sigma)


def sigmas_seen(count: int) -> float:
    """Return the smallest gap of two halves, in standard deviations, that so many values show."""
    sizes, factors = zip(*_SEEN, strict=True)
    return float(np.interp(np.log(count), np.log(sizes), factors))
