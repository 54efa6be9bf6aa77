# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What PCI Express, IOMMU and hot-plug code write into the kernel log, as a table.

Private to trackbed.cluster. Seen in public outputs: AER of older and newer kernels
(https://github.com/wilicc/gpu-burn/issues/1, https://github.com/pop-os/pop/issues/3363). DPC,
hot-plug, IOMMU, BAR and bandwidth are written from knowledge of the messages, without a sample.
"""

from __future__ import annotations

from ansible_collections.trackbed.cluster.plugins.module_utils._readers._kernel_row import row

_SEVERITY = (
    r"(?P<severity>(?:Corrected|Correctable|Uncorrected|Uncorrectable)(?: \((?:Non-)?Fatal\))?)"
)
PCIE = (
    row(
        "aer",
        "PCIe Bus Error",
        r"(?:(?P<driver>[\w-]{1,32}) )?%(pci)s: (?:AER: )?PCIe Bus Error: severity="
        + _SEVERITY
        + (
            r"(?:, (?:type|layer)=(?P<aer_layer>[A-Za-z ]{3,40}))?(?:, "
            r"(?:id=[0-9a-f]{1,8})?\(?(?P<aer_agent>[A-Za-z ]{3,40})\)?)?"
        ),
        "severity",
    ),
    row(
        "aer",
        "error status/mask",
        r"%(pci)s: {1,8}(?:AER: {0,8})?device \["
        r"(?P<device_id>[0-9a-f]{4}:[0-9a-f]{4})\] error status/mask="
        r"(?P<status>[0-9a-f]{1,8})/(?P<mask>[0-9a-f]{1,8})",
        follows="aer",
        alone=True,
    ),
    row(
        "aer",
        "] ",
        r"%(pci)s: {1,8}(?:AER: {0,8})?\[ ?(?P<bit>[0-9]{1,2})\] {1,4}"
        r"(?P<bit_name>[A-Za-z][A-Za-z0-9_/ .-]{1,40}?) {0,40}(?:\("
        r"(?P<first>First)\))?\s*$",
        follows="aer",
    ),
    row(
        "aer",
        "TLP Header",
        r"%(pci)s: {1,8}(?:AER: {0,8})?TLP Header: (?P<tlp_header>"
        r"(?:0x)?[0-9a-f]{8}(?: (?:0x)?[0-9a-f]{8}){3})",
        follows="aer",
    ),
    row(
        "aer_message",
        "AER: ",
        r"(?P<root_port>%(bdf)s): AER: (?:Multiple )?"
        + _SEVERITY
        + r" error (?:message )?received(?: from)?:? ?(?:id=[0-9a-f]{1,8}|%(pci)s)?",
        "severity root_port",
    ),
    row(
        "aer_source_unknown",
        "find device of ID",
        r"%(pci)s: AER: can't find device of ID ?(?P<source>[0-9a-f]{1,8})",
    ),
    row(
        "aer_recovery",
        "AER: ",
        r"%(pci)s: AER: (?P<reason>.{0,60}?recovery (?:failed|successful)"
        r"|.{0,40}?can't recover.{0,60}|Root Port link has been reset.{0,20})",
        "reason",
    ),
    row(
        "aer",
        "aer_status",
        r"%(pci)s: .{0,16}?aer_status: (?P<status>0x[0-9a-f]{1,8}), aer_mask: "
        r"(?P<mask>0x[0-9a-f]{1,8})",
        follows="aer ghes",
        alone=True,
    ),
    row(
        "dpc",
        "DPC: ",
        r"%(pci)s: DPC: containment event, status:(?P<status>0x[0-9a-f]{1,8})[,:]? {0,4}"
        r"source:(?P<source>\S{1,20})",
    ),
    row(
        "dpc",
        "DPC: ",
        r"%(pci)s: DPC: (?P<reason>[A-Za-z_/ ]{3,60}(?:detected|received|trigger\w{0,3}).{0,40})",
        follows="dpc",
        alone=True,
    ),
    row(
        "pcie_hotplug",
        "pciehp",
        r"%(pci)s: pciehp: Slot\((?P<slot>[^)]{1,24})\): (?P<reason>.{1,80})",
        "reason",
    ),
    row(
        "pcie_inaccessible",
        "power state",
        r"%(pci)s: (?:can't change|Unable to change) power state from "
        r"(?P<reason>\w{1,12} to \w{1,12})[, (].{0,20}inaccessible",
    ),
    row(
        "pcie_inaccessible",
        "link",
        r"%(pci)s: (?P<reason>device (?:is )?(?:lost|disconnected|inaccessible).{0,40})",
    ),
    row(
        "pcie_bandwidth_limited",
        "available PCIe bandwidth, limited",
        r"%(pci)s: (?P<available_gbit_per_s>[0-9]{1,6}(?:\.[0-9]{1,6})?) Gb/s "
        r"available PCIe bandwidth, limited by"
        r" (?P<limit_gt_s>[0-9]{1,4}(?:\.[0-9]{1,3})?) GT/s(?: PCIe)? x"
        r"(?P<limit_width>[0-9]{1,2}) link at (?P<limited_at>%(bdf)s)"
        r"(?: \(capable of (?P<capable_gbit_per_s>[0-9]{1,6}(?:\.[0-9]{1,6})?) Gb/s)?",
    ),
    row("pcie_retrain", "retrain", r"%(pci)s: (?P<reason>.{0,60}retrain.{0,80})"),
    row(
        "pcie_not_ready",
        "not ready",
        r"%(pci)s: not ready (?P<waited_ms>[0-9]{1,8})ms after (?P<reason>[A-Za-z0-9 ]{1,40})",
    ),
    row(
        "bar_failed",
        "BAR ",
        r"%(pci)s: BAR (?P<bar>[0-9]{1,2})(?: \[[^\]]{1,60}\])?: (?P<reason>(?:failed "
        r"to assign|can't assign|no space for).{0,60})",
    ),
    row(
        "iommu_fault",
        "DMAR: ",
        r"DMAR: (?:DRHD: )?\[(?P<reason>[A-Z][A-Za-z_ -]{2,40})\].{0,20}?device "
        r"\[?(?P<pci>%(bdf)s)\]?(?: PASID \S{1,16})? fault (?:addr|index) "
        r"(?P<fault_address>%(hex)s)",
    ),
    row(
        "iommu_fault",
        "AMD-Vi: ",
        r"(?:(?P<pci>%(bdf)s): )?AMD-Vi: Event logged \[(?P<reason>[A-Z_]{4,40})(?: "
        r"device=(?P<device>%(bdf)s))?"
        r"(?:.{0,60}? address=(?P<fault_address>0x[0-9a-f]{1,16}))?",
    ),
    row(
        "iommu_fault",
        "arm-smmu",
        r"(?P<device>arm-smmu\S{1,32}): (?P<reason>event 0x[0-9a-f]{1,4} "
        r"received|Unhandled context fault).{0,80}",
    ),
)
