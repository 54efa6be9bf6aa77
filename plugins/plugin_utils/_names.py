# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names and values for a person: order, fold, what was meant. Private to trackbed.cluster."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Mapping

_DIGITS = re.compile(r"(\d+)")
_LAST_NUMBER = re.compile(r"(.*?)(\d+)(\D*)", re.DOTALL)


def natural_key(name: str) -> list[tuple[int, int, str]]:
    """Return a sort key that puts `gpu-2` before `gpu-10`."""
    parts = _DIGITS.split(name)
    return [(1, int(one), one) if one.isdecimal() else (0, 0, one) for one in parts]


def fold(names: Iterable[str]) -> str:
    """Return names in the notation of Slurm and ClusterShell: `gpu-[001-004,007]`.

    Only the last number of a name is folded; zero padding is part of the name.
    """
    groups: dict[tuple[str, str, int], list[int]] = {}  # in the order of their first names
    for name in sorted(set(names), key=natural_key):
        found = _LAST_NUMBER.fullmatch(name)
        if found is None:
            groups[(name, "", 0)] = []
            continue
        head, digits, tail = found.groups()
        width = _width_of(groups, head, tail, digits)
        groups.setdefault((head, tail, width), []).append(int(digits))
    return ",".join(
        _folded(head, group, tail, width) for (head, tail, width), group in groups.items()
    )


def fold_short(names: Iterable[str], width: int) -> str:
    """Return `fold`; what is longer than `width` is cut, and the number of nodes is told."""
    every = set(names)
    text = fold(every)
    if len(text) <= width:
        return text
    tail = f" ({len(every):,} nodes)"
    cut = text.rfind(",", 0, max(0, width - len(tail) - len(",…]") + 1))
    head = text[: cut if cut > 0 else text.find(",")]
    closing = "]" if head.count("[") > head.count("]") else ""
    return f"{head},…{closing}{tail}"


def shown(value: object) -> str:
    """Return a value for a person."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(shown, value)) or "none"
    if isinstance(value, float):
        return f"{value:g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def counted(values: Iterable[str], noun: str) -> str:
    """Return the value that all have, or each with how many have it; empty where there is none."""
    counts = Counter(values)
    if len(counts) < 2:
        return next(iter(counts), "")
    ranked = sorted(counts, key=lambda value: (-counts[value], natural_key(value)))
    return ", ".join(
        f"{value} ({counts[value]} {noun}{'s' * (counts[value] != 1)})" for value in ranked
    )


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that `name` was probably meant to be, or None."""
    found = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return found[0] if found else None


def meant(name: str, known: Iterable[str]) -> str:
    """Return the sentence that helps with an unknown name: the nearest, and all that are known."""
    names = sorted(known, key=natural_key)
    near = nearest(name, names)
    hint = f"did you mean {near!r}? " if near else ""
    return f"{hint}known: {', '.join(names)}"


def unknown_keys(raw: Mapping[str, object], allowed: Iterable[str]) -> list[str]:
    """Return the keys of `raw` that are not allowed, in a fixed order."""
    return sorted(str(key) for key in raw if key not in set(allowed))


def _width_of(
    groups: dict[tuple[str, str, int], list[int]], head: str, tail: str, digits: str
) -> int:
    """Return the zero padding: 9 and 10 share a range (0), 09 and 9 do not, 099 and 100 do (3)."""
    width = len(digits)
    return width if digits.startswith("0") or (head, tail, width) in groups else 0


def _folded(head: str, numbers: list[int], tail: str, width: int) -> str:
    if not numbers:
        return head
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    texts = ["-".join(str(end).zfill(width) for end in sorted(set(run))) for run in runs]
    inside = ",".join(texts)
    return f"{head}{inside}{tail}" if len(numbers) == 1 else f"{head}[{inside}]{tail}"
