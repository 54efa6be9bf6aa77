# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of Cumulus Linux's `nv show`, text: interfaces, counters, QoS counters, RoCE.

Format: tables with an underlined header, sections with a title over `====`, and trees whose
columns are `operational` and `applied`; what is read is the operational one. An output about
one interface does not name it: the command at the prompt does, else it is `port:0`. Sizes are
rounded by the tool. Versions: Cumulus Linux 5.0 to 5.14.
"""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import (
    _nvue,
    _nvue_tables,
    _pasted,
    _plain,
    _switch_fields,
    _switch_tables,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import Reading
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data

KIND = "nvue-show"
TITLE = "nv show: interfaces, counters and RoCE of a Cumulus Linux switch, text"
VERSIONS = "Cumulus Linux 5.0 to 5.14"
SOURCES = (
    "https://github.com/CumulusNetworks/docs/tree/stage/content/nvue-reference/Show-Commands",
    "https://docs.nvidia.com/networking-ethernet-software/cumulus-linux/",
)
PROVEN = True
FIELDS = _nvue.FIELDS
_TABLE = re.compile(
    r"(?m)^[ \t>|]*(?:Interface +(?:Admin Status +Oper Status|State +Speed|MTU +RX_OK +RX_ERR"
    r"|Speed +Type +Remote Host)"
    r"|switch-priority +rx-pause-frames|traffic-class +tx-frames|priority-group +rx-frames"
    r"|Counter +Receive +Transmit)\b"
)
_TREE = re.compile(r"(?m)^ +operational +applied\b")
_LEAF = re.compile(
    r"(?m)^ *(?:pfc-priority|congestion-mode|carrier-transitions|rx-roce-stats|oper-status"
    r"|admin-status|auto-negotiate) +\S|^ +(?:rx|tx)-roce-stats$"
)
_ERROR = re.compile(r"^(?:Error: |error: |Invalid |.{0,80}(?:does not exist|is not one of))", re.I)
_WORDS = re.compile(r"^(?:No Data$|Interface: \S+$|Exception List$|\.\.\.$)", re.I)
_PROMPT = re.compile(r"^(?:[\w.-]{1,40}@)([\w.-]{1,60})(?::[\w.-]{1,30})?:[^$#]{0,60}[$#]")


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    if _TABLE.search(text):
        return 93
    return 90 if _TREE.search(text) and _LEAF.search(text) else 0


def read(data: Data) -> Reading:
    """Read one or several outputs.

    Entities: "", `port:<name>` with `priority:<n>`, `queue:<n>` and `pg:<n>` below it,
    `neighbour:<port>`, `roce:global` or `port:<name>/roce:status`, each with `pool:<name>`.
    """
    reading = Reading(KIND, tool_name="nv")
    found = _switch_tables.tables(data)
    read_any = listed = False
    for table in found.tables:
        handler = _nvue_tables.handler_of(table) if table.columns else None
        if handler is None:
            if "feature" not in table.columns:
                says = "a table that is not known"
                _plain.note(reading, "other_format", says, line=table.line)
            continue
        read_any = True
        listed = listed or "remote host" in table.columns
        _cut(reading, table, found.last_line)
        handler(reading, table)
    titles = {table.title for table in found.tables}
    for number, line in found.others:
        if _ERROR.match(line):
            _plain.note(reading, "tool_error", "nv said an error", line=number, verbatim=line)
        elif line not in titles and not _WORDS.match(line):
            _pasted.strange(reading, number, line, "a row or a title of `nv show`")
    if not read_any or not reading.entities:
        return _plain.nothing(reading, "a table of `nv show` about interfaces or RoCE")
    _switch_fields.summary(reading, _name(data), listed)
    return reading


def _cut(reading: Reading, table: _switch_tables.Table, last_line: int) -> None:
    """Drop the last row of the text where it lacks cells that are never empty."""
    if not table.rows or table.rows[-1][0] != last_line:
        return
    number, cells, line = table.rows[-1]
    counts = table.columns[0] in ("counter", "traffic-class", "priority-group", "switch-priority")
    typed = table.columns.index("type") if "type" in table.columns else None
    if (counts and not cells[-1]) or (typed is not None and cells[0] and not cells[typed]):
        table.rows.pop()
        says = "the last row ends early; it is not read"
        _plain.note(reading, "truncated", says, line=number, verbatim=line.strip())


def _name(data: Data) -> str | None:
    """Return the name of the switch in the first prompt."""
    for _number, line in _pasted.lines(data)[:2000]:
        found = _PROMPT.match(line.strip())
        if found:
            return found.group(1)
    return None
