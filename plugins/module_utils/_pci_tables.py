# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names that lspci prints in place of numbers, and which numbers matter here.

Private to trackbed.cluster. Source of all names and numbers unless another is
given: the PCI ID repository (pci.ids of 2023-02 to 2026-05, GPL-2.0-or-later).
"""

from __future__ import annotations

CLASS_CODES = {
    "Unclassified device": "0000",
    "Non-VGA unclassified device": "0000",
    "SCSI storage controller": "0100",
    "IDE interface": "0101",
    "RAID bus controller": "0104",
    "ATA controller": "0105",
    "SATA controller": "0106",
    "Serial Attached SCSI controller": "0107",
    "Non-Volatile memory controller": "0108",
    "Mass storage controller": "0180",
    "Ethernet controller": "0200",
    "Infiniband controller": "0207",
    "InfiniBand controller": "0207",
    "Fabric controller": "0208",
    "Network controller": "0280",
    "VGA compatible controller": "0300",
    "XGA compatible controller": "0301",
    "3D controller": "0302",
    "Display controller": "0380",
    "Multimedia video controller": "0400",
    "Multimedia audio controller": "0401",
    "Audio device": "0403",
    "RAM memory": "0500",
    "FLASH memory": "0501",
    "CXL": "0502",
    "Memory controller": "0580",
    "Host bridge": "0600",
    "ISA bridge": "0601",
    "PCI bridge": "0604",
    "Semi-transparent PCI-to-PCI bridge": "0609",
    "InfiniBand to PCI host bridge": "060a",
    "Bridge": "0680",
    "Serial controller": "0700",
    "Communication controller": "0780",
    "PIC": "0800",
    "DMA controller": "0801",
    "Timer": "0802",
    "RTC": "0803",
    "PCI Hot-plug controller": "0804",
    "SD Host controller": "0805",
    "IOMMU": "0806",
    "System peripheral": "0880",
    "Co-processor": "0b40",
    "USB controller": "0c03",
    "USB Controller": "0c03",
    "Fibre Channel": "0c04",
    "SMBus": "0c05",
    "InfiniBand": "0c06",
    "IPMI Interface": "0c07",
    "Serial bus controller": "0c80",
    "Encryption controller": "1080",
    "Network and computing encryption device": "1000",
    "Performance counters": "1101",
    "Signal processing controller": "1180",
    "Processing accelerators": "1200",
    "SNIA Smart Data Accelerator Interface (SDXI) controller": "1201",
    "Non-Essential Instrumentation": "1300",
    "Coprocessor": "4000",
    "Unassigned class": "ff00",
}

NVIDIA, AMD_GPU, MELLANOX = "10de", "1002", "15b3"
BROADCOM, PENSANDO, AMAZON, INTEL = "14e4", "1dd8", "1d0f", "8086"
# Name at the beginning of a device's name -> vendor. The longest match counts.
VENDORS = {
    "NVIDIA Corporation": NVIDIA,
    "nVidia Corporation": NVIDIA,
    "Advanced Micro Devices, Inc. [AMD/ATI]": AMD_GPU,
    "Advanced Micro Devices, Inc. [AMD]": "1022",
    "Mellanox Technologies": MELLANOX,
    "Broadcom Inc. and subsidiaries": BROADCOM,
    "Broadcom Limited": BROADCOM,
    "Broadcom / LSI": "1000",
    "LSI Logic / Symbios Logic": "1000",
    "Pensando Systems": PENSANDO,
    "AMD Pensando Systems": PENSANDO,
    "Amazon.com, Inc.": AMAZON,
    "Intel Corporation": INTEL,
    "Google, Inc.": "1ae0",
    "ASPEED Technology, Inc.": "1a03",
    "Matrox Electronics Systems Ltd.": "102b",
    "ASMedia Technology Inc.": "1b21",
    "Samsung Electronics Co Ltd": "144d",
    "Micron Technology Inc": "1344",
    "KIOXIA Corporation": "1e0f",
    "SK hynix": "1c5c",
    "PLX Technology, Inc.": "10b5",
    "PMC-Sierra Inc.": "11f8",
    "Pericom Semiconductor": "12d8",
    "Renesas Technology Corp.": "1912",
    "Red Hat, Inc.": "1af4",
    "VMware": "15ad",
}

# NVIDIA's are 3D (data centre) or VGA (workstation) controllers; AMD's
# Instinct are display controllers up to MI200 and accelerators from MI300 on.
# AMD's VGA class is left out: servers carry old ATI chips as BMC graphics.
GPU_CLASSES = {NVIDIA: ("0300", "0302"), AMD_GPU: ("1200", "0380")}
NVSWITCH_CLASS = "0680"  # "Bridge": 1af1 (A100), 22a3 (H100, H200)
NVME_CLASS = "0108"
BRIDGE_CLASSES = ("0604", "0609")
NIC_CLASSES = ("0200", "0207", "0208", "0280")

# NICs that can be a rail of the training fabric: every NIC of these vendors ...
FABRIC_NIC_VENDORS = (MELLANOX, PENSANDO)
# ... and of the others those whose name holds one of these words, or whose
# number is listed (for outputs of a pci.ids older than the card).
FABRIC_NIC_NAMES = {
    BROADCOM: ("NetXtreme-E", "NetXtreme-C", "BCM575", "BCM576", "BCM577", "BCM578"),
    AMAZON: ("Elastic Fabric Adapter",),
    INTEL: ("E810", "E830", "Omni-Path HFI"),
    "1ae0": ("Virtual Ethernet",),
}
FABRIC_NIC_IDS = {
    # bnxt_en: 57414, 57416, 57454, 57502 to 57508 (Thor); 57608 (Thor 2) and
    # its siblings: Linux, drivers/net/ethernet/broadcom/bnxt/bnxt.c.
    BROADCOM: ("16d7", "16d8", "1614", "1750", "1751", "1752", "1760", "1761", "1762"),
    AMAZON: ("efa0", "efa1", "efa2", "efa3"),
    INTEL: ("1591", "1592", "1593", "159a", "159b", "24f0"),
}
# Virtual functions: by name, or where no name was printed by number.
VIRTUAL_FUNCTION_WORDS = ("Virtual Function", "Controller VF", " VF")
VIRTUAL_FUNCTION_IDS = {
    MELLANOX: ("1014", "1016", "1018", "101a", "101c", "101e", "a2d3"),
    BROADCOM: ("16dc", "1806", "1807", "1808", "1809", "1819"),
    PENSANDO: ("1003",),
}
# What names the controllers of NVLink switches of HGX B200/B300, which look
# like ConnectX-7 of the node, in their vital product data. Source: NVIDIA
# Fabric Manager user guide, "NVLink subnet manager".
SWITCH_MANAGEMENT = "SW_MNG"
