"""The verbs that read nodes: `facts`, and `validate`, which judges what was read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.trackbed.cluster.plugins.plugin_utils import _judging
from ansible_collections.trackbed.cluster.plugins.plugin_utils._finding import (
    VERDICTS,
    Finding,
    exit_code,
)
from ansible_collections.trackbed.cluster.plugins.plugin_utils._journal import Journal
from ansible_collections.trackbed.cluster.plugins.plugin_utils._policy import Policy, PolicyError
from ansible_collections.trackbed.cluster.plugins.plugin_utils._topology import Topology

from trackbed.cli import play, render, summary
from trackbed.cli.context import Context
from trackbed.errors import UsageError
from trackbed.report import render_table


def facts(context: Context) -> int:
    """Read the nodes and show what was found."""
    if context.args.show:
        return context.show()
    documents: list[dict[str, Any]] = []

    def collect(journal: Journal, run: str) -> int:
        for node, found in evidence(journal, run).items():
            documents.extend({"node": node, **one} for one in found)
        return summary.quality_code(documents)

    played = play.play(context, "facts", "facts", then=collect)
    document = played.document(documents=documents)
    context.output.text(render.facts(document, colour=context.output.colour, width=context.width))
    context.output.emit(document)
    return played.exit_code


def validate(context: Context) -> int:
    """Read the nodes and judge them."""
    if context.args.show:
        return context.show()
    document = judge_nodes(context)
    context.output.emit(document)
    return int(document["exit_code"])


def judge_nodes(context: Context) -> dict[str, Any]:
    """Read the nodes, judge them, print the report, and return the document of `validate`."""
    nodes = context.nodes
    policy = _policy(nodes.variables)
    findings: list[Finding] = []

    def judge(journal: Journal, run: str) -> int:
        findings.extend(
            _judging.judged(evidence(journal, run), {}, nodes.variables, nodes.names, policy)
        )
        journal.add_findings(run, findings)
        return exit_code(findings)

    played = play.play(context, "validate", "facts", then=judge)
    topology = Topology.from_hostvars(nodes.variables, nodes.names)
    print_report(context, findings, topology, played.nodes, played.failures)
    return played.document(**judgement(findings, played.nodes))


def evidence(journal: Journal, run: str) -> dict[str, list[dict[str, Any]]]:
    """Return the evidence documents of each node in one run."""
    found: dict[str, list[dict[str, Any]]] = {}
    for one in journal.evidence(run):
        found.setdefault(one.node, []).append(one.document)
    return found


def judgement(findings: Sequence[Finding], rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the keys of a judgement (docs/cli.md); the rows of nodes get their verdicts."""
    worst = summary.verdicts([str(row["node"]) for row in rows], findings)
    found = Counter(one.verdict for one in findings)
    return {
        "verdict": summary.in_a_word(exit_code(findings)),
        "nodes": [{**row, "verdict": worst[str(row["node"])]} for row in rows],
        "counts": {verdict: found[verdict] for verdict in VERDICTS},
        "findings": [one.as_dict() for one in findings],
    }


def print_report(
    context: Context,
    findings: Sequence[Finding],
    topology: Topology,
    rows: Sequence[Mapping[str, Any]],
    failures: Sequence[Mapping[str, Any]],
) -> None:
    """Print who could not be read, where somebody could not, and then the judgement."""
    colour, width = context.output.colour, context.width
    if failures:
        steps = {"nodes": rows, "failures": failures, "changes": []}
        context.output.text(render.site(steps, colour=colour, width=width))
        context.output.text("")
    context.output.text(render_table(findings, topology, colour=colour, width=width))


def _policy(variables: Mapping[str, Mapping[str, Any]]) -> Policy:
    """Return the site's policy, checked before a node is touched."""
    try:
        return _judging.common_policy(variables)
    except PolicyError as error:
        raise UsageError(
            str(error),
            wanted="one policy for all nodes: check -> {enabled, severity}",
            remedy=f"correct the variable {_judging.POLICY_VARIABLE}, or limit the command",
        ) from error
