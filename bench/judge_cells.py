"""The cells of `make bench-judge`: what is simulated, and what counts as right."""

from __future__ import annotations

import functools
import resource
import time
import typing as t
from collections import Counter
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass

import numpy as np
from fleets import CAUSE, SKEW, TAILS, Fleet, World, cause_of, draw, facts_of, rack, rng_of

from trackbed import collection

collection.activate()

from ansible_collections.trackbed.cluster.plugins.plugin_utils import (  # noqa: E402
    _causes,
    _explain,
)
from ansible_collections.trackbed.cluster.plugins.plugin_utils._metric import Metric  # noqa: E402
from ansible_collections.trackbed.cluster.plugins.plugin_utils._outliers import (  # noqa: E402
    outliers,
)
from ansible_collections.trackbed.cluster.plugins.plugin_utils._populations import (  # noqa: E402
    populations,
    sigmas_seen,
)
from ansible_collections.trackbed.cluster.plugins.plugin_utils._slots import slots  # noqa: E402

HBM = Metric("hbm_copy", "GB/s")
Counts = Counter[str]
Trial = Callable[[np.random.Generator], Counts]


@dataclass(frozen=True)
class Cell:
    """One row of the table or two: what is simulated, and which shares of what are wanted."""

    section: str
    what: str
    trial: Trial
    wanted: tuple[tuple[str, float | None], ...]
    """Name of a share and the least (or, negative, the most) that it may be; None: reported."""

    @property
    def name(self) -> str:
        """What its seed comes from."""
        return f"{self.section}: {self.what}"


def percent(share: float, digits: int = 1) -> str:
    """Return a share as text; with one digit without a zero behind the point."""
    text = f"{100 * share:.{digits}f}"
    return f"{text.rstrip('0').rstrip('.') if digits == 1 else text} %"


def count_parts(rng: np.random.Generator, fleet: Fleet) -> Counts:
    """Are there as many populations as there should be?"""
    found = populations(draw(fleet, rng).named(), HBM)
    parts, wanted = len(found.parts), len(fleet.shares)
    return Counter(
        {
            "right": parts == wanted,
            "right of": 1,
            "false split": parts > wanted,
            "false split of": 1,
        }
    )


def count_odd(rng: np.random.Generator, fleet: Fleet) -> Counts:
    """Are all slow nodes named, and only these?"""
    drawn = draw(fleet, rng)
    flagged = {int(one.name) for one in outliers(drawn.named(), HBM).found if one.worse}
    return _match(flagged, {int(one) for one in np.flatnonzero(drawn.odd)})


def _match(flagged: Set[t.Any], odd: Set[t.Any], tail: str = "") -> Counts:
    hits = len(flagged & odd)
    return Counter(
        {
            f"recall{tail}": hits,
            f"recall{tail} of": len(odd),
            f"precision{tail}": hits,
            f"precision{tail} of": len(flagged),
        }
    )


def count_small(rng: np.random.Generator, nodes: int, noise: float, drop: float) -> Counts:
    """Is the one slow node of a small group named, and none of a healthy one?"""
    metric = Metric("m", repeatability=noise)
    drawn = draw(Fleet(nodes, noise), rng).named()
    healthy = any(one.worse for one in outliers(drawn, metric).found)
    slow = outliers({**drawn, "0": (drawn["0"] or 0) * (1 - drop)}, metric).found
    return Counter(
        {
            "false alarm": healthy,
            "false alarm of": 1,
            "recall": any(one.name == "0" and one.worse for one in slow),
            "recall of": 1,
        }
    )


def count_slots(rng: np.random.Generator, nodes: int, noise: float) -> Counts:
    """Are slow GPUs named as GPUs and slow nodes as nodes?"""
    drawn = rack(nodes, noise, rng)
    found = slots(drawn.values, HBM)
    gpus = {(one.node, one.slot) for one in found.parts if one.worse}
    judged = outliers(found.nodes, HBM)
    whole = {one.name for one in judged.found if one.worse}
    low = judged.populations.parts[0].members if len(judged.populations.parts) > 1 else ()
    # Three slow nodes of 32 are a population; that names them, too.
    whole |= set(low) if 2 * len(low) < nodes else set()
    return _match(gpus, drawn.gpus, " GPU") + _match(whole, drawn.nodes, " node")


def count_cause(rng: np.random.Generator, fleet: Fleet, world: World) -> Counts:
    """Is the true cause the first candidate?"""
    cause = cause_of(fleet.nodes, world, rng)
    values = draw(Fleet(fleet.nodes, fleet.noise), rng).values - fleet.gap * cause
    facts = facts_of(cause, world, rng)
    found = outliers({str(n): float(value) for n, value in enumerate(values)}, HBM)
    if len(found.populations.parts) < 2:
        return Counter({"split found of": 1})
    parts = _explain.without_strays(found.populations, (one.name for one in found.found))
    made = _explain.explain(parts, facts, HBM.name, _causes.load())
    best = [one.facts for one in made.candidates if one.score >= made.candidates[0].score - 1e-9]
    tied = [name for names in best for name in names]
    # Data cannot choose among facts that split the nodes alike: nor do we, here it is drawn by lot.
    drawn = tied and tied[int(rng.integers(len(tied)))] == CAUSE
    return Counter(
        {
            "split found": 1,
            "split found of": 1,
            "cause first": bool(drawn),
            "cause first of": 1,
            "cause in the first bundle": CAUSE in tied,
            "cause in the first bundle of": 1,
        }
    )


def count_luck(rng: np.random.Generator, nodes: int) -> Counts:
    """Is a split that no fact explains left without an explanation?"""
    labels, other = (cause_of(nodes, World(), rng) for _draw in range(2))
    facts = facts_of(other, World(), rng)
    parts = {str(node): int(part) for node, part in enumerate(labels)}
    made = _explain.explain(parts, facts, HBM.name, _causes.load())
    return Counter({"nothing said": not made.candidates, "nothing said of": 1})


def _parts(section: str, wanted: str, limit: float | None, *fleets: Fleet) -> Iterator[Cell]:
    for fleet in fleets:
        what = f"{fleet.nodes} nodes, noise {percent(fleet.noise)}"
        if len(fleet.shares) > 1:
            sizes = "/".join(f"{100 * share:.0f}" for share in fleet.shares)
            what += f", {sizes}, gap {percent(fleet.gap)}"
        elif fleet.noises != "normal":
            what += f", {fleet.noises}"
        trial = functools.partial(count_parts, fleet=fleet)
        yield Cell(section, what, trial, ((wanted, limit),))


def cells() -> Iterator[Cell]:
    """Return all cells, in the order of the table."""
    half, sizes, noises = (0.5, 0.5), (8, 16, 64), (0.003, 0.01, 0.02)
    for kind in ("normal", TAILS, SKEW):
        healthy = [Fleet(n, noise, noises=kind) for n in sizes for noise in noises]
        yield from _parts("healthy", "false split", -0.03, *healthy)
    yield from _parts("healthy", "false split", -0.03, Fleet(256, 0.01))
    fifth = [Fleet(n, 0.01, half, 0.20) for n in (8, 16, 32, 64, 256)]
    yield from _parts("split", "right", 0.99, *fifth)
    for n in sizes:
        others = [Fleet(n, noise, half, 0.05) for noise in (0.003, 0.01)]
        yield from _parts("split", "right", None, *others, Fleet(n, 0.02, half, 0.20))
    told = [Fleet(n, 0.01, half, sigmas_seen(n) * 0.01) for n in (8, 16, 32, 64, 256)]
    yield from _parts("smallest gap", "right", 0.95, *told)
    third, uneven = (0.34, 0.33, 0.33), [(0.75, 0.25), (0.9, 0.1)]
    yield from _parts("split", "right", None, *(Fleet(64, 0.01, one, 0.10) for one in uneven))
    yield from _parts("split", "right", None, *(Fleet(n, 0.01, third, 0.10) for n in (16, 64)))
    for n, noise, least in (
        (16, 0.01, None),
        (64, 0.003, None),
        (64, 0.01, 0.99),
        (64, 0.02, None),
    ):
        trial = functools.partial(count_odd, fleet=Fleet(n, noise, odd=0.05))
        what = f"{n} nodes, noise {percent(noise)}, 5 % of nodes slow by 5-30 %"
        yield Cell("outliers", what, trial, (("recall", least), ("precision", least)))
    for n in (3, 4, 7):
        for drop in (0.05, 0.10):
            small = functools.partial(count_small, nodes=n, noise=0.01, drop=drop)
            what = f"{n} nodes, noise 1 %, one slow by {percent(drop)}"
            yield Cell("small groups", what, small, (("false alarm", -0.03), ("recall", None)))
    yield from _slot_cells()
    yield from _cause_cells()


def _slot_cells() -> Iterator[Cell]:
    shares = ("recall GPU", "precision GPU", "recall node", "precision node")
    for n, noise in ((8, 0.005), (32, 0.005), (32, 0.01)):
        trial = functools.partial(count_slots, nodes=n, noise=noise)
        what = f"{n} nodes of 8 GPUs, noise {percent(noise)}"
        yield Cell("slots", what, trial, tuple((share, None) for share in shares))


def _cause_cells() -> Iterator[Cell]:
    worlds = {
        "no close rival": (World(), 0.97),
        "4 rivals at 90 %": (World(rivals=0.9), 0.97),
        "4 rivals at 95 %": (World(rivals=0.95), 0.92),
        "whole racks": (World(rivals=0.9, by_rack=True), None),
        "5 % unread": (World(rivals=0.9, unread=0.05), None),
    }
    for n in (16, 32, 64):
        for name, (world, least) in worlds.items():
            trial = functools.partial(count_cause, fleet=Fleet(n, 0.01, gap=0.2), world=world)
            wanted = (
                ("cause first", least if n == 64 else None),
                ("cause in the first bundle", None),
            )
            yield Cell("cause", f"{n} nodes, {name}", trial, wanted)
    for n in (16, 32, 64):
        what = f"{n} nodes, no fact is the cause"
        yield Cell("cause", what, functools.partial(count_luck, nodes=n), (("nothing said", None),))


def scale(nodes: int = 10_000, facts: int = 200) -> str:
    """Judge one metric of a great fleet against its facts; say time and memory."""
    rng = rng_of("scale")
    cause = cause_of(nodes, World(), rng)
    noise = rng.normal(0, 0.01, nodes)
    values = {str(n): float(1 - 0.2 * cause[n] + noise[n]) for n in range(nodes)}
    drawn = facts_of(cause, World(rivals=0.95), rng)
    names = sorted(drawn, key=lambda name: name.startswith("constant"))[:facts]
    kept = {name: drawn[name] for name in names}
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    found = outliers(values, HBM)
    parts = _explain.without_strays(found.populations, (one.name for one in found.found))
    made = _explain.explain(parts, kept, HBM.name, _causes.load())
    took = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    first = made.candidates[0].facts[0] if made.candidates else "nothing"
    return (
        f"{nodes:,} nodes x {len(kept)} facts: {found.populations.word}, first candidate {first}, "
        f"{took:.1f} s, {(peak - before) / 1024:,.0f} MiB more than the "
        f"{before / 1024:,.0f} MiB of the program with the fleet"
    )
