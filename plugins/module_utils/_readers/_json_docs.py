# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Several JSON documents in one text, with prompts, commands and messages between them.

Private to trackbed.cluster.
"""

from __future__ import annotations

import dataclasses
import re

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _pasted, _plain
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    PARTIAL,
    UNREADABLE,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data

MOST_DOCUMENTS = 512
# `[root@host ~]#` and `[  12.3] message` begin no document.
_START = re.compile(r'^\s*(?:\{\s*(?:["}]|$)|\[\s*(?:["{\[\]]|$))')
_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"?|[{}\[\]]')


@dataclasses.dataclass
class Document:
    """One document, or what is left of it."""

    line: int
    """1-based line that it begins in."""
    before: str
    """The last line before it: mostly the command, or a title."""
    text: str = ""
    parts: list[str] = dataclasses.field(default_factory=list)


def split(data: Data) -> tuple[list[Document], list[tuple[int, str]]]:
    """Return the documents, and the lines between them that are neither prompts nor blank."""
    documents: list[Document] = []
    others: list[tuple[int, str]] = []
    parts: list[str] = []
    depth, before = 0, ""
    for number, line in _pasted.lines(data):
        if depth <= 0 and not _START.match(line):
            before = line
            if not _pasted.is_noise(line):
                others.append((number, line.strip()))
            continue
        if _pasted.is_noise(line):  # a prompt: the document before it was cut
            depth, before = 0, line
            continue
        if depth <= 0:
            documents.append(Document(number, before))
            parts, depth, before = [], 0, ""
        depth += _opened(line)
        parts.append(line)
        documents[-1].parts = parts
        if len(documents) > MOST_DOCUMENTS:
            break
    for document in documents:  # so that problems carry the line of the whole input
        document.text = "\n" * min(document.line - 1, 20_000) + "\n".join(document.parts)
    return documents[:MOST_DOCUMENTS], others


def settle(reading: Reading, wanted: str) -> Reading:
    """Return the reading with the quality that its entities deserve."""
    if not reading.entities:
        return _plain.nothing(reading, wanted)
    if reading.quality == UNREADABLE:  # one of several documents
        reading.quality = PARTIAL
    return reading


def _opened(line: str) -> int:
    marks = [token.group(0) for token in _TOKEN.finditer(line)]
    return sum((one in "{[") - (one in "}]") for one in marks if len(one) == 1)
