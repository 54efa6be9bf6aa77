# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `ibstat`, and of the port GUIDs that `ibstat -p` lists.

Format: `CA '<name>'`, its values, then `Port <n>:` and the values of the port.
Lists of GUIDs collected over several hosts may have a line `VM_hostname <host>`
before each. A device that the tool could not open is kept, with `readable` false.
Versions: infiniband-diags 1.5 (no link layer) to rdma-core 61. Source: ibstat(8).
"""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._identity import guid
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._rdma import (
    LINK_LAYERS,
    PHYSICAL_STATES,
    PORT_FIELDS,
    PORT_STATES,
    active_count,
    integer,
    note,
    nothing_found,
    put,
    put_name,
    put_rate,
    text,
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

KIND = "ibstat"
TITLE = "ibstat, also -p: RDMA devices and their ports"
VERSIONS = "infiniband-diags 1.5 to rdma-core 61"
SOURCES = ("ibstat(8)", "https://github.com/linux-rdma/rdma-core")
PROVEN = True
FIELDS = {
    "node": {
        "device_count": Field(int, "devices that the tool named, with those it could not open"),
        "active_port_count": Field(int, "ports whose state is active"),
    },
    "nic": {
        "readable": Field(bool, "the tool could open the device"),
        "model": Field(str, "CA type, such as MT4129"),
        "port_count": Field(int, "number of ports"),
        "firmware_version": Field(str, "firmware version"),
        "hardware_version": Field(str, "hardware version, as printed"),
    },
    "port": dict(PORT_FIELDS, capability_mask=Field(int, "capability mask")),
    "port_guid": {"host": Field(str, "host above whose list the GUID stands")},
}
_CA = re.compile(r"^CA '([^']{1,64})'$")
_PORT = re.compile(r"^\s+Port ([0-9]{1,3}):$")
_BROKEN = re.compile(r"(?:stat of IB device |IB device )'([^'/]{1,64})'")
_GUID_LINE = re.compile(r"^(?:0x)?([0-9a-f]{16})$")
_HOST = re.compile(r"^VM_hostname (\S{1,255})$")
_NIC = {
    "ca type": ("model", text),
    "number of ports": ("port_count", integer),
    "firmware version": ("firmware_version", text),
    "hardware version": ("hardware_version", text),
}
_NUMBERS = {"base lid": "lid", "lmc": "lmc", "sm lid": "sm_lid", "capability mask": ""}
_NAMES = {
    "state": ("state", PORT_STATES),
    "physical state": ("physical_state", PHYSICAL_STATES),
    "link layer": ("link_layer", LINK_LAYERS),
}
_GUIDS = {"node guid": "guid", "port guid": "guid", "system image guid": "system_guid"}


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    if re.search(r"(?m)^CA '[^'\n]+'$", text):
        return 96
    if re.search(r"(?m)^VM_hostname \S+\n(?:0x)?[0-9a-f]{16}$", text):
        return 90
    if re.match(r"^(?:0x[0-9a-f]{16}\n)+$", text):
        return 55
    return 40 if re.match(r"^ibpanic: \[[0-9]+\] main: ", text) else 0


def read(data: Data) -> Reading:
    """Read one output. Entities: "", `nic:<name>`, `nic:<name>/port:<n>`, `port_guid:<guid>`."""
    reader = _Reader()
    for line_number, line in numbered_lines(decode(data)):
        if line:
            reader.take(line_number, line)
    return reader.finish()


class _Reader:
    """Knows to which device and port a line belongs."""

    def __init__(self) -> None:
        self.reading = Reading(KIND, tool_name="ibstat")
        self.nic: Entity | None = None
        self.port: Entity | None = None
        self.host: str | None = None

    def take(self, number: int, line: str) -> None:
        """Take one line."""
        device, port = _CA.match(line), _PORT.match(line)
        plain, host = _GUID_LINE.match(line), _HOST.match(line)
        if device:
            self.port = None
            self.nic = self.reading.add(Entity(f"nic:{device.group(1)}"), number)
            self.nic.values["readable"] = True
        elif port and self.nic:
            path = f"{self.nic.path}/port:{int(port.group(1))}"
            self.port = self.reading.add(Entity(path), number)
        elif host:
            self.host = host.group(1)
        elif plain and not self.nic:
            entity = Entity(f"port_guid:{plain.group(1)}", {"guid": guid(plain.group(1))})
            entity.values["host"] = self.host
            self.reading.add(entity, number)
        elif trouble(self.reading, number, line):
            self._broken(line)
        else:
            self._value(number, line)

    def _broken(self, line: str) -> None:
        found = _BROKEN.search(line)
        if found and self.reading.entity(f"nic:{found.group(1)}") is None:
            self.reading.add(Entity(f"nic:{found.group(1)}", values={"readable": False}))
        self.nic = self.port = None

    def _value(self, number: int, line: str) -> None:
        label, colon, word = line.partition(":")
        key, word = label.strip().lower(), word.strip()
        entity = self.port or self.nic
        if entity is None or not colon:
            note(
                self.reading,
                "malformed",
                "not a line of ibstat; `CA '<name>'` or `<label>: <value>` was expected",
                line=number,
                verbatim=line,
            )
        elif key in _GUIDS:
            entity.ids[_GUIDS[key]] = guid(word)
        elif key in _NIC and entity is self.nic:
            name, reader = _NIC[key]
            put(self.reading, entity, name, word, reader, number)
        elif key in _NUMBERS and entity is self.port:
            name = _NUMBERS[key] or "capability_mask"
            put(self.reading, entity, name, word, integer, number)
        elif key in _NAMES and entity is self.port:
            name, known = _NAMES[key]
            put_name(self.reading, entity, name, word, known, number)
        elif key == "rate" and entity is self.port:
            put_rate(self.reading, entity, word, number)

    def finish(self) -> Reading:
        """Count, and look for what is missing at the end."""
        entities = self.reading.entities
        nics = [one for one in entities if one.path.startswith("nic:") and "/" not in one.path]
        ports = [one for one in entities if "/port:" in one.path]
        if not entities:
            return nothing_found(self.reading, "`CA '<name>'`")
        for nic in nics:
            self._check(nic, [one for one in ports if one.path.startswith(nic.path + "/")], ports)
        node = Entity("")
        if nics:
            node.values["device_count"] = len(nics)
            node.values["active_port_count"] = active_count(ports)
        self.reading.entities.insert(0, node)
        return self.reading

    def _check(self, nic: Entity, own: list[Entity], ports: list[Entity]) -> None:
        wanted = nic.values.get("port_count")
        last = self.reading.entities[-1] in [nic, *own]
        if nic.values["readable"] and (wanted is None or wanted != len(own)):
            note(
                self.reading,
                "truncated" if last else "inconsistent",
                f"{wanted} ports announced, {len(own)} listed",
                entity=nic.path,
            )
        for port in own:
            if len(port.values) < len(ports[0].values):
                note(
                    self.reading,
                    "truncated" if port is ports[-1] else "missing_value",
                    "fewer values than the first port has",
                    entity=port.path,
                )
