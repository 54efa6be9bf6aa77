"""Config space, addresses and plans as data: what must hold for every device of every SKU."""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from trackbed.errors import UsageError
from trackbed.lab import faults
from trackbed.lab.hardware import catalogue, change_tree, plan_of, skus, write_tree
from trackbed.lab.hardware.addresses import place
from trackbed.lab.hardware.capabilities import size_code
from trackbed.lab.hardware.config import config_space
from trackbed.lab.hardware.effects import FAULTS, other_release
from trackbed.lab.hardware.model import Device, Plan
from trackbed.lab.hardware.sysfs import tree_of
from trackbed.lab.hardware.vpd import vpd
from trackbed.lab.state import FaultMark, NodeState

STATE = NodeState("gpu-002", "h100-sxm")
EXPRESS = 0x10


def _plan(sku: str = "h100-sxm") -> Plan:
    return plan_of(NodeState("gpu-002", sku))


def _capabilities(config: bytes) -> Iterator[tuple[int, int]]:
    """Walk the list as hardware readers do: offset and id."""
    at = config[0x34]
    while at:
        yield at, config[at]
        at = config[at + 1]


def _extended(config: bytes) -> Iterator[tuple[int, int]]:
    at = 0x100
    while at:
        (head,) = struct.unpack_from("<I", config, at)
        if not head:
            return
        yield at, head & 0xFFFF
        at = head >> 20


def _register(device: Device, offset: int, form: str) -> int:
    config = config_space(device)
    at = next(at for at, number in _capabilities(config) if number == EXPRESS)
    return int(struct.unpack_from(form, config, at + offset)[0])


@pytest.mark.parametrize("sku", skus())
def test_every_list_of_capabilities_ends(sku: str) -> None:
    for device in _plan(sku).devices:
        config = config_space(device)
        assert len(config) == 4096
        assert len(list(_capabilities(config))) == len(device.part.capabilities)
        assert len(list(_extended(config))) == len(device.part.extended)


@pytest.mark.parametrize("sku", skus())
def test_buses_nest(sku: str) -> None:
    plan = _plan(sku)
    for device in plan.devices:
        config = config_space(device)
        parent = plan.find(device.parent) if device.parent else None
        if parent:
            assert device.bus == parent.secondary
        if device.part.is_bridge:
            assert config[0x0E] & 0x7F == 1
            assert list(config[0x18:0x1B]) == [device.bus, device.secondary, device.subordinate]
            assert device.bus < device.secondary <= device.subordinate
            if parent:
                assert device.subordinate <= parent.subordinate
    secondaries = [device.secondary for device in plan.devices if device.secondary]
    assert len(secondaries) == len(set(secondaries))


@pytest.mark.parametrize("sku", skus())
def test_addresses_are_aligned_apart_and_within_their_windows(sku: str) -> None:
    plan = _plan(sku)
    taken = []
    for device in plan.devices:
        parent = plan.find(device.parent) if device.parent else None
        for bar in device.bars:
            end = bar.address + bar.size - 1
            assert bar.address % bar.size == 0
            taken.append((bar.address, end))
            high = bar.kind == "mem64_pref"
            assert (bar.address >> 32 > 0) == high
            if parent:
                window = parent.prefetchable if high else parent.memory
                assert window is not None
                assert window.start <= bar.address <= end <= window.end
    taken.sort()
    assert all(a[1] < b[0] for a, b in pairwise(taken))
    assert max(end for _, end in taken if end < 1 << 32) < 0xFEC00000, "the APIC is above"


@pytest.mark.parametrize("sku", skus())
def test_payload_fits_the_whole_path(sku: str) -> None:
    plan = _plan(sku)
    for device in plan.devices:
        if device.part.vendor == 0x1A03:  # the BMC, behind its own port
            continue
        assert device.payload <= device.part.max_payload
        parent = plan.find(device.parent) if device.parent else None
        assert parent is None or parent.payload == device.payload


@pytest.mark.parametrize("sku", skus())
def test_interrupts_and_serials_are_unlike(sku: str) -> None:
    devices = _plan(sku).devices
    irqs = [device.irq for device in devices if device.irq]
    assert len(irqs) == len(set(irqs))
    assert len({device.serial for device in devices}) == len(devices)


def test_a_plan_depends_on_the_state_alone() -> None:
    assert tree_of(_plan()) == tree_of(_plan())
    other = tree_of(plan_of(replace(STATE, name="gpu-003")))
    differing = [path for path, data in tree_of(_plan()).items() if other[path] != data]
    assert {p.name for p in differing if p.parts[0] == "pci"} == {"config", "vpd"}
    # Beside them only what has serial numbers: adapters and the server itself.
    assert {p.parts[0] for p in differing} == {"pci", "class", "firmware"}


def test_overrides_reach_the_registers() -> None:
    state = replace(
        STATE,
        overrides={
            "gpu:3": {"max_read_request": 512, "max_payload": 128, "current_width": 4},
            "nic:0": {"current_gen": 3},
            "node": {"acs_control": 0x1D},
        },
    )
    plan = plan_of(state)
    gpu, nic = plan.find("gpu:3"), plan.find("nic:0")
    assert gpu is not None
    assert nic is not None
    assert _register(gpu, 0x08, "<H") >> 12 & 7 == size_code(512)
    assert _register(gpu, 0x08, "<H") >> 5 & 7 == size_code(128)
    assert _register(gpu, 0x12, "<H") >> 4 & 0x3F == 4
    assert _register(nic, 0x12, "<H") & 0xF == 3
    assert gpu.acs_control == 0, "a part without ACS has no such register"
    assert {d.acs_control for d in plan.devices if "acs" in d.part.extended} == {0x1D}


def test_an_override_of_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match="no device 'gpu:8'") as error:
        plan_of(replace(STATE, overrides={"gpu:8": {"max_read_request": 512}}))
    assert "gpu:7" in error.value.wanted


def test_an_unknown_sku_or_fault_is_refused_with_the_list() -> None:
    with pytest.raises(UsageError) as error:
        plan_of(replace(STATE, sku="h100"))
    assert error.value.wanted == "one of a100-sxm, b200, h100-sxm, h200-sxm"
    with pytest.raises(UsageError) as error:
        plan_of(replace(STATE, faults=(FaultMark("no_such", "gpu:0"),)))
    assert "gpu_missing" in error.value.wanted


def test_a_size_that_pcie_does_not_have_is_refused() -> None:
    with pytest.raises(ValueError, match="300 bytes is no PCIe transfer size"):
        plan = plan_of(replace(STATE, overrides={"gpu:0": {"max_read_request": 300}}))
        tree_of(plan)


@pytest.mark.parametrize("kind", sorted(FAULTS))
def test_a_fault_applied_twice_is_the_fault(kind: str) -> None:
    on = FAULTS[kind].target
    target = "node" if on == "node" else f"{on}:5"
    once = FAULTS[kind].apply(_plan(), target)
    if kind != "kernel_other":  # its opposite would be a third release; a state holds it once
        assert FAULTS[kind].apply(once, target) == once
    assert once != _plan()


@pytest.mark.parametrize(
    ("release", "other"),
    [
        ("6.1.0-50-amd64", "6.1.0-49-amd64"),
        ("6.8.0-90-generic", "6.8.0-89-generic"),
        ("6.12.117+deb13-amd64", "6.12.116+deb13-amd64"),
        ("5.14.0-570.el9.x86_64", "5.14.0-569.el9.x86_64"),
        ("5.14.0-570.17.1.el9_6.x86_64", "5.14.0-570.17.0.el9_6.x86_64"),
        ("6.0", "6.1"),
        ("next", "next-other"),
    ],
)
def test_the_other_kernel_looks_like_one(release: str, other: str) -> None:
    assert other_release(release) == other


def _changed_part(**changes: object) -> Device:
    gpu = _plan().find("gpu:0")
    assert gpu is not None
    return replace(gpu, part=replace(gpu.part, **changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"capabilities": {"pm": {"at": 0x40}, "express": {"at": 0x44}}}, "overlap"),
        ({"capabilities": {"express": {"at": 0xE0}}}, "does not fit below 0x100"),
        ({"extended": {"aer": {"at": 0x140}}}, "not at 0x100"),
    ],
)
def test_data_that_cannot_be_hardware_is_refused(changes: dict[str, object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        config_space(_changed_part(**changes))


def test_more_low_memory_than_there_is_is_refused() -> None:
    switch = _plan().find("nvswitch:0")
    assert switch is not None
    huge = replace(switch.part, bars=(replace(switch.part.bars[0], size=1 << 31),))
    roots = [replace(switch, part=huge, parent=None, address=f"0000:{n:02x}:00.0") for n in (0, 1)]
    with pytest.raises(ValueError, match="too many BARs"):
        place(roots)


def test_a_misspelt_key_in_the_data_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown lanes"):
        catalogue._checked({"lanes": 16}, frozenset({"link"}), "parts")


def test_modules_are_the_kernels_own() -> None:
    names = catalogue.modules()
    assert {"nvme", "mlx5_core", "ib_umad", "msr", "tcp_bbr", "br_netfilter"} <= set(names)
    assert not any(name.startswith(("nvidia", "gdrdrv")) for name in names)


@pytest.mark.parametrize("sku", skus())
def test_product_data_sums_to_zero(sku: str) -> None:
    plan = _plan(sku)
    cards = [device for device in plan.devices if device.part.vpd]
    for device in cards:
        data = vpd(device, plan.node)
        assert data[-1] == 0x78
        assert sum(data[:-1]) % 256 == 0
    managers = [device for device in cards if b"SW_MNG" in vpd(device, plan.node)]
    assert len(managers) == (4 if sku == "b200" else 0)


def test_functions_of_one_card_share_its_serial() -> None:
    plan = _plan("b200")
    found = {
        name: re.findall(rb"SN.(MT\d{4}[A-Z]\d{5})", vpd(device, plan.node))
        for name in ("swmng:0", "swmng:1", "swmng:2")
        if (device := plan.find(name))
    }
    assert found["swmng:0"] == found["swmng:1"] != found["swmng:2"]


def test_a_lost_device_reads_as_the_kernel_shows_it() -> None:
    plan = plan_of(replace(STATE, faults=(FaultMark("gpu_off_bus", "gpu:5"),)))
    gpu = plan.find("gpu:5")
    assert gpu is not None
    files = {path.name: data for path, data in tree_of(plan).items() if gpu.address in path.parts}
    assert files["config"] == b"\xff" * 4096
    # What the kernel read at boot stays; what it reads anew is all ones.
    assert files["vendor"] == b"0x10de\n"
    assert files["current_link_speed"] == b"Unknown\n"
    assert files["current_link_width"] == b"63\n"


def test_what_is_not_wanted_goes(tmp_path: Path) -> None:
    write_tree(STATE, tmp_path)
    devices = tmp_path / "pci/devices"
    (devices / "0000:ff:00.0").mkdir()
    (devices / "0000:ff:00.0/config").write_bytes(b"")
    (devices / "stray").write_text("")
    link = devices / "0000:1a:00.0/driver"
    link.unlink()
    link.symlink_to("elsewhere")
    write_tree(STATE, tmp_path)
    assert not (devices / "0000:ff:00.0").exists()
    assert not (devices / "stray").exists()
    assert link.readlink().name == "mlx5_core"


def test_a_card_that_comes_back_is_whole(tmp_path: Path) -> None:
    gone = replace(STATE, faults=(FaultMark("gpu_missing", "gpu:5"),))
    write_tree(gone, tmp_path)
    gpu = tmp_path / "pci/devices/0000:bb:00.0"
    assert not gpu.exists()
    change_tree(gone, STATE, tmp_path)
    assert (gpu / "config").stat().st_size == 4096


def test_a_longer_text_replaces_a_shorter_one_in_its_inode(tmp_path: Path) -> None:
    write_tree(STATE, tmp_path)
    file = tmp_path / "osrelease"
    inode = file.stat().st_ino
    after = replace(STATE, kernel_release="6.12.117+deb13-amd64")
    change_tree(STATE, after, tmp_path)
    assert file.read_text() == "6.12.117+deb13-amd64\n"
    assert file.stat().st_ino == inode


@pytest.mark.parametrize("target", ["gpu:8", "0000:bb:00.0", "fan:0"])
def test_clearing_what_the_node_does_not_have_is_refused(target: str) -> None:
    with pytest.raises(UsageError) as error:
        faults.clear(STATE, target)
    assert "gpu:7" in error.value.wanted


CORPUS = os.environ.get("TRACKBED_CORPUS")


@pytest.mark.skipif(not CORPUS, reason="TRACKBED_CORPUS names no recorded outputs")
@pytest.mark.parametrize(
    ("name", "recorded", "file"),
    [
        ("gpu:0", "19:00.0 3D", "xe9680-cut-gpu-path.txt"),
        ("0000:17:01.0", "17:01.0", "xe9680-cut-gpu-path.txt"),
        ("0000:15:01.0", "15:01.0", "xe9680-cut-gpu-path.txt"),
        ("nic:0", "1a:00.0", "xe9680-cut-nics.txt"),
        ("nvswitch:0", "83:00.0", "xe9680-cut-acs-on.txt"),
    ],
)
def test_capabilities_lie_where_a_real_part_has_them(name: str, recorded: str, file: str) -> None:
    text = Path(str(CORPUS), "lspci", file).read_text()
    block = next(part for part in text.split("\n\n") if part.startswith(recorded))
    real = {int(at, 16) for at in re.findall(r"Capabilities: \[([0-9a-f]+)", block)}
    device = _plan().find(name)
    assert device is not None
    config = config_space(device)
    ours = {at for at, _ in _capabilities(config)} | {at for at, _ in _extended(config)}
    assert ours <= real
    sizes = [f"size={bar.size >> 30 or bar.size >> 20 or bar.size >> 10}" for bar in device.bars]
    assert all(size in block for size in sizes)
