# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `nicctl`: AMD Pensando NICs, the JSON of `show card` or a list of firmware.

Formats: `nicctl show card --json`, a list `nic` of objects; and lines `ionic0: 1.117.5`
as checks of GPU clusters print them. Versions: 1.117. Source: AMD Pensando Pollara user
guide; ROCm/gpu-operator, example/gpu-validation-cluster.
"""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._identity import mac, pci_address
from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _json, _plain
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    UNREADABLE,
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data, decode

KIND = "nicctl"
TITLE = "nicctl: AMD Pensando NICs"
VERSIONS = "nicctl 1.117"
SOURCES = ("https://github.com/ROCm/gpu-operator, example/gpu-validation-cluster",)
PROVEN = True
_VALUES = {
    "product_name": ("product", "product name"),
    "sku": ("sku", "order number"),
    "hardware_revision": ("hardware_revision", "revision of the board"),
    "manufacturing_date": ("manufactured", "when it was made, as printed"),
    "vendor_name": ("vendor", "vendor"),
    "asic": ("asic", "chip"),
    "p4_pipeline": ("pipeline", "programme of the data path"),
    "firmware_version": ("firmware_version", "firmware that runs"),
    "current_firmware_partition": ("firmware_partition", "partition that it runs from"),
    "next_boot_firmware_partition": ("firmware_partition_next", "partition of the next start"),
    "reset_reason": ("reset_reason", "why it started last"),
}
FIELDS = {
    "node": {
        "nic_count": Field(int, "NICs"),
        "firmware_versions": Field(list, "different ones among them, sorted"),
    },
    "nic": {
        **{name: Field(str, says) for name, says in _VALUES.values()},
        "ethernet_pci": Field(str, "PCI address of its Ethernet function"),
    },
}
_LINE = re.compile(r"^([a-z][a-z0-9_]{0,30}[0-9]): ([0-9]{1,4}\.[0-9]{1,5}(?:\.[\w-]{1,20}){0,3})$")


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    if re.search(r'"nic"\s*:\s*\[', text[:2000]) and '"pcie_bdf"' in text[:20000]:
        return 96
    lines = [line for line in text[:4000].split("\n") if line.strip()]
    return 90 if lines and all(re.match(r"ionic[0-9]+: \S", line) for line in lines) else 0


def read(data: Data) -> Reading:
    """Read one output. Entities: "", `nic:<pci address or name>`."""
    reading = Reading(KIND, tool_name="nicctl")
    if decode(data).lstrip().startswith(("{", "[")):
        _cards(reading, data)
    else:
        _lines(reading, data)
    if not reading.entities:
        if not reading.problems:
            reading.note("other_format", "neither a list `nic` nor lines `ionic0: <version>`")
        reading.quality = UNREADABLE
        return reading
    versions = {str(one.values["firmware_version"]) for one in reading.entities}
    node = Entity("", values={"nic_count": len(reading.entities)})
    node.values["firmware_versions"] = sorted(versions - {"None"})
    reading.entities.insert(0, node)
    return reading


def _cards(reading: Reading, data: Data) -> None:
    document = _json.as_dict(_json.load(data, reading))
    for index, card in enumerate(_json.dicts(document.get("nic"))):
        address = pci_address(_json.text_of(card.get("pcie_bdf")) or "")
        entity = reading.add(Entity(f"nic:{address or index}"))
        entity.ids = {
            "pci": address,
            "serial": _json.text_of(card.get("serial_number")),
            "mac": mac(_json.text_of(card.get("fru_mac_address")) or ""),
        }
        for key, (name, _says) in _VALUES.items():
            entity.values[name] = _json.text_of(card.get(key))
        entity.values["ethernet_pci"] = pci_address(_json.text_of(card.get("eth_bdf")) or "")
        if entity.values["firmware_version"] is None:
            where = {"entity": entity.path, "field": "firmware_version"}
            _plain.note(reading, "missing_value", "no firmware_version", **where)


def _lines(reading: Reading, data: Data) -> None:
    for number, line in _plain.lines(data):
        found = _LINE.match(line.strip())
        if found:
            values = {"firmware_version": found.group(2)}
            reading.add(Entity(f"nic:{found.group(1)}", values=dict(values)), number)
        else:
            _plain.malformed(reading, number, line, "`ionic<n>: <version>`")
