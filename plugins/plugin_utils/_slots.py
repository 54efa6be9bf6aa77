# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes by slots: what is the node's, what the part's, and what the design's.

Private to trackbed.cluster. Eight GPUs of a node are not eight equal places: the air gets warmer
from slot to slot. So what all nodes share by slot is taken out first, with Tukey's two-way median
polish (Exploratory Data Analysis, 1977, chapter 11), and named as design, not as a fault.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping

from ansible_collections.trackbed.cluster.plugins.plugin_utils._metric import (
    EVEN,
    NOT_MEASURED,
    OUTLIERS,
    TOO_FEW,
    Metric,
    scaled,
    sigmas_allowed,
    spread,
    step,
    unscaled,
    worse,
)
from ansible_collections.trackbed.cluster.plugins.plugin_utils._numpy import Array, np

FEWEST_NODES = 4
"""With fewer nodes a slot's median is one node's value."""
_FEWEST_SLOTS = 2
_ROUNDS = 10
# The standard deviation of a median of n normal values is 1.2533 sigma / sqrt(n).
_OF_MEDIAN = 1.2533
_SIGMAS = 4.0


@dataclasses.dataclass(frozen=True)
class Slot:
    """What all nodes share at one place."""

    name: str
    effect: float
    """Against the middle of all slots: a share, or in the metric's unit."""
    design: bool
    """Whether the slot is off on all nodes alike: the air flow or the board, no node's fault."""


@dataclasses.dataclass(frozen=True)
class OddPart:
    """One part that is off after its node and its slot are taken out."""

    node: str
    slot: str
    off: float
    sigmas: float
    worse: bool


@dataclasses.dataclass(frozen=True)
class Slots:
    """The two-way picture of a metric."""

    verdict: str
    """About the parts: `even`, `outliers`, `too few` or `not measured`."""
    nodes: Mapping[str, float]
    """Node -> its value without what its slots take, in the metric's unit: compare these."""
    slots: tuple[Slot, ...]
    parts: tuple[OddPart, ...]
    noise: float
    """One standard deviation of what is left, on the metric's scale."""
    missing: tuple[tuple[str, str], ...]
    stopped: tuple[tuple[str, str], ...]
    """Parts with zero or less where a ratio was wanted."""


def slots(values: Mapping[str, Mapping[str, float | None]], metric: Metric) -> Slots:
    """Take node -> slot -> value apart. Slots are named by place, never by kernel index.

    A part that was not measured is left out; so are slots and nodes of which nothing was.
    """
    flat = {(node, slot): one for node, row in values.items() for slot, one in row.items()}
    group = scaled({f"{number}": one for number, one in enumerate(flat.values())}, metric)
    keys = list(flat)
    read = [keys[int(number)] for number in group.names]
    nodes = list(dict.fromkeys(node for node, _slot in read))
    places = list(dict.fromkeys(slot for _node, slot in read))
    table = np.full((len(nodes), len(places)), np.nan)
    rows = {name: number for number, name in enumerate(nodes)}
    columns = {name: number for number, name in enumerate(places)}
    for (node, slot), x in zip(read, group.x, strict=True):
        table[rows[node], columns[slot]] = x
    missing = tuple(keys[int(number)] for number in group.missing)
    stopped = tuple(keys[int(number)] for number in group.stopped)
    if len(nodes) < FEWEST_NODES or len(places) < _FEWEST_SLOTS:
        verdict = TOO_FEW if read or stopped else NOT_MEASURED
        alone = {node: unscaled(float(np.nanmedian(table[rows[node]])), metric) for node in nodes}
        return Slots(verdict, alone, (), (), metric.repeatability, missing, stopped)
    centre, of_node, of_slot, rest = polish(table)
    noise = max(metric.repeatability, spread(rest[~np.isnan(rest)]))
    odd = _odd(rest, noise, metric, nodes, places)
    return Slots(
        OUTLIERS if odd else EVEN,
        {name: unscaled(centre + float(of_node[rows[name]]), metric) for name in nodes},
        tuple(
            _slot(places[at], float(of_slot[at]), noise, len(nodes), metric)
            for at in range(len(places))
        ),
        odd,
        noise,
        missing,
        stopped,
    )


def polish(table: Array) -> tuple[float, Array, Array, Array]:
    """Return the centre, the effects of rows and of columns, and what is left; NaN is left out.

    Every row and every column needs a value. Both effects have the median 0.
    """
    rest = table.copy()
    of_row, of_column = np.zeros(table.shape[0]), np.zeros(table.shape[1])
    for _round in range(_ROUNDS):
        step_row = _median(rest, 1)
        rest -= step_row[:, None]
        of_row += step_row
        step_column = _median(rest, 0)
        rest -= step_column[None, :]
        of_column += step_column
        if not (step_row.any() or step_column.any()):
            break
    row, column = float(np.median(of_row)), float(np.median(of_column))
    return row + column, of_row - row, of_column - column, rest


def _median(table: Array, axis: int) -> Array:
    if not np.isnan(table).any():
        return np.asarray(np.median(table, axis=axis))
    with warnings.catch_warnings():
        # numpy warns of a row without a value; there is none, and a NaN would be right.
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.asarray(np.nanmedian(table, axis=axis))


def _slot(name: str, effect: float, noise: float, nodes: int, metric: Metric) -> Slot:
    limit = max(metric.smallest_gap, _SIGMAS * _OF_MEDIAN * noise / nodes**0.5)
    return Slot(name, step(effect, metric), abs(effect) > limit)


def _odd(
    rest: Array, noise: float, metric: Metric, nodes: list[str], places: list[str]
) -> tuple[OddPart, ...]:
    limit = max(metric.tolerance, sigmas_allowed(rest.size) * noise)
    found = [
        OddPart(
            nodes[row],
            places[column],
            step(float(rest[row, column]), metric),
            abs(float(rest[row, column])) / noise,
            worse(float(rest[row, column]), metric),
        )
        for row, column in np.argwhere(np.abs(rest) > limit)
    ]
    return tuple(sorted(found, key=lambda one: (not one.worse, -one.sigmas, one.node, one.slot)))
