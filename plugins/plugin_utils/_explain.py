# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which facts split the fleet as the metric does. Private to trackbed.cluster.

Facts that split the nodes alike are one bundle: data cannot tell the BIOS from the BMC of the same
delivery. Bundles are ranked by adjusted mutual information, facts inside one by the causal table,
and what would decide between them is proposed in words.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from ansible_collections.trackbed.cluster.plugins.plugin_utils._causes import Cause, Causes, rank
from ansible_collections.trackbed.cluster.plugins.plugin_utils._information import (
    UNREAD,
    agreement,
    codes,
    luck,
)
from ansible_collections.trackbed.cluster.plugins.plugin_utils._names import natural_key, shown
from ansible_collections.trackbed.cluster.plugins.plugin_utils._numpy import Ints
from ansible_collections.trackbed.cluster.plugins.plugin_utils._populations import Populations

Value = str | int | float | bool
Facts = Mapping[str, Mapping[str, Value | None]]
"""Fact -> node -> value. None is what could not be read; "it has none" is a value."""

EXACTLY = "splits exactly with"
MOSTLY = "mostly follows"
WEAKLY = "partly follows"
_WORDS = ((0.95, EXACTLY), (0.6, MOSTLY))
# Below this, or below luck, nothing is explained: a fact that agrees on 85 % of the nodes.
_NOTHING = 0.3
# Of so few nodes an exact agreement is often luck: in our simulations the true cause is first in
# two of three fleets of 16.
FEW = 16

CAUSE = "candidate cause"
CANDIDATES = "candidates"
NO_FACT = "no collected fact explains this split"
LOOK_AT = "cabling, cooling zone, delivery batch, power feed"


@dataclasses.dataclass(frozen=True)
class Bundle:
    """Facts that split the nodes alike."""

    facts: tuple[str, ...]
    nodes: tuple[str, ...]
    partition: Ints
    """The number of each node's value, by first appearance; -1 where it could not be read."""


@dataclasses.dataclass(frozen=True)
class Candidate:
    """One bundle as an explanation of a split."""

    facts: tuple[str, ...]
    """Likeliest first."""
    score: float
    """AMI with the populations, times the share of nodes where the fact was read."""
    word: str
    counts: tuple[Mapping[str, int], ...]
    """For each population, how many nodes have each value of the first fact."""
    known: bool
    """Whether the causal table says that the first fact can move the metric."""


@dataclasses.dataclass(frozen=True)
class Explanation:
    """What explains a split."""

    verdict: str
    candidates: tuple[Candidate, ...]
    """Best first; only those above luck."""
    luck: float
    """What the best of these facts reaches by luck in one fleet of twenty."""


def bundles(facts: Facts, nodes: Sequence[str]) -> tuple[Bundle, ...]:
    """Group the facts that differ among these nodes by how they split them.

    The largest bundle comes first. A fact with one value, or read on no node, splits nothing.
    """
    found: dict[bytes, tuple[Ints, list[str]]] = {}
    for name, values in facts.items():
        numbers = codes(values.get(node) for node in nodes)
        if len(numbers) and numbers.max() > 0:
            found.setdefault(numbers.tobytes(), (numbers, []))[1].append(name)
    made = [
        Bundle(tuple(sorted(names, key=natural_key)), tuple(nodes), numbers)
        for numbers, names in found.values()
    ]
    return tuple(sorted(made, key=lambda one: (-len(one.facts), natural_key(one.facts[0]))))


def explain(
    parts: Mapping[str, int], facts: Facts, metric: str, causes: Causes, most: int = 5
) -> Explanation:
    """Rank the facts that could explain this split: node -> population, strays left out.

    `most` is the number of candidates to return.
    """
    nodes = tuple(parts)
    labels = codes(parts.values())
    known = causes.of(metric)
    made = bundles(facts, nodes)
    bound = luck(labels, [one.partition for one in made])
    scored = [(_score(labels, one), one) for one in made]
    scored = [one for one in scored if one[0] >= max(_NOTHING, bound)]
    scored.sort(key=lambda one: (-round(one[0], 9), _likely(one[1].facts, known)))
    candidates = tuple(_candidate(score, one, parts, facts, known) for score, one in scored[:most])
    verdict = NO_FACT if not candidates else CANDIDATES if len(nodes) <= FEW else CAUSE
    return Explanation(verdict, candidates, bound)


def without_strays(found: Populations, strays: Iterable[str]) -> dict[str, int]:
    """Return node -> population of those that are like their population."""
    out = set(strays)
    return {name: part for name, part in found.part_of.items() if name not in out}


def _score(labels: Ints, bundle: Bundle) -> float:
    """A fact that was read on few nodes agrees easily; so the share that was read counts."""
    return agreement(labels, bundle.partition) * float((bundle.partition != UNREAD).mean())


def _likely(names: Iterable[str], cause: Cause) -> tuple[int, list[tuple[int, int, str]]]:
    return min((rank(name, cause), natural_key(name)) for name in names)


def _candidate(
    score: float, bundle: Bundle, parts: Mapping[str, int], facts: Facts, cause: Cause
) -> Candidate:
    names = tuple(sorted(bundle.facts, key=lambda name: (rank(name, cause), natural_key(name))))
    counts: list[Counter[str]] = [Counter() for _part in range(max(parts.values()) + 1)]
    for node, part in parts.items():
        value = facts[names[0]].get(node)
        counts[part]["unread" if value is None else shown(value)] += 1
    word = next((word for least, word in _WORDS if score >= least), WEAKLY)
    ranked = tuple(dict(one.most_common()) for one in counts)
    return Candidate(names, score, word, ranked, rank(names[0], cause) < len(cause.facts))


def experiment(
    candidate: Candidate, found: Populations, causes: Causes, strays: Iterable[str] = ()
) -> str:
    """Propose in words what would show whether the candidate's first fact is the cause.

    Needs a split: at least two populations.
    """
    metric, fact = found.metric, candidate.facts[0]
    low, high = (0, len(found.parts) - 1)
    bad, good = (high, low) if metric.better == "less" else (low, high)
    out = set(strays)
    members = [name for name in found.parts[bad].members if name not in out]
    node = min(members or found.parts[bad].members, key=natural_key)
    seconds = causes.of(metric.name).seconds
    goal, stays = (f"{found.parts[at].centre:.4g} {metric.unit}".strip() for at in (good, bad))
    ending = (
        f"then measure {metric.name} again (about {seconds} s). "
        f"If it comes near {goal}, {fact} is the cause; if it stays near {stays}, it is not."
    )
    if causes.is_place(fact):
        head = f"{fact} cannot be set: exchange {node} with a node of the other population, "
    else:
        wanted, has = (next(iter(candidate.counts[at]), "unread") for at in (good, bad))
        head = f"Set {fact} of {node} from {has} to {wanted}, nothing else, "
    rest = candidate.facts[1:]
    others = f" {', '.join(rest[:3])}{' and others' if len(rest) > 3 else ''}" if rest else ""
    tail = f" Then the same with{others}, which split the nodes alike." if rest else ""
    return head + ending + tail
