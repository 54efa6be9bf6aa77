# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What block devices, file systems and network file systems write, as a table.

Private to trackbed.cluster. Seen in public outputs: I/O errors and XFS; NVMe time-outs
(https://ahmedalsawi.github.io/posts/2025/01/linux-kernel-debug-nvme-timeout) and errors
(https://www.thomas-krenn.com/en/wiki/Analyzing_NVMe_I/O_error_messages_in_Linux). EXT4,
BTRFS, md, SCSI, ATA, NFS and Lustre are written from knowledge of the messages.
"""

from __future__ import annotations

from ansible_collections.trackbed.cluster.plugins.module_utils._readers._kernel_row import row

_DISK = r"(?P<device>[a-z][a-z0-9-]{1,31}(?:/[a-z0-9]{1,16})?)"
_NVME = r"(?P<device>nvme[0-9]{1,4})(?:[cn][0-9]{1,4}){0,2}: "
STORAGE = (
    row(
        "disk_io_error",
        "rror, dev ",
        r"(?P<reason>I/O error|[a-z][a-z ]{2,40} error), dev "
        + _DISK
        + (
            r"(?:, sector (?P<sector>[0-9]{1,20}))?(?: op (?:0x[0-9a-f]{1,4}:\()?"
            r"(?P<operation>[A-Z_]{2,24}))?"
        ),
        "reason",
    ),
    row(
        "buffer_io_error",
        "Buffer I/O error",
        r"Buffer I/O error on dev(?:ice)? (?P<device>[\w-]{1,32})(?:, logical block "
        r"(?P<block>[0-9]{1,20}))?",
    ),
    row(
        "nvme_timeout",
        "timeout",
        r"nvme "
        + _NVME
        + r"I/O (?:tag )?(?P<tag>[0-9]{1,6})(?: \([^)]{1,20}\))?(?: opcode \S{1,24}(?: "
        r"\([^)]{1,40}\))?)?"
        r" QID (?P<queue>[0-9]{1,6}) timeout(?:, "
        r"(?P<reason>aborting|reset controller|disable controller|completion polled"
        r"|[a-z ]{3,40}))?",
        "reason",
    ),
    row(
        "nvme_error",
        "sct 0x",
        _NVME + r"(?:(?P<operation>[A-Za-z/ _]{2,40}?) ?\(?(?:0x[0-9a-f]{1,4})?\)?(?: @ LBA "
        r"(?P<sector>[0-9]{1,20}), [0-9]{1,9} blocks)?, )?"
        r"(?P<reason>[A-Za-z /,-]{3,80}?) \(sct (?P<nvme_status_type>0x[0-9a-f]{1,2}) "
        r"/ sc (?P<nvme_status>0x[0-9a-f]{1,3})\)",
        "reason",
    ),
    row(
        "nvme_controller",
        "nvme",
        r"nvme " + _NVME + r"(?P<reason>controller is down; will reset|Device not ready; aborting "
        r"\w{3,16}|[Rr]emoving after probe failure"
        r"|Disabling device after reset failure|Device shutdown incomplete|resetting "
        r"controller|Abort status|frozen state error detected"
        r"|Does your device have a faulty power saving mode|failed to .{1,60}"
        r"|Identify .{1,40} failed)"
        r"(?:.{0,20}?CSTS=(?P<csts>0x[0-9a-f]{1,8}))?(?:.{0,20}?PCI_STATUS="
        r"(?P<status>0x[0-9a-f]{1,4}))?(?:,? ?status:? (?P<error_number>-[0-9]{1,4}))?",
        "reason",
    ),
    row(
        "nvme_controller",
        "nvme",
        r"nvme(?:: probe of %(pci)s| (?P<device>%(bdf)s): probe with driver nvme) "
        r"failed with error (?P<error_number>-[0-9]{1,4})",
    ),
    row(
        "filesystem_error",
        "XFS (",
        r"(?P<filesystem>XFS) \((?P<device>[\w./-]{1,64})\): (?P<reason>.{0,60}?"
        r"(?:[Ee]rror|[Cc]orruption|[Ss]hut(?:ting)? ?down|[Ff]ail).{0,120})",
    ),
    row(
        "filesystem_error",
        "EXT4-fs",
        r"(?P<filesystem>EXT4)-fs (?:error|warning) \(device "
        r"(?P<device>[\w./-]{1,64})\)(?: in \S{1,40})?: (?P<reason>.{1,140})",
    ),
    row(
        "filesystem_error",
        "EXT4-fs",
        r"(?P<filesystem>EXT4)-fs \((?P<device>[\w./-]{1,64})\): (?P<reason>"
        r"(?:Remounting filesystem read-only|.{0,60}?(?:error|failed|corrupt)).{0,80})",
        "reason",
    ),
    row(
        "filesystem_error",
        "BTRFS",
        r"(?P<filesystem>BTRFS) (?:error|critical|warning) \(device "
        r"(?P<device>[\w./-]{1,64})[^)]{0,40}\): (?P<reason>.{1,140})",
    ),
    row(
        "raid_failure",
        "Disk failure",
        r"md/\w{1,16}:? ?(?P<device>md[\w]{1,16}): Disk failure on "
        r"(?P<member>[\w-]{1,32}), disabling device",
    ),
    row("raid_failure", "kicking", r"md: kicking non-fresh (?P<member>[\w-]{1,32}) from array"),
    row(
        "scsi_error",
        "[sd",
        r"\[(?P<device>sd[a-z]{1,3})\] .{0,24}?FAILED Result: (?P<reason>.{1,80})",
    ),
    row(
        "scsi_error",
        "Sense Key",
        r"\[(?P<device>sd[a-z]{1,3})\] .{0,24}?Sense Key ?: "
        r"(?P<sense_key>[A-Z][A-Za-z ]{2,30}?) (?:\[|$)",
        follows="scsi_error",
        alone=True,
    ),
    row(
        "ata_error",
        "ata",
        r"\b(?P<device>ata[0-9]{1,3}(?:\.[0-9]{1,3})?): (?P<reason>exception Emask "
        r".{1,60}|failed command: .{1,40}|hard resetting link|link is slow.{0,40}"
        r"|SError: .{1,60}|limiting SATA link.{0,40})",
    ),
    row(
        "nfs",
        "nfs: server",
        r"nfs: server (?P<device>\S{1,128}) (?P<reason>not responding, (?:still "
        r"trying|timed out)|OK)",
        "reason",
    ),
    row("lustre_error", "LustreError", r"LustreError: (?:[0-9-]{1,16}: ?)?(?P<reason>.{1,140})"),
    row(
        "lustre_error",
        "Lustre: ",
        r"Lustre: .{0,80}?(?P<reason>Connection to \S{1,80} .{0,80}? was lost)",
    ),
)
