# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Text as people hand it on: coloured, quoted, indented, with a time or a host before each line.

Private to trackbed.cluster.
"""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _plain
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import Reading
from ansible_collections.trackbed.cluster.plugins.module_utils._text import (
    Data,
    decode,
    numbered_lines,
)

_ANSI = re.compile(r"\x1b(?:\[[0-9;?]{0,16}[A-Za-z]|\][^\x07\x1b]{0,200}\x07|\([A-Z0-9])")
# What may stand before every line. A prefix counts where most lines carry it.
_PREFIXES = (
    re.compile(
        r"^\[?[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}[0-9.,Z+:-]{0,16}\]?:?(?: |$)"
    ),
    re.compile(r"^[A-Z][a-z]{2} [ 0-9][0-9] [0-9:]{8} \S{1,64} [^\s:]{1,64}:(?: |$)"),
    re.compile(r"^\[?[0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]{1,9})?\]? "),
    re.compile(r"^\[ {0,6}[0-9]{1,8}\.[0-9]{1,9}\] "),
    re.compile(r"^> ?"),
    re.compile(r"^\| ?"),
)
_HOST = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]{0,63}):(?: |$)")
_SAMPLE = 400
_MOST = 0.8  # the share of lines that makes a prefix one
# Prompts with a command, marks of a quotation, words of the shell, of ssh and of script(1).
_NOISE = re.compile(
    r"^(?:`{3}|~{3}|</?(?:pre|code|details|summary)\b"
    r"|[\[(]?[A-Za-z0-9_.+-]{1,64}@[A-Za-z0-9_.-]{1,64}\b.{0,80}?[#$%>](?:\s|$)"
    r"|[$#%>](?:\s|$)|(?:ba|z)?sh-[0-9.]{1,8}[#$] ?|\+{1,3} [a-z/]|\[sudo\] |sudo: "
    r"|Warning: Permanently added |Connection to \S{1,100} closed|Last login: "
    r"|Script (?:started|done)|logout$|exit$|[-=*_]{3,}$"
    r"|(?:real|user|sys)\s+[0-9]+m[0-9.]+s$|(?:exit|return) (?:code|status)\b)"
)


def lines(data: Data, dedent: bool = True, bars: bool = False) -> list[tuple[int, str]]:
    """Return the lines that hold anything, with their numbers, freed of what was put before them.

    `dedent` cuts the blanks that all lines begin with. `bars` says that the format draws
    tables, so that a bar at the beginning of a line is its own.
    """
    found = [
        (number, _ANSI.sub("", line).rstrip())
        for number, line in numbered_lines(decode(data))
        if line.strip()
    ]
    found = _fenced([one for one in found if one[1]])
    for prefix in _PREFIXES[:-1] if bars else _PREFIXES:
        head = found[:_SAMPLE]
        if head and sum(bool(prefix.match(line)) for _n, line in head) >= _MOST * len(head):
            found = [(number, prefix.sub("", line, count=1)) for number, line in found]
    found = [one for one in _without_host(found) if one[1].strip()]
    return _dedented(found) if dedent else found


def text_of(data: Data, bars: bool = False) -> str:
    """Return these lines as one text, for a pattern to search."""
    return "\n".join(line for _number, line in lines(data, bars=bars))


def is_noise(line: str) -> bool:
    """Return whether this line is the shell's, or a mark of a quotation, and says nothing."""
    return bool(_NOISE.match(line.strip()))


def strange(reading: Reading, number: int, line: str, wanted: str) -> None:
    """Record a line that is none of the format, unless it is noise."""
    if not is_noise(line):
        _plain.malformed(reading, number, line, wanted)


def _fenced(found: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """Return what stands between fences of markdown, where most of the text does."""
    inside: list[tuple[int, str]] = []
    fences, open_now = 0, False
    for one in found:
        if one[1].strip().startswith(("```", "~~~")):
            fences, open_now = fences + 1, not open_now
        elif open_now:
            inside.append(one)
    whole = fences > 1 and not open_now and len(inside) * 2 > len(found) - fences
    return inside if whole else found


def _dedented(found: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """Cut the blanks that all lines begin with; a prompt counts as none."""
    heads = [line[: len(line) - len(line.lstrip())] for _n, line in found if not is_noise(line)]
    common = min(heads, key=len, default="")
    if not common or not all(head.startswith(common) for head in heads):
        return found
    return [
        (number, line[len(common) :] if line.startswith(common) else line) for number, line in found
    ]


def _without_host(found: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """Cut the `host: ` that pdsh and its like put before every line of one host."""
    first = _HOST.match(found[0][1]) if found else None
    if first is None or not all(line.startswith(first.group(1) + ":") for _n, line in found):
        return found
    if len(found) < 4 and not any(one.isdigit() for one in first.group(1)):
        return found
    length = len(first.group(1)) + 1
    return [(number, line[length:].replace(" ", "", 1)) for number, line in found]
