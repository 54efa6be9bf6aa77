# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `mlnx_qos -i NAME`: trust, priority flow control and traffic classes of a port.

Format: `label: value` lines, the DSCP map and the classes indented below theirs, flow
control as a table of eight columns. The output does not name its interface. Versions:
mlnx-tools 5.x, OFED 4.9 to DOCA 3.3. Source: https://github.com/Mellanox/mlnx-tools,
python/mlnx_qos.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _plain
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data

KIND = "mlnx_qos"
TITLE = "mlnx_qos: trust, flow control and traffic classes of a port"
VERSIONS = "OFED 4.9 to DOCA 3.3"
SOURCES = ("https://github.com/Mellanox/mlnx-tools",)
PROVEN = True
_TSA = ("strict", "ets", "vendor")
FIELDS = {
    "interface": {
        "dcbx_mode": Field(str, "who may change it", values=("os", "firmware")),
        "trust": Field(str, "what decides on a packet's priority", values=("dscp", "pcp", "both")),
        "dscp_to_priority": Field(dict, "priority by DSCP; null where trust is not dscp"),
        "pfc_priorities": Field(list, "priorities with flow control"),
        "priority_to_buffer": Field(list, "buffer of each priority, 0 to 7"),
        "buffer_sizes_b": Field(list, "size of each receive buffer", "B"),
        "buffer_total_b": Field(int, "all that there is", "B"),
        "cable_length_m": Field(int, "length that the buffers are made for", "m"),
        "default_priority": Field(str, "as printed; null where there is none"),
    },
    "tc": {
        "selection": Field(str, "how its turn is chosen", values=_TSA),
        "bandwidth_pct": Field(int, "its share, of ets alone", "%"),
        "rate_limit_gbit_per_s": Field(float, "limit; null where it is unlimited", "Gbit/s"),
        "priorities": Field(list, "priorities that it carries"),
    },
}
_PRIO = re.compile(r"^prio:([0-7]) dscp:([0-9, ]{0,400})$")
_TC = re.compile(
    r"^tc: ([0-7]) ratelimit: (unlimited|[0-9.]{1,12} ?[GMK]bps), tsa: ([a-z]{1,16})"
    r"(?:, bw: ([0-9]{1,3})%)?$"
)
_TABLE = re.compile(r"^(priority|enabled|buffer)((?:\s+[0-9]{1,2}){8})\s*$")
_OF_TC = re.compile(r"^priority:\s*([0-7](?:[ ,]+[0-7])*)?\s*$")
_BUFFERS = re.compile(r"^([0-9,]{1,200}?),?max_buffer_size=([0-9]{1,12})$")
_MODES = {"os controlled": "os", "firmware controlled": "firmware"}
_TRUSTS = {"dscp": "dscp", "pcp": "pcp", "both": "both"}
_SCALES = {"G": 1.0, "M": 1e-3, "K": 1e-6}
_NOISE = re.compile(r"^(?:dscp2prio mapping|PFC configuration|WARNING|(?:\S*[$#] )?mlnx_qos\b)")
_ERROR = re.compile(
    r"^(?:Error|Netlink error|Interface .* (?:not|doesn't)|Could not|.*not supported)"
)


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    head = text[:8000]
    if re.search(r"(?m)^\s*Priority trust state: ", head):
        return 97
    return 92 if re.search(r"(?m)^PFC configuration:\s*$", head) else 0


def read(data: Data) -> Reading:
    """Read one output. Entities: `interface:0`, `interface:0/tc:<n>`."""
    reading = Reading(KIND, tool_name="mlnx_qos")
    port = Entity("interface:0")
    tc: Entity | None = None
    for number, line in _plain.lines(data):
        word = line.strip()
        found, table, of_tc = _TC.match(word), _TABLE.match(word), _OF_TC.match(word)
        if found:
            tc = _class(reading, found, number)
        elif table:
            _table(port, table)
        elif of_tc and tc is not None:
            _carries(tc, of_tc.group(1) or "")
        elif _ERROR.match(word):
            _plain.note(reading, "tool_error", "mlnx_qos said an error", line=number, verbatim=word)
        elif not _line(reading, port, word, number) and not _NOISE.match(word):
            _plain.malformed(reading, number, line, "a line of mlnx_qos")
    return _finish(reading, port)


def _finish(reading: Reading, port: Entity) -> Reading:
    """Say what is missing, and put the port before its classes."""
    if "trust" not in port.values and "pfc_priorities" not in port.values:
        reading.entities.clear()
        return _plain.nothing(reading, "`Priority trust state:`")
    for name in ("trust", "pfc_priorities"):
        if name not in port.values:
            where = {"entity": port.path, "field": name}
            _plain.note(reading, "truncated", f"{name.replace('_', ' ')} is not told", **where)
    if len(reading.entities) < 8:
        _plain.note(reading, "truncated", f"{len(reading.entities)} of 8 classes are told of")
    reading.entities.insert(0, port)
    return reading


def _line(reading: Reading, port: Entity, word: str, number: int) -> bool:
    """Read a line that is of the port itself; return whether it is one."""
    prio = _PRIO.match(word)
    label, value = _plain.label(word) or ("", "")
    if prio:
        mapped = port.values.setdefault("dscp_to_priority", {})
        if isinstance(mapped, dict):
            mapped.update({str(int(one)): int(prio.group(1)) for one in _numbers(prio.group(2))})
    elif label == "DCBX mode":
        _plain.put(reading, port, "dcbx_mode", value, lambda one: _MODES.get(one.lower()), number)
    elif label == "Priority trust state":
        _plain.put(reading, port, "trust", value, _TRUSTS.get, number)
    elif label == "default priority":
        port.values["default_priority"] = value or None
    elif label == "Cable len":
        _plain.put(reading, port, "cable_length_m", value, _plain.integer, number)
    elif label == "Receive buffer size (bytes)":
        found = _BUFFERS.match(value.replace(" ", ""))
        port.values["buffer_sizes_b"] = [
            int(one) for one in _numbers(found.group(1) if found else "")
        ]
        port.values["buffer_total_b"] = int(found.group(2)) if found else None
    else:
        return False
    return True


def _carries(tc: Entity, words: str) -> None:
    """Add the priorities of a line to a class: there is a line for each of them."""
    listed = tc.values["priorities"]
    if isinstance(listed, list) and len(listed) < 8:
        listed += [int(one) for one in re.findall("[0-7]", words)]


def _numbers(words: str) -> list[str]:
    return re.findall(r"[0-9]{1,12}", words)


def _table(port: Entity, found: t.Match[str]) -> None:
    row = [int(one) for one in found.group(2).split()]
    if found.group(1) == "enabled":
        port.values["pfc_priorities"] = [index for index, one in enumerate(row) if one]
    elif found.group(1) == "buffer":
        port.values["priority_to_buffer"] = list(row)


def _class(reading: Reading, found: t.Match[str], number: int) -> Entity:
    index, limit, selection, share = found.groups()
    tc = reading.add(Entity(f"interface:0/tc:{index}"), number)
    tc.values["priorities"] = []
    tc.values["bandwidth_pct"] = int(share) if share else None
    tc.values["selection"] = selection
    if selection not in _TSA:
        tc.notes["selection"] = "verbatim"
        where = {"line": number, "entity": tc.path, "field": "selection", "verbatim": selection}
        _plain.note(reading, "unknown_value", "a selection that is not known", **where)
    rate = re.match(r"^([0-9.]{1,12}) ?([GMK])bps$", limit)
    value = _plain.decimal(rate.group(1)) if rate else None
    tc.values["rate_limit_gbit_per_s"] = (
        None if value is None or rate is None else value * _SCALES[rate.group(2)]
    )
    return tc
