# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The declaration of a check, and the case that a rule looks at. Private to trackbed.cluster."""

from __future__ import annotations

import dataclasses
import functools
import typing as t
from collections.abc import Callable, Iterable, Mapping, Sequence

from ansible_collections.trackbed.cluster.plugins.module_utils import _reading
from ansible_collections.trackbed.cluster.plugins.plugin_utils._documents import (
    Document,
    documents,
)
from ansible_collections.trackbed.cluster.plugins.plugin_utils._finding import (
    SKIP,
    UNKNOWN,
    Basis,
    Finding,
)
from ansible_collections.trackbed.cluster.plugins.plugin_utils._names import meant
from ansible_collections.trackbed.cluster.plugins.plugin_utils._skus import Sku
from ansible_collections.trackbed.cluster.plugins.plugin_utils._topology import Node, Topology

Evidence = Mapping[str, Sequence[t.Any]]
"""Node name -> evidence documents."""


@dataclasses.dataclass(frozen=True)
class Check:
    """One check, as a file in `checks/` declares it."""

    id: str
    title: str
    reads: tuple[str, ...]
    """The sources that can tell, best first: one document of one of them is needed."""
    rule: str
    params: Mapping[str, t.Any]
    severity: str
    action: str
    explains: str
    sources: tuple[str, ...]
    vendor: str = ""
    """Only nodes with GPUs of this maker have what it looks at; empty: all nodes."""
    only_with: str = ""
    """A source; a node where that is absent has not what the check looks at."""
    optional: bool = False
    """Whether a run need not read the source, nor a node have it: then nothing is said."""

    def finding(self, entity: str, verdict: str, says: str, **more: t.Any) -> Finding:
        """Return a finding of this check."""
        return Finding(self.id, entity, verdict, self.severity, says, **more)


@dataclasses.dataclass(frozen=True)
class Case:
    """Everything that a rule may look at."""

    current: Evidence
    history: Evidence
    topology: Topology
    skus: Mapping[str, Sku]

    @functools.cached_property
    def views(self) -> Mapping[str, Mapping[str, Document]]:
        """Node -> source -> document."""
        return {name: documents(self.current.get(name)) for name in self.topology.names}


Rule = Callable[[Check, Case], Iterable[Finding]]

# Quality that leaves nothing to judge -> what happened, what to do.
_NOTHING = {
    _reading.ABSENT: ("is not there", "install_tool"),
    _reading.UNREADABLE: ("answered in a form that is not known", "report_format"),
    _reading.TIMEOUT: ("did not answer in time", "repeat"),
    _reading.ERROR: ("ended with an error", "read_tool_error"),
}


def need_document(check: Check, case: Case, node: str) -> Document | Finding:
    """Return the document that the check reads, or the finding that says why there is none."""
    views = case.views[node]
    if not views:
        says = f"{node} gave no evidence in this run."
        return check.finding(node, UNKNOWN, says, action="reach_node")
    without = views.get(check.only_with)
    if without is not None and without.quality == _reading.ABSENT:
        return _not_judged(check, node, without)
    found = [views[source] for source in check.reads if source in views]
    if found:
        return _usable(check, node, found)
    if check.optional:
        return check.finding(node, SKIP, f"Not read on {node} in this run.")
    says = f"{node} gave no {' or '.join(check.reads)} evidence in this run."
    return check.finding(node, UNKNOWN, says, action="repeat")


def _usable(check: Check, node: str, found: Sequence[Document]) -> Document | Finding:
    """Return the best document, or the finding that it leaves nothing to judge."""
    document = next((one for one in found if one.quality not in _NOTHING), found[0])
    if document.quality == _reading.NOT_APPLICABLE:
        says = f"{document.source} does not apply to {node}: {document.reason}."
        return check.finding(node, SKIP, says, evidence=document.evidence)
    if document.quality == _reading.ABSENT and check.optional:
        return _not_judged(check, node, document)
    return _nothing(check, node, document) if document.quality in _NOTHING else document


def _not_judged(check: Check, node: str, document: Document) -> Finding:
    says = f"Not judged on {node}: {document.reason}."
    return check.finding(node, SKIP, says, evidence=document.evidence)


def is_absent(check: Check, case: Case, node: str) -> Document | None:
    """Return the document that says that what the check reads is not there, or None."""
    found = [case.views[node][source] for source in check.reads if source in case.views[node]]
    missing = (_reading.ABSENT, _reading.NOT_APPLICABLE)
    return found[0] if found and all(one.quality in missing for one in found) else None


def _nothing(check: Check, node: str, document: Document) -> Finding:
    """Return the finding about a document that leaves nothing to judge."""
    happened, action = _NOTHING[document.quality]
    says = f"{document.source} on {node} {happened}: {document.reason}."
    more = {"actual": document.quality, "action": action, "evidence": document.evidence}
    return check.finding(node, UNKNOWN, says, **more)


def other_vendor(check: Check, case: Case, node: Node) -> Finding | None:
    """Return the finding that a check for another maker's GPUs has nothing to look at here."""
    sku = case.skus.get(node.sku or "")
    if not check.vendor or sku is None or sku.gpu_vendor == check.vendor:
        return None
    says = f"Not judged on {node.name}: {sku.sku} has no GPUs of {check.vendor}."
    return check.finding(node.name, SKIP, says)


def need_sku(check: Check, case: Case, node: Node) -> Sku | Finding:
    """Return the node's SKU, or the finding that says why it is not known."""
    if node.sku is None:
        says = f"The inventory does not say what {node.name} is built of."
        return check.finding(node.name, UNKNOWN, says, action="name_sku")
    sku = case.skus.get(node.sku)
    if sku is None:
        says = f"{node.name} has the SKU {node.sku!r}, which is not in the table; "
        return check.finding(
            node.name, UNKNOWN, says + meant(node.sku, case.skus) + ".", action="name_sku"
        )
    return sku


def spec(sku: Sku, *fields: str) -> Basis:
    """Return the basis of an expectation from the SKU table, with the published source."""
    return Basis("spec", "; ".join(dict.fromkeys(sku.source(field) for field in fields)))
