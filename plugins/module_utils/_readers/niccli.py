# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `niccli`: Broadcom NICs, by `--list`, `--list_devices`, and their QoS.

Formats: a numbered line a NIC, with three indented labels (`--list_devices`) or in a table
(`--list`); `get_qos` (`qos --ets --show`): three TLVs of IEEE 802.1Qaz, each class in a
column; `get_dscp2prio`. A QoS output names no NIC; the command before it has its number.
Versions: 227 to 235. Source: amd/node-scraper, tests of its network plugin;
ROCm/gpu-cluster-networking, docs/how-to/multi-node-config.rst.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._identity import mac, pci_address
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

KIND = "niccli"
TITLE = "niccli: Broadcom NICs and their QoS"
VERSIONS = "niccli 227 to 235"
SOURCES = (
    "https://github.com/amd/node-scraper test/unit/plugin",
    "https://github.com/ROCm/gpu-cluster-networking docs/how-to/multi-node-config.rst",
)
PROVEN = True
FIELDS = {
    "node": {"nic_count": Field(int, "NICs listed")},
    "nic": {
        "number": Field(int, "number by which the tool is asked about it"),
        "product": Field(str, "product, as printed"),
        "board": Field(str, "chip"),
        "adapter_port": Field(str, "adapter and port, as the tool counts them"),
        "interface": Field(str, "network interface"),
        "firmware_version": Field(str, "firmware"),
        "priority_to_tc": Field(dict, "traffic class of each priority"),
        "tc_bandwidth_pct": Field(list, "share of each traffic class", "%"),
        "tc_selection": Field(dict, "how the turn of each traffic class is chosen"),
        "tc_rate_limit_pct": Field(list, "limit of each traffic class", "%"),
        "pfc_priorities": Field(list, "priorities with flow control"),
        "dscp_to_priority": Field(dict, "priority by DSCP, of those that are mapped"),
        "udp_port_to_priority": Field(dict, "priority by UDP port, of those that are mapped"),
    },
}
_DEVICE = re.compile(r"^([0-9]{1,3}) ?\) (.{3,120}?) \((Adp#[0-9]{1,3} Port#[0-9]{1,3})\)$")
_ROW = re.compile(
    r"^([0-9]{1,3}) ?\) (\S{3,30}) +([0-9A-Fa-f:]{17}) +(\S{3,30}) +([0-9A-Fa-f:.]{7,14})"
    r"(?: .{0,60})?$"
)
_PLACE = re.compile(r"^([0-9a-f]{2}):([0-9a-f]{2}):([0-9a-f]{2}):0?([0-7])$")
_LABELS = {"device interface name": "interface", "mac address": "mac", "pci address": "pci"}
_DSCP = re.compile(r"^priority: ?([0-7]) +dscp: ?([0-9, ]{1,200})$")
_HEADING = re.compile(
    r"^(?:IEEE 8021QAZ (?:ETS Configuration|PFC|APP) TLV:?|APP#[0-9]{1,3}:|dscp2prio mapping:|-{5,}"
    r"|BoardId\s|Scrutiny NIC CLI|Broadcom NetXtreme|NIC CLI v|Sel: ?[0-9]|Base Queue is"
    r"|Priority +TC)"
)
_QUEUE = re.compile(r"^[0-7](?: +[0-9]{1,3}){2}$")
_TOOLS = "niccli"
_MOST = 512


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    head = _pasted.text_of(text[:16000])
    if re.search(r"(?m)^\s*[0-9]+ ?\) .{3,120} \(Adp#[0-9]+ Port#[0-9]+\)$", head):
        return 96
    if re.search(r"(?m)^\s*BoardId\s+MAC Address\s+FwVersion", head):
        return 96
    if re.search(r"(?m)^\s*TC Rate Limit: [0-9]", head) and "PRIO_MAP:" in head:
        return 96
    if re.search(r"(?m)^\s*IEEE 8021QAZ ETS Configuration TLV:$", head):
        return 90
    return 60 if _mellanox.asks(head, _TOOLS) else 0


def read(data: Data) -> Reading:
    """Read one output, or several. Entities: "", `nic:<pci address>` or `nic:<number>`."""
    reader = _Reader()
    number = 0
    for number, line in _pasted.lines(data):
        reader.take(number, line.strip().replace("\t", " "))
    _mellanox.last_is_cut(reader.reading, number)
    return reader.finish()


class _Reader:
    """Knows of which NIC a line is."""

    def __init__(self) -> None:
        self.reading = Reading(KIND, tool_name="niccli")
        self.nics: dict[str, Entity] = {}
        self.nic: Entity | None = None
        self.priority: int | None = None
        self.listed = 0
        self.first = 0

    def _of(self, number: str) -> Entity:
        """Return the NIC of this number; list and QoS of one NIC come together."""
        nic = self.nics.get(number)
        if nic is None:
            nic = Entity(f"nic:{number.replace('/', '_')}")
            if number.isdigit() and len(number) <= 3:
                nic.values["number"] = int(number)
            if len(self.nics) < _MOST:
                self.nics[number] = nic
        return nic

    def take(self, number: int, word: str) -> None:
        """Take one line."""
        device, row = _DEVICE.match(word), _ROW.match(word)
        asked = _mellanox.command(word, _TOOLS)
        if asked is not None:
            self.nic = self._of(asked) if asked.isdigit() else None
            return
        if device:
            self.nic = self._of(device.group(1))
            self.nic.values.update({"product": device.group(2), "adapter_port": device.group(3)})
            self.listed += 1
        elif row:
            self.nic = self._of(row.group(1))
            self.nic.values.update({"board": row.group(2), "firmware_version": row.group(4)})
            self.nic.ids.update({"mac": mac(row.group(3)), "pci": _place(row.group(5))})
            self.listed += 1
        elif _HEADING.match(word) or _QUEUE.match(word):
            self.priority = None if word.startswith("APP#") else self.priority
        elif not self._pair(number, word):
            if not _mellanox.is_message(self.reading, number, word):
                _plain.malformed(self.reading, number, word, "a line of niccli")
            return
        self.first = self.first or number

    def _pair(self, number: int, word: str) -> bool:
        """Read a label with its value; return whether it is one of the tool's."""
        label, value = _plain.label(word) or ("", "")
        nic, dscp, key = self.nic, _DSCP.match(word), label.lower()
        if key in _LABELS and nic is not None:
            _identity(nic, _LABELS[key], value)
            return True
        known = (
            "prio_map", "tc bandwidth", "tsa_map", "pfc enabled", "priority", "dscp",
            "udp or dccp", "udp", "tcp", "tc rate limit",
        )  # fmt: skip
        if not dscp and key not in known:
            return False
        nic = self.nic = nic or self._of("1" if "1" not in self.nics else str(len(self.nics) + 1))
        if dscp:
            for one in re.findall(r"[0-9]{1,2}", dscp.group(2)):
                _map(nic, "dscp_to_priority", one, int(dscp.group(1)))
        elif key == "priority":
            self.priority = _plain.integer(value)
        elif key in ("dscp", "udp or dccp", "udp"):
            name = "dscp_to_priority" if key == "dscp" else "udp_port_to_priority"
            _map(nic, name, value[:10], self.priority)
        elif key != "tcp":
            self._qos(nic, key, value, number)
        return True

    def _qos(self, nic: Entity, key: str, value: str, number: int) -> None:
        words = value.split()[:64]
        name: str
        found: t.Any
        if key in ("prio_map", "tsa_map"):
            name = "priority_to_tc" if key == "prio_map" else "tc_selection"
            pattern = r"^([0-7]):([0-9]{1,2})$" if key == "prio_map" else r"^([0-9]):([a-z]{1,16})$"
            pairs = [re.match(pattern, one) for one in words]
            whole = all(pairs)
            found = {
                one.group(1): int(one.group(2)) if key == "prio_map" else one.group(2)
                for one in pairs
                if one
            }
        elif key == "pfc enabled":
            name = "pfc_priorities"
            numbers = [] if value.lower() == "none" else re.split(r"[,\s]+", value)[:64]
            whole = all(re.match(r"^[0-7]$", one) for one in numbers)
            found = [int(one) for one in numbers] if whole else None
        else:
            name = "tc_bandwidth_pct" if key == "tc bandwidth" else "tc_rate_limit_pct"
            whole = all(re.match(r"^[0-9]{1,3}%$", one) for one in words)
            found = [int(one[:-1]) for one in words] if whole else None
        nic.values[name] = found
        if not whole:
            where = {"line": number, "entity": nic.path, "field": name, "verbatim": value}
            _plain.note(self.reading, "unknown_value", f"{name} cannot be read whole", **where)

    def finish(self) -> Reading:
        """Name the NICs, and say what is missing."""
        reading = self.reading
        for nic in self.nics.values():
            if not (set(nic.values) - {"number"} or nic.ids):
                continue
            address = nic.ids.get("pci")
            nic.path = f"nic:{address}" if address else nic.path
            reading.add(nic)
            names = ("tc_bandwidth_pct", "tc_selection", "pfc_priorities")
            for name in names if "priority_to_tc" in nic.values else ():
                if name not in nic.values:
                    where = {"entity": nic.path, "field": name}
                    _plain.note(reading, "truncated", f"{name} is not told", **where)
            if nic.values.get("adapter_port") and not address:
                where = {"entity": nic.path, "field": "pci"}
                _plain.note(reading, "truncated", "no PCI address is told", **where)
        if not reading.entities:
            return _plain.nothing(reading, "a list of NICs, or `IEEE 8021QAZ ETS ...`")
        node = Entity("", values={"nic_count": self.listed or None})
        reading.entities.insert(0, node)
        _mellanox.forget_before(reading, self.first)
        return reading


def _place(text: str) -> str | None:
    """Return the PCI address of `00:0d:00:01`: domain, bus, device, function."""
    found = _PLACE.match(text.lower())
    if found is None:
        return pci_address(text)
    domain, bus, device, function = found.groups()
    return f"{int(domain, 16):04x}:{bus}:{device}.{function}"


def _identity(nic: Entity, name: str, value: str) -> None:
    if name == "interface":
        nic.values["interface"] = value or None
    else:
        nic.ids[name] = mac(value) if name == "mac" else pci_address(value)


def _map(nic: Entity, name: str, key: str, priority: int | None) -> None:
    mapped = nic.values.setdefault(name, {})
    if isinstance(mapped, dict) and len(mapped) < 256 and key.isdigit():
        mapped[key] = priority
