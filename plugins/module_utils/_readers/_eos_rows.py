# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows of the tables that Arista EOS prints.

Private to trackbed.cluster. Source: https://github.com/networktocode/ntc-templates,
tests/arista_eos.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import (
    _eos,
    _plain,
    _switch_fields,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._switch_fields import (
    part,
    port_named,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import Entity, Reading
from ansible_collections.trackbed.cluster.plugins.module_utils._text import absence

# header, row, line -> whether the row was read
Handler = t.Callable[[Reading, str, str, int], bool]

PORT = re.compile(r"^(Et|Ma|Po|Vx|Vl|Lo|Ethernet|Management|Port-Channel)[0-9][0-9/.]{0,20}\b")
_LONG = {"Et": "Ethernet", "Ma": "Management", "Po": "Port-Channel"}
_SHORT = re.compile(r"^(Et|Ma|Po)([0-9].*)$")
_STATUS = re.compile(
    r"^(\S{1,30})\s+(?:(\S.{0,60}?)\s+)?(connected|notconnect|disabled|errdisabled|inactive"
    r"|monitoring|uncapable)\s+(in Po\S{1,10}|\S{1,20})\s+(\S{1,10})\s+(\S{1,10})(?:\s+(\S.*))?$"
)
_COLUMNS = ("port", "name", "status", "vlan", "duplex", "speed", "type")
_LLDP = re.compile(r"^(\S{1,30})\s+(\S.{0,120}?)\s{2,}(\S.{0,120}?)\s+([0-9]{1,6})$")
_ERRORS = (
    "rx_crc_errors",
    "rx_alignment_errors",
    "rx_symbol_errors",
    "rx_errors",
    "rx_short_frames",
    "rx_long_frames",
    "tx_errors",
)
_COUNTERS: dict[str, tuple[str | None, ...]] = {
    "port fcs align symbol rx runts giants tx": _ERRORS,
    "port rxpfc txpfc": ("rx_pfc_frames", "tx_pfc_frames"),
    "port indiscards outdiscards": ("rx_discards", "tx_discards"),
    "port inoctets inucastpkts inmcastpkts inbcastpkts": ("rx_bytes", None, None, None),
    "port outoctets outucastpkts outmcastpkts outbcastpkts": ("tx_bytes", None, None, None),
}
_QUEUE = ("tx_packets", "tx_bytes", "dropped_packets", "dropped_bytes")
_TXQ = "port txq counter/pkts counter/bytes drop/pkts drop/bytes"
_TRAFFIC = "port traffic dropprec desttype outenqpkts outenqoctets outdroppkts outdropoctets"
HEADER = re.compile(
    r"^Port\s+(?:Name\s+Status\s+Vlan\s+Duplex\s+Speed\b|FCS\s+Align\s+Symbol\b|RxPfc\s+TxPfc"
    r"|Neighbor Device ID\s+Neighbor Port ID\s+TTL|InDiscards\s+OutDiscards|InOctets\s+InUcastPkts"
    r"|OutOctets\s+OutUcastPkts|TxQ\s+Counter/pkts|Traffic\s+DropPrec\s+DestType)"
)


def handler_of(header: str) -> Handler | None:
    """Return what reads the rows below a header."""
    words = " ".join(header.lower().split())
    if words.startswith("port name status vlan duplex speed"):
        return _status
    if words == "port neighbor device id neighbor port id ttl":
        return _neighbour
    if words in (_TXQ, _TRAFFIC):
        return _queue
    return _counters if words in _COUNTERS else None


def long_name(word: str) -> str:
    """Return `Ethernet1/1` for `Et1/1`, so that text and JSON name a port alike."""
    found = _SHORT.match(word)
    return _LONG[found.group(1)] + found.group(2) if found else word


def _status(reading: Reading, header: str, row: str, number: int) -> bool:
    cells = _sliced(header, row)
    if cells is None or cells[2].lower() not in _eos.STATUSES:
        found = _STATUS.match(row)
        if found:
            cells = [word or "" for word in found.groups()]
    if cells is None or not cells[2] or " " in cells[2]:
        return False
    name, description, status, vlan, duplex, speed, media = (one.strip() for one in cells)
    port = port_named(reading, long_name(name))
    _eos.put_status(reading, port, status, number)
    _eos.put_duplex(port, duplex)
    word = speed[2:] if speed.startswith("a-") else speed
    port.values["speed_mbit_per_s"] = _switch_fields.speed(word)
    if port.values["speed_mbit_per_s"] is None and word not in ("auto", "unconf", "N/A", ""):
        where = {"line": number, "entity": port.path, "field": "speed_mbit_per_s", "verbatim": word}
        _plain.note(reading, "unknown_value", "a speed that is not known", **where)
    port.values["auto_negotiation"] = speed.startswith("a-") or speed == "auto"
    port.values["description"] = description or None
    port.values["vlan"] = vlan or None
    port.values["media"] = None if absence(media) or not media else media
    return True


def _sliced(header: str, row: str) -> list[str] | None:
    """Cut a row where the words of the header begin; None where a word stands across."""
    starts = [header.lower().find(one) for one in _COLUMNS]
    if -1 in starts or starts != sorted(starts):
        return None
    if any(row[start - 1 : start].strip() for start in starts[1:]):
        return None
    end = len(header)
    for extra in ("flags", "encapsulation"):
        place = header.lower().find(extra)
        end = min(end, place) if place > 0 else end
    ends = [*starts[1:], end if end < len(header) else len(row) + 1]
    return [row[start:stop].strip() for start, stop in zip(starts, ends)]


def _neighbour(reading: Reading, header: str, row: str, number: int) -> bool:
    found, words = _LLDP.match(row), row.split()
    cells = list(found.groups()) if found else words
    if len(cells) != 4 or not re.match(r"^[0-9]{1,6}$", cells[3]):
        return False
    entity = _switch_fields.neighbour(reading, long_name(cells[0]), cells[1], cells[2])
    entity.values["ttl_s"] = int(cells[3])
    return bool(header) and number > 0


def _counters(reading: Reading, header: str, row: str, number: int) -> bool:
    names = _COUNTERS[" ".join(header.lower().split())]
    words = row.split()
    if len(words) != len(names) + 1:
        return False
    _put(reading, port_named(reading, long_name(words[0])), names, words[1:], number)
    return True


def _queue(reading: Reading, header: str, row: str, number: int) -> bool:
    words = row.split()
    traffic = " ".join(header.lower().split()) == _TRAFFIC
    if len(words) != (8 if traffic else 6):
        return False
    queue = words[1]
    if traffic:  # TC3, DP0-3, UC
        sort, level = words[3], words[2] if "-" not in words[2] else ""
        queue = sort + re.sub(r"^[A-Za-z]{1,4}", "", words[1]) + (f"_{level}" if level else "")
    if not re.match(r"^[A-Za-z0-9_]{1,20}$", queue):
        return False
    port = port_named(reading, long_name(words[0]))
    _put(reading, part(reading, f"{port.path}/queue:{queue}"), _QUEUE, words[-4:], number)
    return True


def _put(
    reading: Reading,
    entity: Entity,
    names: tuple[str | None, ...],
    words: list[str],
    number: int,
) -> None:
    for name, word in zip(names, words):
        if name:
            _plain.put(reading, entity, name, word, _switch_fields.count, number)
