# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The catalogue of what the lspci reader gives, by type of entity. Private to trackbed.cluster."""

from __future__ import annotations

from ansible_collections.trackbed.cluster.plugins.module_utils._reading import Field

NODE = {
    "device_count": Field(int, "PCI functions listed"),
    "unreadable_count": Field(int, "functions whose configuration space reads as all ones"),
    "gpu_count": Field(int, "GPUs listed, also those that no longer answer"),
    "gpu_responding_count": Field(int, "GPUs whose configuration space can be read"),
    "nvswitch_count": Field(int, "NVSwitches that are PCI devices (A100, H100, H200 baseboards)"),
    "nic_count": Field(int, "physical functions of NICs that can be a rail"),
    "nic_vf_count": Field(int, "virtual functions of such NICs"),
    "nvlink_switch_management_count": Field(
        int, "ConnectX-7 functions that manage NVLink switches (B200, B300 baseboards)"
    ),
    "disk_count": Field(int, "NVMe controllers"),
    "bridge_count": Field(int, "PCI-to-PCI bridges and switch ports"),
    "acs_unplaced": Field(
        list, "ACS controls of `ACSCtl:` lines that came without their device, in order"
    ),
}
_IDENTITY = {
    "class_code": Field(str, "class and subclass, four hexadecimal digits"),
    "class_name": Field(str, "class as printed"),
    "vendor_id": Field(str, "four hexadecimal digits"),
    "device_id": Field(str, "four hexadecimal digits"),
    "name": Field(str, "vendor and device as printed"),
    "subsystem": Field(str, "vendor and device of the board as printed"),
    "subsystem_vendor_id": Field(str, "four hexadecimal digits"),
    "subsystem_device_id": Field(str, "four hexadecimal digits"),
    "revision": Field(str, "two hexadecimal digits"),
    "config_readable": Field(bool, "false where the configuration space reads as all ones"),
    "virtual_function": Field(bool, "an SR-IOV virtual function"),
    "nvlink_switch_management": Field(
        bool, "a NIC of the baseboard that manages NVLink switches, not a rail; from its VPD"
    ),
    "part_number": Field(str, "from the vital product data"),
    "slot_name": Field(str, "what the firmware calls the slot"),
    "physical_slot": Field(str, "slot number of the hot-plug driver"),
    "numa_node": Field(int, "NUMA node; null where firmware names none"),
    "iommu_group": Field(int, "IOMMU group"),
    "kernel_driver": Field(str, "driver that is bound; null where none is"),
    "power_state": Field(str, "PCI power state", values=("D0", "D1", "D2", "D3")),
    "parent_pci": Field(str, "address of the bridge above, where it is listed"),
    "bars": Field(list, "base address registers: region, kind, size_b, prefetchable"),
}
_LINK = {
    "pcie_port_type": Field(str, "kind of port or endpoint as printed"),
    "pcie_speed_gt_s": Field(float, "speed the link trained at", "GT/s"),
    "pcie_gen": Field(int, "its generation"),
    "pcie_width": Field(int, "lanes the link trained at; 0: the link is down", "lanes"),
    "pcie_max_speed_gt_s": Field(float, "highest speed of this port", "GT/s"),
    "pcie_max_gen": Field(int, "its generation"),
    "pcie_max_width": Field(int, "widest link of this port", "lanes"),
    "pcie_target_speed_gt_s": Field(float, "highest speed that software allows it", "GT/s"),
    "link_speed_downgraded": Field(bool, "trained below what this port can do"),
    "link_width_downgraded": Field(bool, "trained below what this port can do"),
    "pcie_max_payload_b": Field(int, "MaxPayload in force", "bytes"),
    "pcie_max_read_req_b": Field(int, "MaxReadReq in force", "bytes"),
    "relaxed_ordering": Field(bool, "relaxed ordering enabled in DevCtl"),
}
_ACS = {
    "acs_capable": Field(bool, "has the Access Control Services capability"),
    "acs_source_validation": Field(bool, "ACS control SrcValid"),
    "acs_translation_blocking": Field(bool, "ACS control TransBlk"),
    "acs_request_redirect": Field(bool, "ACS control ReqRedir"),
    "acs_completion_redirect": Field(bool, "ACS control CmpltRedir"),
    "acs_upstream_forwarding": Field(bool, "ACS control UpstreamFwd"),
    "acs_egress_control": Field(bool, "ACS control EgressCtrl"),
    "acs_direct_translated_p2p": Field(bool, "ACS control DirectTrans"),
}
_BUSES = {
    "secondary_bus": Field(int, "bus number behind the bridge"),
    "subordinate_bus": Field(int, "highest bus number behind the bridge"),
}
DEVICE = {**_IDENTITY, **_LINK, **_ACS}
FIELDS = {
    "node": NODE,
    "gpu": DEVICE,
    "nvswitch": DEVICE,
    "nic": DEVICE,
    "disk": DEVICE,
    "bridge": {**DEVICE, **_BUSES},
    "pci": {**DEVICE, **_BUSES},
}
