"""Vital product data, as the `vpd` file of a PCI device holds it. Pure.

Layout: PCI Local Bus 3.0, appendix I. lspci prints it, and NVIDIA's own start script tells an
NVLink 5 board by the text SW_MNG in it (gpu_stack.md §1.6).
"""

from __future__ import annotations

from trackbed.lab.hardware.model import Device, seeded

_IDENTIFIER, _READ_ONLY, _END = 0x82, 0x90, 0x78


def vpd(device: Device, node: str) -> bytes:
    """Return the VPD of a device; empty where its part has none."""
    texts = device.part.vpd
    if not texts:
        return b""
    board = device.address.rsplit(".", 1)[0]  # functions of one board share its serial
    serial = _serial(seeded("vpd", node, board, bits=40))
    words = {"serial": serial, "function": device.address[-1]}
    fields = b"".join(
        _field(key, text.format(**words)) for key, text in texts.items() if key != "product"
    )
    fields += b"RV\x01"
    head = _large(_IDENTIFIER, texts["product"].encode()) + bytes((_READ_ONLY,))
    head += (len(fields) + 1).to_bytes(2, "little") + fields
    # The checksum makes the sum of all bytes up to and including it zero.
    return head + bytes(((-sum(head)) & 0xFF, _END))


def _serial(number: int) -> str:
    """Return a serial number in the maker's form: MT, year and week, a letter, five digits."""
    rest, digits = divmod(number, 100_000)
    rest, letter = divmod(rest, 26)
    return f"MT23{rest % 52 + 1:02d}{chr(ord('A') + letter)}{digits:05d}"


def _field(key: str, text: str) -> bytes:
    return key.encode() + bytes((len(text),)) + text.encode()


def _large(tag: int, data: bytes) -> bytes:
    return bytes((tag,)) + len(data).to_bytes(2, "little") + data
