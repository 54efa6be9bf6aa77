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

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import (
    _nvidia_text,
    _pasted,
    _plain,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    Entity,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import (
    Data,
    absence,
    decode,
)

# After what people put before a line: a host, a time, a mark of a quotation, colours.
_HEADER = re.compile(r"#[ \t]*((?:Date[,\s]+)?(?:Time[,\s]+)?gpu[,\s]+[a-z#][\w#/,%. \t-]{0,2000})")
_UNITS = re.compile(r"^#\s*(?:YYYYMMDD[,\s]+)?(?:HH:MM:SS[,\s]+)?Idx\b")
_STAMPS = {"date": re.compile(r"^[0-9]{8}$"), "time": re.compile(r"^[0-9]{2}(?::[0-9]{2}){2}$")}
_REFUSED = re.compile(r"[Nn]ot supported (?:on the device|in this configuration)")
# Before a header stand a person's words, or rows of which the header was cut off.
_BEFORE_HEADER = re.compile(r"^[0-9 :.-]+$|command not found$|No such file or directory$")
_FAILED = re.compile(r"^(?:Failed to |Unable to |ERROR|Error)")
# Values of more than one word; a row is parted at its blanks.
_WORDS = (
    (re.compile(r"\[?(?:Unknown Error|GPU is lost|GPU requires reset)\]?", re.IGNORECASE), "ERR!"),
    (re.compile(r"\[?Not Supported\]?|\[N/A\]", re.IGNORECASE), "-"),
)
_NUMBER = re.compile(r"^-?[0-9]{1,18}$")
_DECIMAL = re.compile(r"^-?[0-9]{1,18}\.[0-9]{1,18}$")
_MAX_TEXT = 32_000_000  # a day of eight GPUs, every second


@dataclasses.dataclass
class Row:
    """One sample: its GPU and its words by the name of the column."""

    line: int
    gpu: int
    words: dict[str, str]


def columns_of(line: str) -> list[str]:
    """Return the columns that a header names; none where the line is no header."""
    found = _HEADER.search(line)
    return re.split(r"[,\s]+", found.group(1).strip().strip(",")) if found else []


def header(text: str) -> list[str]:
    """Return the columns of the first header of a monitor."""
    found = _HEADER.search(text[:20000])
    return columns_of(found.group(0)) if found else []


def is_refusal(text: str, command: str) -> bool:
    """Tell whether the text is the refusal of this command of nvidia-smi."""
    return f"nvidia-smi {command}" in text[:2000] and bool(_REFUSED.search(text[:4000]))


def rows(data: Data, reading: Reading) -> t.Iterator[Row]:
    """Yield the rows; what is none becomes a problem."""
    text = decode(data)
    if len(text) > _MAX_TEXT:
        text = text[:_MAX_TEXT]
        _plain.note(reading, "limited", "the input is too long; its beginning is read")
    columns: list[str] = []
    for number, line in _pasted.lines(text):
        stripped = line.strip()
        found = columns_of(stripped) if stripped.startswith("#") else []
        if found:
            columns = [one.lower() for one in found]
        elif not _UNITS.match(stripped):
            row = _row(columns, stripped, number)
            if row is not None:
                yield row
            else:
                _other(reading, number, stripped, bool(columns))


def _other(reading: Reading, number: int, line: str, has_columns: bool) -> None:
    if _nvidia_text.error_of_tool(reading, number, line):
        return
    if _REFUSED.search(line) or _FAILED.search(line):
        says = "nvidia-smi refused" if _REFUSED.search(line) else "nvidia-smi complained"
        _plain.note(reading, "tool_error", says, line=number, verbatim=line)
    elif _nvidia_text.is_elision(line):
        _plain.note(reading, "truncated", "somebody left rows out here", line=number)
    elif not _nvidia_text.is_frame(line) and (has_columns or _BEFORE_HEADER.search(line)):
        _pasted.strange(reading, number, line, "a row of the monitor")


def _row(columns: list[str], line: str, number: int) -> Row | None:
    if not columns:
        return None
    for pattern, word in _WORDS:
        line = pattern.sub(word, line)
    # A log's own stamp may have been cut together with the column of the time.
    for wanted in (columns, [one for one in columns if one not in _STAMPS]):
        row = _matched(wanted, line, number)
        if row is not None:
            return row
    return None


def _matched(columns: list[str], line: str, number: int) -> Row | None:
    # The last column, a command, may hold blanks.
    words = re.split(r",\s*|\s+", line, maxsplit=len(columns) - 1)
    if len(words) != len(columns):
        return None
    pairs = {name: word.strip() for name, word in zip(columns, words)}
    if not re.match(r"^[0-9]{1,3}$", pairs["gpu"]):
        return None
    if any(name in pairs and not like.match(pairs[name]) for name, like in _STAMPS.items()):
        return None
    if "command" not in pairs and re.search(r"\s", words[-1]):
        return None
    return Row(number, int(pairs["gpu"]), pairs)


def integer(reading: Reading, row: Row, column: str) -> int | None:
    """Return the whole number of a column; None with a problem where it is none."""
    word = row.words.get(column, "")
    if _NUMBER.match(word):
        return int(word)
    where = {"line": row.line, "field": column, "verbatim": word}
    _plain.note(reading, "unknown_value", f"{column} is no whole number", **where)
    return None


def number(word: str) -> int | float | None:
    """Return the number that a word is, None where it is none."""
    if _NUMBER.match(word):
        return int(word)
    return float(word) if _DECIMAL.match(word) else None


def fill(reading: Reading, row: Row, entity: Entity, names: t.Mapping[str, str]) -> None:
    """Put the numbers of the row's known columns into an entity."""
    unreadable = []
    for column, name in names.items():
        if column not in row.words:
            continue
        gone = absence(row.words[column])
        entity.values[name] = None if gone else integer(reading, row, column)
        if gone:
            entity.notes[name] = gone
        if gone == "unreadable":
            unreadable.append((name, row.words[column]))
    _nvidia_text.unreadable(reading, entity.path, unreadable, row.line)


def text(word: str | None) -> str | None:
    """Return the word, None where it stands for nothing."""
    return None if word is None or word == "" or absence(word) else word


def nothing(reading: Reading, data: Data) -> Reading:
    """Return the reading of an input without any row, with the reason."""
    found = decode(data)[:20000]
    reading = _nvidia_text.nothing(reading, "a row below a header `# gpu ...`", found)
    if _REFUSED.search(found) and any(one.code == "tool_error" for one in reading.problems):
        _nvidia_text.not_applicable(reading)
    return reading
