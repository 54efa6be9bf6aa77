"""The capabilities of the first 256 bytes of config space, as bytes. Pure.

Layouts: PCI Express Base Specification 6.0 §7.5 and PCI Local Bus 3.0 §6.8; offsets inside a
capability are named as in Linux' include/uapi/linux/pci_regs.h.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping

from trackbed.lab.hardware.model import DOWNSTREAM, PORT_TYPES, Device

PM, VPD, SLOT_ID, MSI, VENDOR, SUBSYSTEM, EXPRESS, MSIX = (
    0x01, 0x03, 0x04, 0x05, 0x09, 0x0D, 0x10, 0x11,
)  # fmt: skip

Body = Callable[[Device, Mapping[str, int]], bytes]

# A link that is down reads as the lowest speed and no lane; lspci then shows "Width x0".
_DOWN = (1, 0)
_SLOT_POWER_W = 25
_SYMBOLS = {128: 0, 256: 1, 512: 2, 1024: 3, 2048: 4, 4096: 5}


def size_code(size: int) -> int:
    """Return the three-bit code of a payload or read request size (128 to 4096 bytes)."""
    if size not in _SYMBOLS:
        raise ValueError(f"{size} bytes is no PCIe transfer size; wanted {sorted(_SYMBOLS)}")
    return _SYMBOLS[size]


def speeds_vector(gen: int) -> int:
    """Return the supported-speeds field: bit n set for generation n, 1 up to `gen`."""
    return (1 << (gen + 1)) - 2


def _pm(_device: Device, options: Mapping[str, int]) -> bytes:
    # Version 3; `pme` holds the states from which it can wake; D0 with no soft reset.
    return struct.pack("<HHH", 0x0003 | options.get("pme", 0) << 11, 0x0008, 0)


def _vpd(_device: Device, _options: Mapping[str, int]) -> bytes:
    return struct.pack("<HI", 0, 0)


def _slot_id(_device: Device, options: Mapping[str, int]) -> bytes:
    return struct.pack("<BB", 0x20 | options.get("slots", 0), 0)


def _msi(device: Device, options: Mapping[str, int]) -> bytes:
    wide = not options.get("narrow")  # narrow: a 32-bit address, as in Intel's ports
    control = (options.get("vectors", 1).bit_length() - 1) << 1
    control |= (0x0080 if wide else 0) | (0x0100 if options.get("maskable") else 0)
    address, data = 0, 0
    if options.get("enabled"):
        control, address, data = control | 1, 0xFEE00000, 0x4000 + device.irq
    body = struct.pack("<HQH" if wide else "<HIH", control, address, data)
    return body + (struct.pack("<HII", 0, 0, 0) if options.get("maskable") else b"")


def _vendor(_device: Device, options: Mapping[str, int]) -> bytes:
    length = options["length"]
    return struct.pack("<B", length) + bytes(length - 3)


def _subsystem(device: Device, _options: Mapping[str, int]) -> bytes:
    vendor, number = device.part.subsystem or (0, 0)
    return struct.pack("<HHH", 0, vendor, number)


def _msix(device: Device, options: Mapping[str, int]) -> bytes:
    enabled = 0x8000 if device.part.driver else 0
    table, pending, bar = options["table"], options["pending"], options.get("bar", 0)
    return struct.pack("<HII", options["vectors"] - 1 | enabled, table | bar, pending | bar)


def trained(device: Device) -> tuple[int, int]:
    """Return generation and lanes at which the device's link runs."""
    if not device.link_up:
        return _DOWN
    return device.current_gen or 0, device.current_width or 0


def _device_registers(device: Device) -> tuple[int, int]:
    part = device.part
    able = size_code(part.max_payload) | 0x20 | 0x8000  # extended tags, role-based errors
    control = 0x000F | size_code(device.payload) << 5 | size_code(device.read_request) << 12
    if part.kind == "endpoint":
        able |= 1 << 28 | 0x0E00  # function-level reset; L1 latency unlimited
        able |= _SLOT_POWER_W << 18
        control |= 0x0910  # relaxed ordering, extended tags, no-snoop
    return able, control


def _link_registers(device: Device) -> tuple[int, int, int]:
    part = device.part
    if part.max_gen is None or part.max_width is None:
        return 0, 0, 0
    gen, width = trained(device)
    able = part.max_gen | part.max_width << 4 | 1 << 22  # ASPM optionality
    status = gen | width << 4 | 0x1000  # the slot's clock
    if part.kind in DOWNSTREAM:
        able |= 1 << 19 | 1 << 20 | int(device.address[8:10], 16) << 24  # surprise down, active
        status |= 0x2000 if device.link_up and width else 0
    return able, 0x0040, status  # common clock


def _slot_registers(device: Device) -> tuple[int, int, int]:
    if device.slot is None:
        return 0, 0, 0
    able = 1 << 18 | device.slot << 19 | _SLOT_POWER_W << 7  # no command-completed events
    return able, 0x03C0, 0x0040 if device.presence else 0  # indicators off; presence


def _express(device: Device, _options: Mapping[str, int]) -> bytes:
    part = device.part
    flags = 2 | PORT_TYPES[part.kind] << 4 | (0x0100 if device.slot is not None else 0)
    device_able, device_control = _device_registers(device)
    link_able, link_control, link_status = _link_registers(device)
    slot_able, slot_control, slot_status = _slot_registers(device)
    root = (0x001F, 0x0001, 0) if part.kind == "root_port" else (0, 0, 0)
    gen, _width = trained(device)
    able2, control2, target = 0, 0, 0
    if part.max_gen is not None:
        able2, target = speeds_vector(part.max_gen), part.max_gen
        control2 = 0x0006  # completion time-out of 65 to 210 ms
    equalized = 0x001E if gen >= 3 and device.link_up else 0  # all phases of equalization done
    return (
        struct.pack("<HIHH", flags, device_able, device_control, 0)
        + struct.pack("<IHH", link_able, link_control, link_status)
        + struct.pack("<IHH", slot_able, slot_control, slot_status)
        + struct.pack("<HHI", *root)
        # Time-out ranges A and B, 10-bit tags on both sides.
        + struct.pack("<IHH", 0x00030013 if part.max_gen else 0, control2, 0)
        + struct.pack("<IHH", able2, target, equalized)
        + bytes(8)
    )


BODIES: Mapping[str, tuple[int, Body]] = {
    "pm": (PM, _pm),
    "vpd": (VPD, _vpd),
    "slot_id": (SLOT_ID, _slot_id),
    "msi": (MSI, _msi),
    "vendor": (VENDOR, _vendor),
    "subsystem": (SUBSYSTEM, _subsystem),
    "express": (EXPRESS, _express),
    "msix": (MSIX, _msix),
}
