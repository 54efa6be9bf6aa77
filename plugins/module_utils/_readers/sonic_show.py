# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of SONiC's `show`: ports, counters, flow control, queues, watchdog, neighbours.

Format: tables with an underlined header, one or several in one text. Read are `interfaces`
`status`, `description`, `counters` (`errors`, `rates`, `fec-stats` too) and `transceiver
presence`; `pfc counters`, `priority`, `asymmetric`; `queue counters` (`--voq` too) and
`watermark`; `priority-group drop counters` and `watermark`; `pfcwd stats` and `config`; `ecn`;
`lldp table`. Where a table comes twice, the last stands. Versions: SONiC 201811 to 202505.
"""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import (
    _pasted,
    _plain,
    _sonic_tables,
    _switch_fields,
    _switch_tables,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import Field, Reading
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data, decode

KIND = "sonic-show"
TITLE = "SONiC show: ports, counters, PFC, queues and neighbours of a switch"
VERSIONS = "SONiC 201811 to 202505"
SOURCES = (
    "https://github.com/sonic-net/sonic-utilities/blob/master/doc/Command-Reference.md",
    "https://github.com/sonic-net/sonic-utilities/tree/master/tests",
    "https://github.com/sonic-net/sonic-mgmt",
    "https://github.com/sonic-net/SONiC/tree/master/doc",
)
PROVEN = True
FIELDS = {
    "node": _switch_fields.NODE,
    "port": _switch_fields.PORT,
    "priority": _switch_fields.PRIORITY,
    "queue": _switch_fields.QUEUE,
    "pg": _switch_fields.GROUP,
    "watchdog": _switch_fields.WATCHDOG,
    "neighbour": _switch_fields.NEIGHBOUR,
    "profile": {
        "ecn_mode": Field(str, "colours that are marked", values=_sonic_tables.ECN_MODES),
        "wred_enabled": Field(bool, "green packets are thrown away early, or marked"),
        "ecn_min_threshold_b": Field(int, "fill at which marking of green packets begins", "B"),
        "ecn_max_threshold_b": Field(int, "fill at which it reaches its full rate", "B"),
        "ecn_probability_pct": Field(int, "rate of marking at that fill", "%"),
        "settings": Field(dict, "all settings, as printed"),
    },
}
_HEADER = re.compile(
    r"(?m)^[ \t|>]*(?:Interface +(?:Lanes +Speed +MTU|Oper +Admin|Lossless priorities|Asymmetric)"
    r"|IFACE +STATE +(?:RX_|FEC_)|Port (?:Rx|Tx) +PFC0|Port +(?:TxQ|Voq) +Counter/pkts"
    r"|Port +(?:PG|UC|MC|ALL)[08] |QUEUE +STATUS +STORM DETECTED/RESTORED|Port +Presence\b"
    r"|PORT +ACTION +DETECTION TIME|LocalPort +RemoteDevice +RemotePortID)"
)
_PROFILE = re.compile(r"(?m)^[ \t|>]*Profile: \S{1,60}\n[ \t|>]*-{5,60}  -{3,40}\n(?=.{0,40}\S)")
_SETTING = re.compile(r"(?m)^[ \t|>]*(?:ecn  +ecn_|green_min_threshold  )")
_ERROR = re.compile(r"^(?:Usage: show |Error: |Traceback |Root privileges|Cannot find |Failed to )")
_PROMPT = re.compile(r"^[a-z_][\w.-]{0,31}@([\w.-]{1,63}):[^$#\s]{0,80}[$#]")
_TOTAL = re.compile(r"^Total entries displayed: +([0-9]{1,6})$")
# Titles and remarks that stand beside the tables and say nothing of their own.
_WORDS = re.compile(
    r"^(?:For namespace\b|Namespace asic|Capability codes:|Last cached time was"
    r"|Reminder: |Changed polling|"
    r"Ingress |Egress |Total number of |Try [`'\"]|Showing |Global |Counters? .{0,40}cleared|"
    r"BIG_RED_SWITCH|Linecard)"
)


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    if _HEADER.search(text):
        return 95
    return 93 if _PROFILE.search(text) and _SETTING.search(text) else 0


def read(data: Data) -> Reading:
    """Read one or several outputs.

    Entities: "", `port:<name>` with `priority:<n>`, `queue:<name>`, `pg:<n>` and
    `watchdog:<n>` below it, `neighbour:<port>`, and `profile:<name>` of ECN.
    """
    reading = Reading(KIND, tool_name="show")
    found = _switch_tables.tables(data)
    read_any = listed = False
    for table in found.tables:
        handler = _sonic_tables.handler_of(table) if table.columns else None
        if handler is None:
            _plain.note(reading, "other_format", "a table that is not known", line=table.line)
            continue
        read_any = True
        listed = listed or table.columns[0] == "localport"
        _rows(reading, table, handler, found.last_line)
    total = _others(reading, found)
    if not read_any:
        return _plain.nothing(reading, "a table of SONiC's `show`")
    _switch_fields.summary(reading, _name(data), listed)
    rows = sum(len(one.rows) for one in found.tables if one.columns[:1] == ["localport"])
    if total is not None and listed and total != rows:
        says = f"{total} entries are said to be there, {rows} are"
        _plain.note(reading, "inconsistent", says, field="neighbour_count")
    return reading


def _rows(
    reading: Reading,
    table: _switch_tables.Table,
    handler: _sonic_tables.Handler,
    last_line: int,
) -> None:
    seen: set[tuple[str, ...]] = set()
    width = 2 if "txq" in table.columns or "voq" in table.columns else 1
    for number, cells, line in table.rows:
        if number == last_line and _is_short(table, cells, line):
            says = "the last row ends early; it is not read"
            _plain.note(reading, "truncated", says, line=number, verbatim=line.strip())
            continue
        name = tuple(cells[:width])
        if name in seen and table.columns[0] != "localport":
            says = f"{' '.join(name)} stands twice in one table; the first is kept"
            _plain.note(reading, "inconsistent", says, line=number)
            continue
        seen.add(name)
        handler(reading, dict(zip(table.columns, cells)), number)


def _is_short(table: _switch_tables.Table, cells: list[str], line: str) -> bool:
    """Return whether this line was cut: all tables but that of neighbours are set flush right."""
    end = table.spans[-1][1]
    if table.columns[0] == "localport" or len(line) >= end:
        return False
    others = [one for _number, _cells, one in table.rows[:-1]]
    return not cells[-1] or (bool(others) and all(len(one) >= end for one in others))


def _others(reading: Reading, found: _switch_tables.Found) -> int | None:
    """Judge the lines beside the tables; return how many neighbours the switch says it has."""
    total = None
    for number, line in found.others:
        count = _TOTAL.match(line)
        if count:
            total = (total or 0) + int(count.group(1))
        elif _ERROR.match(line):
            _plain.note(reading, "tool_error", "`show` said an error", line=number, verbatim=line)
        elif _HEADER.match(line):
            says = "a header with no table below it"
            _plain.note(reading, "truncated", says, line=number, verbatim=line)
        elif not _WORDS.match(line):
            _pasted.strange(reading, number, line, "a row or title of SONiC's `show`")
    return total


def _name(data: Data) -> str | None:
    """Return the name in the first prompt that runs `show`."""
    for line in decode(data)[:20_000].split("\n"):
        found = _PROMPT.match(line.strip())
        if found:
            return found.group(1)
    return None
