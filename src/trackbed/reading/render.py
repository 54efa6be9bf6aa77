"""Readings as text for a person; entities that are alike share a line."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    Entity,
    Problem,
    Reading,
    Value,
)

from trackbed.reading.result import Outcome

# More than this of either is noise on a terminal; --json has all.
MAX_GROUPS = 40
MAX_PROBLEMS = 20


def outcome_text(outcome: Outcome, width: int) -> str:
    """Return what is to be said about one input."""
    name = outcome.item.name
    trouble = [f"  ! {outcome.item.trouble}"] if outcome.item.trouble else []
    reading = outcome.reading
    if reading is None:
        said = "not recognised" if outcome.item.data else "empty"
        return "\n".join([f"{name}: {said}", *trouble])
    version = f" {reading.tool_version}" if reading.tool_version else ""
    head = f"{name}: {reading.kind}{version}, {reading.quality}"
    if outcome.also:
        head += f" (could also be {', '.join(outcome.also)}; name it with --kind)"
    return "\n".join([head, *trouble, *_problems(reading), *_entities(reading, width)])


def _problems(reading: Reading) -> list[str]:
    shown = [f"  ! {_problem(one)}" for one in reading.problems[:MAX_PROBLEMS]]
    more = len(reading.problems) - len(shown)
    return [*shown, f"  ! … and {more} more problems"] if more else shown


def _problem(problem: Problem) -> str:
    where = f"line {problem.line}: " if problem.line else ""
    what = f" [{problem.verbatim.strip()}]" if problem.verbatim else ""
    return f"{where}{problem.says}{what} ({problem.code})"


def _entities(reading: Reading, width: int) -> list[str]:
    groups: dict[str, list[Entity]] = {}
    for entity in reading.entities:
        groups.setdefault(repr((_type(entity.path), _shown(entity))), []).append(entity)
    lines = []
    for members in list(groups.values())[:MAX_GROUPS]:
        head = f"  {_paths([one.path for one in members])}: "
        body = head + (_shown(members[0]) or "-")
        lines += textwrap.wrap(
            body, max(width, 40), subsequent_indent="    ", break_on_hyphens=False
        )
    more = len(groups) - MAX_GROUPS
    return [*lines, f"  … and {more} more groups; --json has all"] if more > 0 else lines


def _type(path: str) -> str:
    return path.rsplit(":", 1)[0]


def _shown(entity: Entity) -> str:
    parts = []
    for name, value in entity.values.items():
        note = entity.notes.get(name)
        if value is None and note is None:
            continue
        parts.append(f"{name}={_value(value)}" + (f" ({note})" if note else ""))
    return ", ".join(parts)


def _value(value: Value) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _paths(paths: Sequence[str]) -> str:
    """Return `gpu:0-7` for eight alike; the node itself is `node`."""
    if len(paths) == 1:
        return paths[0] or "node"
    numbers = [path.rsplit(":", 1)[-1] for path in paths]
    if all(one.isascii() and one.isdigit() for one in numbers):
        return f"{_type(paths[0])}:{_ranges(sorted({int(one) for one in numbers}))}"
    rest = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
    return ", ".join(paths[:3]) + rest


def _ranges(numbers: list[int]) -> str:
    """Return `0-3,5` for [0, 1, 2, 3, 5]."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ",".join(str(p[0]) if len(p) == 1 else f"{p[0]}-{p[-1]}" for p in parts)
