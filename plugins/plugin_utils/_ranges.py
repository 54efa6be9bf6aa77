# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Expand node ranges: `gpu-[001:064]`, `rack[1:4]-[01:18:2]`. Private to trackbed.cluster.

The notation is Ansible's own for inventories, numbers only. Unlike Ansible's,
a range that names no node, or ends of different width, is refused.
"""

from __future__ import annotations

import itertools
import math
import re
import typing as t
from collections.abc import Iterator

_PARTS = re.compile(r"\[([^\[\]]*)\]")
_BOUNDS = re.compile(r"(\d+):(\d+)(?::(\d+))?")
# RFC 1123 labels with dots between: what DNS, ssh and Slurm all take.
_HOST = re.compile(
    r"[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*"
)
_MAX_LENGTH = 253
_MAX_DIGITS = 9


class RangeError(ValueError):
    """The pattern is malformed: what is wrong with it."""


class _Series(t.NamedTuple):
    """The numbers of one bracket; nothing is written out before the total is known."""

    numbers: range
    width: int

    def texts(self) -> list[str]:
        return [str(number).zfill(self.width) for number in self.numbers]


def expand(pattern: str, limit: int) -> Iterator[str]:
    """Yield the names of `pattern`, in order. Raises RangeError before the first name.

    `limit` is the largest number of names that one pattern may stand for.
    """
    pieces = _PARTS.split(pattern)
    fixed, bounds = pieces[::2], pieces[1::2]
    if any(mark in text for text in fixed for mark in "[]"):
        raise RangeError("a bracket has no partner")
    series = [_series(one) for one in bounds]
    total = math.prod(len(one.numbers) for one in series)
    if total > limit:
        raise RangeError(f"it stands for {total:,} names, more than {limit:,}")
    first = _joined(fixed, [str(one.numbers[0]).zfill(one.width) for one in series])
    if not _HOST.fullmatch(first) or len(first) > _MAX_LENGTH:
        raise RangeError("host names hold letters, digits, inner hyphens and dots, 253 at most")
    written = [one.texts() for one in series]
    return (_joined(fixed, list(numbers)) for numbers in itertools.product(*written))


def _series(bounds: str) -> _Series:
    found = _BOUNDS.fullmatch(bounds)
    if found is None:
        raise RangeError(f"[{bounds}] is not [first:last] or [first:last:step] in digits")
    first, last, step = found.group(1), found.group(2), int(found.group(3) or 1)
    padded = any(len(end) > 1 and end.startswith("0") for end in (first, last))
    if padded and len(first) != len(last):
        raise RangeError(f"[{bounds}] has ends of different width; write both with the same zeros")
    if len(last) > _MAX_DIGITS:
        raise RangeError(f"[{bounds}] has an end of {len(last)} digits")
    if int(first) > int(last):
        raise RangeError(f"[{bounds}] runs backwards")
    if step < 1:
        raise RangeError(f"[{bounds}] has a step of 0")
    return _Series(range(int(first), int(last) + 1, step), len(first) if padded else 0)


def _joined(fixed: list[str], numbers: list[str]) -> str:
    return fixed[0] + "".join(n + text for n, text in zip(numbers, fixed[1:], strict=True))
