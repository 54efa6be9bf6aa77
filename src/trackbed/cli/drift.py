"""The verb `drift`: where nodes of one SKU differ, and what changed since an earlier run."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from ansible_collections.trackbed.cluster.plugins.plugin_utils import _drift, _fingerprint
from ansible_collections.trackbed.cluster.plugins.plugin_utils._drift import Bundle, Change
from ansible_collections.trackbed.cluster.plugins.plugin_utils._finding import (
    EXIT_LEVEL,
    EXIT_NOT_LEVEL,
    EXIT_PARTIAL,
)
from ansible_collections.trackbed.cluster.plugins.plugin_utils._journal import Journal
from ansible_collections.trackbed.cluster.plugins.plugin_utils._names import (
    fold_short,
    meant,
)
from ansible_collections.trackbed.cluster.plugins.plugin_utils._topology import Topology

from trackbed.cli import observe, play
from trackbed.cli.context import Context
from trackbed.cli.memory import run_named
from trackbed.errors import UsageError
from trackbed.table import plural, wrap

_NODES = 60
_VALUE = 60
_FACTS = 12


def drift(context: Context) -> int:
    """Read the nodes, and say where they differ."""
    if context.args.show:
        return context.show()
    golden, nodes = context.args.golden, context.nodes
    if golden and golden not in nodes.names:
        raise UsageError(
            f"the golden node {golden!r} is none of those that are read",
            wanted=meant(golden, nodes.names),
            remedy="correct --golden, or --limit",
        )
    topology = Topology.from_hostvars(nodes.variables, nodes.names)
    found: list[Bundle] = []
    changed: list[Change] = []
    unread: list[str] = []

    before = _earlier(context)

    def compare(journal: Journal, run: str) -> int:
        now = _facts(journal, run)
        for group in topology.by_sku.values():
            names = [node.name for node in group]
            here = golden if golden in names else None
            found.extend(_drift.bundles(_drift.differences(now, names, here)))
        if before is not None:
            changed.extend(_drift.changes(before, now, nodes.names))
        nothing = (None, _fingerprint.ABSENT)
        read = {n for values in now.values() for n, value in values.items() if value not in nothing}
        unread.extend(name for name in nodes.names if name not in read)
        return EXIT_NOT_LEVEL if found or changed else EXIT_PARTIAL if unread else EXIT_LEVEL

    played = play.play(context, "drift", "facts", then=compare)
    lines = _lines(found, changed, unread, context)
    context.output.text("\n".join(lines))
    document = played.document(
        bundles=[_bundle(one) for one in found],
        changes=[dataclasses.asdict(one) for one in changed],
        unread=unread,
    )
    context.output.emit(document)
    return played.exit_code


def _earlier(context: Context) -> _fingerprint.Facts | None:
    """Return the facts of the run that --since names, before a node is touched."""
    if not context.args.since:
        return None
    with context.journal(read_only=True) as journal:
        return _facts(journal, run_named(journal, context.args.since).id)


def _facts(journal: Journal, run: str) -> _fingerprint.Facts:
    return _fingerprint.facts(observe.evidence(journal, run), _fingerprint.load())


def _bundle(one: Bundle) -> dict[str, Any]:
    return dataclasses.asdict(one)


def _lines(
    found: Sequence[Bundle], changed: Sequence[Change], unread: Sequence[str], context: Context
) -> list[str]:
    """Return the report: the sentence, then bundles, changes, and who was not read."""
    width = context.width
    lines = wrap(_sentence(found, context.nodes.names), width)
    for bundle in found:
        lines += ["", *_block(bundle, width)]
    if context.args.since:
        lines += ["", f"since {context.args.since}: {plural(len(changed), 'change')}"]
        for change in changed:
            text = f"{change.fact}: {change.before} -> {change.after}"
            lines += wrap(f"{text} on {fold_short(change.nodes, _NODES)}", width, "  ", "      ")
    if unread:
        lines += ["", *wrap(f"not read: {fold_short(unread, _NODES)}", width)]
    return lines


def _sentence(found: Sequence[Bundle], names: Sequence[str]) -> str:
    count = sum(len(one.differences) for one in found)
    if not found:
        return f"{plural(len(names), 'node')}: alike in all that was read."
    odd = {node for one in found if one.against != _drift.SPLIT for node in one.odd}
    splits = sum(one.against == _drift.SPLIT for one in found)
    verb = "differs" if len(odd) == 1 else "differ"
    parts = [f"{plural(len(odd), 'node')} {verb} from the rest"] if odd else []
    parts += [f"{plural(splits, 'split')} without a majority"] if splits else []
    head = f"{plural(len(names), 'node')} differ in {plural(count, 'fact')}"
    return f"{head}: {', '.join(parts)}."


def _block(bundle: Bundle, width: int) -> list[str]:
    shown = bundle.differences[:_FACTS]
    others = len(bundle.differences) - len(shown)
    if bundle.against == _drift.SPLIT:
        title = f"no majority among {plural(len(bundle.odd), 'node')}"
    else:
        title = f"{fold_short(bundle.odd, _NODES)}: not as the {bundle.against}"
    lines = [f"{title}, {plural(len(bundle.differences), 'fact')}"]
    for one in shown:
        groups = " · ".join(
            f"{fold_short(group.nodes, _NODES)}: {_cut(group.value)}"
            for group in sorted(one.groups, key=lambda group: group.value == one.expected)
        )
        lines += wrap(f"{one.fact}  [{groups}]", width, "  ", "      ")
    return [*lines, *([f"  … and {plural(others, 'more fact')} (--json)"] if others else [])]


def _cut(value: str) -> str:
    return value if len(value) <= _VALUE else f"{value[: _VALUE - 1]}…"
