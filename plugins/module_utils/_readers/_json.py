# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""JSON as tools print it: after log lines, cut short, with NaN, or with a key given twice.

Private to trackbed.cluster.
"""

from __future__ import annotations

import json
import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._reading import UNREADABLE, Reading
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data, decode

_MAX_DIGITS = 300
# A string (also one without its end) or a structural character.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.?)*(?:"|\Z)|[{}\[\],]', re.DOTALL)
_START = re.compile(r"(?m)^[ \t]*[{\[]")
_CLOSERS = {"{": "}", "[": "]"}


def load(data: Data, reading: Reading) -> t.Any:
    """Return the document in `data`, or None; what is wrong becomes a problem of `reading`.

    A document that was cut short gives what was whole. A document that cannot be
    read makes the reading unreadable.
    """
    text = decode(data)
    start = _START.search(text)
    if start is None:
        code = "other_format" if text.strip() else "empty"
        reading.note(code, "no JSON document found", verbatim=text.strip()[:200] or None)
        reading.quality = UNREADABLE
        return None
    parser = _Parser(reading)
    value, end = parser.parse(text, start.start())
    if end is None:
        return value
    if text[end:].strip():
        line = text.count("\n", 0, end) + 1
        reading.note("malformed", "text after the end of the JSON document", line=line)
    return value


def as_dict(value: t.Any) -> dict[str, t.Any]:
    """Return the value where it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def dicts(value: t.Any) -> list[dict[str, t.Any]]:
    """Return the objects of a list; a lone object is a list of one."""
    if isinstance(value, dict):
        return [value]
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def text_of(value: t.Any) -> str | None:
    """Return a text that is not blank, else None. A number is written out."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return None
    return str(value).strip() or None


def integer_of(value: t.Any) -> int | None:
    """Return the value where it is a whole number, or digits that say one."""
    if isinstance(value, str) and re.match(r"^-?[0-9]{1,30}$", value.strip()):
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def number_of(value: t.Any) -> float | None:
    """Return the value where it is a number, or a text that is one."""
    if isinstance(value, str) and re.match(r"^-?[0-9]{1,30}(?:\.[0-9]{1,30})?$", value.strip()):
        return float(value)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number else None


class _Parser:
    """Parses once; remembers keys that came twice and numbers that are none."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.noted: set[str] = set()
        self.decoder = json.JSONDecoder(
            object_pairs_hook=self._pairs,
            parse_constant=self._constant,
            parse_float=self._float,
            parse_int=self._int,
        )

    def parse(self, text: str, start: int) -> tuple[t.Any, int | None]:
        """Return (value, index behind it); the index is None where the document is broken."""
        try:
            value, end = self.decoder.raw_decode(text, _skip_blanks(text, start))
        except json.JSONDecodeError as error:
            return self._repaired(text, start, error), None
        except (RecursionError, ValueError):
            self.reading.note("malformed", "JSON that is nested too deeply to be of this kind")
            self.reading.quality = UNREADABLE
            return None, None
        return value, end

    def _repaired(self, text: str, start: int, error: json.JSONDecodeError) -> t.Any:
        closed = _closed(text[start:])
        if closed is not None:
            try:
                value = self.decoder.decode(closed.strip())
            except (ValueError, RecursionError):
                value = None
            if value is not None:
                self.reading.note("truncated", "the JSON document ends early", line=error.lineno)
                return value
        line = text.split("\n", error.lineno)[error.lineno - 1]
        self.reading.note(
            "malformed",
            f"not valid JSON: {error.msg}; ask again, or update the firmware or tool",
            line=error.lineno,
            verbatim=line.strip(),
        )
        self.reading.quality = UNREADABLE
        return None

    def _note(self, what: str, says: str) -> None:
        if what not in self.noted and len(self.noted) < 20:
            self.noted.add(what)
            self.reading.note("inconsistent" if what[0] == "k" else "unreadable_value", says)

    def _pairs(self, pairs: list[tuple[str, t.Any]]) -> dict[str, t.Any]:
        found: dict[str, t.Any] = {}
        for name, value in pairs:
            if name in found and found[name] != value:
                self._note("k" + name, f"key {name[:60]!r} appears twice in one object")
            found.setdefault(name, value)
        return found

    def _constant(self, word: str) -> None:
        self._note("constant", f"{word} in place of a number")

    def _float(self, word: str) -> float | None:
        value = float(word)
        if value - value == 0:  # neither infinite nor NaN
            return value
        self._note("constant", "a number beyond any measure")
        return None

    def _int(self, word: str) -> int | None:
        if len(word) <= _MAX_DIGITS:
            return int(word)
        self._note("constant", "a number beyond any measure")
        return None


def _skip_blanks(text: str, start: int) -> int:
    while start < len(text) and text[start] in " \t\n":
        start += 1
    return start


def _closed(text: str) -> str | None:
    """Return the text cut behind its last whole value and closed; None where it is not open."""
    safe, depth = None, 0
    for token in _TOKEN.finditer(text):
        mark = token.group(0)
        depth += (mark in "{[") - (mark in "}]") if len(mark) == 1 else 0
        if mark == ",":
            safe = token.start()
        elif mark in ("}", "]"):
            safe = token.end()
    if depth <= 0 or safe is None:
        return None
    kept = text[:safe]
    stack: list[str] = []
    for token in _TOKEN.finditer(kept):
        mark = token.group(0)
        if mark in _CLOSERS:
            stack.append(_CLOSERS[mark])
        elif mark in ("}", "]") and stack:
            stack.pop()
    return kept + "".join(reversed(stack))
