# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One device of an lspci listing: its lines in, values out. Private to trackbed.cluster.

Lines are told apart by their labels, never by their indentation, because people
paste listings with tabs turned into blanks.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils import _pci_tables as tables
from ansible_collections.trackbed.cluster.plugins.module_utils._identity import (
    device_serial,
    pci_address,
    serial,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import Value

# Gigatransfers per second and lane -> generation. Source: PCI Express Base
# Specification 7.0, link speeds of generations 1 to 7.
GENERATIONS = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6, 128.0: 7}
ACS_CONTROLS = {
    "SrcValid": "acs_source_validation",
    "TransBlk": "acs_translation_blocking",
    "ReqRedir": "acs_request_redirect",
    "CmpltRedir": "acs_completion_redirect",
    "UpstreamFwd": "acs_upstream_forwarding",
    "EgressCtrl": "acs_egress_control",
    "DirectTrans": "acs_direct_translated_p2p",
}
_HEADER = re.compile(
    r"^((?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[01][0-9A-Fa-f]\.[0-7])\s+([^:]{2,80}): (.+)$"
)
_CLASS_NUMBER = re.compile(r"^(?:(.*) )?\[?([0-9a-f]{4})\]?$")
_REVISION = re.compile(r" \(rev ([0-9a-f]{2})\)")
_PROG_IF = re.compile(r" \(prog-if ([0-9a-f]{2})")
_IDS = re.compile(r"(?:^|\s)\[?([0-9a-f]{4}):([0-9a-f]{4})\]?$")
_UNNAMED = re.compile(r"\bDevice ([0-9a-f]{4})$")
_LINK = re.compile(
    r"Speed ([\d.]{1,6}GT/s|unknown)(?: \((\w+)\))?, Width x(\d{1,3})(?: \((\w+)\))?"
)
_REGION = re.compile(r"^(\d): (Memory|I/O ports) at \S+(.*)$")
_SIZE = re.compile(r"\[size=(\d{1,6})([KMGTPE]?)\]")
_PAYLOAD = re.compile(r"MaxPayload (\d{1,5}) bytes, MaxReadReq (\d{1,5}) bytes")
_TARGET = re.compile(r"Target Link Speed: ([\d.]{1,6}GT/s)")
_BUSES = re.compile(r"primary=([0-9a-f]{2}), secondary=([0-9a-f]{2}), subordinate=([0-9a-f]{2})")
_PORT = re.compile(r"Express (?:\(v\d\) )?([A-Za-z][A-Za-z/ -]{2,40}?)(?: \(Slot[+-]\))?(?:,|$)")
_POWER_UNITS = {unit: 1024**n for n, unit in enumerate(("", "K", "M", "G", "T", "P", "E"))}


def header(line: str) -> tuple[str, str, str] | None:
    """Return (normal address, class, rest) of a device's first line, else None."""
    found = _HEADER.match(line[:1000])
    if found is None:
        return None
    address = pci_address(found.group(1))
    return (address, found.group(2), found.group(3)) if address else None


class Device:
    """Collects what the listing says about one PCI function."""

    def __init__(self, address: str, class_text: str, rest: str, line: int) -> None:
        self.address = address
        self.line = line
        self.values: dict[str, Value] = {"config_readable": True}
        self.notes: dict[str, str] = {}
        self.serial: str | None = None
        self.dsn: str | None = None
        self.bars: list[Value] = []
        self.no_access = False
        self.has_link_capability = False
        self.secondary_bus: str | None = None
        self.unknown: list[tuple[str, str]] = []
        """(value name, verbatim) of what this reader does not know."""
        self._in_capabilities = False
        self._class(class_text)
        self._name(rest)

    def take(self, line: str) -> None:
        """Read one further line of the device."""
        text = line.strip()[:1000]
        if text.startswith("Capabilities:"):
            self._capability(text[13:].strip())
            return
        if "Unknown header type 7f" in text:
            self.unreadable()
            return
        label, colon, rest = text.partition(":")
        if label in _PLAIN:
            self._plain(*_PLAIN[label], rest.strip())
            return
        handler = _HANDLERS.get(label if colon else text.partition(" ")[0])
        if handler is not None:
            handler(self, rest.strip() if colon else text)
        elif label.startswith("Region "):
            self._region(label[7:] + ":" + rest)
        elif text.startswith("MaxPayload"):
            self._payload(text)
        elif tables.SWITCH_MANAGEMENT in text and text.startswith("[V"):
            self.values["nvlink_switch_management"] = True

    def unreadable(self) -> None:
        """Every byte of the configuration space read as one: nothing answers there."""
        self.values["config_readable"] = False
        self.values["revision"] = None
        self.notes["revision"] = "unreadable"

    def text(self, name: str) -> str:
        """Return a value that is a text, or ""."""
        value = self.values.get(name)
        return value if isinstance(value, str) else ""

    def _plain(self, name: str, is_number: bool, text: str) -> None:
        if is_number:  # -1 stands for none
            self.values[name] = int(text) if re.match(r"^\d{1,6}$", text) else None
        else:
            self.values[name] = text or None

    def _class(self, text: str) -> None:
        found = _CLASS_NUMBER.match(text)
        name = (found.group(1) or None) if found else text
        code = found.group(2) if found else tables.CLASS_CODES.get(text)
        self.values["class_name"] = name
        self.values["class_code"] = code

    def _name(self, rest: str) -> None:
        revision, prog_if = _REVISION.search(rest), _PROG_IF.search(rest)
        ends = [found.start() for found in (revision, prog_if) if found]
        name, vendor, device = names_and_ids(rest[: min(ends)] if ends else rest)
        self.values["name"] = name
        self.values["vendor_id"] = vendor
        self.values["device_id"] = device
        self.values["revision"] = revision.group(1) if revision else None
        if revision and revision.group(1) == "ff":
            self.unreadable()

    def _capability(self, text: str) -> None:
        self._in_capabilities = True
        if "<access denied>" in text:
            self.no_access = True
            return
        text = re.sub(r"^\[[0-9a-f]{2,3}(?: v\d)?\] ", "", text)
        port = _PORT.match(text)
        if port:
            self.values["pcie_port_type"] = port.group(1).strip()
        elif text.startswith("Device Serial Number "):
            self.dsn = device_serial(text[21:])
        elif text.startswith("Access Control Services"):
            self.values["acs_capable"] = True
        elif text.startswith("Subsystem: "):
            self._subsystem(text[11:])
        elif text.startswith("Vital Product Data"):
            self.values.setdefault("nvlink_switch_management", False)

    def _subsystem(self, text: str) -> None:
        name, vendor, device = names_and_ids(text)
        self.values["subsystem"] = name
        self.values["subsystem_vendor_id"] = vendor
        self.values["subsystem_device_id"] = device

    def _region(self, text: str) -> None:
        # Regions inside a capability are those of virtual functions (SR-IOV).
        found = None if self._in_capabilities else _REGION.match(text)
        if found is None:
            return
        size = _SIZE.search(found.group(3))
        self.bars.append(
            {
                "region": int(found.group(1)),
                "kind": "memory" if found.group(2) == "Memory" else "io",
                "size_b": int(size.group(1)) * _POWER_UNITS[size.group(2)] if size else None,
                "prefetchable": ", prefetchable" in found.group(3),
            }
        )

    def _link(self, text: str, prefix: str) -> None:
        found = _LINK.search(text)
        if found is None:
            self.unknown.append((f"{prefix}_speed_gt_s", text))
            return
        speed_text, speed_flag, width_text, width_flag = found.groups()
        self._speed(f"{prefix}_speed_gt_s", f"{prefix}_gen", speed_text)
        self.values[f"{prefix}_width"] = int(width_text)
        for name, flag in ((f"{prefix}_speed_gt_s", speed_flag), (f"{prefix}_width", width_flag)):
            if flag == "downgraded":
                self.notes[name] = "downgraded"

    def _speed(self, name: str, gen_name: str | None, text: str) -> None:
        speed = None
        if text == "unknown":
            self.notes[name] = "unreadable"
        else:
            number = re.match(r"^(\d{1,3}(?:\.\d)?)GT/s$", text)
            speed = float(number.group(1)) if number else None
            if speed not in GENERATIONS:
                self.unknown.append((name, text))
        self.values[name] = speed
        if gen_name:
            self.values[gen_name] = GENERATIONS.get(speed) if speed is not None else None

    def _link_capability(self, text: str) -> None:
        self.has_link_capability = True
        self._link(text, "pcie_max")
        if self.values.get("pcie_max_width") == 0:  # a field that this port does not use
            self.values["pcie_max_width"] = None

    def _link_status(self, text: str) -> None:
        self._link(text, "pcie")

    def _link_target(self, text: str) -> None:
        found = _TARGET.search(text)
        if found:
            self._speed("pcie_target_speed_gt_s", None, found.group(1))

    def _payload(self, text: str) -> None:
        found = _PAYLOAD.search(text)
        if found:
            self.values["pcie_max_payload_b"] = int(found.group(1))
            self.values["pcie_max_read_req_b"] = int(found.group(2))

    def _relaxed_ordering(self, text: str) -> None:
        self.values["relaxed_ordering"] = _flag(text, "RlxdOrd")

    def _acs(self, text: str) -> None:
        self.values["acs_capable"] = True
        self.values.update(acs_controls(text))

    def _buses(self, text: str) -> None:
        found = _BUSES.search(text)
        if found:
            self.secondary_bus = found.group(2)
            self.values["secondary_bus"] = int(found.group(2), 16)
            self.values["subordinate_bus"] = int(found.group(3), 16)

    def _power(self, text: str) -> None:
        found = re.match(r"^(D[0-3](?:hot|cold)?) NoSoftRst", text)
        if found:
            self.values["power_state"] = found.group(1)

    def _part_number(self, text: str) -> None:
        self.values["part_number"] = text.rpartition(":")[2].strip() or None

    def _vpd_serial(self, text: str) -> None:
        self.serial = serial(text.rpartition(":")[2])


# Label -> (value, whether it is a number), where the rest of the line is the value.
_PLAIN = {
    "DeviceName": ("slot_name", False),
    "Physical Slot": ("physical_slot", False),
    "Kernel driver in use": ("kernel_driver", False),
    "NUMA node": ("numa_node", True),
    "IOMMU group": ("iommu_group", True),
}
_HANDLERS: dict[str, t.Callable[[Device, str], None]] = {
    "Subsystem": Device._subsystem,
    "Bus": Device._buses,
    "Status": Device._power,
    "LnkCap": Device._link_capability,
    "LnkSta": Device._link_status,
    "LnkCtl2": Device._link_target,
    "RlxdOrd+": Device._relaxed_ordering,
    "RlxdOrd-": Device._relaxed_ordering,
    "ACSCtl": Device._acs,
    "[PN] Part number": Device._part_number,
    "[SN] Serial number": Device._vpd_serial,
}


def names_and_ids(text: str) -> tuple[str | None, str | None, str | None]:
    """Return (name, vendor, device) of `NVIDIA Corporation Device 2330`, with or without `[v:d]`.

    Where only names were printed the vendor comes from the names of pci.ids,
    and the device where it had no name there.
    """
    text = text.strip()
    ids = _IDS.search(text)
    if ids:
        return text[: ids.start()].strip() or None, ids.group(1), ids.group(2)
    starts = [one for one in tables.VENDORS if text.startswith(one)]
    vendor = tables.VENDORS[max(starts, key=len)] if starts else None
    device = _UNNAMED.search(text)
    return text or None, vendor, device.group(1) if device else None


def acs_controls(text: str) -> dict[str, Value]:
    """Return the seven ACS controls of an `ACSCtl:` line; one that is not there is None."""
    return {name: _flag(text, word) for word, name in ACS_CONTROLS.items()}


def _flag(text: str, word: str) -> bool | None:
    found = re.search(rf"\b{word}([+-])", text)
    return found.group(1) == "+" if found else None
