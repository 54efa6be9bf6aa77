"""Identities come out in one form, whoever printed them."""

from __future__ import annotations

import pytest
from ansible_collections.trackbed.cluster.plugins.module_utils import _identity
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("1b:00.0", "0000:1b:00.0"),
        ("0000:1b:00.0", "0000:1b:00.0"),
        ("00000000:1B:00.0", "0000:1b:00.0"),
        (" 0008:01:00.0\n", "0008:01:00.0"),
        ("10000:e1:00.0", "10000:e1:00.0"),
        ("PCI:0000:1b:00", "0000:1b:00.0"),  # kernel log of the NVIDIA driver
        ("19:1f.7", "0000:19:1f.7"),
        ("19:20.0", None),  # there are 32 devices on a bus
        ("19:00.8", None),
        ("19:00", "0000:19:00.0"),
        ("", None),
        (None, None),
        ("[N/A]", None),
        ("a0:88:c2:b8:a0:c4", None),
    ],
)
def test_pci_address(text: str | None, wanted: str | None) -> None:
    assert _identity.pci_address(text) == wanted


def test_pci_addresses_sort_as_numbers() -> None:
    addresses = ["10000:00:00.0", "0000:ff:00.0", "0008:01:00.0", "0000:1b:00.1", "0000:1b:00.0"]
    assert sorted(addresses, key=_identity.pci_sort_key) == [
        "0000:1b:00.0",
        "0000:1b:00.1",
        "0000:ff:00.0",
        "0008:01:00.0",
        "10000:00:00.0",
    ]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("0x506b4b0300AA0001", "506b4b0300aa0001"),
        ("506b:4b03:00aa:0001", "506b4b0300aa0001"),
        ("0x2c90300a1b2c3", "0002c90300a1b2c3"),  # ibstat leaves leading zeros out
        ("0000:0000:0000:0000", None),
        ("ffffffffffffffff", None),
        ("0x", None),
        ("506b4b0300aa00", None),
        ("not a guid", None),
        (None, None),
    ],
)
def test_guid(text: str | None, wanted: str | None) -> None:
    assert _identity.guid(text) == wanted


def test_device_serial() -> None:
    assert _identity.device_serial("98-51-03-AB-01-81-71-48") == "985103ab01817148"
    assert _identity.device_serial("00-00-00-00-00-00-00-00") is None
    assert _identity.device_serial("00-80-5e") is None


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("A0:88:C2:B8:A0:C4", "a0:88:c2:b8:a0:c4"),
        ("a0-88-c2-b8-a0-c4", "a0:88:c2:b8:a0:c4"),
        ("a088.c2b8.a0c4", "a0:88:c2:b8:a0:c4"),
        ("00:00:00:00:00:00", None),
        ("ff:ff:ff:ff:ff:ff", None),
        ("a0:88:c2", None),
        (None, None),
    ],
)
def test_mac(text: str | None, wanted: str | None) -> None:
    assert _identity.mac(text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("1654922006357", "1654922006357"),
        (" MT3396J25230   ", "MT3396J25230"),
        ("abC-12", "abC-12"),
        ("[N/A]", None),
        ("0000000000", None),
        ("....", None),
        ("- -- -", None),
        ("-_-", None),
        ("To Be Filled By O.E.M.", None),
        ("0123456789", None),
        ("12", None),
        ("x" * 65, None),
        ("AB\x01CD", None),
        ("", None),
        (None, None),
    ],
)
def test_serial(text: str | None, wanted: str | None) -> None:
    assert _identity.serial(text) == wanted


@given(st.text(max_size=80))
def test_any_text_gives_a_normal_form_or_nothing(text: str) -> None:
    for normal in (_identity.pci_address, _identity.guid, _identity.mac, _identity.serial):
        once = normal(text)
        assert once is None or normal(once) == once
