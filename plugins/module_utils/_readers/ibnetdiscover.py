# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `ibnetdiscover`: the topology file, and the list of ports of `-p`.

Topology file: a record a node (`vendid=`, `devid=`, `sysimgguid=`, `switchguid=`
or `caguid=`, then `Switch` or `Ca`, the number of ports and the GUID), followed
by a line a connected port. GUIDs after `=` lack their leading zeros. `-p`: a line
a port, with its peer or without one. A SHARP aggregation node is a channel adapter
that belongs to a switch, not to a host; it is counted apart. A link is known by
its two ends and is listed once, whether one end or both report it. LID 0 means
that no subnet manager has assigned one.
Versions: infiniband-diags 1.5 to rdma-core 61. Source: ibnetdiscover(8).
"""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._identity import guid
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._rdma import (
    LANE_SPEEDS,
    note,
    nothing_found,
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

KIND = "ibnetdiscover"
TITLE = "ibnetdiscover, also -p: topology of an InfiniBand fabric"
VERSIONS = "infiniband-diags 1.5 to rdma-core 61"
SOURCES = ("ibnetdiscover(8)", "https://github.com/linux-rdma/rdma-core")
PROVEN = True
_SPEED = {
    "width_lanes": Field(int, "lanes in use"),
    "ib_speed": Field(str, "generation of the lanes' speed", values=tuple(LANE_SPEEDS)),
}
_NODE_FIELDS = {
    "name": Field(str, "node description, blanks around it removed"),
    "port_count": Field(int, "number of ports"),
    "lid": Field(int, "LID; 0 where no subnet manager has assigned one"),
    "vendor_id": Field(str, "vendor, hexadecimal"),
    "device_id": Field(str, "device, hexadecimal"),
}
FIELDS = {
    "node": {
        "switch_count": Field(int, "switches with a record of their own"),
        "ca_count": Field(int, "channel adapters with a record, aggregation nodes included"),
        "aggregation_node_count": Field(int, "of these, SHARP aggregation nodes"),
        "link_count": Field(int, "different links"),
        "host_link_count": Field(int, "links with a channel adapter that is no aggregation node"),
        "switch_link_count": Field(int, "links between two switches"),
        "unconnected_port_count": Field(int, "ports that are listed without a peer (-p)"),
    },
    "switch": dict(
        _NODE_FIELDS,
        lmc=Field(int, "LID mask control"),
        enhanced_port_0=Field(bool, "port 0 is an enhanced one"),
    ),
    "ca": dict(_NODE_FIELDS, aggregation_node=Field(bool, "a SHARP aggregation node of a switch")),
    "port": dict(_SPEED, connected=Field(bool, "false: listed without a peer")),
    "link": dict(
        _SPEED,
        both_ends=Field(bool, "both ends report the link"),
        aggregation_node=Field(bool, "one end is a SHARP aggregation node"),
    ),
}
_ATTRIBUTE = re.compile(r"^(vendid|devid|sysimgguid|switchguid|caguid|rtguid)=(0x[0-9a-f]{1,16})")
_RECORD = re.compile(r'^(Switch|Ca|Rt)\s+([0-9]{1,4})\s+"[SHR]-([0-9a-f]{16})"\s*# *"(.*)"(.*)$')
_PORT = re.compile(
    r"^\[([0-9]{1,4})\](?:\[ext [0-9]{1,4}\])?(?:\(([0-9a-f]{1,16})\))?\s+"
    r'"([SHR])-([0-9a-f]{16})"\[([0-9]{1,4})\](?:\[ext [0-9]{1,4}\])?(?:\([0-9a-f]{1,16}\))?\s*#'
    r"(.*)$"
)
_RATE = re.compile(r" ([0-9]{1,2})x(\S{1,8})(?: s=.*)?$")
_LID = re.compile(r"\blid ([0-9]{1,6})(?: lmc ([0-9]{1,2}))?")
_LISTED = re.compile(
    r"^(CA|SW|RT)\s+([0-9]{1,6})\s+([0-9]{1,4}) (0x[0-9a-f]{16}) +"
    r"(?:([0-9]{1,2})x|\?\?\?) ?(\S{1,8})"
    r"(?: - (CA|SW|RT)\s+([0-9]{1,6})\s+([0-9]{1,4}) (0x[0-9a-f]{16}))?\s*(.*)$"
)
_TYPES = {"Switch": "switch", "S": "switch", "SW": "switch", "Rt": "switch", "R": "switch"}
_AGGREGATION = "aggregation node"


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    if re.search(r'(?m)^(?:Switch|Ca|Rt)\s+[0-9]+\s+"[SHR]-[0-9a-f]{16}"', text):
        return 96
    if re.search(r"(?m)^(?:CA|SW|RT)\s+[0-9]+\s+[0-9]+ 0x[0-9a-f]{16} +[0-9?]+x? ?\S", text):
        return 95
    return 80 if "# Topology file: generated on" in text else 0


def read(data: Data) -> Reading:
    """Read one topology. Entities: "", `switch:<guid>`, `ca:<guid>`, their ports, `link:`."""
    reader = _Reader()
    for line_number, line in numbered_lines(decode(data)):
        if line.strip() and not line.startswith("#"):
            reader.take(line_number, line)
    return reader.finish()


class _Reader:
    """Collects records, ports and links."""

    def __init__(self) -> None:
        self.reading = Reading(KIND, tool_name="ibnetdiscover")
        self.attributes: dict[str, str] = {}
        self.owner: Entity | None = None
        self.owner_line = 0
        self.last_line = 0
        self.links: dict[str, Entity] = {}
        self.sharp: set[str] = set()
        self.seen: set[tuple[str, str]] = set()
        self.listed: set[str] = set()

    def take(self, number: int, line: str) -> None:
        """Take one line."""
        self.last_line = number
        attribute, record = _ATTRIBUTE.match(line), _RECORD.match(line)
        port, listed = _PORT.match(line), _LISTED.match(line)
        if attribute:
            self.attributes[attribute.group(1)] = attribute.group(2)
        elif record:
            self._record(number, *record.groups())
        elif port and self.owner:
            self._port(number, *port.groups())
        elif listed:
            self._listed(number, listed)
        elif not trouble(self.reading, number, line):
            note(
                self.reading,
                "malformed",
                "neither a node nor a port with its peer",
                line=number,
                verbatim=line,
            )

    def _record(self, number: int, kind: str, ports: str, own: str, name: str, rest: str) -> None:
        entity = Entity(f"{_TYPES.get(kind, 'ca')}:{own}", {"guid": guid(own)})
        entity.ids["system_guid"] = guid(self.attributes.get("sysimgguid"))
        entity.values.update({"name": name.strip() or None, "port_count": int(ports)})
        for source, field in (("vendid", "vendor_id"), ("devid", "device_id")):
            entity.values[field] = self.attributes.get(source)
        if entity.path.startswith("switch:"):
            found = _LID.search(rest)
            entity.values["lid"] = int(found.group(1)) if found else None
            entity.values["lmc"] = int(found.group(2)) if found and found.group(2) else None
            entity.values["enhanced_port_0"] = "enhanced port 0" in rest
        else:
            entity.values["aggregation_node"] = _AGGREGATION in name.lower()
            self._sharp(entity.path, name)
        self.attributes = {}
        self.owner, self.owner_line = self.reading.add(entity, number), number

    def _port(
        self, number: int, own: str, _guid: str | None, kind: str, peer: str, far: str, rest: str
    ) -> None:
        if self.owner is None:
            return
        there = f"{_TYPES.get(kind, 'ca')}:{peer}"
        name = rest.split('"')[1] if rest.count('"') >= 2 else ""
        self._sharp(there, name if there.startswith("ca:") else "")
        if self.owner.path.startswith("ca:"):
            lid = _LID.search(rest)
            self.owner.values.setdefault("lid", int(lid.group(1)) if lid else None)
        found = _RATE.search(rest)
        width, speed = (found.group(1), found.group(2)) if found else (None, "")
        ends = (f"{self.owner.path}/port:{int(own)}", f"{there}/port:{int(far)}")
        self._link(number, ends, width, speed)

    def _listed(self, number: int, line: re.Match[str]) -> None:
        kind, lid, port, own, width, speed, far_kind, _lid, far_port, far, rest = line.groups()
        here = f"{_TYPES.get(kind, 'ca')}:{own[2:]}"
        names = _names(rest, far is not None)
        if here not in self.listed:
            self.listed.add(here)
            entity = Entity(here, {"guid": guid(own)}, {"name": names[0], "lid": int(lid)})
            if here.startswith("ca:"):
                entity.values["aggregation_node"] = _AGGREGATION in (names[0] or "").lower()
            self.reading.add(entity, number)
        self._sharp(here, names[0] if kind == "CA" else "")
        if far is None:
            entity = Entity(f"{here}/port:{int(port)}", values={"connected": False})
            self._speed(number, self.reading.add(entity, number), width, speed)
            return
        there = f"{_TYPES.get(far_kind, 'ca')}:{far[2:]}"
        self._sharp(there, names[1] if far_kind == "CA" else "")
        ends = (f"{here}/port:{int(port)}", f"{there}/port:{int(far_port)}")
        self._link(number, ends, width, speed)

    def _sharp(self, path: str, name: str | None) -> None:
        if _AGGREGATION in (name or "").lower():
            self.sharp.add(path)

    def _link(self, number: int, ends: tuple[str, str], width: str | None, speed: str) -> None:
        path = "link:" + "--".join(sorted(ends))
        entity = Entity(path, values={"both_ends": False})
        self._speed(number, entity, width, speed)
        known = self.links.get(path)
        if known is None:
            self.links[path] = self.reading.add(entity, number)
        elif (path, ends[0]) in self.seen:
            note(
                self.reading,
                "inconsistent",
                "one end reports this link twice",
                line=number,
                entity=path,
            )
        else:
            self._second_end(number, known, entity)
        self.seen.add((path, ends[0]))

    def _second_end(self, number: int, known: Entity, entity: Entity) -> None:
        known.values["both_ends"] = True
        for name in ("width_lanes", "ib_speed"):
            if known.values.get(name) != entity.values.get(name):
                note(
                    self.reading,
                    "inconsistent",
                    f"the ends disagree: {known.values.get(name)} and {entity.values.get(name)}",
                    line=number,
                    entity=known.path,
                    field=name,
                )

    def _speed(self, number: int, entity: Entity, width: str | None, speed: str) -> None:
        entity.values["width_lanes"] = int(width) if width else None
        known = speed.lower() in LANE_SPEEDS
        entity.values["ib_speed"] = speed.lower() if known else None
        if known:
            return
        code, says = "unknown_value", "a speed that is not known"
        if not speed.strip("?"):
            code, says = "unreadable_value", "the tool could not read the speed"
            entity.notes["ib_speed"] = "unreadable"
        else:
            entity.values["ib_speed"] = speed
            entity.notes["ib_speed"] = "verbatim"
        note(
            self.reading,
            code,
            says,
            line=number,
            entity=entity.path,
            field="ib_speed",
            verbatim=speed,
        )

    def finish(self) -> Reading:
        """Count, and look whether the last record has its ports."""
        if not self.reading.entities:
            return nothing_found(self.reading, "a record of a switch or channel adapter")
        if self.owner and self.owner_line == self.last_line and self.owner.path.startswith("ca:"):
            note(self.reading, "truncated", "the last record has no port", entity=self.owner.path)
        if self.attributes:
            note(self.reading, "truncated", "the last record has attributes, but no node")
        self.reading.entities.insert(0, Entity("", values=dict(self._counts())))
        return self.reading

    def _counts(self) -> dict[str, int | None]:
        paths = [one.path for one in self.reading.entities]
        nodes = [one for one in paths if "/" not in one and not one.startswith("link:")]
        host = switch = 0
        for path, link in self.links.items():
            ends = [one.rpartition("/port:")[0] for one in path[5:].split("--")]
            sharp = any(one in self.sharp for one in ends)
            link.values["aggregation_node"] = sharp
            between = all(one.startswith("switch:") for one in ends)
            switch += between
            host += not between and not sharp
        return {
            "switch_count": sum(one.startswith("switch:") for one in nodes),
            "ca_count": sum(one.startswith("ca:") for one in nodes),
            "aggregation_node_count": sum(one in self.sharp for one in nodes),
            "link_count": len(self.links),
            "host_link_count": host,
            "switch_link_count": switch,
            "unconnected_port_count": sum("/" in one for one in paths if one[:5] != "link:"),
        }


def _names(rest: str, connected: bool) -> tuple[str | None, str | None]:
    """Return the two names of `( 'a' - 'b' )`, or the one of a port without a peer."""
    if connected:
        first, _dash, second = rest.strip().lstrip("(").rstrip(")").partition("' - '")
        return first.strip(" '") or None, second.strip(" '") or None
    return rest.strip().strip("'").strip() or None, None
