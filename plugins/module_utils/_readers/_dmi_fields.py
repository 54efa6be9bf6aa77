# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The structures of SMBIOS that dmidecode prints, as fields. Private to trackbed.cluster.

Source: DMTF DSP0134, System Management BIOS Reference Specification 3.7; dmidecode.c.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._reading import Field

# What firmware writes, and dmidecode prints, in place of a value.
NO_VALUE = frozenset(
    {
        "not specified",
        "not provided",
        "not present",
        "not available",
        "not applicable",
        "unknown",
        "unspecified",
        "none",
        "n/a",
        "na",
        "no dimm",
        "no asset tag",
        "default string",
        "to be filled by o.e.m.",
        "to be filled by oem",
        "no module installed",
        "no error",
        "empty",
        "undefined",
    }
)
_UNITS = {"kb": 1 / 1024, "mb": 1, "gb": 1024, "tb": 1024 * 1024, "bytes": 1 / 1048576}
_AMOUNT = re.compile(r"^([0-9]{1,15})(?:\.([0-9]{1,6}))?\s*([A-Za-z/]{1,8})$")


def text(word: str) -> str | None:
    """Return the text itself."""
    return word


def integer(word: str) -> int | None:
    """Return the whole number that a text begins with: `32`, `64 bits`, `2933 MT/s`."""
    found = re.match(r"^([0-9]{1,15})(?:\s+[A-Za-z/]{1,8})?$", word)
    return int(found.group(1)) if found else None


def decimal(word: str) -> float | None:
    """Return the number of `1.1 V`."""
    found = re.match(r"^([0-9]{1,15}(?:\.[0-9]{1,9})?)(?:\s+[A-Za-z/]{1,8})?$", word)
    return float(found.group(1)) if found else None


def mib(word: str) -> int | None:
    """Return MiB of `64 GB`, `65536 MB`, `16777216 kB` (dmidecode's units are powers of 2)."""
    found = _AMOUNT.match(word)
    unit = _UNITS.get(found.group(3).lower()) if found else None
    if found is None or unit is None:
        return None
    return int(float(f"{found.group(1)}.{found.group(2) or 0}") * unit)


def snake(word: str) -> str | None:
    """Return an enumeration's word: `In Use` -> `in_use`."""
    return re.sub(r"[^a-z0-9]+", "_", word.lower()).strip("_") or None


def yes(word: str) -> bool | None:
    """Return the answer of a yes or a no."""
    return {"yes": True, "no": False}.get(word.lower())


_Reader = t.Callable[[str], t.Any]
# Label -> (value name, how to read it, type, what it says, unit)
_Row = t.Tuple[str, _Reader, type, str, t.Optional[str]]


@dataclasses.dataclass(frozen=True)
class Structure:
    """One type of structure: which entity it becomes, and what is read of it."""

    entity: str
    """Type of the entity; "" is the node itself."""
    named_by: tuple[str, ...]
    """Labels whose values name the entity: the first alone, or all where that is not unique."""
    rows: dict[str, _Row]
    ids: dict[str, str]
    whole: tuple[str, ...] = ()
    """Labels that are always printed; without them the input was cut."""


_MAKER: dict[str, _Row] = {
    "Manufacturer": ("manufacturer", text, str, "maker", None),
    "Asset Tag": ("asset_tag", text, str, "owner's or maker's tag", None),
}
_SERIAL = {"Serial Number": "serial"}
_BIOS: dict[str, _Row] = {
    "Vendor": ("bios_vendor", text, str, "maker of the BIOS", None),
    "Version": ("bios_version", text, str, "version of the BIOS", None),
    "Release Date": ("bios_date", text, str, "date of the BIOS, as printed", None),
    "BIOS Revision": ("bios_revision", text, str, "revision by its maker", None),
    "Firmware Revision": ("controller_revision", text, str, "embedded controller's", None),
}
_SYSTEM: dict[str, _Row] = {
    "Manufacturer": ("manufacturer", text, str, "maker of the machine", None),
    "Product Name": ("model", text, str, "product", None),
    "Version": ("product_version", text, str, "version of the product", None),
    "Wake-up Type": ("wake_up_type", snake, str, "what switched it on: power_switch ...", None),
    "SKU Number": ("sku", text, str, "maker's number of the configuration", None),
    "Family": ("family", text, str, "family of products", None),
}
_BOARD: dict[str, _Row] = {
    **_MAKER,
    "Product Name": ("model", text, str, "product", None),
    "Version": ("version", text, str, "revision of the board", None),
    "Location In Chassis": ("location", text, str, "where it sits", None),
    "Type": ("board_type", text, str, "Motherboard, Processor+Memory Module ...", None),
}
_CHASSIS: dict[str, _Row] = {
    **_MAKER,
    "Type": ("chassis_type", snake, str, "rack_mount_chassis, blade, ...", None),
    "Version": ("version", text, str, "version", None),
    "Boot-up State": ("boot_up_state", snake, str, "state when it was last booted", None),
    "Power Supply State": ("power_supply_state", snake, str, "safe, warning, critical", None),
    "Thermal State": ("thermal_state", snake, str, "safe, warning, critical", None),
    "SKU Number": ("sku", text, str, "maker's number of the configuration", None),
}
_CPU: dict[str, _Row] = {
    **_MAKER,
    "Socket Designation": ("socket", text, str, "socket, as the maker calls it", None),
    "Version": ("model", text, str, "model", None),
    "Family": ("family", text, str, "family", None),
    "Part Number": ("part_number", text, str, "part number", None),
    "Max Speed": ("max_clock_mhz", integer, int, "highest clock the socket allows", "MHz"),
    "Current Speed": ("clock_mhz", integer, int, "clock at boot", "MHz"),
    "Voltage": ("voltage_v", decimal, float, "voltage", "V"),
    "Core Count": ("core_count", integer, int, "cores that it has", None),
    "Core Enabled": ("enabled_core_count", integer, int, "cores switched on", None),
    "Thread Count": ("thread_count", integer, int, "threads that it has", None),
}
_SLOT: dict[str, _Row] = {
    "Designation": ("designation", text, str, "slot, as the maker calls it", None),
    "Type": ("slot_type", text, str, "x16 PCI Express 5 ..., as printed", None),
    "Data Bus Width": ("slot_width", text, str, "lanes, as printed", None),
    "Current Usage": ("usage", snake, str, "in_use, available, unavailable, other", None),
    "Length": ("slot_length", snake, str, "long, short", None),
    "ID": ("slot_number", text, str, "number of the slot", None),
}
_ARRAY: dict[str, _Row] = {
    "Location": ("location", text, str, "where it is", None),
    "Use": ("use", snake, str, "system_memory, video_memory, flash_memory, cache_memory", None),
    "Error Correction Type": ("ecc_type", snake, str, "none, single_bit_ecc, multi_bit_ecc", None),
    "Maximum Capacity": ("max_capacity_mib", mib, int, "most memory", "MiB"),
    "Number Of Devices": ("dimm_slot_count", integer, int, "slots, filled or not", None),
}
_SPEED: _Row = (
    "configured_speed_mt_s",
    integer,
    int,
    "transfers a second that it runs at (older dmidecode calls them MHz)",
    "10^6/s",
)
_DIMM: dict[str, _Row] = {
    **_MAKER,
    "Locator": ("locator", text, str, "slot, as the maker calls it", None),
    "Bank Locator": ("bank_locator", text, str, "bank, as the maker calls it", None),
    "Size": ("capacity_mib", mib, int, "size; null where the slot is empty", "MiB"),
    "Total Width": ("total_width_bit", integer, int, "width with its check bits", "bit"),
    "Data Width": ("data_width_bit", integer, int, "width without check bits", "bit"),
    "Form Factor": ("form_factor", text, str, "DIMM, SODIMM, Die ...", None),
    "Type": ("memory_type", text, str, "DDR4, DDR5, LPDDR5, HBM ...", None),
    "Type Detail": ("memory_type_detail", text, str, "Registered ..., as printed", None),
    "Speed": ("speed_mt_s", integer, int, "transfers a second that it is made for", "10^6/s"),
    "Configured Memory Speed": _SPEED,
    "Configured Clock Speed": _SPEED,
    "Part Number": ("part_number", text, str, "part number", None),
    "Rank": ("rank", integer, int, "ranks", None),
    "Configured Voltage": ("voltage_v", decimal, float, "voltage", "V"),
    "Memory Technology": ("memory_technology", text, str, "DRAM, NVDIMM-N ...", None),
    "Firmware Version": ("firmware_version", text, str, "firmware", None),
}
_PSU: dict[str, _Row] = {
    **_MAKER,
    "Name": ("name", text, str, "name", None),
    "Location": ("location", text, str, "where it sits", None),
    "Model Part Number": ("model", text, str, "model", None),
    "Revision": ("version", text, str, "revision", None),
    "Max Power Capacity": ("capacity_w", decimal, float, "most power that it gives", "W"),
    "Status": ("psu_status", text, str, "Present, OK; Not Present ..., as printed", None),
    "Plugged": ("plugged", yes, bool, "connected to the mains", None),
    "Hot Replaceable": ("hot_replaceable", yes, bool, "can be changed while it runs", None),
}
_BOOT: dict[str, _Row] = {
    "Status": ("boot_status", text, str, "firmware's word on the last boot", None)
}
STRUCTURES = {
    "BIOS Information": Structure("", (), _BIOS, {}),
    "System Information": Structure("", (), _SYSTEM, {**_SERIAL, "UUID": "uuid"}),
    "Base Board Information": Structure("baseboard", (), _BOARD, _SERIAL),
    "Chassis Information": Structure("chassis", (), _CHASSIS, _SERIAL),
    "Processor Information": Structure(
        "cpu", ("Socket Designation",), _CPU, _SERIAL, ("Socket Designation", "Status")
    ),
    "System Slot Information": Structure(
        "slot", ("Designation",), _SLOT, {"Bus Address": "pci"}, ("Designation", "Current Usage")
    ),
    "Physical Memory Array": Structure("memory_array", (), _ARRAY, {}, ("Number Of Devices",)),
    "Memory Device": Structure(
        "dimm", ("Locator", "Bank Locator"), _DIMM, _SERIAL, ("Size", "Type")
    ),
    "System Power Supply": Structure("psu", (), _PSU, _SERIAL),
    "System Boot Information": Structure("", (), _BOOT, {}),
}
# Titles of the others: they end the structure before them where no handle is printed (-q).
OTHERS = frozenset(
    {
        "Cache Information",
        "Port Connector Information",
        "On Board Device Information",
        "On Board Device 1 Information",
        "OEM Strings",
        "System Configuration Options",
        "BIOS Language Information",
        "Group Associations",
        "System Event Log",
        "32-bit Memory Error Information",
        "64-bit Memory Error Information",
        "Memory Array Mapped Address",
        "Memory Device Mapped Address",
        "Built-in Pointing Device",
        "Portable Battery",
        "System Reset",
        "Hardware Security",
        "System Power Controls",
        "Voltage Probe",
        "Cooling Device",
        "Temperature Probe",
        "Electrical Current Probe",
        "Management Device",
        "Management Device Component",
        "Management Device Threshold Data",
        "Memory Channel",
        "IPMI Device Information",
        "Additional Information",
        "Onboard Device",
        "Management Controller Host Interface",
        "TPM Device",
        "Processor Additional Information",
        "Firmware Inventory Information",
        "String Property",
        "OEM-specific Type",
        "Inactive",
        "End Of Table",
        "Unknown Type",
    }
)


def fields_of(structure: Structure) -> dict[str, Field]:
    """Return the catalogue entries of a structure's rows."""
    return {name: Field(kind, says, unit) for name, _r, kind, says, unit in structure.rows.values()}
