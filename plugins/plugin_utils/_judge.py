# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The judge: evidence in, findings out. Pure, deterministic. Private to trackbed.cluster.

Every node of the topology gets at least one finding from every check; what
could not be judged is `unknown` with its reason, never `pass`.
"""

from __future__ import annotations

import dataclasses
import typing as t
from collections.abc import Iterable

from ansible_collections.trackbed.cluster.plugins.plugin_utils._book import Book
from ansible_collections.trackbed.cluster.plugins.plugin_utils._check import Case, Check, Evidence
from ansible_collections.trackbed.cluster.plugins.plugin_utils._finding import (
    SKIP,
    UNKNOWN,
    Basis,
    Finding,
)
from ansible_collections.trackbed.cluster.plugins.plugin_utils._names import natural_key
from ansible_collections.trackbed.cluster.plugins.plugin_utils._policy import Policy, Setting
from ansible_collections.trackbed.cluster.plugins.plugin_utils._rules import RULES
from ansible_collections.trackbed.cluster.plugins.plugin_utils._topology import Topology


def judge(
    current: Evidence, history: Evidence, topology: Topology, book: Book, policy: Policy
) -> list[Finding]:
    """Return the findings of every check about every node, in the book's order, then by node.

    `current` and `history` hold the evidence documents of each node (this run's,
    and those of earlier runs, oldest first).
    """
    case = Case(current, history, topology, book.skus)
    findings: list[Finding] = []
    for check in book.checks:
        setting = policy.get(check.id, Setting())
        own = _with_policy(check, setting)
        found = list(_off(own, topology) if not setting.enabled else _judged(own, case))
        findings.extend(sorted(found, key=_order))
    return findings


def _with_policy(check: Check, setting: Setting) -> Check:
    """Return the check as the site wants it; the basis of its findings then names the policy."""
    changes: dict[str, t.Any] = {}
    if setting.want is not None:
        changes["params"] = {**check.params, "want": setting.want}
        changes["sources"] = (f"the site's policy: {check.id}.want", *check.sources)
    if setting.severity:
        changes["severity"] = setting.severity
    if setting.action:
        changes["action"] = setting.action
    return dataclasses.replace(check, **changes)


def _judged(check: Check, case: Case) -> Iterable[Finding]:
    """Run a check's rule, and add what it forgot: silence is not a pass."""
    found = list(RULES[check.rule].judge(check, case))
    seen = {one.node for one in found}
    for name in case.topology.names:
        if name not in seen:
            says = f"The check gave no verdict for {name}; this is a defect of Trackbed."
            found.append(check.finding(name, UNKNOWN, says, action="report_format"))
    return found


def _off(check: Check, topology: Topology) -> Iterable[Finding]:
    says = "The policy switches this check off."
    basis = Basis("policy", f"{check.id}.enabled")
    return [check.finding(name, SKIP, says, basis=basis) for name in topology.names]


def _order(finding: Finding) -> tuple[t.Any, ...]:
    return natural_key(finding.node), natural_key(finding.entity), finding.verdict
