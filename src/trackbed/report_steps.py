"""The report of a run that changes nodes: states, what changed, what went wrong. Pure.

Takes the rows of `trackbed.cli.summary`: node states, failures and changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.trackbed.cluster.plugins.plugin_utils._names import (
    fold_short,
    natural_key,
)

from trackbed.output import STATE_COLOURS, paint
from trackbed.table import INDENT, MIN_WIDTH, Paint, columns, fields, plain, plural, wrap

Row = Mapping[str, Any]

_COUNTS = ("ok", "changed", "failed", "unreachable", "skipped")
# The worst first.
_STATES = ("failed", "unreachable", "untouched", "changed", "ok")
MAX_ROWS = 20
MAX_CHANGES = 40
MAX_FAILURES = 15
MAX_LABEL = 36
# A value longer than this, or of several lines, is not shown beside its setting.
MAX_VALUE = 48
# Ansible's messages can hold a whole log.
MAX_MESSAGE = 600


def render_steps(
    rows: Sequence[Row],
    failures: Sequence[Row],
    changes: Sequence[Row],
    *,
    check: bool = False,
    itemised: bool = True,
    colour: bool,
    width: int,
) -> str:
    """Return the whole report as text.

    `check`: nothing was changed, it only would be. `itemised`: list each setting, not only count.
    """
    if not rows:
        return "No node was touched.\n"
    wide = max(width, MIN_WIDTH)
    tint: Paint = _tint if colour else plain
    parts = [
        wrap(_sentence(rows, failures, changes, check), wide),
        _table(rows, tint),
        _changes(changes, check, wide) if itemised else [],
        *_failures(failures, tint, wide),
    ]
    return "\n\n".join("\n".join(lines) for lines in parts if lines) + "\n"


def _tint(word: str) -> str:
    return paint(word, STATE_COLOURS.get(word.lower(), ""))


def _sentence(
    rows: Sequence[Row], failures: Sequence[Row], changes: Sequence[Row], check: bool
) -> str:
    by_state: dict[str, list[str]] = {}
    for row in rows:
        by_state.setdefault(str(row["state"]), []).append(str(row["node"]))
    bad = [state for state in _STATES[:3] if state in by_state]
    if not bad:
        who = fold_short([str(row["node"]) for row in rows], MAX_LABEL)
        if not changes and "changed" not in by_state:
            return f"{who}: nothing to change."
        verb = "would change" if check else "changed"
        where = plural(len(by_state.get("changed", ())), "node")
        return f"{who}: {plural(len(changes), 'setting')} {verb} on {where}."
    told = "; ".join(f"{state} on {fold_short(by_state[state], MAX_LABEL)}" for state in bad)
    first = next((one for one in failures if one["status"] == bad[0]), None)
    why = f" {_task(first)}: {_message(first)}" if first else ""
    return f"{told[0].upper()}{told[1:]}.{why}"


def _table(rows: Sequence[Row], tint: Paint) -> list[str]:
    alike: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        counts = (str(row[name]) for name in _COUNTS)
        alike.setdefault((str(row["state"]), *counts), []).append(str(row["node"]))
    patterns = sorted(alike, key=lambda row: (_place(row[0]), natural_key(min(alike[row]))))
    shown = [[fold_short(alike[row], MAX_LABEL), *row] for row in patterns[:MAX_ROWS]]
    left = sum(len(alike[row]) for row in patterns[MAX_ROWS:])
    more = [f"… and {plural(left, 'more node')}, none in a worse state."] if left else []
    return [*columns(["node", "state", *_COUNTS], shown, tint), *more]


def _place(state: str) -> int:
    return _STATES.index(state) if state in _STATES else len(_STATES)


def _changes(changes: Sequence[Row], check: bool, width: int) -> list[str]:
    """Return one line a setting, with the nodes folded."""
    alike: dict[tuple[str, str, str], list[str]] = {}
    for one in changes:
        key = (str(one["role"] or ""), str(one["setting"]), _difference(one))
        alike.setdefault(key, []).append(str(one["node"]))
    lines: list[str] = []
    for (role, setting, difference), nodes in list(alike.items())[:MAX_CHANGES]:
        lead = f"{role}: " if role else ""
        text = f"{lead}{setting}{difference}  ({fold_short(nodes, MAX_LABEL)})"
        lines += wrap(text, width, INDENT, INDENT * 3)
    left = len(alike) - MAX_CHANGES
    if left > 0:
        lines.append(f"{INDENT}… and {plural(left, 'more setting')}.")
    return [("Would change:" if check else "Changed:"), *lines] if lines else []


def _difference(one: Row) -> str:
    """Return `: before -> after` where both are short values of one line."""
    texts = [_value(one["before"]), _value(one["after"])]
    if one["before"] is one["after"] is None or None in texts:
        return ""
    return f": {texts[0]} -> {texts[1]}"


def _value(value: Any) -> str | None:
    text = "(absent)" if value is None or value == "" else str(value)
    return text if len(text) <= MAX_VALUE and "\n" not in text else None


def _failures(failures: Sequence[Row], tint: Paint, width: int) -> list[list[str]]:
    alike: dict[tuple[str, str, str], list[str]] = {}
    for one in failures:
        key = (str(one["status"]), _task(one), _message(one))
        alike.setdefault(key, []).append(str(one["node"]))
    blocks = []
    for (status, task, message), nodes in list(alike.items())[:MAX_FAILURES]:
        where = fold_short(nodes, MAX_LABEL)
        body = fields([("where", where), ("what", message)], width)
        blocks.append([f"{tint(status.upper())}  {task}", *body])
    left = len(alike) - MAX_FAILURES
    if left > 0:
        blocks.append([f"… and {plural(left, 'more failure')}; `trackbed runs` has them."])
    return blocks


def _task(one: Row) -> str:
    return " | ".join(str(one[name]) for name in ("role", "task") if one[name]) or "(no task)"


def _message(one: Row) -> str:
    text = " ".join(str(one["message"] or "no message").split())
    return text if len(text) <= MAX_MESSAGE else f"{text[:MAX_MESSAGE]} … (cut)"
