# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `rdma link`: RDMA links with their state, plain and JSON (-j).

Format: `link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev eth0` and, on InfiniBand,
`subnet_prefix lid sm_lid lmc` between; before iproute2 5.2 the link is `1/1: mlx5_0/1:`.
Versions: iproute2 4.17 to 6.18. Source: rdma-link(8).
"""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _json, _rdma
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import (
    Data,
    decode,
    numbered_lines,
)

KIND = "rdma-link"
TITLE = "rdma link: RDMA links"
VERSIONS = "iproute2 4.17 to 6.18"
SOURCES = ("rdma-link(8)",)
PROVEN = True
_PORT = {name: _rdma.PORT_FIELDS[name] for name in ("state", "physical_state", "lid", "lmc")}
FIELDS = {
    "node": {
        "link_count": Field(int, "links listed"),
        "active_port_count": Field(int, "of them in state active"),
    },
    "port": {
        **_PORT,
        "sm_lid": _rdma.PORT_FIELDS["sm_lid"],
        "subnet_prefix": Field(str, "subnet, on InfiniBand"),
        "interface": Field(str, "network interface of the link"),
        "interface_index": Field(int, "the kernel's number of it"),
        "capabilities": Field(list, "capabilities, with -d"),
    },
}
_LINK = re.compile(
    r"^(?:link |[0-9]{1,5}/[0-9]{1,3}: )([A-Za-z0-9_.-]{1,64})/([0-9]{1,3}|-):? (.*)$"
)
_NUMBERS = ("lid", "sm_lid", "lmc")
_CAPS = re.compile(r"^\s*caps: <(.{0,2000})>$")
_NETDEV = re.compile(r"^netdev_index [0-9]+$")


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    head = text[:20000]
    if re.search(
        r"(?m)^(?:link |[0-9]+/[0-9]+: )\S+/[0-9-]+:? (?:subnet_prefix \S+ .*)?state ", head
    ):
        return 97
    if re.search(r'"physical_state"\s*:', head) and re.search(r'"ifname"\s*:', head):
        return 95
    return 0


def read(data: Data) -> Reading:
    """Read one output. Entities: "", `nic:<name>/port:<n>`."""
    reading = Reading(KIND, tool_name="rdma")
    if decode(data).lstrip().startswith(("[", "{")):
        _objects(reading, data)
    else:
        _lines(reading, data)
    ports = list(reading.entities)
    if not ports:
        return _rdma.nothing_found(reading, "`link <name>/<port> state ...`")
    for port in ports:
        if "state" not in port.values:
            says = "the link has no state"
            _rdma.note(reading, "truncated", says, entity=port.path, field="state")
    counts = {"link_count": len(ports), "active_port_count": _rdma.active_count(ports)}
    reading.entities.insert(0, Entity("", values=dict(counts)))
    return reading


def _lines(reading: Reading, data: Data) -> None:
    port: Entity | None = None
    for number, line in numbered_lines(decode(data)):
        found, caps = _LINK.match(line), _CAPS.match(line)
        if found:
            name, index, rest = found.groups()
            port = reading.add(Entity(f"nic:{name}/port:{index.replace('-', '0')}"), number)
            words = rest.split()
            _values(reading, port, dict(zip(words[::2], words[1::2])), number)
        elif caps and port is not None:
            port.values["capabilities"] = [one.strip() for one in caps.group(1).split(",")][:64]
        elif line.strip() and not _rdma.trouble(reading, number, line):
            says = "not a link with its state"
            _rdma.note(reading, "malformed", says, line=number, verbatim=line.strip())


def _values(reading: Reading, port: Entity, pairs: dict[str, str], number: int | None) -> None:
    values = port.values
    if "state" in pairs:
        _rdma.put_name(reading, port, "state", pairs["state"], _rdma.PORT_STATES, number)
    if "physical_state" in pairs:
        word = pairs["physical_state"]
        _rdma.put_name(reading, port, "physical_state", word, _rdma.PHYSICAL_STATES, number)
    for name in _NUMBERS:
        if name in pairs:
            _rdma.put(reading, port, name, pairs[name], _rdma.integer, number)
    if "netdev" in pairs:
        values["interface"] = pairs["netdev"]
    if "netdev_index" in pairs:
        values["interface_index"] = _rdma.integer(pairs["netdev_index"])
    if "subnet_prefix" in pairs:
        values["subnet_prefix"] = pairs["subnet_prefix"]


def _objects(reading: Reading, data: Data) -> None:
    for one in _json.dicts(_json.load(data, reading)):
        name = _json.text_of(one.get("ifname"))
        index = _json.integer_of(one.get("port"))
        if name is None:
            _rdma.note(reading, "malformed", "an object without `ifname`")
            continue
        port = reading.add(Entity(f"nic:{name.replace('/', '_')}/port:{index or 0}"))
        pairs = {key: text for key in one if (text := _json.text_of(one[key])) is not None}
        _values(reading, port, pairs, None)
