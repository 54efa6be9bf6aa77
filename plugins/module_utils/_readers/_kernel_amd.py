# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the amdgpu driver writes into the kernel log, as a table.

Private to trackbed.cluster. Seen in public outputs: RAS interrupt, ACA, reset, ring test
(https://github.com/ROCm/legacy-rocm-build/issues/4021, /1886,
https://github.com/NixOS/nixpkgs/issues/176915). RAS counts, ring time-outs, page faults and
bad pages are written from knowledge of the messages, without a sample.
"""

from __future__ import annotations

from ansible_collections.trackbed.cluster.plugins.module_utils._readers._kernel_row import row

_DEV = r"amdgpu %(pci)s: (?:amdgpu: )?(?:\{[0-9]{1,10}\} ?)?"
_RESET = (
    r"(?P<reason>GPU reset begin|GPU reset end|GPU reset ?\([0-9]{1,6}\) "
    r"(?:succeeded|failed)|GPU reset succeeded"
    r"|GPU reset failed|GPU [Rr]ecovery [Ff]ailed|(?:GPU )?(?:psp "
    r")?[Mm][Oo][Dd][Ee] ?[0-9] reset(?: failed)?|BACO reset|asic reset failed"
    r"|soft reset failed|GPU pci config reset)"
)
AMD = (
    row(
        "amd_ras",
        "hardware errors detected",
        _DEV + r"(?:socket: (?P<socket>[0-9]{1,3}),? {0,2})?(?:die: (?P<die>[0-9]{1,3}),? "
        r"{0,2})?(?P<error_count>[0-9]{1,12}) (?:new )?"
        r"(?P<severity>correctable|uncorrectable|deferred|poison consumption)"
        r" hardware errors? detected in (?P<is_total>total in )?(?P<ras_block>\w{1,24}) block",
        "severity ras_block is_total",
    ),
    row(
        "amd_ras_interrupt",
        "hardware error(",
        _DEV + r"uncorrectable hardware error ?\((?P<reason>\w{4,60})\) detected",
        "reason",
    ),
    row(
        "amd_ras_interrupt",
        "RAS",
        _DEV + r"RAS (?:event of type|controller) (?P<reason>[\w ]{4,60}?) detected",
        "reason",
    ),
    row("amd_ras_interrupt", "oison", _DEV + r"(?P<reason>.{0,60}?[Pp]oison .{0,80})"),
    row(
        "amd_aca",
        "Accelerator Check",
        _DEV + r"\[Hardware Error\]: (?P<reason>Accelerator Check Architecture events logged)",
    ),
    row(
        "amd_aca",
        "].STATUS=",
        _DEV
        + r"\[Hardware Error\]: (?:aca )?entry\[[0-9]{1,3}\]\.STATUS=(?P<status>0x[0-9a-f]{1,16})",
        follows="amd_aca",
        alone=True,
    ),
    row(
        "amd_aca",
        "].ADDR=",
        _DEV
        + r"\[Hardware Error\]: (?:aca )?entry\[[0-9]{1,3}\]\.ADDR=(?P<address>0x[0-9a-f]{1,16})",
        follows="amd_aca",
    ),
    row(
        "amd_bad_page",
        "amdgpu",
        _DEV
        + (
            r"(?P<reason>.{0,80}?(?:bad page|RAS records: ?[0-9]{1,6}|over "
            r"threshold|exceeds? (?:the )?threshold|page retire|retired page).{0,80})"
        ),
    ),
    row(
        "gpu_reset",
        "amdgpu",
        _DEV + _RESET + r"(?:.{0,12}?(?:ret = |: )(?P<error_number>-?[0-9]{1,4}))?",
        "reason",
    ),
    row(
        "amd_ring_timeout",
        "timeout",
        r"(?:amdgpu %(pci)s: .{0,60}?)?ring (?P<ring>[a-z][\w.]{1,40}) timeout(?:, "
        r"(?P<reason>but soft recovered|signaled seq=[0-9]{1,20}, emitted seq=[0-9]{1,20}))?",
        "ring",
    ),
    row(
        "amd_ring_timeout",
        "rocess",
        r"(?:Process information: process|amdgpu: {1,4}Process) "
        r"(?P<process_name>.{1,64}?) pid %(pid)s thread",
        follows="amd_ring_timeout amd_page_fault",
    ),
    row(
        "amd_ring_test_failed",
        "test failed",
        r"(?:amdgpu %(pci)s: .{0,80}?)?ring (?P<ring>[a-z][\w.]{1,40}) test failed(?: "
        r"\((?P<error_number>-[0-9]{1,4})\))?",
        "ring",
    ),
    row(
        "amd_page_fault",
        "page fault (",
        _DEV
        + (
            r"\[(?P<hub>\w{2,20})\] (?:no-)?(?:retry )?page fault \([^)]{0,200}?(?: for "
            r"process (?P<process_name>.{1,64}?) pid %(pid)s thread.{0,80})?\)?\s*$"
        ),
        "hub",
    ),
    row(
        "amd_page_fault",
        "PROTECTION_FAULT_STATUS",
        _DEV + r"\w{0,20}PROTECTION_FAULT_STATUS\w{0,12}: ?(?P<status>0x[0-9A-Fa-f]{1,16})",
        follows="amd_page_fault",
    ),
    row(
        "amd_page_fault",
        "in page starting at",
        _DEV + r" {0,8}in page starting at address (?P<fault_address>0x[0-9a-f]{1,16})",
        follows="amd_page_fault",
    ),
    row(
        "amd_init_failed",
        "amdgpu",
        _DEV
        + (
            r"(?P<reason>Fatal error during GPU init|.{0,40}?(?:hw|sw)_init of IP block "
            r"<\w{1,24}> failed|.{0,20}ip_init failed|finishing device\.)(?:.{0,8}?"
            r"(?P<error_number>-[0-9]{1,4}))?"
        ),
    ),
    row(
        "amd_init_failed",
        "amdgpu",
        r"amdgpu(?:: probe of %(pci)s| (?P<device>%(bdf)s): probe with driver amdgpu) "
        r"failed with error (?P<error_number>-[0-9]{1,4})",
    ),
    row(
        "amd_firmware_error",
        "amdgpu",
        _DEV
        + (
            r"(?P<reason>SMU: (?:I'm not done|No response|response:).{0,60}|Failed to "
            r"send message .{1,60}|.{0,20}?psp .{0,60}?fail.{0,60})"
        ),
    ),
    row(
        "fallen_off_bus", "lost from bus", _DEV + r"(?P<reason>.{0,40}device lost from bus.{0,20})"
    ),
    row(
        "amd_error",
        "amdgpu",
        r"(?:amdgpu %(pci)s: .{0,40}?)?\[drm:(?P<where>\w{2,60}) \[amdgpu\]\] "
        r"\*ERROR\* (?P<reason>.{1,120})",
        "where",
    ),
)
