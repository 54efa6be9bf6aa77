# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What readers of plain `label: value` outputs share.

Private to trackbed.cluster.
"""

from __future__ import annotations

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

_NO_TOOL = re.compile(r"(?:command not found|: not found|No such file or directory)$")
_MAX_PROBLEMS = 50


def lines(data: Data) -> t.Iterator[tuple[int, str]]:
    """Yield the lines that hold anything, with their numbers; blanks at the end are cut."""
    for number, line in numbered_lines(decode(data)):
        if line.strip():
            yield number, line


def label(line: str, mark: str = ":") -> tuple[str, str] | None:
    """Return label and value of `label : value`; None where there is no such mark."""
    name, found, value = line.partition(mark)
    return (name.strip(), value.strip()) if found and name.strip() else None


def note(reading: Reading, code: str, says: str, **where: t.Any) -> None:
    """Record a problem; the list of problems stays bounded."""
    if len(reading.problems) < _MAX_PROBLEMS:
        reading.note(code, says, **where)
    elif len(reading.problems) == _MAX_PROBLEMS:
        reading.note("limited", f"more than {_MAX_PROBLEMS} problems; the rest is not kept")


def malformed(reading: Reading, number: int, line: str, wanted: str) -> None:
    """Record a line that is none of this format: the shell's or the tool's own words, or noise."""
    word = line.strip()
    if _NO_TOOL.search(word):
        note(reading, "tool_absent", "the tool is not there", line=number, verbatim=word)
    else:
        note(reading, "malformed", f"not {wanted}", line=number, verbatim=word)


def put(
    reading: Reading,
    entity: Entity,
    name: str,
    word: str,
    reader: t.Callable[[str], t.Any],
    line: int,
) -> None:
    """Put a value; what stands for none is None with a note, what cannot be read a problem."""
    gone = absence(word) if word else "not_supported"
    if gone:
        entity.values[name] = None
        entity.notes[name] = gone
        return
    value = reader(word)
    entity.values[name] = value
    if value is None:
        says = f"{name} has a value that is not known"
        where = {"line": line, "entity": entity.path, "field": name, "verbatim": word}
        note(reading, "unknown_value", says, **where)


def nothing(reading: Reading, wanted: str) -> Reading:
    """Return the reading of an input that has no entity, with the reason for it."""
    codes = {one.code for one in reading.problems}
    if "tool_absent" in codes:
        reading.quality = ABSENT
    elif "tool_error" in codes:
        reading.quality = ERROR
    else:
        code = "other_format" if codes else "empty"
        reading.note(code, f"{wanted} was expected; none is there")
        reading.quality = UNREADABLE
    return reading


def text(word: str) -> str | None:
    """Return the word, None where it is blank."""
    return word or None


def integer(word: str) -> int | None:
    """Return the whole number that a text begins with, as in `40` or `32 (0x20)`."""
    found = re.match(r"^(-?[0-9]{1,18})(?:\s.*)?$", word)
    return int(found.group(1)) if found else None


def decimal(word: str) -> float | None:
    """Return the number that a text is."""
    found = re.match(r"^[+-]?[0-9]{1,18}(?:\.[0-9]{1,18})?$", word)
    return float(word) if found else None


def unknown(_word: str) -> None:
    """Return None: the reader of a value whose form was not met."""


def yes(word: str) -> bool | None:
    """Return the answer of a yes or a no, an on or an off."""
    return {"yes": True, "on": True, "no": False, "off": False}.get(word.lower())
