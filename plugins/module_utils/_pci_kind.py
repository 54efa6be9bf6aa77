# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a PCI function is to us: GPU, NIC of a rail, bridge, ... Private to trackbed.cluster."""

from __future__ import annotations

from ansible_collections.trackbed.cluster.plugins.module_utils import _pci_tables as tables


def kind_of(class_code: str, vendor_id: str, device_id: str, name: str) -> str:
    """Return the entity type: gpu, nvswitch, nic, disk, bridge or pci.

    Unknown parts are "". Graphics of a BMC (ASPEED, Matrox) are `pci`.
    """
    if class_code in tables.GPU_CLASSES.get(vendor_id, ()):
        return "gpu"
    if class_code == tables.NVSWITCH_CLASS and vendor_id == tables.NVIDIA:
        return "nvswitch"
    if class_code in tables.NIC_CLASSES and _is_fabric_nic(vendor_id, device_id, name):
        return "nic"
    if class_code == tables.NVME_CLASS:
        return "disk"
    return "bridge" if class_code in tables.BRIDGE_CLASSES else "pci"


def is_virtual_function(vendor_id: str, device_id: str, name: str) -> bool:
    """Tell whether this is an SR-IOV virtual function."""
    if any(word in name for word in tables.VIRTUAL_FUNCTION_WORDS):
        return True
    return device_id in tables.VIRTUAL_FUNCTION_IDS.get(vendor_id, ())


def _is_fabric_nic(vendor_id: str, device_id: str, name: str) -> bool:
    if vendor_id in tables.FABRIC_NIC_VENDORS:
        return True
    words = tables.FABRIC_NIC_NAMES.get(vendor_id, ())
    return any(word in name for word in words) or (
        device_id in tables.FABRIC_NIC_IDS.get(vendor_id, ())
    )
