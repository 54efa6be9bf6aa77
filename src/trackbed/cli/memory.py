"""The verbs that ask the journal alone: `report`, `runs`, `status`; and `config`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ansible_collections.trackbed.cluster.plugins.plugin_utils import _finding
from ansible_collections.trackbed.cluster.plugins.plugin_utils._finding import Finding, exit_code
from ansible_collections.trackbed.cluster.plugins.plugin_utils._journal import Journal
from ansible_collections.trackbed.cluster.plugins.plugin_utils._journal_move import import_journal
from ansible_collections.trackbed.cluster.plugins.plugin_utils._journal_rows import Run
from ansible_collections.trackbed.cluster.plugins.plugin_utils._names import natural_key
from ansible_collections.trackbed.cluster.plugins.plugin_utils._topology import Topology

from trackbed.cli import observe, render, standing, summary
from trackbed.cli.context import Context
from trackbed.errors import UsageError

VALIDATE = "validate"


def report(context: Context) -> int:
    """Show a validation again, as it was judged then."""
    with context.journal(read_only=True) as journal:
        run, findings = _judged_run(context, journal)
        failures = summary.failures(journal.steps(run.id))
    names = sorted({tally.node for tally in run.nodes} | _nodes_of(findings), key=natural_key)
    # Only a limit narrows: a report is of the nodes that were judged, not of those there are now.
    chosen = set(context.nodes.names) if context.config.limit.value else set(names)
    names = [name for name in names if name in chosen]
    findings = [one for one in findings if chosen.intersection(summary.nodes_of(one.entity))]
    failures = [one for one in failures if one["node"] in chosen]
    rows = summary.node_rows(names, run.nodes)
    code = summary.worst([summary.run_code(rows), exit_code(findings)])
    observe.print_report(context, findings, Topology.from_hostvars({}, names), rows, failures)
    keys = observe.judgement(findings, rows)
    context.output.emit(context.document(code, run=run.id, **keys, failures=failures))
    return code


def runs(context: Context) -> int:
    """List, show or prune runs."""
    action = {"show": _show, "prune": _prune}.get(context.args.action, _list)
    return action(context)


def status(context: Context) -> int:
    """Say how each node stands, as far as the journal knows."""
    with context.journal(read_only=True) as journal:
        known = journal.runs()
        judged = {run.id: journal.findings(run.id) for run in known if run.info.verb == VALIDATE}
    names = context.nodes.names if context.asks_inventory else None
    rows = standing.standings(known, judged, names)
    code = standing.code(rows)
    context.output.text(render.status({"nodes": rows}, colour=context.output.colour))
    context.output.emit(context.document(code, nodes=rows))
    return code


def journal(context: Context) -> int:
    """Take the journal to another controller."""
    file, place = str(Path(context.args.file).absolute()), context.journal_place()
    if context.args.action == "import":
        import_journal(file, place, context.args.sha256)
        context.output.text(f"{place} is now the journal; its runs are those of {file}")
        context.output.emit(context.document(_finding.EXIT_LEVEL, file=file, journal=place))
        return _finding.EXIT_LEVEL
    with context.journal(read_only=True) as opened:
        digest = opened.export(file)
    context.output.text(f"{digest}  {file}")
    keys = {"file": file, "journal": place, "sha256": digest}
    context.output.emit(context.document(_finding.EXIT_LEVEL, **keys))
    return _finding.EXIT_LEVEL


def settings(context: Context) -> int:
    """Show every setting and where its value came from."""
    rows = context.config.rows()
    context.output.text(render.settings({"settings": rows}))
    context.output.emit(context.document(_finding.EXIT_LEVEL, settings=rows))
    return _finding.EXIT_LEVEL


def _list(context: Context) -> int:
    with context.journal(read_only=True) as journal:
        found = [_row(run) for run in journal.runs(getattr(context.args, "last", None) or 20)]
    context.output.text(render.runs({"runs": found}, colour=context.output.colour))
    context.output.emit(context.document(_finding.EXIT_LEVEL, runs=found))
    return _finding.EXIT_LEVEL


def _show(context: Context) -> int:
    with context.journal(read_only=True) as journal:
        run = run_named(journal, context.args.run)
        steps = journal.steps(run.id)
    names = sorted((tally.node for tally in run.nodes), key=natural_key)
    found = {
        **_row(run),
        "nodes": summary.node_rows(names, run.nodes),
        "failures": summary.failures(steps),
        "changes": summary.changes(steps),
    }
    context.output.text(
        render.run({"run": found}, colour=context.output.colour, width=context.width)
    )
    context.output.emit(context.document(_finding.EXIT_LEVEL, run=found))
    return _finding.EXIT_LEVEL


def _prune(context: Context) -> int:
    with context.journal() as journal:
        pruned = journal.prune(context.args.keep)
        kept = len(journal.runs())
    context.output.text(f"forgot {len(pruned)} runs, kept {kept}")
    context.output.emit(context.document(_finding.EXIT_LEVEL, pruned=pruned, kept=kept))
    return _finding.EXIT_LEVEL


def _judged_run(context: Context, journal: Journal) -> tuple[Run, list[Finding]]:
    """Return the run that was asked for, or the last validation, and what was found in it."""
    asked = context.args.run
    if asked:
        run = run_named(journal, asked)
        findings = list(journal.findings(run.id))
        if findings:
            return run, findings
        raise UsageError(
            f"run {run.id} ({run.info.verb}) judged nothing",
            wanted="a run that judged",
            remedy="see `trackbed runs`, or leave --run out",
        )
    for run in journal.runs():
        findings = list(journal.findings(run.id))
        if findings:
            return run, findings
    raise UsageError(
        "the journal knows no validation",
        wanted="at least one",
        remedy="run: trackbed validate",
    )


def run_named(journal: Journal, asked: str) -> Run:
    """Return the run with this id, or the only one whose id begins or ends so."""
    every = journal.runs()
    found = [run for run in every if run.id == asked] or [
        run for run in every if run.id.startswith(asked) or run.id.endswith(asked)
    ]
    if len(found) == 1:
        return found[0]
    raise UsageError(
        f"{len(found)} runs match {asked!r}" if found else f"there is no run {asked!r}",
        wanted="the id of one run",
        remedy="see `trackbed runs`",
    )


def _row(run: Run) -> dict[str, Any]:
    return {
        "id": run.id,
        "verb": run.info.verb,
        "state": run.state,
        "started": run.started,
        "ended": run.ended,
        "exit_code": run.exit_code,
        "check": run.info.check_mode,
        "user": run.info.user,
        "controller": run.info.controller,
        "says": run.says,
        "command": run.info.command,
        "nodes": len(run.nodes),
    }


def _nodes_of(findings: Sequence[Finding]) -> set[str]:
    return {node for one in findings for node in summary.nodes_of(one.entity)}
