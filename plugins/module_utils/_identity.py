# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bring identities into one form, so that history follows a part. Private to trackbed.cluster.

Each function takes what a tool printed and returns the normal form, or None
where the text is no such identity. They never raise.
"""

from __future__ import annotations

import re

_PCI = re.compile(r"^(?:([0-9a-f]{1,8}):)?([0-9a-f]{2}):([01][0-9a-f])(?:\.([0-7]))?$")
_HEX = re.compile(r"^[0-9a-f]+$")
# What firmware prints where nobody wrote a serial number. Sources: dmidecode,
# lspci, nvidia-smi and Redfish outputs that people published.
_NO_SERIAL = frozenset(
    {
        "n/a",
        "na",
        "none",
        "null",
        "unknown",
        "undefined",
        "default",
        "default string",
        "not specified",
        "not available",
        "not applicable",
        "not supported",
        "no asset tag",
        "to be filled by o.e.m.",
        "to be filled by oem",
        "system serial number",
        "chassis serial number",
        "serial number",
        "base board serial number",
        "empty",
        "invalid",
        "0123456789",
        "123456789",
        "1234567890",
    }
)


def pci_address(text: str | None) -> str | None:
    """Return `0000:1b:00.0` for `1b:00.0`, `00000000:1B:00.0`, `PCI:0000:1b:00`.

    A missing function is function 0: the kernel log and nvidia-smi leave it out.
    Domains of more than four digits (`10000:`, Intel VMD) keep theirs.
    """
    word = (text or "").strip().lower()
    if word.startswith("pci:"):
        word = word[4:]
    found = _PCI.match(word)
    if found is None:
        return None
    domain, bus, device, function = found.groups()
    return f"{int(domain or '0', 16):04x}:{bus}:{device}.{function or '0'}"


def pci_sort_key(address: str) -> tuple[int, ...]:
    """Return a key that sorts normal PCI addresses as the bus numbers do."""
    return tuple(int(part, 16) for part in re.split(r"[:.]", address))


def guid(text: str | None) -> str | None:
    """Return 16 hexadecimal digits for `0x506b4b0300aa0001`, `506b:4b03:00aa:0001`.

    All zero and all one mean "none was written" and give None.
    """
    return _hex_digits(text, 16)


def device_serial(text: str | None) -> str | None:
    """Return 16 digits for the PCI Device Serial Number `98-51-03-ab-01-81-71-48`."""
    return _hex_digits(text, 16)


def mac(text: str | None) -> str | None:
    """Return `a0:88:c2:b8:a0:c4` for any usual way of writing an Ethernet address."""
    digits = _hex_digits(text, 12)
    return ":".join(digits[i : i + 2] for i in range(0, 12, 2)) if digits else None


def serial(text: str | None) -> str | None:
    """Return the serial number without blanks and brackets, or None where there is none.

    Case is kept: vendors compare serial numbers as printed. A text of one
    repeated character (`0000000`, `........`) is what an unwritten EEPROM gives.
    """
    word = (text or "").strip().strip("[]").strip()
    if not 3 <= len(word) <= 64 or not word.isprintable():
        return None
    if word.lower() in _NO_SERIAL or len(set(word.replace(" ", ""))) == 1:
        return None
    return word if any(one.isalnum() for one in word) else None


def _hex_digits(text: str | None, count: int) -> str | None:
    word = (text or "").strip().lower()
    if word.startswith("0x"):
        word = word[2:].rjust(count, "0")
    digits = re.sub(r"[:.\-]", "", word)
    if len(digits) != count or not _HEX.match(digits) or set(digits) in ({"0"}, {"f"}):
        return None
    return digits
