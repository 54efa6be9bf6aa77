# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of Arista EOS's `show`, text: interfaces, errors, PFC, queues, LLDP neighbours.

Format: tables that begin with `Port`, one or several in one text: `show interfaces status`,
`show interfaces counters` (`errors`, `discards`, `queue detail` too), `show
priority-flow-control counters`, `show lldp neighbors`. Ports are named in short (`Et1/1`); here
they bear the long name, as in the JSON form. The tables of PFC, of discards and of `TxQ` rest
on one public source each, the rest on two or more. Versions: EOS 4.15 to 4.34.
"""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import (
    _eos,
    _eos_rows,
    _pasted,
    _plain,
    _switch_fields,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import Reading
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data

KIND = "eos-show"
TITLE = "Arista EOS show: ports, errors, PFC, queues and neighbours of a switch, text"
VERSIONS = "EOS 4.15 to 4.34"
SOURCES = (
    "https://github.com/networktocode/ntc-templates/tree/master/tests/arista_eos",
    "https://github.com/amd/node-scraper",
    "https://github.com/aristanetworks/anta",
)
PROVEN = True
FIELDS = _eos.FIELDS
_ROW = re.compile(r"(?m)^[ \t>|]*(?:Et|Ma|Po)[0-9]{1,4}(?:/[0-9]{1,3}){0,2}\s")
_HEAD = re.compile(_eos_rows.HEADER.pattern.replace("^Port", r"(?m)^[ \t>|]*Port", 1))
_DASHES = re.compile(r"^-{2,200}(?: {1,40}-{2,200}){1,20}$")
_WORDS = re.compile(
    r"^(?:Last table change time|Number of table |Egress Queue Counters|Ingress |Class$"
    r"|Totals\b|=====|Port-Channel members|[\w.-]{1,63}>$)"
)
_LONGEST = 500  # no table of EOS is as wide; keeps the time of every pattern bounded
_NAME = re.compile(r"^([A-Za-z][\w.-]{0,62})(?:\([\w-]{1,30}\))?[#>] ?show ")


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    return 96 if _HEAD.search(text) and _ROW.search(text) else 0


def read(data: Data) -> Reading:
    """Read one or several outputs.

    Entities: "", `port:<name>` with `queue:<name>` below it, `neighbour:<port>`.
    """
    reading = Reading(KIND, tool_name="eos")
    lines = _pasted.lines(data)
    header, handler, reach = "", None, True
    name: str | None = None
    read_any = listed = False
    for number, line in lines:
        word = line.strip()[:_LONGEST]
        asked = _NAME.match(word)
        if asked or _eos.COMMAND.search(word):
            name = name or (asked.group(1) if asked else None)
            handler = None
        elif _eos_rows.HEADER.match(word):
            header, handler, reach = word, _eos_rows.handler_of(word), True
            listed = listed or "Neighbor" in word
            read_any = read_any or handler is not None
        elif handler is not None and _eos_rows.PORT.match(word):
            cut = number == lines[-1][0] and reach and _is_short(header, word)
            if cut or not handler(reading, header, word, number):
                _bad(reading, number, word, number == lines[-1][0])
            reach = reach and not _is_short(header, word)
        else:
            _other(reading, number, word)
    if not read_any:
        return _plain.nothing(reading, "a table of EOS that begins with `Port`")
    _switch_fields.summary(reading, name, listed)
    return reading


def _is_short(header: str, row: str) -> bool:
    """Return whether a row of numbers ends before the header does: they are set flush right."""
    return "Name" not in header and "Neighbor" not in header and len(row) < len(header)


def _bad(reading: Reading, number: int, word: str, last: bool) -> None:
    code = "truncated" if last else "malformed"
    says = "the last row ends early; it is not read" if last else "a row that cannot be read"
    _plain.note(reading, code, says, line=number, verbatim=word)


def _other(reading: Reading, number: int, word: str) -> None:
    if word.startswith("% "):
        _plain.note(reading, "tool_error", "EOS said an error", line=number, verbatim=word)
    elif not _DASHES.match(word) and not _WORDS.match(word):
        _pasted.strange(reading, number, word, "a row of a table of EOS")
