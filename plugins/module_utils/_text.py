# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Text helpers of all readers: decoding, lines, numbers that may be missing.

Private to trackbed.cluster.
"""

from __future__ import annotations

import re
import typing as t

Data = t.Union[str, bytes]

# What NVIDIA and AMD tools print in place of a value: the device has no such value ...
NOT_SUPPORTED = frozenset(
    {
        "n/a",
        "[n/a]",
        "not supported",
        "[not supported]",
        "not available",
        "[not available]",
        "-",
        "--",
        "none",
        "unknown",
        "requested functionality has been deprecated",
        "[requested functionality has been deprecated]",
    }
)
# ... or it has one, but could not be asked for it.
UNREADABLE = frozenset(
    {
        "[unknown error]",
        "unknown error",
        "err!",
        "[gpu is lost]",
        "gpu is lost",
        "[gpu requires reset]",
        "gpu requires reset",
        "[insufficient permissions]",
        "insufficient permissions",
        "function not found",
        "[function not found]",
        "not found",
    }
)
_NUMBER = re.compile(r"^([+-]?(?:\d{1,30}(?:\.\d{0,30})?|\.\d{1,30})(?:[eE][+-]?\d{1,3})?)\s*(.*)$")


def decode(data: Data) -> str:
    """Return text: UTF-8 (UTF-16 with a mark), never an error, Unix line ends, no NUL."""
    if isinstance(data, bytes):
        if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            data = data.decode("utf-16", "replace")
        else:
            data = data.decode("utf-8", "replace")
    if data.startswith("\ufeff"):
        data = data[1:]
    return data.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "")


def numbered_lines(text: str) -> t.Iterator[tuple[int, str]]:
    """Yield (1-based line number, line without its end), without a second copy of the text."""
    start, index = 0, 1
    while True:
        end = text.find("\n", start)
        yield index, (text[start:] if end < 0 else text[start:end]).rstrip()
        if end < 0:
            return
        start, index = end + 1, index + 1


def absence(text: str) -> str | None:
    """Return `not_supported` or `unreadable` for a text that stands for no value, else None."""
    word = text.strip().lower()
    if word in UNREADABLE:
        return "unreadable"
    return "not_supported" if word in NOT_SUPPORTED else None


def number(text: str, units: tuple[str, ...] = ("",)) -> float | int | None:
    """Return the number in `12`, `12.5 W`; None where it is none, or its unit is not in `units`.

    An integer stays one. Units are compared without regard to case.
    """
    found = _NUMBER.match(text.strip())
    if found is None:
        return None
    digits, unit = found.groups()
    if unit.strip().lower() not in {one.lower() for one in units}:
        return None
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        return None
    return int(digits) if re.match(r"^[+-]?\d+$", digits) else value
