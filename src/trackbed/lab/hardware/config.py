"""Make the 4,096 bytes of config space of one device. Pure."""

from __future__ import annotations

import struct

from trackbed.lab.hardware import capabilities, extended
from trackbed.lab.hardware.model import Bar, Device

SIZE = 4096
_HAS_CAPABILITIES = 0x0010
_MULTIFUNCTION = 0x80
_BAR_FLAGS = {"mem32": 0x0, "mem64": 0x4, "mem64_pref": 0xC}


class _Space:
    """Config space that refuses to write a byte twice: overlapping capabilities are a mistake."""

    def __init__(self, where: str) -> None:
        self.bytes = bytearray(SIZE)
        self._taken = bytearray(SIZE)
        self._where = where

    def put(self, at: int, data: bytes) -> None:
        end = at + len(data)
        if end > SIZE or any(self._taken[at:end]):
            raise ValueError(f"{self._where}: {len(data)} bytes at {at:#x} overlap or do not fit")
        self.bytes[at:end] = data
        self._taken[at:end] = b"\x01" * len(data)


def config_space(device: Device) -> bytes:
    """Return what a read of the whole config space answers."""
    if not device.responds:
        return b"\xff" * SIZE
    space = _Space(device.part.key)
    space.put(0x00, _common_header(device))
    space.put(0x10, _bridge_header(device) if device.part.is_bridge else _header(device))
    _put_capabilities(space, device)
    _put_extended(space, device)
    return bytes(space.bytes)


def _command(device: Device) -> int:
    if device.part.is_bridge:
        return 0x0507  # I/O, memory, bus master, SERR, no INTx
    return 0x0406 if device.part.driver else 0x0002  # without a driver: memory decode only


def _common_header(device: Device) -> bytes:
    part = device.part
    kind = (1 if part.is_bridge else 0) | (_MULTIFUNCTION if device.multifunction else 0)
    return struct.pack(
        "<HHHHIBBBB",
        part.vendor,
        part.device,
        _command(device),
        _HAS_CAPABILITIES if part.capabilities else 0,
        part.device_class << 8 | part.revision,
        0,
        0,
        kind,
        0,
    )


def _bar_registers(bars: tuple[Bar, ...], count: int) -> list[int]:
    registers = [0] * count
    for bar in bars:
        registers[bar.index] = (bar.address & 0xFFFFFFFF) | _BAR_FLAGS[bar.kind]
        if bar.kind != "mem32":
            registers[bar.index + 1] = bar.address >> 32
    return registers


def _first_capability(device: Device) -> int:
    return next((options["at"] for options in device.part.capabilities.values()), 0)


def _interrupt(device: Device) -> bytes:
    # Line ff: not connected to the legacy controller; the pin is A where there is an interrupt.
    return struct.pack("<BB", 0xFF, 1 if device.irq else 0)


def _header(device: Device) -> bytes:
    vendor, number = device.part.subsystem or (0, 0)
    return (
        struct.pack("<6I", *_bar_registers(device.bars, 6))
        + struct.pack("<IHHI", 0, vendor, number, 0)
        + struct.pack("<I", _first_capability(device))
        + bytes(4)
        + _interrupt(device)
        + bytes(2)
    )


def _bridge_header(device: Device) -> bytes:
    low, high = device.memory, device.prefetchable
    memory = (low.start >> 16 & 0xFFF0, low.end >> 16 & 0xFFF0) if low else (0xFFF0, 0)
    prefetchable = (
        (high.start >> 16 & 0xFFF0 | 1, high.end >> 16 & 0xFFF0 | 1) if high else (0xFFF1, 1)
    )
    upper = (high.start >> 32, high.end >> 32) if high else (0, 0)
    return (
        struct.pack("<2I", *_bar_registers(device.bars, 2))
        + struct.pack("<BBBB", device.bus, device.secondary, device.subordinate, 0)
        + struct.pack("<BBH", 0xF0, 0x00, 0)  # no I/O window
        + struct.pack("<HHHHII", *memory, *prefetchable, *upper)
        + bytes(4)
        + struct.pack("<II", _first_capability(device), 0)
        + _interrupt(device)
        + struct.pack("<H", 0x0003)  # parity and SERR are forwarded
    )


def _put_capabilities(space: _Space, device: Device) -> None:
    entries = list(device.part.capabilities.items())
    for index, (name, options) in enumerate(entries):
        number, body = capabilities.BODIES[name]
        after = entries[index + 1][1]["at"] if index + 1 < len(entries) else 0
        data = bytes((number, after)) + body(device, options)
        if options["at"] + len(data) > 0x100:
            raise ValueError(f"{device.part.key}: {name} does not fit below 0x100")
        space.put(options["at"], data)


def _put_extended(space: _Space, device: Device) -> None:
    entries = list(device.part.extended.items())
    if entries and entries[0][1]["at"] != 0x100:
        raise ValueError(f"{device.part.key}: the first extended capability is not at 0x100")
    for index, (name, options) in enumerate(entries):
        number, version, body = extended.BODIES[name]
        after = entries[index + 1][1]["at"] if index + 1 < len(entries) else 0
        head = struct.pack("<I", number | options.get("version", version) << 16 | after << 20)
        space.put(options["at"], head + body(device, options))
