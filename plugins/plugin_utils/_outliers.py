# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which nodes are off inside their population. Private to trackbed.cluster."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from ansible_collections.trackbed.cluster.plugins.plugin_utils._metric import (
    EVEN,
    NOT_MEASURED,
    OUTLIERS,
    TOO_FEW,
    Metric,
    scaled,
    sigmas_allowed,
    step,
    worse,
)
from ansible_collections.trackbed.cluster.plugins.plugin_utils._populations import (
    FEWEST,
    LEAST_MEMBERS,
    Populations,
    populations,
)

PAIR = 2
# Strays nearer to each other than so many standard deviations are one group.
_TOGETHER = 3.0
# What has stopped is no longer a matter of standard deviations.
_STOPPED = float("inf")


@dataclasses.dataclass(frozen=True)
class Outlier:
    """One node that is not like its population."""

    name: str
    value: float
    part: int | None
    """The population that it is nearest to; None for one that has stopped."""
    off: float
    """From that population's centre: -0.1 is 10 % less; in the metric's unit for differences."""
    sigmas: float
    """The same in standard deviations of the population, without sign."""
    worse: bool
    between: bool = False
    """Whether it lies between two populations: a stray of either."""


@dataclasses.dataclass(frozen=True)
class Outliers:
    """The nodes that are off, those that are worse first, then by how far."""

    verdict: str
    """`even`, `outliers`, `too few` or `not measured`."""
    found: tuple[Outlier, ...]
    minorities: tuple[tuple[str, ...], ...]
    """Of these, three and more that are off alike: look for what they share."""
    populations: Populations
    pair: Outlier | None = None
    """Of two nodes nobody can tell which is off: the lower one, against the higher one."""

    @property
    def word(self) -> str:
        """The verdict with its number: `outliers(3)`."""
        return f"{OUTLIERS}({len(self.found)})" if self.verdict == OUTLIERS else self.verdict


def outliers(values: Mapping[str, float | None], metric: Metric) -> Outliers:
    """Return what is off among these values: node -> value in the metric's unit.

    A group of 3 to 7 is held against the metric's own repeatability, because so few values say
    nothing about their spread; of two only the difference is told.
    """
    found = populations(values, metric)
    group = scaled(values, metric)
    place = dict(zip(group.names, map(float, group.x), strict=True))
    count = len(place)
    off = [
        one
        for name, at in place.items()
        if (one := _outlier(name, at, values[name] or 0.0, found, count))
    ]
    if count <= PAIR:
        off = []
    stopped = [_of_stopped(name, values[name] or 0.0, found) for name in group.stopped]
    ranked = sorted([*stopped, *off], key=lambda one: (not one.worse, -one.sigmas, one.name))
    return Outliers(
        _verdict(len(ranked), count, len(group.stopped)),
        tuple(ranked),
        _minorities({one.name: place[one.name] for one in off}, found),
        found,
        _pair(place, values, metric) if count == PAIR and not stopped else None,
    )


def _verdict(off: int, count: int, stopped: int) -> str:
    if off:
        return OUTLIERS
    if not count + stopped:
        return NOT_MEASURED
    return EVEN if count > PAIR else TOO_FEW


def _outlier(
    name: str, place: float, value: float, found: Populations, count: int
) -> Outlier | None:
    number = found.part_of[name]
    part = found.parts[number]
    distance = place - part.place
    limit = max(found.metric.tolerance, sigmas_allowed(count) * part.spread)
    if abs(distance) <= limit:
        return None
    inner = number > 0 if distance < 0 else number < len(found.parts) - 1
    return Outlier(
        name,
        value,
        number,
        step(distance, found.metric),
        abs(distance) / part.spread,
        worse(distance, found.metric),
        inner,
    )


def _of_stopped(name: str, value: float, found: Populations) -> Outlier:
    return Outlier(name, value, None, -1.0, _STOPPED, worse(-1.0, found.metric))


def _pair(
    place: Mapping[str, float], values: Mapping[str, float | None], metric: Metric
) -> Outlier:
    low, high = sorted(place, key=lambda name: place[name])
    distance = place[low] - place[high]
    # Two values that each scatter with sigma differ with sigma times the square root of two.
    sigmas = abs(distance) / (metric.repeatability * 2**0.5)
    return Outlier(
        low, values[low] or 0.0, None, step(distance, metric), sigmas, worse(distance, metric)
    )


def _minorities(place: Mapping[str, float], found: Populations) -> tuple[tuple[str, ...], ...]:
    """Return the groups of strays that are off alike."""
    if len(place) < LEAST_MEMBERS or len(found.part_of) < FEWEST:
        return ()
    together = max(found.metric.smallest_gap, _TOGETHER * max(part.spread for part in found.parts))
    groups: list[list[str]] = []
    for name in sorted(place, key=lambda name: place[name]):
        if groups and place[name] - place[groups[-1][-1]] < together:
            groups[-1].append(name)
        else:
            groups.append([name])
    return tuple(tuple(group) for group in groups if len(group) >= LEAST_MEMBERS)
