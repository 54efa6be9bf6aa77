# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the readers of nvidia-smi's monitors share: columns by name, rows, missing values.

Private to trackbed.cluster. Source: nvidia-smi(1), pmon and dmon.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    ABSENT,
    ERROR,
    UNREADABLE,
    Entity,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import (
    Data,
    absence,
    decode,
    numbered_lines,
)

_HEADER = re.compile(r"^#\s*(?:Date\s+Time\s+|Time\s+)?gpu\s+\S")
_UNITS = re.compile(r"^#\s*(?:YYYYMMDD\s+HH:MM:SS\s+|HH:MM:SS\s+)?Idx\b")
_ERROR = re.compile(
    r"NVIDIA-SMI has failed|Failed to initialize NVML|No devices were found|not found$"
)
_MAX_PROBLEMS = 50


@dataclasses.dataclass
class Row:
    """One sample: its GPU and its words by the name of the column."""

    line: int
    gpu: int
    words: dict[str, str]


def has_header(text: str, *columns: str) -> bool:
    """Say whether a header of a monitor with these columns is there."""
    for _number, line in numbered_lines(text[:20000]):
        words = line.lstrip("#").split()
        if _HEADER.match(line) and set(columns) <= set(words):
            return True
    return False


def rows(data: Data, reading: Reading) -> t.Iterator[Row]:
    """Yield the rows; what is none becomes a problem."""
    columns: list[str] = []
    for number, line in numbered_lines(decode(data)):
        stripped = line.strip()
        if _HEADER.match(stripped):
            columns = stripped.lstrip("#").split()
        elif not stripped or _UNITS.match(stripped):
            continue
        elif _ERROR.search(stripped):
            code = "tool_absent" if stripped.endswith("not found") else "tool_error"
            _note(reading, code, "nvidia-smi did not answer", number, stripped)
        else:
            row = _row(columns, stripped, number)
            if row is not None:
                yield row
            else:
                _note(reading, "malformed", "not a row of the monitor", number, stripped)


def _row(columns: list[str], line: str, number: int) -> Row | None:
    # The last column, a command, may hold blanks.
    words = line.split(None, len(columns) - 1) if columns else []
    pairs = dict(zip(columns, (word.strip() for word in words)))
    index = pairs.get("gpu", "")
    if len(words) != len(columns) or not re.match(r"^[0-9]{1,3}$", index):
        return None
    return Row(number, int(index), pairs)


def integer(reading: Reading, row: Row, column: str) -> int | None:
    """Return the whole number of a column; None with a problem where it is none."""
    word = row.words.get(column, "")
    if re.match(r"^[0-9]{1,18}$", word):
        return int(word)
    says = f"{column} is no whole number"
    _note(reading, "unknown_value", says, row.line, word)
    return None


def fill(reading: Reading, row: Row, entity: Entity, names: t.Mapping[str, str]) -> None:
    """Put the numbers of the row's known columns into an entity."""
    for column, name in names.items():
        if column not in row.words:
            continue
        gone = absence(row.words[column])
        entity.values[name] = None if gone else integer(reading, row, column)
        if gone:
            entity.notes[name] = gone


def text(word: str | None) -> str | None:
    """Return the word, None where it stands for nothing."""
    return None if word is None or word in ("-", "") else word


def nothing(reading: Reading) -> Reading:
    """Return the reading of an input without any row, with the reason."""
    codes = {one.code for one in reading.problems}
    if "tool_absent" in codes:
        reading.quality = ABSENT
    elif "tool_error" in codes:
        reading.quality = ERROR
    else:
        reading.note("other_format" if codes else "empty", "no row below a header `# gpu ...`")
        reading.quality = UNREADABLE
    return reading


def _note(reading: Reading, code: str, says: str, line: int, verbatim: str) -> None:
    if len(reading.problems) < _MAX_PROBLEMS:
        reading.note(code, says, line=line, verbatim=verbatim)
    elif len(reading.problems) == _MAX_PROBLEMS:
        reading.note("limited", f"more than {_MAX_PROBLEMS} problems; the rest is not kept")
