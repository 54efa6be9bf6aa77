"""No secret of a kernel command line stays in the evidence, and nothing else goes."""

from __future__ import annotations

import pytest
from ansible_collections.trackbed.cluster.plugins.module_utils import _redact
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("ro quiet", "ro quiet"),
        ("password=hunter2 ro", "password=*** ro"),
        ("inst.rootpw=hunter2", "inst.rootpw=***"),
        ("PASSWD=hunter2;x=1,hunter2", "PASSWD=***"),
        ('password="two words" ro', "password=*** ro"),
        ('"password=two words" ro', '"password=*** ro'),
        ("ds=nocloud;token=abc;h=gpu-1", "ds=nocloud;token=***"),
        ("u=http://h/x?api_key=abc", "u=http://h/x?api_key=***"),
        ("u=http://bob:hunter2@h/x", "u=http://***@h/x"),
        ("rd.luks.key=/k", "rd.luks.key=***"),
        ("--token abc ro", "--token *** ro"),
        ("--token --next", "--token --next"),
        # These only look like it.
        ("vconsole.keymap=us rd.vconsole.keymap=us", "vconsole.keymap=us rd.vconsole.keymap=us"),
        ("pci=config_acs=000000@pci:0:0 iommu=pt", "pci=config_acs=000000@pci:0:0 iommu=pt"),
        ("audit=1 nokaslr monkey=1", "audit=1 nokaslr monkey=1"),
        ("password=", "password="),
        ("", ""),
    ],
)
def test_command_line(text: str, wanted: str) -> None:
    assert _redact.command_line(text) == wanted


@given(
    st.sampled_from(["password", "api_key", "my.token", "client-secret", "psk", "root_pw"]),
    st.text(st.characters(codec="ascii", categories=["L", "N", "P"]), min_size=8, max_size=30),
)
def test_a_value_never_survives(name: str, value: str) -> None:
    secret = value.replace('"', "x")
    assert secret not in _redact.command_line(f"ro {name}={secret} quiet")
