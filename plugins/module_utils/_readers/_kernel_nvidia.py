# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What NVIDIA's driver and NVSwitch driver write into the kernel log, as a table.

Private to trackbed.cluster. Seen in public outputs: failed initialisation, API mismatch,
off the bus (https://github.com/NVIDIA/NVSentinel/issues/155), peermem and crash dump
(https://github.com/NVIDIA/nvidia-docker/issues/1553). SXid is written after a description of
its form; the other rows are written from knowledge of the messages, without a sample.
"""

from __future__ import annotations

from ansible_collections.trackbed.cluster.plugins.module_utils._readers._kernel_row import row
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._kernel_xid import (
    XID,
    XID_TEXTS,
)

_GPU = r"NVRM: (?:The NVIDIA )?GPU (?:at )?(?:PCI:)?%(pci)s"
_SXID = r"nvidia-nvswitch(?P<nvswitch>[0-9]{1,3}): SXid \(PCI:%(pci)s\): (?P<sxid>[0-9]{1,6}), "
_FAIL = (
    r"(?:[Ff]ail|FAIL|[Ee]rror|ERROR|[Tt]ime(?:d )?out|[Ii]nvalid|[Dd]egraded|[Uu]nable|[Cc]annot)"
)
NVIDIA = (
    row("xid", "Xid (", XID, "xid link action_to gpu_instance_id", inner=XID_TEXTS),
    row("@malformed", "Xid", r"NVRM: Xid\b"),
    row(
        "sxid",
        "SXid",
        _SXID
        + (
            r"(?P<fatal>Fatal|Non-fatal), (?:Link (?P<link>-?[0-9]{1,3}) )?"
            r"(?P<reason>.{1,400}?)(?: \(First\))?\s*$"
        ),
        "sxid link",
    ),
    row(
        "sxid",
        "SXid",
        _SXID + r"Severity (?P<severity_number>[0-9]{1,2}) Engine instance "
        r"(?P<engine_instance>[0-9]{1,4})"
        r" Sub-engine instance (?P<sub_engine_instance>[0-9]{1,4})",
        "sxid",
        follows="sxid",
        alone=True,
    ),
    row(
        "sxid",
        "SXid",
        _SXID + r"Data \{(?P<registers>[0-9a-fx, ]{1,160})\}?",
        "sxid",
        follows="sxid",
        alone=True,
    ),
    row("@malformed", "SXid", r"nvidia-nvswitch.{0,8}: SXid\b"),
    row("@gpu", "GPU at PCI:", r"NVRM: GPU at PCI:%(pci)s: (?P<uuid>GPU-[0-9a-f-]{36})"),
    row("@serial", "Serial", r"NVRM: GPU Board Serial Number: (?P<serial>\S{1,64})"),
    row(
        "@driver",
        "NVRM: loading",
        r"NVRM: loading NVIDIA UNIX (?P<module>.{1,60}?) {1,4}(?P<driver_version>%(version)s)",
    ),
    row(
        "fallen_off_bus",
        "fallen off the bus",
        _GPU
        + (
            r"(?: \(PCI ID: [^)]{1,16}\))?:? (?:GPU |installed in this system )?has "
            r"fallen off the bus"
        ),
    ),
    row(
        "gpu_unusable",
        "The NVIDIA GPU",
        _GPU
        + (
            r"(?: \(PCI ID: (?P<device_id>[0-9a-f:]{4,9})\))?(?:.{0,40}?installed in this "
            r"system(?: has\b)?(?: (?P<reason>.{1,120}))?)?"
        ),
    ),
    row(
        "gpu_unusable",
        "installed in this system",
        r"(?:\(PCI ID: (?P<device_id>[0-9a-f:]{4,9})\) )?installed in this system"
        r"(?: has\b)?(?: (?P<reason>.{1,120}))?",
        follows="gpu_unusable",
    ),
    row(
        "gpu_unusable",
        "fallen off the bus",
        r"NVRM: {1,4}(?P<reason>fallen off the bus.{0,80})",
        follows="gpu_unusable",
    ),
    row(
        "init_failed",
        "RmInitAdapter failed",
        r"NVRM: (?:GPU (?:at )?(?:PCI:)?%(pci)s: )?RmInitAdapter failed!?(?: \("
        r"(?P<init_code>[0-9a-fx:]{3,40})\))?",
    ),
    row(
        "init_failed",
        "rm_init_adapter failed",
        r"NVRM: (?:GPU (?:at )?(?:PCI:)?%(pci)s: )?rm_init_adapter failed.{0,24}? "
        r"minor number (?P<minor>[0-9]{1,4})",
        "minor",
        follows="init_failed",
        alone=True,
    ),
    row(
        "api_mismatch",
        "API mismatch",
        r"NVRM: API mismatch:(?:.{0,80}?\(pid %(pid)s\))?(?:.{0,40}?has the version "
        r"(?P<client_version>%(version)s))?"
        r"(?:.{0,60}?module has (?:NVRM: )?the version (?P<module_version>%(version)s))?",
    ),
    row(
        "api_mismatch",
        "this kernel module has the version",
        r"module has the version (?P<module_version>%(version)s)",
        follows="api_mismatch",
    ),
    row(
        "api_mismatch",
        "has the version",
        r"NVRM: {1,4}has the version (?P<client_version>%(version)s)",
        follows="api_mismatch",
    ),
    row(
        "api_mismatch",
        "the version",
        r"NVRM: {1,4}the version (?P<module_version>%(version)s)\. ",
        follows="api_mismatch",
    ),
    row(
        "gsp_rate_limited",
        "Rate limiting GSP",
        r"NVRM: Rate limiting GSP RPC error prints for GPU at (?:PCI:)?%(pci)s(?: "
        r"\(printing 1 of every (?P<one_of_every>[0-9]{1,6})\))?",
    ),
    row(
        "gsp_error",
        "NVRM: ",
        r"NVRM: (?:GPU(?P<gpu_number>[0-9]{1,3}) )?.{0,80}?"
        r"(?P<reason>rpcRecvPoll timed ?out|GSP RM heartbeat timed out|GSP "
        r"crash\w{0,2}|GSP firmware.{0,60}fail\w{0,2}|GSP init.{0,40}fail\w{0,2}"
        r"|Failed to "
        r"(?:load|boot|initialize) GSP)",
    ),
    row(
        "probe_failed",
        "probe routine",
        r"NVRM: The NVIDIA probe routine (?P<reason>failed|was not called) for "
        r"(?P<device_count>[0-9]{1,4}) device",
    ),
    row(
        "probe_failed",
        "NVRM: No",
        r"NVRM: (?P<reason>None of the NVIDIA [a-z ]{3,40} initialized|No NVIDIA "
        r"[A-Za-z ]{3,30} (?:found|probed|installed))",
    ),
    row(
        "probe_failed",
        "nvidia",
        r"\bnvidia(?:: probe of %(pci)s| (?P<device>%(bdf)s): probe with driver "
        r"nvidia) failed with error (?P<error_number>-[0-9]{1,4})",
    ),
    row(
        "bar_failed",
        "I/O region",
        r"NVRM: This PCI I/O region assigned to your NVIDIA device is (?P<reason>invalid)",
    ),
    row(
        "bar_failed",
        "NVRM: BAR",
        r"NVRM: BAR(?P<bar>[0-9]) is (?P<bar_size>[0-9]{1,9}[A-Z]?) @ "
        r"(?P<address>0x[0-9a-f]{1,16})(?: \(PCI:%(pci)s\))?",
        follows="bar_failed",
    ),
    row(
        "nvrm_assertion",
        "NVRM: ",
        r"NVRM: (?:GPU(?P<gpu_number>[0-9]{1,3}) )?(?:nvAssert|nvCheck)\w{0,30}: "
        r"(?P<reason>.{1,160})",
    ),
    row("gpu_crash_dump", "crash dump", r"NVRM: (?P<reason>A GPU crash dump has been created)"),
    row(
        "peermem_error",
        "peermem",
        r"nvidia[-_]peermem:? (?P<reason>.{0,120}?" + _FAIL + r".{0,80})",
    ),
    row(
        "gpu_reset",
        "NVRM: ",
        r"NVRM: (?:GPU (?:at )?(?:PCI:)?%(pci)s:? )?(?P<reason>.{0,100}?\b[Rr]eset"
        r"(?:ting)?\b.{0,60})",
    ),
    row(
        "nvrm_error",
        "NVRM: ",
        r"NVRM: (?:GPU (?:at )?(?:PCI:)?%(pci)s:? |GPU(?P<gpu_number>[0-9]{1,3}) "
        r")?(?P<reason>.{0,120}?" + _FAIL + r".{0,60})",
    ),
    row(
        "nvlink_error",
        "nvidia-nvlink",
        r"nvidia-nvlink: (?P<reason>.{0,120}?" + _FAIL + r".{0,60})",
    ),
    row(
        "nvswitch_error",
        "nvidia-nvswitch",
        r"nvidia-nvswitch(?P<nvswitch>[0-9]{0,3}): (?P<reason>.{0,120}?" + _FAIL + r".{0,60})",
    ),
    row(
        "fabric_manager_error",
        "NVSwitch",
        r"detected NVSwitch (?P<fatal>fatal|non-fatal) error (?P<sxid>[0-9]{1,6}) on "
        r".{0,80}?pci bus id %(pci)s.{0,40}?(?: port (?P<link>[0-9]{1,3}))?\s*$",
        "sxid link",
    ),
)
