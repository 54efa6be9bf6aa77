# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `ibv_devinfo`, also -v: RDMA devices as verbs see them.

Format: `hca_id: <name>`, then `<label>: <value>` lines, `port: <n>` and its values;
with -v also capabilities, and a line a GID. A port without a GID line has none, or
the list was not asked for. Versions: libibverbs 1.1 to rdma-core 61.
Source: ibv_devinfo(1).
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._identity import guid
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._rdma import (
    LINK_LAYERS,
    PHYSICAL_STATES,
    PORT_FIELDS,
    PORT_STATES,
    active_count,
    decimal,
    integer,
    note,
    nothing_found,
    put,
    put_name,
    text,
    trouble,
    without_number,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    ABSENT,
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import (
    Data,
    decode,
    numbered_lines,
)

KIND = "ibv_devinfo"
TITLE = "ibv_devinfo, also -v: RDMA devices"
VERSIONS = "libibverbs 1.1 to rdma-core 61"
SOURCES = ("ibv_devinfo(1)", "https://github.com/linux-rdma/rdma-core")
PROVEN = True
FIELDS = {
    "node": {
        "device_count": Field(int, "devices listed"),
        "active_port_count": Field(int, "ports whose state is active"),
    },
    "nic": {
        "transport": Field(str, "transport, as printed"),
        "firmware_version": Field(str, "firmware version"),
        "vendor_id": Field(str, "vendor, as printed"),
        "vendor_part_id": Field(str, "part, as printed"),
        "hardware_version": Field(str, "hardware version, as printed"),
        "psid": Field(str, "board identity"),
        "port_count": Field(int, "physical ports"),
    },
    "port": dict(
        PORT_FIELDS,
        max_mtu_b=Field(int, "largest path MTU", "B"),
        mtu_b=Field(int, "path MTU in use", "B"),
        lane_speed_gbit_per_s=Field(float, "speed of one lane, as printed", "Gbit/s"),
        gid_count=Field(int, "GIDs listed"),
    ),
    "gid": {
        "gid": Field(str, "the GID"),
        "roce_version": Field(str, "version of RoCE", values=("v1", "v2")),
    },
}
_GID = re.compile(r"^\s+GID\[\s*([0-9]{1,4})\]:\s*([0-9a-fA-F:.]{2,45})(?:,\s*(.*?))?\s*$")
_NO_DEVICE = re.compile(r"^(?:No IB devices found|Failed to get IB devices list)")
_NIC = {
    "transport": ("transport", text),
    "fw_ver": ("firmware_version", text),
    "vendor_id": ("vendor_id", text),
    "vendor_part_id": ("vendor_part_id", text),
    "hw_ver": ("hardware_version", text),
    "board_id": ("psid", text),
    "phys_port_cnt": ("port_count", integer),
}
_GUIDS = {"node_guid": "guid", "sys_image_guid": "system_guid"}
_PORT = {
    "max_mtu": ("max_mtu_b", integer),
    "active_mtu": ("mtu_b", integer),
    "sm_lid": ("sm_lid", integer),
    "port_lid": ("lid", integer),
    "port_lmc": ("lmc", integer),
    "active_width": ("width_lanes", integer),
    "active_speed": ("lane_speed_gbit_per_s", decimal),
}
_NAMES = {
    "state": ("state", PORT_STATES),
    "phys_state": ("physical_state", PHYSICAL_STATES),
    "link_layer": ("link_layer", LINK_LAYERS),
}


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    if re.search(r"(?m)^hca_id:\s+\S+$", text):
        return 96
    return 70 if _NO_DEVICE.match(text) else 0


def read(data: Data) -> Reading:
    """Read one output. Entities: "", `nic:<name>`, its `port:<n>`, their `gid:<n>`."""
    reader = _Reader()
    for line_number, line in numbered_lines(decode(data)):
        if line.strip():
            reader.take(line_number, line)
    return reader.finish()


class _Reader:
    """Knows to which device and port a line belongs."""

    def __init__(self) -> None:
        self.reading = Reading(KIND, tool_name="ibv_devinfo")
        self.nic: Entity | None = None
        self.port: Entity | None = None
        self.absent = False

    def take(self, number: int, line: str) -> None:
        """Take one line."""
        label, colon, word = line.partition(":")
        key, word = label.strip().lower(), word.strip()
        gid = _GID.match(line)
        if key == "hca_id" and word:
            path = f"nic:{word[:64].replace('/', '_')}"
            self.nic, self.port = self.reading.add(Entity(path), number), None
        elif _NO_DEVICE.match(line):
            self.absent = True
            note(self.reading, "tool_error", "no RDMA device", line=number, verbatim=line)
        elif trouble(self.reading, number, line):
            return
        elif self.nic is None or not colon:
            if self.nic is None or not line.startswith(("\t", " ")):
                says = "neither a device nor one of its values"
                note(self.reading, "malformed", says, line=number, verbatim=line)
        elif key == "port" and integer(word) is not None:
            path = f"{self.nic.path}/port:{integer(word)}"
            self.port = self.reading.add(Entity(path), number)
            self.port.values["gid_count"] = 0
        elif gid and self.port:
            self._gid(number, self.port, *gid.groups())
        else:
            self._value(number, key, word)

    def _gid(self, number: int, port: Entity, index: str, gid: str, kind: str | None) -> None:
        entity = Entity(f"{port.path}/gid:{int(index)}", values={"gid": gid.lower()})
        version = re.match(r"^RoCE (v[12])$", kind or "")
        entity.values["roce_version"] = version.group(1) if version else None
        if self.reading.add(entity, number) is entity:
            port.values["gid_count"] = t.cast("int", port.values["gid_count"]) + 1

    def _value(self, number: int, key: str, word: str) -> None:
        nic, port = self.nic, self.port
        if nic is not None and key in _GUIDS:
            nic.ids[_GUIDS[key]] = guid(word)
        elif nic is not None and port is None and key in _NIC:
            name, reader = _NIC[key]
            put(self.reading, nic, name, without_number(word), reader, number)
        elif port is not None and key in _NAMES:
            name, known = _NAMES[key]
            state = re.sub(r"^PORT_", "", without_number(word))
            put_name(self.reading, port, name, state, known, number)
        elif port is not None and key in _PORT:
            name, number_of = _PORT[key]
            first = re.sub(r"(?:X| Gbps)$", "", without_number(word))
            put(self.reading, port, name, first, number_of, number)

    def finish(self) -> Reading:
        """Count, and compare the ports with their number."""
        nics = [one for one in self.reading.entities if "/" not in one.path]
        if not nics:
            reading = nothing_found(self.reading, "`hca_id: <name>`")
            reading.quality = ABSENT if self.absent else reading.quality
            return reading
        ports = [one for one in self.reading.entities if one.path.count("/") == 1]
        for nic in nics:
            own = [one for one in ports if one.path.startswith(nic.path + "/")]
            wanted = nic.values.get("port_count")
            if wanted != len(own):
                code = "truncated" if nic is nics[-1] else "inconsistent"
                says = f"{wanted} ports announced, {len(own)} listed"
                note(self.reading, code, says, entity=nic.path)
        if ports and "link_layer" not in ports[-1].values:
            says = "the last port ends before its link layer"
            note(self.reading, "truncated", says, entity=ports[-1].path)
        counts = {"device_count": len(nics), "active_port_count": active_count(ports)}
        node = Entity("", values=dict(counts))
        self.reading.entities.insert(0, node)
        return self.reading
