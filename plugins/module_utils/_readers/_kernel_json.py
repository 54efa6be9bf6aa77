# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernel messages out of JSON and key=value forms, one object at a time.

Private to trackbed.cluster. Forms: `journalctl -o json` (one object a line),
json-pretty, export and verbose (KEY=value), `dmesg --json`. Written from
knowledge of these forms; the corpus has no sample of them.
"""

from __future__ import annotations

import json
import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _kernel_time
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._kernel_lines import (
    LEVELS,
    Line,
    parse,
    raw_lines,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data

_MEMBER = re.compile(r'^"([A-Za-z_]{1,64})"\s*:\s*(.*?),?$')
_EXPORT = re.compile(
    r"^\s*(__REALTIME_TIMESTAMP|__MONOTONIC_TIMESTAMP|PRIORITY|_HOSTNAME|_TRANSPORT|"
    r"SYSLOG_IDENTIFIER|MESSAGE)=(.*)$"
)
_MESSAGES = ("MESSAGE", "msg", "message", "log")
_ESCAPED_END = re.compile(r"\\x0a|#012|\n")
_MOST_MEMBERS = 200


def lines(data: Data) -> t.Iterator[tuple[int, Line]]:
    """Yield (1-based line number, line) for every message; of several lines, each is one.

    A JSON line that cannot be parsed has the form `broken`.
    """
    objects = _Objects()
    number = 0
    for number, text in raw_lines(data):
        taken = objects.take(text)
        for line in [parse(text)] if taken is None else taken:
            yield from _split(number, line)
    for line in objects.flush():
        yield from _split(number, line)


def _split(number: int, line: Line) -> t.Iterator[tuple[int, Line]]:
    if "\\x0a" in line.message or "#012" in line.message or "\n" in line.message:
        for part in _ESCAPED_END.split(line.message)[:100]:
            if part.strip():
                whole = dict(vars(line), message=part)
                yield number, Line(**whole)
    else:
        yield number, line


class _Objects:
    """Collects the members of an object that is written over several lines."""

    def __init__(self) -> None:
        self.members: dict[str, t.Any] = {}
        self.inside = False
        self.exported = False

    def take(self, text: str) -> list[Line] | None:
        """Return the messages that this line completes; None where it is no part of an object."""
        if not (self.inside or self.exported) and text[:1] not in ("{", "}", "[", "_", "P"):
            return None
        word = text.strip()
        if word[:2] in ('{"', "[{") and len(word) > 2:
            return _whole(word)
        if word in ("{", "},{", "}, {") or (self.inside and word in ("}", "},", "]", "]}")):
            self.inside = word.endswith("{") or word in ("}", "},")
            return self.flush()
        return self._member(word) if self.inside else self._export(text)

    def _member(self, word: str) -> list[Line] | None:
        found = _MEMBER.match(word)
        if found is None:
            self.inside = bool(self.members) and len(word) < 64
            return [] if self.inside else None
        if len(self.members) < _MOST_MEMBERS:
            self.members[found.group(1)] = _value(found.group(2))
        return []

    def _export(self, text: str) -> list[Line] | None:
        found = _EXPORT.match(text)
        if found:
            done = self.flush() if found.group(1) in self.members else []
            self.exported = True
            self.members[found.group(1)] = found.group(2)
            return done
        if not text.strip() or not re.match(r"^\s*[A-Z_]{2,64}=", text):
            was = self.exported
            self.exported = False
            return self.flush() if was and not text.strip() else None
        return [] if self.exported else None

    def flush(self) -> list[Line]:
        """Return the message of what was collected, and forget it."""
        members, self.members = self.members, {}
        line = _line(members)
        return [line] if line else []


def _value(text: str) -> t.Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _whole(word: str) -> list[Line] | None:
    value = _value(word.rstrip(","))
    if value is None:
        return [Line(word[:200], "broken")]
    if isinstance(value, dict):
        value = value.get("dmesg", value)
    found = [_line(one) for one in (value if isinstance(value, list) else [value])]
    return [one for one in found if one]


def _line(members: t.Any) -> Line | None:
    if not isinstance(members, dict):
        return None
    message = next((_text(members[key]) for key in _MESSAGES if key in members), None)
    if not message:
        return None
    inner = parse(message)
    line = Line(inner.message, "json", level=_level(members), stamp=inner.stamp)
    line.host = _text(members.get("_HOSTNAME")) or inner.host
    line.tag = inner.tag or _text(members.get("SYSLOG_IDENTIFIER"))
    if members.get("_TRANSPORT") == "kernel":
        line.tag = "kernel"
    real, since_boot = _text(members.get("__REALTIME_TIMESTAMP")), members.get("time")
    if real and re.match(r"^[0-9]{10,18}$", real):
        line.stamp, line.time_s, line.dated = real, int(real) / 1e6, True
    elif since_boot is not None:
        line.stamp = _text(since_boot)
        line.time_s, line.dated = _kernel_time.seconds(line.stamp or "")
    return line


def _level(members: dict[str, t.Any]) -> str | None:
    word = _text(members.get("PRIORITY", members.get("pri")))
    if word in LEVELS:
        return word
    return LEVELS[int(word) & 7] if word and re.match(r"^[0-9]{1,4}$", word) else None


def _text(value: t.Any) -> str | None:
    """Return the text; journald writes bytes that are no UTF-8 as a list of numbers."""
    if isinstance(value, list) and value and isinstance(value[0], int):
        return bytes(one & 255 for one in value if isinstance(one, int)).decode("utf-8", "replace")
    if isinstance(value, list):
        value = value[0] if value else None
    if isinstance(value, bool) or value is None:
        return None
    return str(value)[:65_536] or None
