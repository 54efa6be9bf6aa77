# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tables of `nv show`: which columns tell what.

Private to trackbed.cluster. Source: https://github.com/CumulusNetworks/docs.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import (
    _nvue,
    _plain,
    _switch_fields,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._switch_fields import part
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._switch_tables import Table
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import Entity, Reading
from ansible_collections.trackbed.cluster.plugins.module_utils._text import absence

Handler = t.Callable[[Reading, Table], None]

_INTERFACE = re.compile(r"^nv show interface ([A-Za-z][\w./]{0,20}[0-9][\w./]{0,20}|eth0|lo)\b")
_TEXTS = {
    "type": "port_type",
    "protodown reason": "protodown_reason",
    "description": "description",
}
_OF_PORTS = {"oper status", "admin status", "state", "remote host"}
# Column -> the value that is missing where the column is there and its cell is empty.
_ALWAYS = {
    "oper status": "oper_state",
    "state": "oper_state",
    "admin status": "admin_state",
    "speed": "speed_mbit_per_s",
    "mtu": "mtu_b",
}
_BASIC = {
    "rx_ok": "rx_packets",
    "rx_err": "rx_errors",
    "rx_drp": "rx_discards",
    "rx_ovr": "rx_overruns",
    "tx_ok": "tx_packets",
    "tx_err": "tx_errors",
    "tx_drp": "tx_discards",
    "tx_ovr": "tx_overruns",
    "mtu": "mtu_b",
}
# Row of a table `Counter Receive Transmit` -> names of both.
_COUNTERS: dict[str, tuple[str | None, str | None]] = {
    "total octets": ("rx_bytes", "tx_bytes"),
    "total packets": ("rx_packets", "tx_packets"),
    "acl drops": ("rx_acl_drops", None),
    "buffer drops": ("rx_buffer_drops", None),
    "non-queue drops": (None, "tx_other_drops"),
    "queue drops": (None, "tx_queue_drops"),
    "total drops": ("rx_discards", "tx_discards"),
    "alignment errors": ("rx_alignment_errors", None),
    "fcs errors": ("rx_crc_errors", None),
    "jabber errors": ("rx_jabber_frames", None),
    "length errors": ("rx_length_errors", None),
    "oversize errors": ("rx_long_frames", None),
    "symbol errors": ("rx_symbol_errors", None),
    "total errors": ("rx_errors", "tx_errors"),
    "undersize errors": ("rx_short_frames", None),
    "ecn-marked-packets": (None, "ecn_marked_packets"),
    "pause-frames": ("rx_pause", "tx_pause"),
}
_NUMBERED = {
    "traffic-class": ("queue", _nvue.QUEUES),
    "priority-group": ("pg", _nvue.GROUPS),
    "switch-priority": ("priority", _nvue.PRIORITIES),
}


def handler_of(table: Table) -> Handler | None:
    """Return what reads a table, None where it is not known."""
    columns = set(table.columns[1:])
    first = table.columns[0]
    named = _NUMBERED.get(first, ("", {}))[1]
    cases: tuple[tuple[bool, Handler], ...] = (
        (first == "interface" and bool(columns & _OF_PORTS), _ports),
        (first == "interface" and "rx_ok" in columns, _basic),
        (first == "counter" and {"receive", "transmit"} <= columns, _counters),
        (bool(set(named) & columns), _numbered),
        (first == "" and "operational" in columns, _tree),
        (first == "" and {"dscp", "switch-prio"} <= columns, _dscp),
        (first == "" and {"switch-prio", "traffic-class"} <= columns, _classes),
        (first == "" and {"name", "mode", "size"} <= columns, _pools),
    )
    return next((handler for fits, handler in cases if fits), None)


def port_of(table: Table) -> str:
    """Return the interface that the command asked for, `0` where none is told."""
    found = _INTERFACE.match(table.command)
    return found.group(1) if found else "0"


def _roce_path(table: Table) -> str:
    found = _INTERFACE.match(table.command)
    return f"port:{_switch_fields.key(found.group(1))}/roce:status" if found else "roce:global"


def _ports(reading: Reading, table: Table) -> None:
    for number, cells, _line in table.rows:
        row = dict(zip(table.columns, cells))
        name = row["interface"]
        if not re.match(r"^[A-Za-z][\w./-]{0,40}$", name):  # more of the summary of the port above
            continue
        link = {
            "oper-status": row.get("oper status", row.get("state")),
            "admin-status": row.get("admin status"),
            "protodown": row.get("protodown"),
            "speed": row.get("speed"),
            "mtu": row.get("mtu") or None,
        }
        tree = {"link": {leaf: word for leaf, word in link.items() if word}}
        _nvue.take_port(reading, name, tree, number)
        port = _switch_fields.port_named(reading, name)
        for column, value in _ALWAYS.items():
            if column in row:
                port.values.setdefault(value, None)
        for column, value in _TEXTS.items():
            if column in row:
                port.values[value] = row[column] or None
        if row.get("remote host") or row.get("remote port"):
            far = [row.get(one) or None for one in ("remote host", "remote port")]
            _switch_fields.neighbour(reading, name, *far)


def _basic(reading: Reading, table: Table) -> None:
    for number, cells, _line in table.rows:
        row = dict(zip(table.columns, cells))
        if re.match(r"^[A-Za-z][\w./-]{0,40}$", row["interface"]):
            port = _switch_fields.port_named(reading, row["interface"])
            for column, name in _BASIC.items():
                _nvue.put_size(reading, port, name, row.get(column), number)


def _counters(reading: Reading, table: Table) -> None:
    port = _switch_fields.port_named(reading, port_of(table))
    for number, cells, _line in table.rows:
        row = dict(zip(table.columns, cells))
        names = _COUNTERS.get(row["counter"].lower(), (None, None))
        for name, column in zip(names, ("receive", "transmit")):
            if name:
                _nvue.put_size(reading, port, name, row[column], number)


def _numbered(reading: Reading, table: Table) -> None:
    sort, names = _NUMBERED[table.columns[0]]
    port = _switch_fields.port_named(reading, port_of(table))
    for number, cells, line in table.rows:
        if not re.match(r"^[0-9]{1,3}$", cells[0]):
            _plain.malformed(reading, number, line, "a row that begins with a number")
            continue
        entity = part(reading, f"{port.path}/{sort}:{cells[0]}")
        for column, word in zip(table.columns[1:], cells[1:]):
            if column in names:
                _nvue.put_size(reading, entity, names[column], word, number)


def _tree(reading: Reading, table: Table) -> None:
    now, applied = _nested(table, "operational"), _nested(table, "applied")
    if _nvue.is_roce(now) or _nvue.is_roce(applied):
        for leaf in ("state", "mode"):  # these are told as configured only
            if leaf not in now and leaf in applied:
                now[leaf] = applied[leaf]
        _nvue.take_roce(reading, _roce_path(table), now, table.line)
    elif _nvue.is_port(now):
        _nvue.take_port(reading, port_of(table), now, table.line)
    else:
        says = "a tree that is neither an interface nor RoCE"
        _plain.note(reading, "other_format", says, line=table.line)


def _nested(table: Table, column: str) -> _nvue.Tree:
    """Return the rows as the tree that their indentation draws."""
    root: _nvue.Tree = {}
    above: list[tuple[int, _nvue.Tree]] = [(-1, root)]
    place = table.columns.index(column) if column in table.columns else None
    for _number, cells, line in table.rows:
        depth = len(line) - len(line.lstrip())
        while len(above) > 1 and above[-1][0] >= depth:
            above.pop()
        value = cells[place] if place is not None else ""
        if value:
            above[-1][1].setdefault(cells[0], value)
        elif not any(cells[1:3]) and len(above) < 12:
            below = above[-1][1].setdefault(cells[0], {})
            if isinstance(below, dict):
                above.append((depth, below))
    return root


def _dscp(reading: Reading, table: Table) -> None:
    _mapping(reading, table, "dscp_to_priority", "dscp", "switch-prio")


def _classes(reading: Reading, table: Table) -> None:
    _mapping(reading, table, "priority_to_tc", "switch-prio", "traffic-class")
    roce = part(reading, _roce_path(table))
    shares = {}
    for _number, cells, _line in table.rows:
        row = dict(zip(table.columns, cells))
        if row.get("scheduler-weight"):
            shares[row["traffic-class"][:20]] = row["scheduler-weight"]
    roce.values["tc_scheduler"] = shares


def _mapping(reading: Reading, table: Table, name: str, first: str, second: str) -> None:
    mapped: dict[str, int] = {}
    for number, cells, line in table.rows:
        row = dict(zip(table.columns, cells))
        keys, value = _nvue.listed(row[first]), _nvue.listed(row[second])
        if keys is None or value is None or len(value) != 1:
            _plain.malformed(reading, number, line, "a row of a mapping")
            continue
        mapped.update({str(one): value[0] for one in keys})
    part(reading, _roce_path(table)).values[name] = mapped


def _pools(reading: Reading, table: Table) -> None:
    for number, cells, line in table.rows:
        row = dict(zip(table.columns, cells))
        if not re.match(r"^[A-Za-z][\w.-]{0,60}$", row["name"]):
            _plain.malformed(reading, number, line, "a row with the name of a pool")
            continue
        pool = part(reading, f"{_roce_path(table)}/pool:{row['name']}")
        _pool(reading, pool, row, number)


def _pool(reading: Reading, pool: Entity, row: dict[str, str], number: int) -> None:
    pool.values["mode"] = row["mode"].lower() or None
    pool.values["priorities"] = _nvue.listed(row.get("switch-priorities", ""))
    pool.values["tcs"] = _nvue.listed(row.get("traffic-class", ""))
    if row["size"].endswith("%"):
        pool.values["size_pct"] = _switch_fields.percent(row["size"])
    elif row["size"] and row["size"] != "inf" and absence(row["size"]) is None:
        _nvue.put_size(reading, pool, "size_b", row["size"], number)
    for column, name in (("current-usage", "usage_b"), ("max-usage", "max_usage_b")):
        if column in row:
            _nvue.put_size(reading, pool, name, row[column] or None, number)
