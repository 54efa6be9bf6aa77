"""The real lspci and setpci on the made-up tree, in a mount namespace of their own.

What is looked for is plain text, not our own reader's reading: the lab must not
share its assumptions.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from trackbed.lab import faults
from trackbed.lab.hardware import change_tree, skus, write_tree
from trackbed.lab.state import NodeState

STATE = NodeState("gpu-002", "h100-sxm")
Look = Callable[..., str]


def _can_look() -> bool:
    if os.geteuid() != 0 or not shutil.which("lspci") or not shutil.which("unshare"):
        return False
    return subprocess.run(["unshare", "-m", "true"], check=False, timeout=20).returncode == 0


pytestmark = pytest.mark.skipif(not _can_look(), reason="needs root, unshare and pciutils")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    write_tree(STATE, tmp_path)
    return tmp_path


def look(tree: Path, *argv: str) -> str:
    """Run a program that sees the tree as /sys/bus/pci."""
    script = 'mount --bind "$0" /sys/bus/pci && exec "$@"'
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script, str(tree / "pci"), *argv],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _of(listing: str, address: str) -> str:
    return next(part for part in listing.split("\n\n") if part.startswith(address))


def _gpu(tree: Path, index: int) -> str:
    lines = [line for line in look(tree, "lspci", "-Dnn", "-d", "10de::0302").splitlines() if line]
    return lines[index].split()[0]


@pytest.mark.parametrize(
    ("sku", "words", "gpus", "switches"),
    [
        ("a100-sxm", "A100", 8, 6),
        ("b200", "B200", 8, 0),  # its switches are no PCI devices of the host
        ("h100-sxm", "H100", 8, 4),
        ("h200-sxm", "H200", 8, 4),
    ],
)
def test_each_sku_shows_its_parts(
    tmp_path: Path, sku: str, words: str, gpus: int, switches: int
) -> None:
    write_tree(NodeState("gpu-001", sku), tmp_path)
    listing = look(tmp_path, "lspci", "-Dnn")
    found = [line for line in listing.splitlines() if "[0302]" in line and "[10de:" in line]
    assert len(found) == gpus
    ids = subprocess.run(["lspci", "--version"], capture_output=True, text=True, check=True)
    # The distribution's list of names may be older than the part.
    assert words in found[0] or "Device [10de:" in found[0], ids.stdout
    assert sum("[0680]" in line and "[10de:" in line for line in listing.splitlines()) >= switches
    assert set(skus()) >= {sku}


def test_a_healthy_tree_has_no_complaint(tree: Path) -> None:
    listing = look(tree, "lspci", "-D", "-vvv")
    assert "rev ff" not in listing
    assert "Unknown header" not in listing
    gpu = _of(listing, _gpu(tree, 0))
    assert re.search(r"LnkSta:\s+Speed 32GT/s.*Width x16", gpu)
    assert "downgraded" not in gpu
    assert "MaxReadReq" in gpu
    assert "NUMA node: 0" in gpu


def test_the_tree_hangs_together(tree: Path) -> None:
    drawn = look(tree, "lspci", "-tv")
    # A device that no bridge leads to would be drawn on a bus of its own.
    assert drawn.count("H100") == 8 or drawn.count("NVIDIA") >= 8
    assert "ConnectX-7" in drawn or "Mellanox" in drawn


def test_setpci_writes_what_lspci_then_reads(tree: Path) -> None:
    gpu = _gpu(tree, 0)
    before = look(tree, "setpci", "-s", gpu, "CAP_EXP+08.w").strip()
    value = (int(before, 16) & ~0x7000) | (2 << 12)  # MaxReadReq 512 bytes, PCIe base 7.5.3.4
    look(tree, "setpci", "-s", gpu, f"CAP_EXP+08.w={value:04x}")
    assert "MaxReadReq 512 bytes" in look(tree, "lspci", "-vvv", "-s", gpu)
    after = faults.apply(STATE, "gpu:1", "pcie_gen4")
    change_tree(STATE, after, tree)
    told = look(tree, "lspci", "-vvv", "-s", gpu)
    assert "MaxReadReq 512 bytes" in told, "another GPU's fault leaves the register alone"
    write_tree(STATE, tree)
    assert "MaxReadReq 512 bytes" not in look(tree, "lspci", "-vvv", "-s", gpu), "a cold boot"


def test_a_second_write_touches_nothing_and_inodes_stay(tree: Path) -> None:
    gpu = tree / "pci" / "devices" / _gpu(tree, 5) / "config"
    files = {path: path.stat() for path in tree.rglob("*") if path.is_file()}
    write_tree(STATE, tree)
    assert {path: path.stat().st_mtime_ns for path in files} == {
        path: stat.st_mtime_ns for path, stat in files.items()
    }
    write_tree(faults.apply(STATE, "gpu:5", "pcie_gen4"), tree)
    assert gpu.stat().st_ino == files[gpu].st_ino
    assert gpu.stat().st_size == 4096


def test_serial_numbers_are_the_nodes_own(tree: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    write_tree(NodeState("gpu-003", "h100-sxm"), other)
    gpu = _gpu(tree, 0)
    serials = [
        re.findall(r"Device Serial Number ([0-9a-f-]+)", look(place, "lspci", "-vvv", "-s", gpu))
        for place in (tree, other)
    ]
    assert serials[0]
    assert serials[0] != serials[1]


CASES = {
    "pcie_gen4": (r"Speed 16GT/s \(downgraded\).*Width x16", "gpu:5"),
    "pcie_x8": (r"Speed 32GT/s.*Width x8 \(downgraded\)", "gpu:5"),
    "gpu_off_bus": (r"!!! Unknown header type 7f", "gpu:5"),
}


@pytest.mark.parametrize("kind", sorted(CASES))
def test_a_fault_of_a_gpu_shows_on_that_gpu_alone(tree: Path, kind: str) -> None:
    pattern, target = CASES[kind]
    gpus = [_gpu(tree, index) for index in range(8)]
    healthy = look(tree, "lspci", "-D", "-vvv")
    write_tree(faults.apply(STATE, target, kind), tree)
    broken = look(tree, "lspci", "-D", "-vvv")
    assert re.search(pattern, _of(broken, gpus[5]))
    for index in (0, 1, 2, 3, 4, 6, 7):
        assert _of(broken, gpus[index]) == _of(healthy, gpus[index])
    write_tree(STATE, tree)
    assert look(tree, "lspci", "-D", "-vvv") == healthy


def test_a_missing_gpu_is_gone_and_the_others_stay(tree: Path) -> None:
    gpu = _gpu(tree, 3)
    before = set(look(tree, "lspci", "-D").splitlines())
    write_tree(faults.apply(STATE, "gpu:3", "gpu_missing"), tree)
    after = set(look(tree, "lspci", "-D").splitlines())
    assert [line.split()[0] for line in before - after] == [gpu]
    assert not after - before


def test_acs_is_switched_on_at_ports_only(tree: Path) -> None:
    assert "ACSCtl:\tSrcValid+" not in look(tree, "lspci", "-vvv")
    write_tree(faults.apply(STATE, "node", "acs_on"), tree)
    listing = look(tree, "lspci", "-D", "-vvv")
    with_acs = [part for part in listing.split("\n\n") if "ACSCtl:\tSrcValid+" in part]
    assert with_acs
    assert all("bridge" in part.splitlines()[0].lower() for part in with_acs)


def test_another_kernel_changes_the_release_only(tree: Path) -> None:
    listing = look(tree, "lspci", "-vvv")
    release = (tree / "osrelease").read_text()
    write_tree(faults.apply(STATE, "node", "kernel_other"), tree)
    assert (tree / "osrelease").read_text() != release
    assert look(tree, "lspci", "-vvv") == listing
