"""Fleets for `make bench-judge`: nodes with a metric, and what they are made of.

Every fleet is drawn from a seed of its cell, so that two runs on any machine give the same table.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Facts = dict[str, dict[str, str | None]]

GPUS = 8
NORMAL, TAILS, SKEW = "normal", "t5 tails", "skew"
# Facts that differ among the nodes of a real fleet, by what they are.
_SERIALS, _COUNTERS, _DRIFTING, _VERSIONS, _HALVES, _CONSTANTS, _RIVALS = 12, 8, 40, 12, 6, 150, 4
_RACK, _LEAF = 8, 32


@dataclass(frozen=True)
class Fleet:
    """How to draw a fleet."""

    nodes: int
    noise: float
    """One standard deviation of a node's value, as a share of it."""
    shares: tuple[float, ...] = (1.0,)
    """Of the populations, fastest first."""
    gap: float = 0.0
    """From one population to the next."""
    odd: float = 0.0
    """The share of nodes that are 5 to 30 % slow."""
    noises: str = NORMAL


@dataclass(frozen=True)
class Drawn:
    """One fleet: each node's value, its population and whether it is odd."""

    values: Array
    population: Ints
    odd: Mask

    def named(self) -> dict[str, float | None]:
        """Return node -> value."""
        return {str(number): float(value) for number, value in enumerate(self.values)}


def rng_of(cell: str) -> np.random.Generator:
    """Return the generator of a cell, by its name."""
    return np.random.default_rng(zlib.crc32(cell.encode()))


def draw(fleet: Fleet, rng: np.random.Generator) -> Drawn:
    """Draw one fleet."""
    ends = np.round(np.cumsum(fleet.shares) * fleet.nodes).astype(int)
    population = rng.permutation(np.searchsorted(ends, np.arange(fleet.nodes), side="right"))
    values = 1 - fleet.gap * population + _noise(fleet, rng)
    odd = np.zeros(fleet.nodes, dtype=bool)
    if fleet.odd:
        count = max(1, round(fleet.odd * fleet.nodes))
        odd[rng.choice(fleet.nodes, count, replace=False)] = True
        values[odd] *= 1 - rng.uniform(0.05, 0.30, count)
    return Drawn(values, population, odd)


def _noise(fleet: Fleet, rng: np.random.Generator) -> Array:
    if fleet.noises == TAILS:
        # Student's t of 5 degrees of freedom has the variance 5/3.
        return np.asarray(rng.standard_t(5, fleet.nodes) * fleet.noise / (5 / 3) ** 0.5)
    if fleet.noises == SKEW:
        tail = -np.abs(rng.normal(0, fleet.noise * 0.8, fleet.nodes))
        return tail + rng.normal(0, fleet.noise * 0.6, fleet.nodes)
    return rng.normal(0, fleet.noise, fleet.nodes)


@dataclass(frozen=True)
class World:
    """How the cause of a split and the other facts are drawn."""

    share: float = 0.5
    """Of the nodes that have the slow value."""
    rivals: float = 0.0
    """In what share of the nodes each of four other facts agrees with the cause; 0: none."""
    unread: float = 0.0
    """The share of values that could not be read."""
    by_rack: bool = False
    """Whether whole racks have the slow value."""


CAUSE = "cause"


def cause_of(nodes: int, world: World, rng: np.random.Generator) -> Ints:
    """Return which nodes have the slow value."""
    if world.by_rack:
        racks = -(-nodes // _RACK)
        slow = rng.permutation(racks) < round(world.share * racks)
        return slow[np.arange(nodes) // _RACK].astype(np.int64)
    return (rng.permutation(nodes) < round(world.share * nodes)).astype(np.int64)


def facts_of(cause: Ints, world: World, rng: np.random.Generator) -> Facts:
    """Return about 230 facts of each node, the cause among them."""
    found: Facts = {}
    for name, column in _columns(cause, world, rng):
        unread = rng.random(len(cause)) < world.unread
        found[name] = {
            str(node): None if lost else str(value)
            for node, (value, lost) in enumerate(zip(column.tolist(), unread, strict=True))
        }
    return found


def _columns(cause: Ints, world: World, rng: np.random.Generator) -> Iterator[tuple[str, Ints]]:
    nodes = len(cause)
    place = np.arange(nodes)
    yield "rack", place // _RACK
    yield "leaf", place // _LEAF
    yield "rack_position", place % _RACK
    for number in range(_SERIALS):
        yield f"serial{number}", rng.permutation(nodes)
    for number in range(_COUNTERS):
        yield f"counter{number}", rng.integers(0, max(3, nodes // 2), nodes)
    for number in range(_DRIFTING):
        minority = rng.uniform(0.01, 0.25)
        yield f"drift{number}", (rng.random(nodes) < minority).astype(np.int64)
    for number in range(_VERSIONS):
        yield f"version{number}", rng.integers(0, rng.integers(3, 6), nodes)
    for number in range(_HALVES):
        yield f"half{number}", rng.integers(0, 2, nodes)
    for number in range(_CONSTANTS):
        yield f"constant{number}", np.zeros(nodes, dtype=np.int64)
    yield CAUSE, cause
    for number in range(_RIVALS if world.rivals else 0):
        yield f"rival{number}", np.where(rng.random(nodes) < world.rivals, cause, 1 - cause)


@dataclass(frozen=True)
class Racked:
    """Nodes by slots, with GPUs and nodes that are 4 % slow."""

    values: dict[str, dict[str, float | None]]
    gpus: set[tuple[str, str]]
    nodes: set[str]


def rack(nodes: int, noise: float, rng: np.random.Generator) -> Racked:
    """Draw nodes of eight GPUs: slots 0 to 3 % apart, 2 % of GPUs and 3 % of nodes 4 % slow."""
    slots = rng.permutation(np.linspace(0, -0.03, GPUS))
    values = 1 + rng.normal(0, 0.005, nodes)[:, None] + slots + rng.normal(0, noise, (nodes, GPUS))
    gpus, slow = rng.random((nodes, GPUS)) < 0.02, rng.random(nodes) < 0.03
    values[gpus] *= 0.96
    values[slow] *= 0.96
    return Racked(
        {str(n): {str(g): float(values[n, g]) for g in range(GPUS)} for n in range(nodes)},
        {(str(n), str(g)) for n, g in np.argwhere(gpus & ~slow[:, None])},
        {str(n) for n in np.flatnonzero(slow)},
    )
