# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where nodes that should be alike are not, and what changed since. Private to trackbed.cluster.

Three references: the majority (only where 60 % agree; below, it is a split and nobody has drifted),
a golden node, and the node's own earlier run. Facts that single out the same nodes are one bundle.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from ansible_collections.trackbed.cluster.plugins.plugin_utils._fingerprint import Facts
from ansible_collections.trackbed.cluster.plugins.plugin_utils._names import natural_key
from ansible_collections.trackbed.cluster.plugins.plugin_utils._rules_peers import MAJORITY

GOLDEN = "golden"
PEERS = "majority"
SPLIT = "split"


@dataclasses.dataclass(frozen=True)
class Group:
    """The nodes that have one value."""

    value: str
    nodes: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Difference:
    """A fact in which nodes differ."""

    fact: str
    against: str
    """`golden`, `majority`, or `split` where there is no reference."""
    expected: str | None
    groups: tuple[Group, ...]
    """The expected value first, then the others, most nodes first."""
    unread: tuple[str, ...]

    @property
    def odd(self) -> tuple[str, ...]:
        """The nodes that are not as expected; all of them in a split."""
        return tuple(
            node for group in self.groups if group.value != self.expected for node in group.nodes
        )


@dataclasses.dataclass(frozen=True)
class Bundle:
    """Facts in which the same nodes differ."""

    against: str
    odd: tuple[str, ...]
    differences: tuple[Difference, ...]


@dataclasses.dataclass(frozen=True)
class Change:
    """A fact that became another on some nodes since an earlier run."""

    fact: str
    before: str
    after: str
    nodes: tuple[str, ...]


def differences(
    facts: Facts, nodes: Sequence[str], golden: str | None = None
) -> tuple[Difference, ...]:
    """Return the facts in which these nodes differ; they are of one SKU."""
    found = (_difference(fact, values, nodes, golden) for fact, values in facts.items())
    return tuple(one for one in found if one is not None)


def _difference(
    fact: str, values: Mapping[str, str | None], nodes: Sequence[str], golden: str | None
) -> Difference | None:
    holders: dict[str, list[str]] = {}
    for node in nodes:
        value = values.get(node)
        if value is not None:
            holders.setdefault(value, []).append(node)
    if len(holders) < 2:
        return None
    ranked = sorted(holders, key=lambda value: (-len(holders[value]), natural_key(value)))
    read = sum(map(len, holders.values()))
    expected, against = values.get(golden) if golden else None, GOLDEN
    if expected is None:
        usual = len(holders[ranked[0]]) >= MAJORITY * read
        expected, against = (ranked[0], PEERS) if usual else (None, SPLIT)
    ranked.sort(key=lambda value: value != expected)
    groups = tuple(Group(value, tuple(sorted(holders[value], key=natural_key))) for value in ranked)
    unread = tuple(node for node in nodes if values.get(node) is None)
    return Difference(fact, against, expected, groups, unread)


def bundles(found: Sequence[Difference]) -> tuple[Bundle, ...]:
    """Put together what singles out the same nodes; the bundle with most facts first."""
    alike: dict[tuple[str, tuple[tuple[str, ...], ...]], list[Difference]] = {}
    for one in found:
        partition = tuple(sorted(group.nodes for group in one.groups))
        alike.setdefault((one.against, partition), []).append(one)
    made = [Bundle(key[0], group[0].odd, tuple(group)) for key, group in alike.items()]
    return tuple(
        sorted(made, key=lambda one: (-len(one.differences), len(one.odd), one.differences[0].fact))
    )


def changes(before: Facts, after: Facts, nodes: Sequence[str]) -> tuple[Change, ...]:
    """Return what became another on these nodes, by fact; what either run did not read is none."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for fact in sorted({*before, *after}, key=natural_key):
        for node in nodes:
            old, new = before.get(fact, {}).get(node), after.get(fact, {}).get(node)
            if old is not None and new is not None and old != new:
                found.setdefault((fact, old, new), []).append(node)
    return tuple(Change(*key, tuple(names)) for key, names in found.items())
