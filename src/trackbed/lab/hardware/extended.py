"""The extended capabilities (bytes 256 to 4095 of config space), as bytes. Pure.

Layouts: PCI Express Base Specification 6.0 §7.7-§7.9; ids as in Linux' pci_regs.h. What lspci
of Debian 12 does not decode (lane margining, the 32 GT/s layer) is there with its true id and
length and empty registers.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping

from trackbed.lab.hardware.model import BRIDGES, Device

Body = Callable[[Device, Mapping[str, int]], bytes]

# What a port can: source validation, translation blocking, request and completion redirect,
# upstream forwarding, direct translated (fabric.md names the bits).
_ACS_PORT = 0x005F


def _aer(device: Device, _options: Mapping[str, int]) -> bytes:
    # Masks and severities as servers with firmware-first error handling set them: unexpected
    # completions and all correctable errors are masked, what loses data is fatal.
    body = struct.pack("<III", 0, 0x00010000, 0x000EF030)
    body += struct.pack("<III", 0, 0x000031C1, 0x000000A0)  # correctable; ECRC possible
    body += bytes(16)  # header log
    if device.part.kind == "root_port":
        body += struct.pack("<III", 0x7, 0, 0)  # all three kinds of error are reported
    return body


def _acs(device: Device, _options: Mapping[str, int]) -> bytes:
    able = _ACS_PORT if device.part.kind in BRIDGES else 0
    return struct.pack("<HH", able, device.acs_control)


def _serial(device: Device, _options: Mapping[str, int]) -> bytes:
    return struct.pack("<Q", device.serial)


def _sriov(_device: Device, options: Mapping[str, int]) -> bytes:
    functions, vf_id = options["functions"], options["vf_device"]
    body = struct.pack("<IHH", 0, 0x0010, 0)  # ARI hierarchy
    body += struct.pack("<HHHBB", functions, functions, 0, 0, 0)
    body += struct.pack("<HHHH", options.get("offset", 1), 1, 0, vf_id)
    return body + struct.pack("<II", 0x553, 1) + bytes(28)  # page sizes; no BAR is set


def _rebar(device: Device, options: Mapping[str, int]) -> bytes:
    index = options["bar"]
    size = next(bar.size for bar in device.part.bars if bar.index == index)
    code = size.bit_length() - 21  # 0 means 1 MiB
    sizes = ((1 << (code + 1)) - 1) & ~0x3F  # 64 MiB up to the present size
    return struct.pack("<II", sizes << 4 & 0xFFFFFFFF, index | 1 << 5 | code << 8)


def _ari(_device: Device, _options: Mapping[str, int]) -> bytes:
    return bytes(4)


def _empty(length: int) -> Body:
    def body(_device: Device, options: Mapping[str, int]) -> bytes:
        return bytes(options.get("length", length) - 4)

    return body


def _dpc(_device: Device, _options: Mapping[str, int]) -> bytes:
    return struct.pack("<HHHHIII", 0x1060, 0x0000, 0, 0, 0, 0, 0)


# name -> (id, version, body)
BODIES: Mapping[str, tuple[int, int, Body]] = {
    "aer": (0x0001, 2, _aer),
    "serial": (0x0003, 1, _serial),
    "power_budget": (0x0004, 1, _empty(0x10)),
    "acs": (0x000D, 1, _acs),
    "ari": (0x000E, 1, _ari),
    "sriov": (0x0010, 1, _sriov),
    "rebar": (0x0015, 1, _rebar),
    "ltr": (0x0018, 1, _empty(0x08)),
    "secondary": (0x0019, 1, _empty(0x2C)),
    "dpc": (0x001D, 1, _dpc),
    "data_link": (0x0025, 1, _empty(0x0C)),
    "layer_16": (0x0026, 1, _empty(0x30)),
    "margining": (0x0027, 1, _empty(0x48)),
    "layer_32": (0x002A, 1, _empty(0x30)),
}
