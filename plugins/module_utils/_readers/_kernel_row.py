# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One row of the tables of kernel messages. Private to trackbed.cluster.

A table is data: which literal must be there, which pattern reads the values, and
which of them tell one event from another. Names of groups are names of fields.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

# Put into patterns in place of `%(pci)s` and the like; each holds one named group.
_PARTS = {
    "bdf": r"(?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\.[0-7])?",
    "pci": r"(?P<pci>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\.[0-7])?)",
    "pid": r"(?P<pid>[0-9]{1,10})",
    "process": r"(?P<process_name>[^\s\[\]:][^\[\]]{0,63})",
    "hex": r"(?:0x)?[0-9A-Fa-f]{1,16}",
    "version": r"[0-9]{1,5}(?:\.[0-9]{1,5}){1,3}",
    "if": r"[A-Za-z][A-Za-z0-9_.@-]{0,31}",
}


@dataclasses.dataclass(frozen=True)
class Row:
    """One message. A `kind` that begins with `@` is a fact and makes no event."""

    kind: str
    hint: str
    """Literal that must be in the message: a cheap test before the pattern."""
    pattern: t.Pattern[str]
    key: tuple[str, ...] = ()
    """Fields that, beside host and device, tell one event from another."""
    follows: tuple[str, ...] = ()
    """Kinds of event that this line belongs to, if one has just been seen."""
    alone: bool = False
    """Whether such a line makes an event where there is none that it could belong to."""
    inner: tuple[Row, ...] = ()
    """Rows for the text of the group `rest`."""


def row(kind: str, hint: str, pattern: str, key: str = "", **more: t.Any) -> Row:
    """Return a row; `key` and `follows` are names with blanks between."""
    for name, part in _PARTS.items():
        pattern = pattern.replace(f"%({name})s", part)
    follows = tuple(str(more.pop("follows", "")).split())
    return Row(kind, hint, re.compile(pattern), tuple(key.split()), follows, **more)
