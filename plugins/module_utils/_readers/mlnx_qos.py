# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `mlnx_qos -i NAME`: trust, priority flow control and traffic classes of a port.

Format: `label: value` lines, the DSCP map and the classes indented below theirs, flow
control as a table of eight columns. The output does not name its interface; the command before
it may. Of several outputs about one interface the last stands. Classes that carry no priority
are left out, and OFED before 4.2 tells neither trust nor buffers. Versions: OFED 3.4 to DOCA
3.3. Source: https://github.com/Mellanox/mlnx-tools, python/mlnx_qos.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import (
    _mellanox,
    _pasted,
    _plain,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data

KIND = "mlnx_qos"
TITLE = "mlnx_qos: trust, flow control and traffic classes of a port"
VERSIONS = "OFED 3.4 to DOCA 3.3"
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
        "priorities": Field(list, "priorities that it carries; null where none is told"),
    },
}
_PRIO = re.compile(r"^prio:([0-7]) dscp:([0-9, ]{0,400})$")
_TC = re.compile(
    r"^tc: ([0-9]{1,2}) ratelimit: (unlimited|[0-9.]{1,12} ?[GMK]bps), tsa: ([a-z]{1,16})"
    r"(?:, bw: ([0-9]{1,3})%)?$"
)
_TABLE = re.compile(r"^(priority|enabled|buffer):?((?:\s+[0-9]{1,2}){8})(?:\s+[^0-9\s].{0,200})?$")
_OF_TC = re.compile(r"^priority:\s{0,80}([0-7](?:[ ,]+[0-7])*)?,?(?:\s+[^0-9\s].{0,200})?$")
_BUFFERS = re.compile(r"^([0-9,]{1,200}?),?(?:max_buffer_size=([0-9]{1,12}),?)?$")
_MODES = {"os controlled": "os", "firmware controlled": "firmware"}
_TRUSTS = {"dscp": "dscp", "pcp": "pcp", "both": "both"}
_SCALES = {"G": 1.0, "M": 1e-3, "K": 1e-6}
_NOISE = re.compile(r"^(?:dscp2prio mapping|PFC configuration|skprio:|up:|Enabled TC|tc:$)")
_ERROR = re.compile(
    r"^(?:Netlink error|Interface .{1,60} (?:not|doesn't)|Could not|Can't|.{0,80}not supported"
    r"|usage: |mlnx_qos: |.{0,60}[Nn]o such device|Buffers commands are)"
)
_DSCPS = 64
_PRIORITIES = 8
_MOST = 256


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    head = _pasted.text_of(text[:16000])
    if re.search(r"(?m)^\s*Priority trust (?:state|mode): ", head):
        return 97
    if re.search(r"(?m)^\s*tc: [0-9] ratelimit: ", head):
        return 96
    if re.search(r"(?m)^\s*PFC configuration:$", head):
        return 92
    return 60 if _mellanox.asks(head, "mlnx_qos") else 0


def read(data: Data) -> Reading:
    """Read one output, or several. Entities: `interface:<name or n>`, its `tc:<n>`."""
    reader = _Reader()
    last = 0
    for number, line in _pasted.lines(data):
        reader.take(number, line)
        last = number
    _mellanox.last_is_cut(reader.reading, last)
    return reader.finish()


class _Reader:
    """Knows to which interface and class a line belongs."""

    def __init__(self) -> None:
        self.reading = Reading(KIND, tool_name="mlnx_qos")
        self.ports: dict[str, tuple[Entity, dict[str, Entity]]] = {}
        self.port = Entity("interface:0")
        self.classes: dict[str, Entity] = {}
        self.tc: Entity | None = None
        self.first = 0

    def take(self, number: int, line: str) -> None:
        """Take one line."""
        word = line.strip()
        asked = _mellanox.command(word, "mlnx_qos")
        if asked is not None:
            self._close()
            self.port.path = f"interface:{asked.replace('/', '_') or len(self.ports)}"
        elif self._of_class(number, word) or self._of_port(number, word):
            self.first = self.first or number
        elif _ERROR.match(word):
            says = "mlnx_qos said an error"
            _plain.note(self.reading, "tool_error", says, line=number, verbatim=word)
        elif not _NOISE.match(word) and not _mellanox.is_message(self.reading, number, word):
            _plain.malformed(self.reading, number, line, "a line of mlnx_qos")

    def _of_class(self, number: int, word: str) -> bool:
        found, of_tc = _TC.match(word), _OF_TC.match(word)
        if found:
            if found.group(1) in self.classes:  # a second output, without its beginning
                self._close()
            self.tc = _class(self.reading, self.port, found, number)
            self.classes[found.group(1)] = self.tc
        elif of_tc and self.tc is not None:
            _carries(self.tc, of_tc.group(1) or "")
        return bool(found or (of_tc and self.tc is not None))

    def _of_port(self, number: int, word: str) -> bool:
        table = _TABLE.match(word)
        label, value = _plain.label(word) or ("", "")
        begins = {"DCBX mode": "dcbx_mode"}.get(label) or (
            "trust" if label.startswith("Priority trust ") else ""
        )
        begun = bool(self.classes) and (bool(begins) or label == "PFC configuration" or bool(table))
        if begun or (begins and begins in self.port.values):
            self._close()
        if table:
            _table(self.port, table)
            return True
        return _line(self.reading, self.port, word, (label, value), number)

    def _close(self) -> None:
        """Keep the interface read so far; its last output stands."""
        if self.port.values or self.classes:
            if len(self.ports) < _MOST:
                self.ports[self.port.path] = (self.port, self.classes)
            self.port = Entity(f"interface:{len(self.ports)}")
        self.classes, self.tc = {}, None

    def finish(self) -> Reading:
        """Say what is missing, and put each port before its classes."""
        self._close()
        reading = self.reading
        if not self.ports:
            return _plain.nothing(reading, "`Priority trust state:`")
        _mellanox.forget_before(reading, self.first)
        for port, classes in self.ports.values():
            reading.add(port)
            _check(reading, port, list(classes.values()))
            for tc in classes.values():
                reading.add(tc)
        return reading


def _check(reading: Reading, port: Entity, classes: list[Entity]) -> None:
    old = not {"dcbx_mode", "buffer_sizes_b", "priority_to_buffer"} & set(port.values)
    for name in ("trust", "pfc_priorities"):
        if name not in port.values:
            port.values[name] = None
            if name == "trust" and old:
                port.notes[name] = "not_supported"
                continue
            where = {"entity": port.path, "field": name}
            _plain.note(reading, "truncated", f"{name.replace('_', ' ')} is not told", **where)
    mapped = port.values.get("dscp_to_priority")
    if isinstance(mapped, dict) and len(mapped) != _DSCPS:
        where = {"entity": port.path, "field": "dscp_to_priority"}
        says = f"{len(mapped)} of {_DSCPS} DSCPs are mapped"
        _plain.note(reading, "missing_value", says, **where)
    told = [tc.values["priorities"] for tc in classes if tc.values["priorities"]]
    carried = {one for listed in told if isinstance(listed, list) for one in listed}
    if len(carried) < _PRIORITIES and (told or len(classes) < _PRIORITIES):
        says = f"{len(classes)} classes carry {len(carried)} of {_PRIORITIES} priorities"
        _plain.note(reading, "truncated", says, entity=port.path)


def _line(reading: Reading, port: Entity, word: str, pair: tuple[str, str], number: int) -> bool:
    """Read a line that is of the port itself; return whether it is one."""
    prio, (label, value) = _PRIO.match(word), pair
    if prio:
        _map(reading, port, prio, number)
    elif label == "DCBX mode":
        _name(reading, port, "dcbx_mode", value, _MODES, number)
    elif label in ("Priority trust state", "Priority trust mode"):
        _name(reading, port, "trust", value, _TRUSTS, number)
    elif label == "default priority":
        port.values["default_priority"] = value or None
    elif label == "Cable len":
        _plain.put(reading, port, "cable_length_m", value, _plain.integer, number)
    elif label in ("Receive buffer size (bytes)", "Receive buffer size"):
        _buffers(reading, port, value.replace(" ", ""), number)
    else:
        return False
    return True


def _name(
    reading: Reading, port: Entity, name: str, word: str, known: dict[str, str], number: int
) -> None:
    """Put a value of an enumeration; one that is not known is kept as it is printed."""
    value = known.get(word.lower())
    port.values[name] = value or word or None
    if value is None and word:
        port.notes[name] = "verbatim"
        where = {"line": number, "entity": port.path, "field": name, "verbatim": word}
        _plain.note(reading, "unknown_value", f"{name} has a value that is not known", **where)


def _map(reading: Reading, port: Entity, found: t.Match[str], number: int) -> None:
    mapped = port.values.setdefault("dscp_to_priority", {})
    for dscp in _numbers(found.group(2)):
        key, priority = str(int(dscp)), int(found.group(1))
        if isinstance(mapped, dict) and mapped.setdefault(key, priority) != priority:
            says = f"DSCP {key} is mapped to {mapped[key]} and to {priority}"
            _plain.note(reading, "inconsistent", says, line=number, field="dscp_to_priority")


def _buffers(reading: Reading, port: Entity, value: str, number: int) -> None:
    found = _BUFFERS.match(value)
    port.values["buffer_sizes_b"] = None
    port.values["buffer_total_b"] = None
    if found:
        port.values["buffer_sizes_b"] = [int(one) for one in _numbers(found.group(1))]
        port.values["buffer_total_b"] = int(found.group(2)) if found.group(2) else None
    elif value:
        where = {"line": number, "field": "buffer_sizes_b", "verbatim": value}
        _plain.note(reading, "unknown_value", "sizes of buffers that cannot be read", **where)


def _carries(tc: Entity, words: str) -> None:
    """Add the priorities of a line to a class: there is a line for each of them."""
    listed = tc.values["priorities"]
    if listed is None:
        listed = tc.values["priorities"] = []
    if isinstance(listed, list) and len(listed) < _PRIORITIES:
        listed += [int(one) for one in re.findall("[0-7]", words)]


def _numbers(words: str) -> list[str]:
    return re.findall(r"[0-9]{1,12}", words)


def _table(port: Entity, found: t.Match[str]) -> None:
    row = [int(one) for one in found.group(2).split()]
    if found.group(1) == "enabled":
        port.values["pfc_priorities"] = [index for index, one in enumerate(row) if one]
    elif found.group(1) == "buffer":
        port.values["priority_to_buffer"] = list(row)


def _class(reading: Reading, port: Entity, found: t.Match[str], number: int) -> Entity:
    index, limit, selection, share = found.groups()
    tc = Entity(f"{port.path}/tc:{index}", values={"priorities": None, "selection": selection})
    tc.values["bandwidth_pct"] = int(share) if share else None
    if selection not in _TSA:
        tc.notes["selection"] = "verbatim"
        where = {"line": number, "entity": tc.path, "verbatim": selection}
        _plain.note(reading, "unknown_value", "a selection that is not known", **where)
    rate = re.match(r"^([0-9.]{1,12}) ?([GMK])bps$", limit)
    value = _plain.decimal(rate.group(1)) if rate else None
    tc.values["rate_limit_gbit_per_s"] = (
        None if value is None or rate is None else value * _SCALES[rate.group(2)]
    )
    return tc
