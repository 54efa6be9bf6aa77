"""The SMBIOS tables of a node, as dmidecode reads them, and the DMI identity of sysfs. Pure.

Layout: DMTF DSP0134, System Management BIOS Reference Specification 3.5.0.
"""

from __future__ import annotations

import struct
import uuid

from trackbed.lab.hardware.model import Dimm, Plan, Platform, seeded

_MAJOR, _MINOR, _DOCREV = 3, 5, 0
_BIOS, _SYSTEM, _BOARD, _CHASSIS, _CPU, _ARRAY, _MEMORY, _END = 0, 1, 2, 3, 4, 16, 17, 127
_DDR5, _DDR4 = 0x22, 0x1A  # §7.18.2
_RDIMM = 1 << 13  # §7.18.3: registered
_SYNCHRONOUS = 1 << 7
_NOTHING_SAID = 0x02  # "unknown" in most enumerations


class _Table:
    """Structures one after the other; strings are numbered from 1 within each."""

    def __init__(self) -> None:
        self.data = b""
        self.handle = 0

    def add(self, kind: int, body: bytes, *strings: str) -> int:
        """Append a structure; `body` refers to the strings by number. Returns its handle."""
        handle = self.handle
        tail = b"".join(text.encode() + b"\0" for text in strings if text) or b"\0"
        self.data += struct.pack("<BBH", kind, 4 + len(body), handle) + body + tail + b"\0"
        self.handle += 1
        return handle


def tables(plan: Plan) -> dict[str, bytes]:
    """Return the two files of /sys/firmware/dmi/tables."""
    table = _Table()
    who = identity(plan)
    _add_firmware(table, plan.platform, who)
    for socket in range(plan.platform.sockets):
        _add_cpu(table, plan.platform, socket)
    slots = plan.platform.dimms
    whole = _capacity(slots)
    array = table.add(
        _ARRAY, struct.pack("<BBBIHHQ", 3, 3, 6, 0x80000000, 0xFFFE, len(slots), whole << 30)
    )
    for dimm in slots:
        _add_dimm(table, plan, dimm, array)
    table.add(_END, b"")
    return {"DMI": table.data, "smbios_entry_point": _entry_point(len(table.data))}


def identity(plan: Plan) -> dict[str, str]:
    """Return the files of /sys/class/dmi/id."""
    platform = plan.platform
    serial = f"TL{seeded('chassis', plan.node, bits=32):08X}"
    return {
        "bios_vendor": platform.bios_vendor,
        "bios_version": platform.bios_version,
        "bios_date": platform.bios_date,
        "sys_vendor": platform.vendor,
        "product_name": platform.product,
        "product_version": "A1",
        "product_serial": serial,
        "product_uuid": str(uuid.UUID(int=seeded("uuid", plan.node, bits=128))),
        "board_vendor": platform.vendor,
        "board_name": f"{platform.product}-MB",
        "board_serial": f"{serial}-MB",
        "chassis_vendor": platform.vendor,
        "chassis_type": "23",  # rack mount chassis
        "chassis_serial": serial,
    }


def _add_firmware(table: _Table, platform: Platform, who: dict[str, str]) -> None:
    major, _, minor = platform.bios_version.partition(".")
    table.add(
        _BIOS,
        struct.pack(
            "<BBHBBQBBBBBBH",
            1,
            2,
            0xF000,
            3,
            0xFF,
            0x19,
            3,
            0xD,
            int(major),
            int(minor),
            0xFF,
            0xFF,
            32,
        ),
        platform.bios_vendor,
        platform.bios_version,
        platform.bios_date,
    )
    # SMBIOS keeps the first three fields of a UUID in little-endian order (§7.2.1).
    table.add(
        _SYSTEM,
        struct.pack("<BBBB16sBBB", 1, 2, 3, 4, uuid.UUID(who["product_uuid"]).bytes_le, 6, 0, 0),
        platform.vendor, platform.product, who["product_version"], who["product_serial"],
    )  # fmt: skip
    table.add(
        _BOARD,
        struct.pack("<BBBBBBBHBB", 1, 2, 0, 3, 0, 9, 0, 0xFFFF, 10, 0),
        platform.vendor, who["board_name"], who["board_serial"],
    )  # fmt: skip
    table.add(
        _CHASSIS,
        struct.pack("<BBBBBBBBBIBBBB", 1, 23, 0, 2, 0, 3, 3, 3, 3, 0, 8, 2, 0, 0),
        platform.vendor, who["chassis_serial"],
    )  # fmt: skip


def _add_cpu(table: _Table, platform: Platform, socket: int) -> None:
    threads = platform.cores * 2
    few = min(platform.cores, 0xFF), min(platform.cores, 0xFF), min(threads, 0xFF)
    table.add(
        _CPU,
        struct.pack(
            "<BBBBQBBHHHBBHHHBBBBBBHHHHH",
            1, 3, 0xFE, 2, 0, 3, 0x8A, 100, 4000, platform.cpu_mhz, 0x41, 1,
            0xFFFF, 0xFFFF, 0xFFFF, 0, 0, 0, *few, 0xFC, 0xB3,
            platform.cores, platform.cores, threads,
        ),
        f"CPU{socket}", platform.cpu_vendor, platform.cpu,
    )  # fmt: skip


def _capacity(slots: tuple[Dimm, ...]) -> int:
    return sum(max(dimm.size_gib, 64) for dimm in slots)


def _add_dimm(table: _Table, plan: Plan, dimm: Dimm, array: int) -> None:
    """Append a memory device; an empty slot says so, and has no strings of a module."""
    platform = plan.platform
    filled = dimm.size_gib > 0
    speed = platform.dimm_mt_s if filled else 0
    kind = (_DDR5 if speed >= 4800 else _DDR4) if filled else _NOTHING_SAID
    width = (80, 64) if filled else (0xFFFF, 0xFFFF)
    serial = f"{seeded('dimm', plan.node, dimm.locator, bits=32):08X}"
    strings = [dimm.locator, dimm.bank]
    strings += [platform.dimm_vendor, serial, f"{dimm.locator}_Asset", platform.dimm_part]
    if not filled:
        strings[2:] = ["NO DIMM"] * 4
    table.add(
        _MEMORY,
        struct.pack(
            "<HHHHHBBBBBHHBBBBBIHHHH",
            array, 0xFFFE, *width, 0x7FFF if filled else 0, 9, 0, 1, 2, kind,
            (_RDIMM | _SYNCHRONOUS) if filled else 4, speed, 3, 4, 5, 6, 2 if filled else 0,
            dimm.size_gib << 10, speed, 1100 if filled else 0, 1100 if filled else 0,
            1100 if filled else 0,
        ),
        *strings,
    )  # fmt: skip


def _entry_point(length: int) -> bytes:
    """Return the 64-bit entry point (§5.2.2); its checksum makes the bytes sum to zero."""
    raw = struct.pack("<5sBBBBBBBIQ", b"_SM3_", 0, 24, _MAJOR, _MINOR, _DOCREV, 1, 0, length, 0)
    check = -sum(raw) & 0xFF
    return raw[:5] + bytes([check]) + raw[6:]
