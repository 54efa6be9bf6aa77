# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines with an Xid, and the texts of the Xids whose words hold values, as a table.

Private to trackbed.cluster. Seen in public outputs: Xid 8, 13, 31, 32, 43, 46, 48, 69, 74, 79,
109, 119, 145, 149, 154. The texts of the other Xids are written after descriptions of their
form. A text that is in no row is kept as text.
"""

from __future__ import annotations

from ansible_collections.trackbed.cluster.plugins.module_utils._readers._kernel_row import row

_NVLINK5 = (
    r"^(?P<subcode>[A-Z][A-Z0-9_]{2,40}) {1,8}(?P<fatal>Fatal|Nonfatal|Non-fatal) {1,8}"
    r"(?P<xc>XC[0-9]{1,2}) {1,8}i(?P<nvlink_instance>[0-9]{1,3}) {1,8}"
    r"Link (?P<link>-?[0-9]{1,3})(?: {1,8}\((?P<registers>[0-9a-fxA-F, ]{3,160})\)?)?"
)
_SITE = r"\(GPC (?P<gpc>[0-9]{1,2}), TPC (?P<tpc>[0-9]{1,2}), SM (?P<sm>[0-9]{1,2})\)"
_CONTAINED = (
    r"^(?P<containment>Contained|Uncontained): (?P<memory_unit>[A-Za-z][A-Za-z0-9_ /]{0,60}?)"
    r" ?(?:\((?P<registers>[0-9a-fxA-F, ]{1,60})\))?\.? RST: (?P<reset_required>Yes|No),"
    r" D-RST: (?P<drain_reset_required>Yes|No)"
)
# The text behind `Xid (...): N, pid=..., name=..., `; what is in no row stays text alone.
XID_TEXTS = (
    row("xid", "Link", _NVLINK5),
    row(
        "xid",
        "GPC",
        r"^Graphics SM (?P<exception>Warp|Global) Exception on "
        + _SITE
        + r"(?:: (?P<reason>.{1,120}))?",
    ),
    row(
        "xid",
        "ESR",
        r"Graphics Exception: ESR "
        r"(?P<registers>0x[0-9a-f]{1,8}=0x[0-9a-f]{1,16}[0-9a-fx= ]{0,160})",
    ),
    row(
        "xid",
        "MMU Fault",
        r"^Ch(?:ID)? (?P<channel>%(hex)s),.{0,60}?MMU Fault: ENGINE "
        r"(?P<engine>\S{1,40}) (?P<client>\S{1,60})"
        r" faulted @ (?P<fault_address>0x[0-9a-f_]{1,24})\. Fault is of type "
        r"(?P<fault_type>\w{1,40})"
        r" (?P<access_type>\w{1,40})",
    ),
    row(
        "xid",
        "NVLink",
        r"^NVLink: (?P<reason>[^(]{1,80}?) (?:on )?link (?P<link>[0-9]{1,3})"
        r" ?(?:\((?P<registers>[0-9a-fxA-F, ]{3,120})\)?)?",
    ),
    row(
        "xid",
        "RPC ",
        r"Timeout (?:after (?P<timeout_s>[0-9]{1,6})s of )?waiting for RPC (?:response )?from "
        r"(?:GPU(?P<gpu_number>[0-9]{1,3}) )?GSP!?"
        r"(?: Expected function (?P<rpc_function>[0-9]{1,5}))?"
        r"(?: \((?P<rpc_function_name>[A-Z0-9_]{1,60})\))?"
        r"(?: \((?P<registers>[0-9a-fx ]{3,60})\))?",
    ),
    row(
        "xid",
        "GSP",
        r"(?:GPU(?P<gpu_number>[0-9]{1,3}) )?GSP(?:-\w{1,12})? (?P<reason>[A-Za-z].{2,140}?)"
        r"(?: @ pc:(?P<address>0x[0-9a-f]{1,16}).{0,80})?$",
    ),
    row("xid", "RST", _CONTAINED),
    row(
        "xid",
        "recovery action",
        r"recovery action changed from (?P<action_from_code>0x[0-9a-f]{1,4}) \("
        r"(?P<action_from>[^)]{1,60})\)"
        r" to (?P<action_to_code>0x[0-9a-f]{1,4}) \((?P<action_to>[^)]{1,60})\)?",
    ),
    row(
        "xid",
        "partition",
        r"(?P<memory_unit>framebuffer|FBPA|DRAM)?.{0,20}at partition "
        r"(?P<partition>[0-9]{1,3}), subpartition (?P<subpartition>[0-9]{1,3})",
    ),
    row(
        "xid",
        "Page Retirement",
        r"(?P<reason>Dynamic Page Retirement: .{1,80}?) \((?P<page>0x[0-9a-f]{1,16})\)",
    ),
    row(
        "xid",
        "errorString",
        r"^Ch(?:ID)? (?P<channel>%(hex)s), errorString (?P<reason>[A-Z][A-Z0-9_ ]{2,60})"
        r"(?:, Info (?P<error_code>0x[0-9a-f]{1,8}))?",
    ),
    row("xid", "emap", r"^(?P<reason>Row [Rr]emap.{1,120})"),
    row(
        "xid",
        ", Class ",
        r"(?:Class Error|Graphics Exception): Ch[Ii][Dd] (?P<channel>[0-9a-f]{1,8})"
        r"(?:, Class (?P<class_id>[0-9a-f]{1,8}))?"
        r"(?:, Offset (?P<class_offset>[0-9a-f]{1,8}))?(?:, Data (?P<class_data>[0-9a-f]{1,8}))?"
        r"(?:, ErrorCode (?P<error_code>[0-9a-f]{1,8}))?",
    ),
    row("xid", "Ch", r"^Ch(?:annel)?(?: ID|ID|Id)? (?P<channel>(?:0x)?[0-9a-f]{1,8})\b"),
    row("xid", "NVLink", r"^(?P<reason>.{0,80}?\b[Ll]ink (?P<link>[0-9]{1,3})\b.{0,80})"),
)
XID = (
    r"(?<![A-Za-z])Xid \((?:PCI:)?(?P<pci>[0-9A-Fa-f]{1,8}:[0-9A-Fa-f:.]{2,14})"
    r"(?: GPU-I:(?P<gpu_instance_id>[0-9]{1,4}))?(?: GPU-CI:"
    r"(?P<compute_instance_id>[0-9]{1,4}))?\):"
    r" {0,4}(?P<xid>[0-9]{1,5})(?:(?:, {0,4}pid='?(?:<unknown>|%(pid)s)'?)?"
    r"(?:, {0,4}name='?(?:<unknown>|(?P<process_name>[^,]{1,64}?))'?)?"
    r"(?:, {0,4}(?P<rest>.*?)(?: caused by previous Xid (?P<previous_xid>[0-9]{1,5}))?)?\s*$)"
)
