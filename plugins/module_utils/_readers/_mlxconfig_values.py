# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The values of mlxconfig: how a line is split into them, and what they are.

Private to trackbed.cluster.
"""

from __future__ import annotations

import re
import typing as t

_VALUE = re.compile(r"^(?:(.{0,60})\((-?[0-9]{1,20})\)|(-?[0-9]{1,20})|0[xX]([0-9a-fA-F]{1,16}))$")


def split(rest: str, count: int) -> list[str]:
    """Split values at blanks; one in brackets may hold some: `Device default(0)`."""
    if not rest.strip():
        return []
    wide, narrow = re.split(r"\s{2,}|\t", rest.strip()), rest.split()
    if count:
        return narrow if len(wide) != count and len(narrow) == count else wide
    return wide if len(wide) > 1 or " " not in rest.strip() else narrow


def is_value(word: str) -> bool:
    """Return whether this has the shape of a value, so that prose is not taken for one."""
    return bool(_VALUE.match(word) or re.match(r"^(?:N/A|Array\[[0-9.]{1,12}\])$", word))


def normal(word: t.Any) -> t.Any:
    """Return a number for `16` and `0x10`, `IB(1)` as it is, None for what was not told."""
    if isinstance(word, bool) or word is None:
        return word
    if isinstance(word, int):
        return word
    text = str(word).strip()
    if text in ("N/A", ""):
        return None
    found = _VALUE.match(text)
    if found and found.group(4):
        return int(found.group(4), 16)
    return int(found.group(3)) if found and found.group(3) else text
