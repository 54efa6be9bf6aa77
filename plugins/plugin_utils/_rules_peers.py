# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules that compare a node with its peers. Private to trackbed.cluster."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from fractions import Fraction

from ansible_collections.trackbed.cluster.plugins.plugin_utils._check import (
    Case,
    Check,
    is_absent,
    need_document,
    need_sku,
    other_vendor,
)
from ansible_collections.trackbed.cluster.plugins.plugin_utils._documents import Thing
from ansible_collections.trackbed.cluster.plugins.plugin_utils._finding import (
    FAIL,
    PASS,
    SKIP,
    UNKNOWN,
    Basis,
    Finding,
)
from ansible_collections.trackbed.cluster.plugins.plugin_utils._names import (
    counted,
    fold_short,
    natural_key,
    shown,
)

# Below this share there is no majority, only populations: with 55 against 45
# nobody is "the odd one out". Our own judgement.
MAJORITY = Fraction(3, 5)
# Every finding of a group carries the spread: 10,000 scattered names must not be in each.
_SPREAD_WIDTH = 120
# Not to have it is a value, too: one node without what all others have is not like them.
_ABSENT = "none"
_PARTS = {"gpu": "GPU", "nic": "NIC"}


@dataclasses.dataclass(frozen=True)
class _Read:
    """The value of one node that could be read."""

    value: str
    evidence: tuple[str, ...]


def peers_equal(check: Check, case: Case) -> Iterator[Finding]:
    """Compare one value of the node among all nodes of its SKU."""
    for nodes in case.topology.by_sku.values():
        group: dict[str, _Read] = {}
        for node in nodes:
            sku = other_vendor(check, case, node) or need_sku(check, case, node)
            read = sku if isinstance(sku, Finding) else _read(check, case, node.name)
            if isinstance(read, Finding):
                yield read
            else:
                group[node.name] = read
        if group:
            yield from _compare(check, str(nodes[0].sku), len(nodes), group)


def _read(check: Check, case: Case, node: str) -> _Read | Finding:
    absent = is_absent(check, case, node) if check.optional else None
    if absent:
        return _Read(_ABSENT, absent.evidence)
    document = need_document(check, case, node)
    if isinstance(document, Finding):
        return document
    name, sort = check.params["value"], check.params.get("entity", "")
    parts = [one for one in document.things.values() if one.sort == sort]
    values = {one.path: _text(one, name) for one in parts}
    missing = next((path for path, value in values.items() if value is None), None)
    if missing is None and values and not document.cut:
        return _Read(_whole(sort, values), document.evidence)
    trouble = document.trouble_at((missing or "").partition("/")[2], name)
    nothing = f"there is no {sort}" if sort else "the value is missing"
    reason = document.cut or trouble or ("the value is missing" if values else nothing)
    says = f"The {check.params['noun']} of {node} cannot be read: {reason}."
    return check.finding(node, UNKNOWN, says, action="repeat", evidence=document.evidence)


def _text(part: Thing, name: str) -> str | None:
    value = part.values.get(name)
    return None if value is None or value == "" else shown(value)


def _whole(sort: str, values: Mapping[str, str | None]) -> str:
    noun = _PARTS.get(sort, sort.rpartition("/")[2])
    return counted([value for value in values.values() if value], noun)


def _compare(check: Check, sku: str, size: int, group: Mapping[str, _Read]) -> Iterator[Finding]:
    """Judge the nodes that could be read; `size` counts the others too."""
    noun = check.params["noun"]
    if all(read.value == _ABSENT for read in group.values()):
        for node, read in group.items():
            says = f"No node of {sku} here has a {noun} to compare."
            yield check.finding(node, SKIP, says, evidence=read.evidence)
        return
    if len(group) == 1:
        (node,) = group
        if size == 1:
            says = f"{node} is the only node of {sku} here; there is nothing to compare it with."
            yield check.finding(node, SKIP, says, evidence=group[node].evidence)
        else:
            says = f"No other node of {sku} could be read to compare the {noun} of {node} with."
            yield check.finding(
                node,
                UNKNOWN,
                says,
                actual=group[node].value,
                action="repeat",
                evidence=group[node].evidence,
            )
        return
    holders: dict[str, list[str]] = {}
    for node, read in group.items():
        holders.setdefault(read.value, []).append(node)
    ranked = sorted(holders, key=lambda value: (-len(holders[value]), natural_key(value)))
    if len(holders[ranked[0]]) >= MAJORITY * len(group):
        yield from _against_majority(check, sku, group, ranked[0], _spread(holders, ranked))
    else:
        yield from _populations(check, sku, group, _spread(holders, ranked), len(ranked))


def _against_majority(
    check: Check, sku: str, group: Mapping[str, _Read], usual: str, spread: str
) -> Iterator[Finding]:
    noun = check.params["noun"]
    basis = Basis("peers", f"{len(group):,} nodes of {sku}: {spread}")
    count = sum(read.value == usual for read in group.values())
    for node, read in group.items():
        same = read.value == usual
        head = f"{node} has {noun} {read.value}"
        says = (
            f"{head}, like {count - 1:,} of the {len(group) - 1:,} others of {sku}."
            if same
            else f"{head}; {count:,} of {len(group):,} nodes of {sku} have {usual}."
        )
        yield check.finding(
            node,
            PASS if same else FAIL,
            says,
            expected=usual,
            actual=read.value,
            basis=basis,
            action=None if same else check.action,
            evidence=read.evidence,
        )


def _populations(
    check: Check, sku: str, group: Mapping[str, _Read], spread: str, kinds: int
) -> Iterator[Finding]:
    noun = check.params["noun"]
    many = "two" if kinds == 2 else str(kinds)
    says = f"The {len(group):,} nodes of {sku} are {many} populations by {noun}: {spread}."
    for node, read in group.items():
        yield check.finding(
            node,
            FAIL,
            says,
            expected=f"one {noun} on all nodes of {sku}",
            actual=spread,
            basis=Basis(
                "peers", f"{len(group):,} nodes of {sku}; no value has {float(MAJORITY):.0%}"
            ),
            action="choose_one",
            evidence=read.evidence,
        )


def _spread(holders: Mapping[str, list[str]], ranked: list[str]) -> str:
    """Return `6.1.0-18 on gpu-[001-003] · 6.1.0-20 on gpu-004`."""
    return " · ".join(f"{value} on {fold_short(holders[value], _SPREAD_WIDTH)}" for value in ranked)
