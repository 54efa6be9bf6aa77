"""What a run came to: node states, changes, failures, exit code. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ansible_collections.trackbed.cluster.plugins.plugin_utils import _finding
from ansible_collections.trackbed.cluster.plugins.plugin_utils._finding import Finding
from ansible_collections.trackbed.cluster.plugins.plugin_utils._journal_rows import (
    STEP_CHANGED,
    STEP_FAILED,
    STEP_UNREACHABLE,
    NodeTally,
    Step,
)
from ansible_collections.trackbed.cluster.plugins.plugin_utils._names import natural_key

SCHEMA = 1  # of every --json document (docs/cli.md)

OK = "ok"
CHANGED = "changed"
FAILED = "failed"
UNREACHABLE = "unreachable"
UNTOUCHED = "untouched"  # no task had a result for it

LEVEL = "level"
NOT_LEVEL = "not level"
UNKNOWN = "unknown"

# The most severe first; docs/cli.md says why a certain defect outweighs an open question.
_PRECEDENCE = (
    _finding.EXIT_INTERRUPTED,
    _finding.EXIT_USAGE,
    _finding.EXIT_FAILED,
    _finding.EXIT_NOT_LEVEL,
    _finding.EXIT_PARTIAL,
)
# The worst first; a node is as good as its worst finding.
_WORST = (_finding.FAIL, _finding.WARN, _finding.UNKNOWN, _finding.PASS, _finding.SKIP)
# Qualities of a document that leave a question open (evidence contract).
_OPEN = frozenset({"partial", "unreadable", "timeout", "error"})


def worst(codes: Iterable[int]) -> int:
    """Return the exit code that outweighs the others."""
    found = set(codes)
    return next((code for code in _PRECEDENCE if code in found), _finding.EXIT_LEVEL)


def node_state(tally: NodeTally) -> str:
    """Return how one node came through a run."""
    if tally.failed:
        return FAILED
    if tally.unreachable:
        return UNREACHABLE
    if tally.changed:
        return CHANGED
    return OK if tally.ok or tally.skipped or tally.ignored else UNTOUCHED


def node_rows(names: Sequence[str], tallies: Iterable[NodeTally]) -> list[dict[str, Any]]:
    """Return one row per node that was asked for, also for those without any result."""
    known = {tally.node: tally for tally in tallies}
    return [_row(known.get(name) or NodeTally(name)) for name in names]


def _row(tally: NodeTally) -> dict[str, Any]:
    counts = ("ok", "changed", "failed", "unreachable", "skipped")
    return {
        "node": tally.node,
        "state": node_state(tally),
        **{name: getattr(tally, name) for name in counts},
    }


def run_code(rows: Iterable[Mapping[str, Any]]) -> int:
    """Return the exit code of a run by its nodes: one failed is 1, one not reached is 4."""
    by_state = {
        FAILED: _finding.EXIT_FAILED,
        UNREACHABLE: _finding.EXIT_PARTIAL,
        UNTOUCHED: _finding.EXIT_PARTIAL,
    }
    return worst(by_state.get(row["state"], _finding.EXIT_LEVEL) for row in rows)


def quality_code(documents: Iterable[Mapping[str, Any]]) -> int:
    """Return the exit code of what was read: something unreadable or late is 4."""
    if any(one.get("quality") in _OPEN for one in documents):
        return _finding.EXIT_PARTIAL
    return _finding.EXIT_LEVEL


def failures(steps: Iterable[Step]) -> list[dict[str, Any]]:
    """Return what went wrong where, except for what the play itself passed over."""
    return [
        {
            "node": step.node,
            "status": step.status,
            "role": step.role,
            "task": step.task,
            "message": step.message,
        }
        for step in steps
        if step.status in (STEP_FAILED, STEP_UNREACHABLE) and not step.ignored
    ]


def changes(steps: Iterable[Step]) -> list[dict[str, Any]]:
    """Return every setting that changed, or would: one row per item of a step's diff.

    A step that changed and has no diff is one row without values: it is not left out. Nodes come
    in natural order, because which of them is done first is chance.
    """
    changed = [row for step in steps if step.status == STEP_CHANGED for row in _change_rows(step)]
    return sorted(changed, key=lambda row: natural_key(row["node"]))


def _change_rows(step: Step) -> list[dict[str, Any]]:
    where = {"node": step.node, "role": step.role, "task": step.task}
    rows = [
        {
            **where,
            "setting": _setting(item, step.task),
            "before": _text(item.get("before")),
            "after": _text(item.get("after")),
        }
        for item in step.diff or []
        if item.get("before") != item.get("after")
    ]
    return rows or [{**where, "setting": step.task, "before": None, "after": None}]


def _setting(item: Mapping[str, Any], task: str) -> str:
    return str(item.get("after_header") or item.get("before_header") or task)


def _text(value: Any) -> Any:
    return value.strip() if isinstance(value, str) else value


def verdicts(names: Sequence[str], findings: Iterable[Finding]) -> dict[str, str]:
    """Return the worst verdict of each node; a node without a finding is unknown, never pass."""
    by_node: dict[str, set[str]] = {name: set() for name in names}
    for finding in findings:
        for node in nodes_of(finding.entity):
            by_node.setdefault(node, set()).add(finding.verdict)
    return {node: worst_verdict(found) for node, found in by_node.items()}


def worst_verdict(found: Iterable[str]) -> str:
    """Return the worst of these verdicts; none at all is unknown."""
    have = set(found)
    return next((verdict for verdict in _WORST if verdict in have), _finding.UNKNOWN)


def nodes_of(entity: str) -> tuple[str, ...]:
    """Return the nodes that an entity path is about; a link has one at each end."""
    if not entity.startswith("link:"):
        return (entity.split("/", 1)[0],)
    ends = entity.removeprefix("link:").split("--")
    return tuple(dict.fromkeys(end.split("/", 1)[0] for end in ends))


def in_a_word(code: int) -> str:
    """Return the word for an exit code of a validation."""
    return {_finding.EXIT_LEVEL: LEVEL, _finding.EXIT_NOT_LEVEL: NOT_LEVEL}.get(code, UNKNOWN)
