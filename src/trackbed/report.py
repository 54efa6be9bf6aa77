"""The report of a validation for a terminal: the sentence first, then who, then why. Pure.

Nodes that came out alike share a row, and findings that say the same share a
paragraph, so that 1,000 nodes are read as easily as 8.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from ansible_collections.trackbed.cluster.plugins.plugin_utils._actions import ACTIONS
from ansible_collections.trackbed.cluster.plugins.plugin_utils._finding import (
    EXIT_LEVEL,
    EXIT_NOT_LEVEL,
    FAIL,
    PASS,
    SEVERITIES,
    SKIP,
    UNKNOWN,
    WARN,
    Finding,
    exit_code,
)
from ansible_collections.trackbed.cluster.plugins.plugin_utils._names import (
    fold,
    fold_short,
    natural_key,
)
from ansible_collections.trackbed.cluster.plugins.plugin_utils._topology import Topology

from trackbed.output import STATE_COLOURS, paint
from trackbed.report_steps import render_steps
from trackbed.table import (
    MIN_WIDTH,
    Paint,
    columns,
    columns_that_fit,
    fields,
    plain,
    plural,
    wrap,
)

__all__ = ["render_steps", "render_table"]

# The worst first.
_ORDER = (FAIL, WARN, UNKNOWN, PASS, SKIP)
_RANK = {verdict: place for place, verdict in enumerate(_ORDER)}
_GRAVITY = {severity: place for place, severity in enumerate(reversed(SEVERITIES))}
# What one screen can hold; what is left out is counted.
MAX_ROWS = 20
MAX_NAMES = 3
MAX_BLOCKS = 15
MAX_LABEL = 36

# A word as host names are: inner dots and hyphens belong to it.
_WORD = re.compile(r"\w[\w-]*(?:\.[\w-]+)*")

Cells = Mapping[str, Mapping[str, str]]
"""Node -> check -> worst verdict."""


def render_table(
    findings: Sequence[Finding], topology: Topology, *, colour: bool, width: int
) -> str:
    """Return the whole report as text, each line at most `width` wide where words allow it."""
    wide = max(width, MIN_WIDTH)
    tint: Paint = _tint if colour else plain
    if not topology.names or not findings:
        return "UNKNOWN: nothing was judged.\n"
    checks = list(dict.fromkeys(one.check for one in findings))
    cells = _cells(findings, topology, checks)
    groups = _groups(findings)
    parts = [
        wrap(_sentence(findings, groups, topology, cells, checks), wide),
        [_counts(cells, checks)],
        _table(cells, checks, tint, wide),
        *(_block(group, tint, wide) for group in groups[:MAX_BLOCKS]),
        _left_out(groups),
        _skipped(findings, wide),
    ]
    return "\n\n".join("\n".join(lines) for lines in parts if lines) + "\n"


def _tint(word: str) -> str:
    return paint(word, STATE_COLOURS.get(word.lower(), ""))


# --- the sentence ---------------------------------------------------------------------------


def _sentence(
    findings: Sequence[Finding],
    groups: Sequence[Sequence[Finding]],
    topology: Topology,
    cells: Cells,
    checks: Sequence[str],
) -> str:
    code = exit_code(findings)
    if code == EXIT_LEVEL:
        return f"{fold_short(topology.names, MAX_LABEL)}: level. {_passed(cells, checks)}"
    head = "NOT LEVEL" if code == EXIT_NOT_LEVEL else "UNKNOWN"
    if not groups:
        return f"{head}: every check was skipped, so nothing was proved."
    first = groups[0]
    more = len({one.entity for one in first}) - 1
    alike = f" The same on {more:,} more." if more and not _says_all(first) else ""
    others = len(groups) - 1
    rest = f" And {plural(others, 'more finding')}." if others else ""
    return f"{head}: {first[0].says}{alike}{rest}"


def _passed(cells: Cells, checks: Sequence[str]) -> str:
    """Return how many checks passed; one that applies to no node did not."""
    judged = [name for name in checks if any(cells[node][name] == PASS for node in cells)]
    words = f"{len(judged)} of {len(checks)} checks passed"
    skipped = len(checks) - len(judged)
    return f"{words}, {skipped} skipped." if skipped else f"{words}."


def _counts(cells: Cells, checks: Sequence[str]) -> str:
    found = Counter(verdict for row in cells.values() for verdict in row.values())
    words = ", ".join(f"{found[verdict]:,} {verdict}" for verdict in _ORDER if found[verdict])
    return f"{plural(len(cells), 'node')}, {plural(len(checks), 'check')}: {words}."


# --- nodes x checks -------------------------------------------------------------------------


def _cells(findings: Iterable[Finding], topology: Topology, checks: Sequence[str]) -> Cells:
    """Return the worst verdict of every node and check; silence is unknown."""
    found: dict[str, dict[str, str]] = {name: {} for name in topology.names}
    for one in findings:
        for node in _nodes(one.entity):
            row = found.setdefault(node, {})
            row[one.check] = min(
                row.get(one.check, one.verdict), one.verdict, key=_RANK.__getitem__
            )
    return {node: {name: row.get(name, UNKNOWN) for name in checks} for node, row in found.items()}


def _nodes(entity: str) -> tuple[str, ...]:
    """Return the nodes that an entity belongs to: a link has one at each end."""
    ends = entity.removeprefix("link:").split("--")
    return tuple(dict.fromkeys(end.split("/", 1)[0] for end in ends))


def _table(cells: Cells, checks: Sequence[str], tint: Paint, width: int) -> list[str]:
    alike: dict[tuple[str, ...], list[str]] = {}
    for node, row in cells.items():
        alike.setdefault(tuple(row[name] for name in checks), []).append(node)
    patterns = sorted(alike, key=lambda row: (_badness(row), natural_key(alike[row][0])))
    shown = patterns[:MAX_ROWS]
    labels = [fold_short(alike[row], MAX_LABEL) for row in shown]
    size = max(len("node"), *(len(label) for label in labels))
    wanted, note = _columns_shown(patterns, checks, size, width)
    lines: list[str] = []
    for block in columns_that_fit(size, wanted, len(UNKNOWN), width):
        rows = [
            [label, *(_word(row[checks.index(name)]) for name in block)]
            for label, row in zip(labels, shown, strict=True)
        ]
        lines += [*([""] if lines else []), *columns(["node", *block], rows, tint)]
    left = sum(len(alike[row]) for row in patterns[MAX_ROWS:])
    more = [f"… and {plural(left, 'more node')}, none worse than these."] if left else []
    return [*lines, *more, *note]


def _columns_shown(
    patterns: Sequence[tuple[str, ...]], checks: Sequence[str], label: int, width: int
) -> tuple[list[str], list[str]]:
    """Return the columns, without what every node passed or skipped, and the notes on those."""
    if len(columns_that_fit(label, checks, len(UNKNOWN), width)) == 1:
        return list(checks), []
    found = {name: {row[place] for row in patterns} for place, name in enumerate(checks)}
    telling = [name for name in checks if found[name] - {PASS, SKIP}]
    passed = sum(PASS in found[name] for name in checks if name not in telling)
    skipped = len(checks) - len(telling) - passed
    other = "other " if telling else ""
    some = any({PASS, SKIP} == found[name] for name in checks)
    where = "all nodes, or skipped" if some else "all nodes"
    notes = (
        (passed, f"{plural(passed, f'{other}check')}: pass on {where}."),
        (skipped, f"{plural(skipped, f'{other}check')}: skipped on all nodes."),
    )
    return telling, [note for count, note in notes if count]


def _badness(row: Iterable[str]) -> tuple[int, ...]:
    """Sort key of rows: most failures first, then warnings, then unknowns."""
    found = Counter(row)
    return tuple(-found[verdict] for verdict in (FAIL, WARN, UNKNOWN))


def _word(verdict: str) -> str:
    """Return the word in a cell: failures stand out without any colour."""
    return verdict.upper() if verdict == FAIL else verdict


# --- findings -------------------------------------------------------------------------------


def _groups(findings: Sequence[Finding]) -> list[list[Finding]]:
    """Return what is not pass or skip, alike together, the worst first."""
    wrong = [one for one in findings if one.verdict in (FAIL, WARN, UNKNOWN)]
    shared = Counter(says for _entity, says in {(one.entity, one.says) for one in wrong})
    alike: dict[tuple[object, ...], list[Finding]] = {}
    for one in wrong:
        # A sentence about a whole group names its members; others name only their own entity.
        says = one.says if shared[one.says] > 1 else _template(one)
        # What hinders one check hinders others of the same source: once is enough.
        check = None if one.verdict == UNKNOWN and one.expected is None else one.check
        key = (check, one.verdict, says, one.expected, one.actual, one.action)
        alike.setdefault(key, []).append(one)
    return sorted(alike.values(), key=lambda group: _gravity(group[0]))


def _gravity(one: Finding) -> tuple[int, int]:
    return _RANK[one.verdict], _GRAVITY[one.severity]


def _template(one: Finding) -> str:
    """Return the sentence without the name of its own node and part."""
    node, _, part = one.entity.partition("/")
    says = _WORD.sub(lambda found: "\0" if found[0] == node else found[0], one.says)
    number = part.rpartition(":")[2]
    return re.sub(rf"\b{re.escape(number)} of \0", "\1 of \0", says) if number else says


def _says_all(group: Sequence[Finding]) -> bool:
    """Tell whether the sentence is about the whole group already."""
    return len({one.says for one in group}) == 1


def _block(group: Sequence[Finding], tint: Paint, width: int) -> list[str]:
    first = group[0]
    checks = ", ".join(dict.fromkeys(one.check for one in group))
    entities = list(dict.fromkeys(one.entity for one in group))
    basis = f"{first.basis.kind}: {first.basis.ref}" if first.basis else None
    remedy = ", ".join(f"{key} {value}" for key, value in (first.remedy or {}).items())
    many = len(entities) > 1
    like = f" ({len(entities) - 1:,} more like it)" if many and not _says_all(group) else ""
    # How bad it is, only a defect says; an open question has no weight of its own.
    weight = "" if first.verdict == UNKNOWN else f"  ({first.severity})"
    head = f"{tint(first.verdict.upper())}  {checks}{weight}"
    body = fields(
        [
            ("what", first.says + like),
            ("where", _where(entities) if many else None),
            ("expected", first.expected),
            ("actual", first.actual),
            ("basis", basis),
            ("mend", remedy),
            ("to do", ACTIONS.get(first.action or "", first.action)),
        ],
        width,
    )
    return [head, *body]


def _where(entities: Sequence[str]) -> str:
    """Return entities folded twice, by part and by node: `gpu:[0-7] of gpu-[001-003]`."""
    parts: dict[str, list[str]] = {}
    for entity in entities:
        node, _, part = entity.partition("/")
        parts.setdefault(node, []).append(part)
    nodes: dict[str, list[str]] = {}
    for node, own in parts.items():
        nodes.setdefault(fold(own), []).append(node)
    texts = (
        f"{part} of {fold_short(names, 2 * MAX_LABEL)}"
        if part
        else fold_short(names, 2 * MAX_LABEL)
        for part, names in nodes.items()
    )
    return ", ".join(texts)


def _left_out(groups: Sequence[Sequence[Finding]]) -> list[str]:
    left = len(groups) - MAX_BLOCKS
    if left <= 0:
        return []
    return [f"… and {plural(left, 'more finding')}; `trackbed report --json` has all of them."]


def _skipped(findings: Iterable[Finding], width: int) -> list[str]:
    """Return one line for each reason to skip checks."""
    alike: dict[str, list[Finding]] = {}
    for one in findings:
        if one.verdict == SKIP:
            alike.setdefault(_template(one), []).append(one)
    lines: list[str] = []
    for group in alike.values():
        checks = list(dict.fromkeys(one.check for one in group))
        names = ", ".join(checks[:MAX_NAMES]) + ", …" * (len(checks) > MAX_NAMES)
        count = f"{len(checks)} checks ({names})" if len(checks) > 1 else checks[0]
        others = len({one.says for one in group}) - 1
        more = f" ({others:,} more like it)" if others else ""
        lines += wrap(f"{count}: {group[0].says}{more}", width, "skip  ", "      ")
    return lines
