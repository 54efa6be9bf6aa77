# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What memory, CPU and platform error code writes into the kernel log, as a table.

Private to trackbed.cluster. Written from knowledge of the messages of the kernel's machine
check, EDAC, APEI, memory failure and thermal code, without a sample of real output.
"""

from __future__ import annotations

from ansible_collections.trackbed.cluster.plugins.module_utils._readers._kernel_row import row

_HW = r"\[Hardware Error\]: {0,8}"
MEMORY = (
    row(
        "mce",
        "Machine Check",
        _HW
        + (
            r"CPU (?P<cpu>[0-9]{1,5}): Machine Check(?: Exception)?: {1,4}[0-9a-f]{1,16} "
            r"Bank (?P<bank>[0-9]{1,3}): (?P<status>[0-9a-f]{16})"
        ),
        "bank",
    ),
    row(
        "mce",
        "[Hardware Error]",
        _HW
        + (
            r"(?P<severity>Corrected|Uncorrected|Deferred)(?: error)?, (?:no "
            r"action|software|system|deferred|require).{0,60}"
        ),
        "severity",
    ),
    row(
        "mce",
        "_STATUS[",
        _HW
        + (
            r"CPU:? ?(?P<cpu>[0-9]{1,5}) \([0-9a-f:]{3,12}\) MC"
            r"(?P<bank>[0-9]{1,3})_STATUS\[(?P<flags>[^\]]{1,80})\]: "
            r"(?P<status>0x[0-9a-f]{1,16})"
        ),
        follows="mce",
        alone=True,
    ),
    row(
        "mce",
        "ADDR",
        _HW + r"(?:TSC [0-9a-f]{1,16} )?ADDR (?P<address>[0-9a-f]{1,16})",
        follows="mce",
    ),
    row("mce", "Error Addr", _HW + r"Error Addr: (?P<address>0x[0-9a-f]{1,16})", follows="mce"),
    row(
        "mce",
        "Ext. Error Code",
        _HW + r"(?P<reason>.{0,60}Ext\. Error Code: .{1,80})",
        follows="mce",
    ),
    row(
        "mce",
        "PROCESSOR",
        _HW + r"PROCESSOR \S{1,20} TIME [0-9]{1,12} SOCKET (?P<socket>[0-9]{1,3})",
        follows="mce",
    ),
    row("mce_logged", "Machine check events logged", r"Machine check events logged"),
    row(
        "edac",
        "EDAC ",
        r"EDAC (?P<device>MC[0-9]{1,3}): (?P<error_count>[0-9]{1,9}) "
        r"(?P<severity>CE|UE) (?P<reason>.{0,80}?) ?on (?P<dimm>[^\s(]{1,80}|any "
        r"memory|unknown label)"
        r"(?: \((?P<location>[^)]{1,160})\)?)?",
        "severity dimm",
    ),
    row(
        "edac",
        "EDAC ",
        r"EDAC (?P<device>MC[0-9]{1,3}): (?P<severity>CE|UE) (?P<reason>.{1,120})",
        "severity",
    ),
    row(
        "edac_other",
        "EDAC ",
        r"EDAC (?P<device>\S{1,24}(?: MC[0-9]{1,3})?): (?P<reason>.{0,80}?"
        r"(?:[Ee]rror|ERROR|fail).{0,80})",
    ),
    row(
        "ghes",
        "Hardware error from APEI",
        r"Hardware error from APEI Generic Hardware Error Source: (?P<source>[0-9]{1,6})",
    ),
    row(
        "ghes",
        "event severity",
        _HW + r"event severity: (?P<severity>[a-z, ]{3,30})",
        follows="ghes",
    ),
    row("ghes", "section_type", _HW + r"section_type: (?P<section>.{1,60}?)\s*$", follows="ghes"),
    row("ghes", "fru_text", _HW + r"fru_text: (?P<dimm>.{1,60}?)\s*$", follows="ghes"),
    row(
        "ghes",
        "error_type",
        _HW + r"error_type: [0-9]{1,4}, (?P<reason>.{1,60}?)\s*$",
        follows="ghes",
    ),
    row(
        "ghes", "DIMM location", _HW + r"DIMM location: (?P<location>.{1,80}?)\s*$", follows="ghes"
    ),
    row("ghes", "device_id", _HW + r"device_id: (?P<about>%(bdf)s)", follows="ghes"),
    row(
        "ghes",
        "BERT",
        r"BERT: (?P<reason>Error records from previous boot|Total records found: [0-9]{1,6})",
    ),
    row(
        "memory_failure",
        "Memory failure",
        r"Memory failure: (?P<page>0x[0-9a-f]{1,16}): (?P<reason>.{1,100})",
    ),
    row(
        "cpu_throttled",
        "temperature",
        r"CPU(?P<cpu>[0-9]{1,5}): (?P<sensor>Core|Package) temperature (?:is )?above "
        r"threshold, cpu clock (?:is )?throttled(?: \(total events = "
        r"(?P<total_events>[0-9]{1,12})\))?",
        "sensor",
    ),
    row(
        "cpu_throttle_ended",
        "temperature",
        r"CPU(?P<cpu>[0-9]{1,5}): (?P<sensor>Core|Package) temperature/speed normal",
        "sensor",
    ),
    row(
        "critical_temperature",
        "ritical temperature",
        r"(?P<device>[A-Za-z_][\w-]{1,40}): .{0,40}?[Cc]ritical temperature reached.{0,60}",
    ),
)
