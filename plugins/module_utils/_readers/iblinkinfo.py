# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `iblinkinfo`: every port of the fabric with its peer, also -l and -d.

Format: with `-l` a line a port, that begins with the port's GUID and the node's
name; without it a header a node (`Switch: 0x<guid> <name>:`, `CA: <name>:`) and
indented lines. `==( 4X 53.125 Gbps Active/ LinkUp)==>` stands between the two ends;
the speed is that of one lane. In the line form nothing says what kind of node it
is: a GUID with several ports, or with a port above 2, is taken for a switch.
Versions: infiniband-diags 1.5 to rdma-core 61. Source: iblinkinfo(8).
"""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._identity import guid
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._rdma import (
    LANE_SPEEDS,
    PHYSICAL_STATES,
    PORT_STATES,
    note,
    nothing_found,
    put_name,
    speed_of_lane,
    trouble,
)
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

KIND = "iblinkinfo"
TITLE = "iblinkinfo, also -l, -d: ports of an InfiniBand fabric and their peers"
VERSIONS = "infiniband-diags 1.5 to rdma-core 61"
SOURCES = ("iblinkinfo(8)", "https://github.com/linux-rdma/rdma-core")
PROVEN = True
FIELDS = {
    "node": {
        "listed_port_count": Field(int, "ports listed"),
        "active_port_count": Field(int, "ports whose state is active"),
        "down_port_count": Field(int, "ports whose state is down, used or not"),
    },
    "switch": {"name": Field(str, "node description, blanks around it removed")},
    "ca": {"name": Field(str, "node description, blanks around it removed")},
    "port": {
        "state": Field(str, "logical state", values=tuple(sorted(set(PORT_STATES.values())))),
        "physical_state": Field(
            str, "state of the PHY", values=tuple(sorted(set(PHYSICAL_STATES.values())))
        ),
        "lid": Field(int, "LID of the port"),
        "width_lanes": Field(int, "lanes in use"),
        "lane_speed_gbit_per_s": Field(float, "signalling rate of one lane", "Gbit/s"),
        "ib_speed": Field(str, "generation of that speed", values=tuple(LANE_SPEEDS)),
        "peer_guid": Field(str, "GUID of the other end, where it is printed (-l)"),
        "peer_lid": Field(int, "LID of the other end"),
        "peer_port": Field(int, "port number of the other end"),
        "peer_name": Field(str, "node description of the other end"),
        "could_be": Field(list, "what both ends are capable of, as printed: `12X`, `53.125 Gbps`"),
    },
}
_HEADER = re.compile(r"^(Switch|CA|Router): (?:(0x[0-9a-f]{16}) )?(.*?):?$")
_NEAR = re.compile(
    r'^\s*(?:(0x[0-9a-f]{16})\s+)?(?:"(.{0,80}?)"\s+)?([0-9]{1,6})\s+([0-9]{1,4})\[.{2,6}\] $'
)
_STATE = re.compile(
    r"^\s*(?:([0-9]{1,2})X)?\s*(?:([0-9]{1,4}(?:\.[0-9]{1,6})?) Gbps|([A-Z]{3}[0-9]{0,2}|\?\S*))?"
    r"\s*([A-Za-z]{2,20})\s*/\s*([A-Za-z]{2,30})$"
)
_FAR = re.compile(
    r'^\s*(?:(0x[0-9a-f]{16})\s+)?([0-9]{1,6})\s+([0-9]{1,4})\[.{2,6}\] "(.*)" ?\((.*)\)\s*$'
)
_NO_PEER = re.compile(r'^\s*\[.{2,6}\] "" ?\(.*\)\s*$')


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    return 96 if re.search(r"(?m)^.{4,120}\[.{2,6}\] ==\(.{4,80}\)==>", text) else 0


def read(data: Data) -> Reading:
    """Read one output. Entities: "", `switch:<guid>`, `ca:<guid>`, and their `port:<n>`."""
    reader = _Reader()
    for line_number, line in numbered_lines(decode(data)):
        if line.strip():
            reader.take(line_number, line)
    return reader.finish()


class _Reader:
    """Collects ports under the GUID of their node."""

    def __init__(self) -> None:
        self.reading = Reading(KIND, tool_name="iblinkinfo")
        self.kind: str | None = None
        self.header_guid: str | None = None
        self.name: str | None = None
        self.nodes: dict[str, tuple[str | None, str | None, list[tuple[int, Entity, int]]]] = {}

    def take(self, number: int, line: str) -> None:
        """Take one line."""
        near, arrow, rest = line.partition("==(")
        state, arrow2, far = rest.partition(")==>")
        header = None if arrow else _HEADER.match(line)
        if header:
            self.kind = "ca" if header.group(1) == "CA" else "switch"
            self.header_guid, self.name = header.group(2), header.group(3).strip() or None
        elif arrow and arrow2:
            self._port(number, line, near, state, far)
        elif not trouble(self.reading, number, line):
            self._malformed(number, line)

    def _malformed(self, number: int, line: str) -> None:
        says = "not a port; `<lid> <port>[  ] ==( <state> )==> <peer>` was expected"
        note(self.reading, "malformed", says, line=number, verbatim=line.strip())

    def _port(self, number: int, line: str, near: str, state: str, far: str) -> None:
        ends, how = _NEAR.match(near), _STATE.match(state)
        own = (ends.group(1) or self.header_guid) if ends else None
        if ends is None or how is None or own is None:
            self._malformed(number, line)
            return
        name = ends.group(2).strip() if ends.group(2) is not None else self.name
        port = int(ends.group(4))
        entity = Entity(f"/port:{port}", values={"lid": int(ends.group(3))})
        _speed(entity, *how.groups()[:3])
        put_name(self.reading, entity, "state", how.group(4), PORT_STATES, number)
        put_name(self.reading, entity, "physical_state", how.group(5), PHYSICAL_STATES, number)
        self._peer(number, entity, far)
        kind = self.kind if ends.group(2) is None else None
        node = self.nodes.setdefault(own[2:], (kind, name or None, []))
        node[2].append((port, entity, number))

    def _peer(self, number: int, entity: Entity, far: str) -> None:
        peer = _FAR.match(far)
        if peer:
            own, lid, port, name, could = peer.groups()
            entity.values["peer_guid"] = guid(own)
            entity.values["peer_lid"], entity.values["peer_port"] = int(lid), int(port)
            entity.values["peer_name"] = name.strip() or None
            entity.values["could_be"] = [
                one.strip() for one in could.split("Could be ") if one.strip()
            ]
        elif not _NO_PEER.match(far):
            self._malformed(number, far)

    def finish(self) -> Reading:
        """Decide what each GUID is, and count."""
        for own, (said, name, ports) in self.nodes.items():
            numbers = {port for port, _entity, _line in ports}
            kind = said or ("switch" if len(numbers) > 2 or max(numbers) > 2 else "ca")
            self.reading.add(Entity(f"{kind}:{own}", {"guid": guid(own)}, {"name": name}))
            for _port, entity, line in ports:
                entity.path = f"{kind}:{own}{entity.path}"
                self.reading.add(entity, line)
        if not self.nodes:
            return nothing_found(self.reading, "a line with `==(` and `)==>`")
        states = [one.values.get("state") for one in self.reading.entities if "/" in one.path]
        counts = {
            "listed_port_count": len(states),
            "active_port_count": states.count("active"),
            "down_port_count": states.count("down"),
        }
        self.reading.entities.insert(0, Entity("", values=dict(counts)))
        return self.reading


def _speed(entity: Entity, width: str | None, rate: str | None, name: str | None) -> None:
    entity.values["width_lanes"] = int(width) if width else None
    lane = float(rate) if rate else LANE_SPEEDS.get((name or "").lower())
    entity.values["lane_speed_gbit_per_s"] = lane
    entity.values["ib_speed"] = speed_of_lane(lane)
