# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `lldpctl` and `lldpcli show neighbors`, plain form: who is at the other end.

Format: a block for each neighbour, `Interface: NAME, via: LLDP, RID: 1, Time: ...`, and
indented `Label: value` lines below Chassis and Port. Names are those of the reader of the
JSON form. Versions: lldpd 0.7 to 1.0.19. Source: lldpcli(8).
"""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _pasted, _plain
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data

KIND = "lldpctl-plain"
TITLE = "LLDP neighbours by lldpctl, plain"
VERSIONS = "lldpd 0.7 to 1.0.19"
SOURCES = ("lldpcli(8)", "https://github.com/lldpd/lldpd")
PROVEN = True
FIELDS = {
    "node": {"neighbour_count": Field(int, "neighbours of all interfaces; 0 is a value")},
    "neighbour": {
        "interface": Field(str, "own interface"),
        "switch_name": Field(str, "neighbour's name"),
        "switch_id": Field(str, "neighbour's chassis id, mostly a MAC"),
        "switch_description": Field(str, "neighbour's own description"),
        "management_addresses": Field(list, "its addresses"),
        "capabilities": Field(list, "what it can do and has switched on"),
        "port": Field(str, "neighbour's port id"),
        "port_id_type": Field(str, "ifname, mac, local ..."),
        "port_description": Field(str, "neighbour's port description"),
        "ttl_s": Field(int, "how long it holds without being told again", "s"),
        "max_frame_b": Field(int, "its largest frame", "B"),
        "speed": Field(str, "medium of the port, as printed"),
        "protocol": Field(str, "LLDP, CDPv2 ..."),
        "age": Field(str, "how long it has been seen, as printed"),
    },
}
_INTERFACE = re.compile(r"^Interface:\s+([^,\s]{1,64}), via: ([^,]{1,30})(.*)$")
_AGE = re.compile(r"\bTime: (.{1,60})$")
_RULE = re.compile(r"^-{10,}$")
_TITLE = re.compile(r"^LLDP neighbors:?$", re.IGNORECASE)
_TEXTS = {
    "SysName": "switch_name",
    "SysDescr": "switch_description",
    "PortDescr": "port_description",
    "PortDesc": "port_description",
    "MAU oper type": "speed",
}
_TYPED = {"ChassisID": ("switch_id", None), "PortID": ("port", "port_id_type")}
_NUMBERS = {"TTL": "ttl_s", "MFS": "max_frame_b"}


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    head = _pasted.text_of(text[:8000])
    if re.search(r"(?m)^Interface:\s+\S+, via: (?:LLDP|CDP|EDP|SONMP)", head):
        return 97
    return 90 if re.search(r"(?m)^LLDP neighbors:\s*$", head) else 0


def read(data: Data) -> Reading:
    """Read one output; entities "", `neighbour:<interface>`, with `_2` for a second one."""
    reading = Reading(KIND, tool_name="lldpctl")
    neighbour: Entity | None = None
    seen, title = [], False
    for number, line in _pasted.lines(data):
        word = line.strip()
        found = _INTERFACE.match(word)
        pair = _plain.label(word)
        if found:
            neighbour = _begin(reading, found, number)
            seen.append(neighbour)
        elif _TITLE.match(word):
            title = True
        elif neighbour is not None and pair and line[:1].isspace():
            _pair(reading, neighbour, pair, number)
        # A description may go on in lines of its own.
        elif not _RULE.match(word) and (neighbour is None or not line[:1].isspace()):
            _pasted.strange(reading, number, line, "a line of lldpctl")
    if not seen and not title:
        return _plain.nothing(reading, "`Interface: NAME, via: ...`")
    for one in seen:
        if "port" not in one.values:
            _plain.note(reading, "truncated", "the neighbour has no port", entity=one.path)
    reading.entities.insert(0, Entity("", values={"neighbour_count": len(seen)}))
    return reading


def _begin(reading: Reading, found: re.Match[str], number: int) -> Entity:
    name, protocol, rest = found.groups()
    path, count = f"neighbour:{name.replace('/', '_')}", 2
    while reading.entity(path) is not None:
        path = f"neighbour:{name.replace('/', '_')}_{count}"
        count += 1
    neighbour = reading.add(Entity(path), number)
    age = _AGE.search(rest)
    neighbour.values.update({"interface": name, "protocol": protocol.strip()})
    neighbour.values["age"] = age.group(1).strip() if age else None
    return neighbour


def _pair(reading: Reading, neighbour: Entity, pair: tuple[str, str], number: int) -> None:
    label, value = pair
    values = neighbour.values
    if label in _TEXTS:
        values.setdefault(_TEXTS[label], value or None)
    elif label in _TYPED:
        name, kind = _TYPED[label]
        sort, _blank, word = value.partition(" ")
        values[name] = word.strip() or None
        if kind:
            values[kind] = sort or None
    elif label in _NUMBERS:
        _plain.put(reading, neighbour, _NUMBERS[label], value, _plain.integer, number)
    elif label == "MgmtIP":
        _listed(neighbour, "management_addresses", value)
    elif label == "Capability" and value.endswith(", on"):
        _listed(neighbour, "capabilities", value[:-4])


def _listed(neighbour: Entity, name: str, value: str) -> None:
    listed = neighbour.values.setdefault(name, [])
    if isinstance(listed, list) and len(listed) < 64:
        listed.append(value)
