# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `nicctl`: AMD Pensando NICs and their ports, text and JSON.

Formats: `show card` (JSON: a list `nic` of objects; text: a table), `show port`,
`show environment`, `show version firmware` and `show pcie ats` as text: blocks below
`NIC : <id> (<pci address>)`; `show port statistics` as JSON; `show version host-software`;
and lines `ionic0: 1.117.5` as checks of GPU clusters print them. Versions: 1.117. Source:
ROCm/device-metrics-exporter, docker/mockdata/nic; ROCm/gpu-operator,
example/gpu-validation-cluster; amd/node-scraper, tests of its network plugin.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._identity import mac, pci_address
from ansible_collections.trackbed.cluster.plugins.module_utils._readers import (
    _json,
    _json_docs,
    _mellanox,
    _nicctl_fields,
    _pasted,
    _plain,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    Entity,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data

KIND = "nicctl"
TITLE = "nicctl: AMD Pensando NICs"
VERSIONS = "nicctl 1.117"
SOURCES = (
    "https://github.com/ROCm/gpu-operator example/gpu-validation-cluster",
    "https://github.com/ROCm/device-metrics-exporter docker/mockdata/nic",
    "https://github.com/amd/node-scraper test/unit/plugin",
)
PROVEN = True
FIELDS = _nicctl_fields.FIELDS
_LINE = re.compile(r"^([a-z][a-z0-9_]{0,30}[0-9]): ([0-9]{1,4}\.[0-9]{1,5}(?:\.[\w-]{1,20}){0,3})$")
_ID = r"[0-9a-f]{4,12}(?:-[0-9a-f]{2,16}){3,5}"
_NIC = re.compile(rf"^NIC\s{{0,20}}: ({_ID}) +\(([0-9a-fA-F:.]{{7,14}})\)(?: : (\w{{1,20}}))?$")
_PORT = re.compile(rf"^Port\s{{0,20}}: ({_ID})(?: +\((\S{{1,40}})\))?$")
_ROW = re.compile(
    rf"^({_ID})\s+([0-9a-fA-F:.]{{7,14}})(?:\s+(\S{{1,40}}))?(?:\s+([A-Z]\S{{0,9}}))?"
    r"(?:\s+(\S{3,40}))?$"
)
_HEADING = re.compile(
    r"^(?:Id\s+PCIe BDF|[A-Z][A-Za-z /-]{2,30}(?:\([A-Za-z]{1,4}\))?:$|-{5,}|\*{5,})"
)
_COMPONENT = re.compile(
    r"^(?:CPLD|Boot0|(?:Uboot|Firmware|Device config|Goldfw)(?:-[A-Z])?)$", re.IGNORECASE
)
_SOFTWARE = re.compile(r"^(?:nicctl|IPC driver|ionic driver|ionic_rdma driver)$", re.IGNORECASE)
_MOST = 1024


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    if re.search(r'"nic"\s*:\s*\[', text[:4000]):
        return 96 if '"pcie_bdf"' in text[:20000] or '"port"' in text[:20000] else 80
    head = _pasted.text_of(text[:8000])
    if re.search(rf"(?m)^\s*(?:NIC\s{{0,20}}: {_ID} +\(|Id\s+PCIe BDF\s)", head):
        return 96
    if re.search(r"(?m)^\s*nicctl\s+: [0-9]", head) and "driver" in head:
        return 85
    lines = [line.strip() for line in head.split("\n") if not _pasted.is_noise(line)]
    versions = sum(bool(re.match(r"ionic[0-9]+: [0-9]", line)) for line in lines)
    if versions and versions * 3 >= len(lines) * 2:
        return 90
    return 60 if _mellanox.asks(head, "nicctl") else 0


def read(data: Data) -> Reading:
    """Read one output, or several. Entities: "", `nic:<pci address or name>`, its `port:<n>`."""
    reader = _Reader()
    documents, others = _json_docs.split(data)
    if any('"' in one.text for one in documents):
        for document in documents:
            reader.document(document)
        for number, word in others:
            if _mellanox.command(word, "nicctl") is None:
                _mellanox.is_message(reader.reading, number, word)
    else:
        number = 0
        for number, line in _pasted.lines(data):
            reader.take(number, line)
        _mellanox.last_is_cut(reader.reading, number)
    return reader.finish()


class _Reader:
    """Knows of which NIC and port a line is."""

    def __init__(self) -> None:
        self.reading = Reading(KIND, tool_name="nicctl")
        self.nics: dict[str, Entity] = {}
        self.ports: dict[tuple[str, str], Entity] = {}
        self.nic: Entity | None = None
        self.port: Entity | None = None
        self.software: dict[str, t.Any] = {}
        self.first = 0

    def _of(self, key: str | None, address: str | None = None) -> Entity:
        """Return the NIC of this id; one that several outputs tell of is kept once."""
        name = key or address or str(len(self.nics))
        nic = self.nics.get(name)
        if nic is None:
            nic = Entity(f"nic:{address or name.replace('/', '_')[:80]}")
            nic.ids["uuid"] = key
            if len(self.nics) < _MOST:
                self.nics[name] = nic
        if address:
            nic.ids["pci"], nic.path = address, f"nic:{address}"
        return nic

    def _port_of(self, nic: Entity, key: str, name: str | None) -> Entity:
        port = self.ports.get((str(id(nic)), key))
        if port is None:
            port = Entity("", {"uuid": key or None})
            if len(self.ports) < _MOST:
                self.ports[(str(id(nic)), key)] = port
        if name:
            port.values["name"] = name
        return port

    def take(self, number: int, line: str) -> None:
        """Take one line of text."""
        word = line.strip()
        plain, nic, row = _LINE.match(word), _NIC.match(word), _ROW.match(word)
        port = _PORT.match(word)
        if _mellanox.command(word, "nicctl") is not None:
            return
        if plain:
            entity = self._of(None, None)
            entity.path = f"nic:{plain.group(1)}"
            entity.values["firmware_version"] = plain.group(2)
        elif nic:
            self.nic, self.port = self._of(nic.group(1), pci_address(nic.group(2))), None
            if nic.group(3):
                self.nic.values["pcie_ats"] = _nicctl_fields.enabled(nic.group(3))
        elif row:
            self._row(row)
        elif port and self.nic:
            self.port = self._port_of(self.nic, port.group(1), port.group(2))
        elif _HEADING.match(word):
            return
        elif not self._pair(number, word):
            if not _mellanox.is_message(self.reading, number, word):
                wanted = "a line of nicctl, such as `ionic<n>: <version>` or `NIC : <id>`"
                _plain.malformed(self.reading, number, line, wanted)
            return
        self.first = self.first or number

    def _row(self, row: t.Match[str]) -> None:
        entity = self._of(row.group(1), pci_address(row.group(2)))
        entity.ids["serial"] = row.group(5)
        for index, name in ((3, "asic"), (4, "firmware_partition")):
            entity.values[name] = row.group(index)

    def _pair(self, number: int, word: str) -> bool:
        pair = _plain.label(word, " : ") or _plain.label(word)
        if pair is None:
            return False
        label, value = pair[0].lower(), pair[1]
        entity, table = self.nic, _nicctl_fields.NIC
        if self.port is not None and label in _nicctl_fields.PORT:
            entity, table = self.port, _nicctl_fields.PORT
        if _SOFTWARE.match(label) and value:
            self.software[pair[0]] = value
            if label == "nicctl":
                self.reading.tool_version = value
        elif entity is None:
            return False
        elif self.port is not None and label == "mac address":
            self.port.ids["mac"] = mac(value)
        elif label in table:
            _plain.put(self.reading, entity, table[label][0], value, table[label][1], number)
        elif _COMPONENT.match(label):
            _component(entity, pair)
        return True

    def document(self, document: _json_docs.Document) -> None:
        """Read one JSON document."""
        body = _json.as_dict(_json.load(document.text, self.reading))
        for card in _json.dicts(body.get("nic")):
            address = pci_address(_json.text_of(card.get("pcie_bdf")) or "")
            nic = self._of(_json.text_of(card.get("id")), address)
            if {"serial_number", "product_name", "pcie_bdf"} & set(card):
                self._card(nic, card)
            for port in _json.dicts(card.get("port")):
                key = _json.text_of(port.get("id")) or ""
                entity = self._port_of(nic, key, _json.text_of(port.get("name")))
                _counters(entity, port)

    def _card(self, nic: Entity, card: dict[str, t.Any]) -> None:
        nic.ids["serial"] = _json.text_of(card.get("serial_number"))
        nic.ids["mac"] = mac(_json.text_of(card.get("fru_mac_address")) or "")
        for key, (name, _says) in _nicctl_fields.CARD.items():
            nic.values[name] = _json.text_of(card.get(key))
        nic.values["ethernet_pci"] = pci_address(_json.text_of(card.get("eth_bdf")) or "")
        if nic.values["firmware_version"] is None:
            where = {"entity": nic.path, "field": "firmware_version"}
            _plain.note(self.reading, "missing_value", "no firmware_version", **where)

    def finish(self) -> Reading:
        """Count, and put each NIC before its ports."""
        reading = self.reading
        for nic in self.nics.values():
            if reading.add(nic) is not nic:
                continue
            own = [port for (key, _id), port in self.ports.items() if key == str(id(nic))]
            for index, port in enumerate(own):
                port.path = f"{nic.path}/port:{index}"
                reading.add(port)
        if not reading.entities and not self.software:
            return _plain.nothing(reading, "a list `nic`, or lines `ionic0: <version>`")
        versions = {one.values.get("firmware_version") for one in self.nics.values()}
        node = Entity("", values={"nic_count": len(self.nics)})
        node.values["firmware_versions"] = sorted(str(one) for one in versions if one)
        if self.software:
            node.values["software_versions"] = self.software
            node.values["nic_count"] = len(self.nics) or None
        reading.entities.insert(0, node)
        _mellanox.forget_before(reading, self.first)
        return _json_docs.settle(reading, "a list `nic`")


def _component(entity: Entity, pair: tuple[str, str]) -> None:
    """Keep the version of one part; of two images the one of the tool's first line runs."""
    listed = entity.values.setdefault("component_versions", {})
    if isinstance(listed, dict) and len(listed) < 64:
        listed[pair[0]] = pair[1] or None


def _counters(port: Entity, body: dict[str, t.Any], depth: int = 0) -> None:
    """Keep whole numbers, also those a level or two deeper, by the last part of their name."""
    counters = port.values.setdefault("counters", {})
    for name, value in list(body.items())[:2000]:
        number = None if name in ("id", "name") else _json.integer_of(value)
        if isinstance(value, dict) and depth < 3:
            _counters(port, value, depth + 1)
        elif number is not None and isinstance(counters, dict) and len(counters) < 2000:
            counters.setdefault(name, number)
