# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables whose header is underlined by one run of dashes for each column.

Private to trackbed.cluster.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _pasted
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data

# NVUE ends the dashes of a column that it cut with an ellipsis.
_RULE = re.compile(r"^\s*-{1,200}\u2026?(?: {1,200}-{1,200}\u2026?){1,64}\s*$")
_LINE = re.compile(r"^\s*[-=*_]{3,200}$")
_COMMAND = re.compile(r"(?:^|[#$>] ?)((?:nv )?show [a-z].{0,200})$")
_DASHES = re.compile(r"-{1,200}\u2026?")
_GROUP = re.compile(r"\S+(?: \S+){0,40}")
Spans = t.List[t.Tuple[int, int]]


@dataclasses.dataclass
class Table:
    """One table, its rows cut into cells."""

    line: int
    """1-based line of the header."""
    title: str
    """The last line before the header that is neither a row nor noise."""
    columns: list[str]
    """In lower case."""
    spans: Spans
    command: str = ""
    """The last command that a prompt showed before it: `nv show interface swp1 counters`."""
    header: str = ""
    """The header as it stands."""
    rows: list[tuple[int, list[str], str]] = dataclasses.field(default_factory=list)
    """Line, cells, and the line as it stands."""


@dataclasses.dataclass
class Found:
    """What a text holds: tables, and lines that are of none."""

    tables: list[Table] = dataclasses.field(default_factory=list)
    others: list[tuple[int, str]] = dataclasses.field(default_factory=list)
    last_line: int = 0
    """The last line that holds anything."""


def tables(data: Data) -> Found:
    """Return all tables of a text."""
    lines = _pasted.lines(data)
    found = Found(last_line=lines[-1][0] if lines else 0)
    current: Table | None = None
    title = command = ""
    for index, (number, line) in enumerate(lines):
        if _is_rule(line):
            continue
        below = lines[index + 1][1] if index + 1 < len(lines) else ""
        if _is_rule(below) and not _closes(current, line, below):
            spans = [one.span() for one in _DASHES.finditer(lines[index + 1][1])]
            columns = [" ".join(one.lower().split()) for one in cells(line, spans) or []]
            current = Table(number, title, columns, spans, command, line.strip())
            found.tables.append(current)
            title = ""
            continue
        asked, noise = _COMMAND.search(line.strip()), _pasted.is_noise(line)
        row = cells(line, current.spans) if current and not noise and not asked else None
        if current is not None and row is not None and not _begins(lines, index):
            current.rows.append((number, row, line))
            continue
        # A row that cannot be cut does not end its table.
        if noise or asked or line.rstrip().endswith(":"):
            current = None
        if asked:
            command = asked.group(1)
        if not _LINE.match(line):
            title = "" if noise or asked else line.strip()
        if not asked:
            found.others.append((number, line.strip()))
    return found


def _closes(table: Table | None, line: str, below: str) -> bool:
    """Return whether the dashes below this row end its table, which has some above it, too.

    SONiC draws its profiles of ECN so, with the name of the profile above the dashes.
    """
    if table is None or not table.header.startswith("Profile: ") or line.startswith("Profile: "):
        return False
    return [one.span() for one in _DASHES.finditer(below)] == table.spans


def _begins(lines: list[tuple[int, str]], index: int) -> bool:
    """Return whether this line is the title of a section: double signs stand below it."""
    return index + 1 < len(lines) and lines[index + 1][1].strip().startswith("===")


def cells(line: str, spans: Spans) -> list[str] | None:
    """Cut a line where the dashes stand, or at its blanks; None where nothing gives all cells."""
    ends = [end for _start, end in spans]
    starts = [start for start, _end in spans]
    between = zip(ends, starts[1:])
    if all(not line[end:start].strip() for end, start in between) and not line[: starts[0]].strip():
        bounds = zip(starts, [*starts[1:], len(line) + 1])
        return [line[start:end].strip() for start, end in bounds]
    for words in (re.split(r"\s{2,}", line.strip()), line.split()):
        if len(words) == len(spans):
            return words
    return _by_overlap(line, spans)


def _by_overlap(line: str, spans: Spans) -> list[str] | None:
    """Give each word, or words with single blanks, to the dashes that it stands over.

    Lines that people have edited are a column or two out of place.
    """
    found = [""] * len(spans)
    for word in _GROUP.finditer(line):
        over = [
            index
            for index, (start, end) in enumerate(spans)
            if word.start() < end and word.end() > start
        ]
        if len(over) != 1 or found[over[0]]:
            return None
        found[over[0]] = word.group(0)
    return found if sum(map(bool, found)) > 1 else None


def _is_rule(line: str) -> bool:
    return bool(_RULE.match(line))
