"""How each node stands, from the runs that the journal knows. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ansible_collections.trackbed.cluster.plugins.plugin_utils import _finding
from ansible_collections.trackbed.cluster.plugins.plugin_utils._finding import Finding
from ansible_collections.trackbed.cluster.plugins.plugin_utils._journal_rows import NodeTally, Run
from ansible_collections.trackbed.cluster.plugins.plugin_utils._names import natural_key

from trackbed.cli import summary

_SITE = ("site", "up")
_CODES = {
    _finding.PASS: _finding.EXIT_LEVEL,
    _finding.SKIP: _finding.EXIT_PARTIAL,
    _finding.FAIL: _finding.EXIT_NOT_LEVEL,
    _finding.WARN: _finding.EXIT_NOT_LEVEL,
    _finding.UNKNOWN: _finding.EXIT_PARTIAL,
}


def standings(
    runs: Iterable[Run],
    judged: Mapping[str, Sequence[Finding]],
    names: Sequence[str] | None = None,
) -> list[dict[str, Any]]:
    """Return one row per node, from runs that come newest first.

    `judged` holds the findings of runs that judged, by id. `names` are the nodes
    asked about; without it, all that any run knows, in natural order.
    """
    found: dict[str, dict[str, Any]] = {}
    for run in runs:
        worst = summary.verdicts([], judged[run.id]) if judged.get(run.id) else {}
        for tally in run.nodes:
            _take_tally(_row(found, tally.node), run, tally)
        for node, verdict in worst.items():
            row = _row(found, node)
            row["validate"] = row["validate"] or _mark(run, verdict)
    wanted = sorted(found, key=natural_key) if names is None else names
    return [_row(found, name) for name in wanted]


def code(rows: Iterable[Mapping[str, Any]]) -> int:
    """Return the exit code: what the last judgements and the last `site` of all nodes say."""
    codes = []
    for row in rows:
        judged, applied = row["validate"], row["site"]
        codes.append(_CODES[judged["state"]] if judged else _finding.EXIT_PARTIAL)
        if applied and applied["state"] in (summary.FAILED, summary.UNREACHABLE):
            codes.append(_finding.EXIT_PARTIAL)
    return summary.worst(codes) if codes else _finding.EXIT_PARTIAL


def _row(found: dict[str, dict[str, Any]], node: str) -> dict[str, Any]:
    return found.setdefault(node, {"node": node, "site": None, "validate": None, "seen": None})


def _take_tally(row: dict[str, Any], run: Run, tally: NodeTally) -> None:
    is_site = run.info.verb in _SITE and not run.info.check_mode
    if is_site and row["site"] is None:
        row["site"] = _mark(run, summary.node_state(tally))
    answered = tally.ok or tally.changed or tally.failed or tally.ignored
    if answered and row["seen"] is None:
        row["seen"] = run.ended or run.started


def _mark(run: Run, state: str) -> dict[str, Any]:
    return {"run": run.id, "at": run.ended or run.started, "state": state}
