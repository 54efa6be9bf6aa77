# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What nicctl tells of AMD Pensando NICs: labels and names of the values.

Private to trackbed.cluster. Sources: outputs in ROCm/device-metrics-exporter,
ROCm/gpu-operator and amd/node-scraper.
"""

from __future__ import annotations

import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _plain
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import Field

_Reader = t.Callable[[str], t.Any]
# Key of the JSON -> (name, what it says)
CARD = {
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


def _lower(word: str) -> str:
    return word.lower().replace(" ", "_")


def enabled(word: str) -> bool | None:
    """Return the truth of `enabled`, `disabled` in any case."""
    return {"enabled": True, "disabled": False}.get(word.lower())


# Label of the text, in lower case -> (name, reader)
NIC: dict[str, tuple[str, _Reader]] = {
    "total power drawn (pin)": ("power_draw_w", _plain.decimal),
    "local board temperature": ("temperature_board_c", _plain.decimal),
    "die temperature": ("temperature_c", _plain.decimal),
    "input voltage": ("voltage_input_mv", _plain.decimal),
    "core frequency": ("clock_core_mhz", _plain.decimal),
}
PORT: dict[str, tuple[str, _Reader]] = {
    "type": ("type", _lower),
    "speed": ("speed", _plain.text),
    "admin state": ("admin_state", _lower),
    "operational status": ("state", _lower),
    "link fsm state": ("link_state", _lower),
    "fec type": ("fec", _lower),
    "pause type": ("pause_type", _lower),
    "number of lanes": ("width_lanes", _plain.integer),
    "mtu": ("mtu_b", _plain.integer),
    "tx pause": ("pause_tx", enabled),
    "rx pause": ("pause_rx", enabled),
    "auto negotiation": ("auto_negotiation", enabled),
    "cable type": ("cable_type", _lower),
    "transceiver type": ("transceiver_type", _plain.text),
    "transceiver state": ("transceiver_state", _plain.text),
    "transceiver pid": ("transceiver_part_number", _plain.text),
}
_WHOLE = {"width_lanes": None, "mtu_b": "B"}
_FLAGS = ("pause_tx", "pause_rx", "auto_negotiation")
_UNITS = {"w": "W", "c": "C", "mv": "mV", "mhz": "MHz"}
FIELDS = {
    "node": {
        "nic_count": Field(int, "NICs"),
        "firmware_versions": Field(list, "different ones among them, sorted"),
        "software_versions": Field(dict, "versions of the tool and the drivers"),
    },
    "nic": {
        **{name: Field(str, says) for name, says in CARD.values()},
        **{
            name: Field(float, f"{label}, as measured", _UNITS[name.rpartition("_")[2]])
            for label, (name, _reader) in NIC.items()
        },
        "ethernet_pci": Field(str, "PCI address of its Ethernet function"),
        "pcie_ats": Field(bool, "address translation services are on"),
        "component_versions": Field(dict, "versions of its parts: boot loaders, CPLD, images"),
    },
    "port": {
        **{
            name: Field(bool, f"{label}, as told")
            if name in _FLAGS
            else Field(int if name in _WHOLE else str, f"{label}, as told", _WHOLE.get(name))
            for label, (name, _reader) in PORT.items()
        },
        "name": Field(str, "name that the NIC gives it"),
        "counters": Field(dict, "counters by their name"),
    },
}
