"""What the fixtures of lspci cannot show: bounds, time, and lines no tool prints any more."""

from __future__ import annotations

import time

import pytest
from ansible_collections.trackbed.cluster.plugins.module_utils import _lspci_device
from ansible_collections.trackbed.cluster.plugins.module_utils._lspci_device import (
    Device,
    header,
    names_and_ids,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._pci_kind import (
    is_virtual_function,
    kind_of,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._readers import lspci
from hypothesis import given, settings
from hypothesis import strategies as st

GPU = "1b:00.0 3D controller [0302]: NVIDIA Corporation GH100 [H100 SXM5 80GB] [10de:2330] (rev a1)"


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        (GPU, "0000:1b:00.0"),
        ("0008:01:00.0 3D controller: NVIDIA Corporation Device 2941 (rev a1)", "0008:01:00.0"),
        ("1b:00.0 0302: 10de:2330 (rev a1)", "0000:1b:00.0"),
        ("1b:00.0 3D controller", None),
        ("00: 86 80 0d 57 06 00 10 00", None),
        ("[  1.2] pci 0000:1b:00.0: BAR 2: assigned", None),
        ("", None),
    ],
)
def test_header(line: str, wanted: str | None) -> None:
    found = header(line)
    assert (found[0] if found else None) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            "NVIDIA Corporation GH100 [H100 SXM5 80GB] [10de:2330]",
            ("NVIDIA Corporation GH100 [H100 SXM5 80GB]", "10de", "2330"),
        ),
        (
            "NVIDIA Corporation Device 2330",
            ("NVIDIA Corporation Device 2330", "10de", "2330"),
        ),
        ("10de:2330", (None, "10de", "2330")),
        ("Dell Device 224b", ("Dell Device 224b", None, "224b")),
        (
            "Advanced Micro Devices, Inc. [AMD] Device 1480",
            ("Advanced Micro Devices, Inc. [AMD] Device 1480", "1022", "1480"),
        ),
        (
            "Advanced Micro Devices, Inc. [AMD/ATI] Device 74a1",
            ("Advanced Micro Devices, Inc. [AMD/ATI] Device 74a1", "1002", "74a1"),
        ),
        ("", (None, None, None)),
    ],
)
def test_names_and_ids(text: str, wanted: tuple[str | None, ...]) -> None:
    assert names_and_ids(text) == wanted


@pytest.mark.parametrize(
    ("known", "wanted"),
    [
        (("0302", "10de", "2330", ""), "gpu"),
        (("0300", "10de", "2204", ""), "gpu"),
        (("0380", "1002", "7408", ""), "gpu"),
        (("1200", "1002", "74a1", ""), "gpu"),
        (("0300", "1002", "515e", "ES1000"), "pci"),
        (("0300", "1a03", "2000", ""), "pci"),
        (("0300", "102b", "0536", ""), "pci"),
        (("0680", "10de", "1af1", ""), "nvswitch"),
        (("0680", "8086", "a2a1", ""), "pci"),
        (("0207", "15b3", "1021", ""), "nic"),
        (("0200", "14e4", "1750", ""), "nic"),
        (("0200", "14e4", "", "Broadcom Inc. BCM57608 Ethernet"), "nic"),
        (("0200", "14e4", "165f", "NetXtreme BCM5720 Gigabit Ethernet PCIe"), "pci"),
        (("0200", "1d0f", "efa2", ""), "nic"),
        (("0200", "1d0f", "ec20", "Elastic Network Adapter (ENA)"), "pci"),
        (("0200", "8086", "1533", "I210 Gigabit Network Connection"), "pci"),
        (("0801", "15b3", "c2d5", "BlueField-3 SoC Management Interface"), "pci"),
        (("0108", "144d", "a80a", ""), "disk"),
        (("0604", "1000", "c030", ""), "bridge"),
        (("0600", "8086", "0d57", ""), "pci"),
        (("", "", "", ""), "pci"),
    ],
)
def test_kind_of(known: tuple[str, str, str, str], wanted: str) -> None:
    assert kind_of(*known) == wanted


def test_virtual_functions_by_name_and_by_number() -> None:
    assert is_virtual_function("15b3", "", "MT28908 Family [ConnectX-6 Virtual Function]")
    assert is_virtual_function("15b3", "101e", "")
    assert not is_virtual_function("15b3", "1021", "MT2910 Family [ConnectX-7]")


@pytest.mark.parametrize(("speed", "generation"), sorted(_lspci_device.GENERATIONS.items()))
def test_every_generation(speed: float, generation: int) -> None:
    device = Device("0000:1b:00.0", "3D controller", "10de:2330", 1)
    device.take(f"\t\tLnkSta:\tSpeed {speed:g}GT/s, Width x16")
    assert (device.values["pcie_speed_gt_s"], device.values["pcie_gen"]) == (speed, generation)


def test_old_link_status_on_one_line() -> None:
    device = Device("0000:1b:00.0", "3D controller", "10de:1db5", 1)
    device.take("\t\tLnkSta:\tSpeed 8GT/s, Width x16, TrErr- Train- SlotClk+ DLActive- BWMgmt-")
    assert (device.values["pcie_gen"], device.values["pcie_width"]) == (3, 16)


def test_tabs_that_became_blanks_change_nothing() -> None:
    lines = [GPU, "\tNUMA node: 1", "\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM L1"]
    lines.append("\t\tLnkSta:\tSpeed 16GT/s (downgraded), Width x16\n")
    text = "\n".join(lines)
    with_tabs, with_blanks = lspci.read(text), lspci.read(text.replace("\t", "  "))
    assert with_tabs.as_dict() == with_blanks.as_dict()
    assert with_tabs.entities[1].values["link_speed_downgraded"] is True


def test_a_copy_without_its_last_line_end_is_not_called_truncated() -> None:
    whole = f"{GPU}\n\tNUMA node: 1\n\tKernel driver in use: nvidia"
    assert lspci.read(whole).quality == "ok"
    assert lspci.read(GPU).quality == "ok"
    assert lspci.read(f"{GPU}\n\tNUMA no").quality == "partial"


def test_more_devices_than_a_machine_has() -> None:
    count = lspci.MAX_DEVICES + 5
    lines = [f"{n >> 8:04x}:{n & 255:02x}:00.0 0302: 10de:2330" for n in range(count)]
    reading = lspci.read("\n".join(lines) + "\n")
    assert len(reading.entities) == lspci.MAX_DEVICES + 1
    assert {one.code for one in reading.problems} == {"limited"}
    assert reading.entities[0].values["gpu_count"] is None


def test_problems_are_bounded() -> None:
    dead = [f"{n:02x}:{d:02x}.0 0302: 10de:2330 (rev ff)" for n in range(200) for d in range(8)]
    noise = ["lspci: something went wrong"] * 500 + ["what?"] * 500
    reading = lspci.read("\n".join(dead + noise) + "\n")
    assert 0 < len(reading.problems) <= lspci.MAX_PROBLEMS + 4
    assert reading.entities[0].values["gpu_responding_count"] == 0


def test_time_grows_with_the_length_alone() -> None:
    """Lines made to provoke backtracking; a quadratic reader would need minutes."""
    evil = [
        "1b:00.0 " + "a" * 20_000,
        GPU,
        "\tRegion 0: Memory at " + "(" * 20_000,
        "\t\tLnkSta:\t" + "Speed 8GT/s, " * 2_000,
        "\tCapabilities: [60] Express (v2) " + "A " * 10_000,
        "\t\tACSCtl:\t" + "SrcValid" * 3_000,
        " " * 50_000 + "x",
    ]
    begin = time.process_time()
    assert lspci.read("\n".join(evil * 30)).entities
    assert time.process_time() - begin < 20


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                GPU,
                "43:00.0 Bridge: NVIDIA Corporation Device 22a3 (rev ff)",
                "\t!!! Unknown header type 7f",
                "\tBus: primary=00, secondary=1b, subordinate=1b, sec-latency=0",
                "00:01.0 PCI bridge: Intel Corporation Device 352a",
                "\tCapabilities: <access denied>",
                "\tCapabilities: [60] Express (v2) Endpoint, MSI 00",
                "\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16",
                "\t\tLnkSta:\tSpeed 16GT/s (downgraded), Width x0 (downgraded)",
                "\t\tLnkSta:\tnothing",
                "\t\tACSCtl:\tSrcValid+ ReqRedir",
                "\tNUMA node: -1",
                "\tRegion 2: Memory at <unassigned> (64-bit, prefetchable) [size=128G]",
                "\tSubsystem:",
                "stray",
                "",
            ]
        ),
        max_size=25,
    )
)
def test_any_order_of_lines(lines: list[str]) -> None:
    reading = lspci.read("\n".join(lines))
    for entity in reading.entities:
        now, most = entity.values.get("pcie_gen"), entity.values.get("pcie_max_gen")
        if entity.values.get("link_speed_downgraded") is not None:
            assert entity.values["link_speed_downgraded"] == (now < most)
        assert entity.values.get("numa_node") is None


def test_a_port_that_has_no_link_at_all() -> None:
    device = Device("0000:00:1c.0", "PCI bridge", "Intel Corporation Device 7ab8", 1)
    device.take("\t\tLnkCap:\tPort #0, Speed unknown, Width x0, ASPM not supported")
    assert device.values["pcie_max_width"] is None
    assert device.values["pcie_max_speed_gt_s"] is None
    assert device.notes == {"pcie_max_speed_gt_s": "unreadable"}
