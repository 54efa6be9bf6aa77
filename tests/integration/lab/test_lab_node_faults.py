"""Faults that need a running node, in one lab. Run with `pytest -m lab tests/integration/lab`."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator

import pytest
from test_lab import Labs

pytestmark = pytest.mark.lab
NAME, NODE = "it-f", "gpu-001"


class Node:
    """One node of a lab, to be broken."""

    def __init__(self, labs: Labs) -> None:
        self.labs = labs

    def fault(self, *words: str, code: int = 0) -> None:
        self.labs.call("fault", "--name", NAME, *words, code=code)

    def on(self, command: str) -> str:
        return self.labs.on(NAME, NODE, command)


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    labs = Labs(tmp_path_factory.mktemp("labs"))
    labs.read("up", "--name", NAME, "--nodes", "1")
    yield Node(labs)
    labs.call("down", "--name", NAME)


@pytest.fixture(autouse=True)
def mended(node: Node) -> Iterator[None]:
    yield
    node.fault(NODE, "--clear")


def test_the_kernels_log_is_in_dmesg_and_in_the_journal(node: Node) -> None:
    node.fault(f"{NODE}/gpu:5", "gpu_off_bus")
    for command in ("dmesg -T", "journalctl -k -b -q --no-pager -o short-iso"):
        said = node.on(f"sudo {command}")
        assert "Linux version 6.1.0-50-amd64" in said
        assert "PCIe Bus Error: severity=Uncorrected (Fatal), type=Data Link Layer" in said
    assert "PCIe Bus Error" in node.on("sudo journalctl -k -p err -q")
    node.fault(NODE, "--clear")
    assert node.on("sudo journalctl -k -p err -q") == ""


def test_a_full_disk_can_be_read_but_not_written(node: Node) -> None:
    node.fault(NODE, "disk_full")
    assert "100%" in node.on("df /var")
    assert "full" in node.on("echo x 2>&1 > /var/tmp/x || echo full")
    assert "less" in node.on("dpkg -l less")
    node.fault(NODE, "--clear")
    node.on("echo x > /var/tmp/x")
    assert node.on("mount | grep -c lab-full || true").strip() == "0"


def test_the_clock_is_ahead_for_what_starts(node: Node) -> None:
    node.fault(NODE, "time_skew")
    for command in ("date +%s", "sudo date +%s", "python3 -Ic 'import time; print(time.time())'"):
        assert 120 < float(node.on(command)) - time.time() < 130, command
    node.fault(NODE, "--clear")
    assert abs(float(node.on("date +%s")) - time.time()) < 30


def test_a_package_is_half_configured_until_dpkg_is_asked(node: Node) -> None:
    node.fault(NODE, "dpkg_half_configured")
    assert "only half configured" in node.on("sudo dpkg --audit")
    node.on("sudo dpkg --configure -a")
    assert node.on("sudo dpkg --audit") == ""
    node.fault(NODE, "--clear")
    assert node.on("dpkg-query -W -f '${Status}' less") == "install ok installed"


def test_a_mismatch_needs_a_driver(node: Node) -> None:
    node.fault(NODE, "driver_mismatch", code=1)
    node.on(
        "sudo mkdir -p /sys/module/nvidia; echo 580.126.09 | sudo tee /sys/module/nvidia/version"
    )
    node.fault(NODE, "driver_mismatch")
    assert node.on("cat /sys/module/nvidia/version") == "580.126.08\n"
    node.fault(NODE, "--clear")
    assert node.on("cat /sys/module/nvidia/version") == "580.126.09\n"
    node.on("sudo rm -r /sys/module/nvidia")


def test_nobody_comes_in_while_ssh_is_down(node: Node) -> None:
    node.fault(NODE, "ssh_down")
    with pytest.raises(AssertionError, match="Connection refused"):
        node.on("true")
    refused = ["reboot", "--name", NAME, NODE]
    with pytest.raises(AssertionError, match="ssh_down"):
        node.labs.call(*refused)
    node.fault(NODE, "--clear")
    assert node.on("systemctl is-active ssh") == "active\n"


def test_what_is_broken_is_broken_after_a_boot(node: Node) -> None:
    node.fault(NODE, "disk_full")
    node.labs.call("reboot", "--name", NAME, NODE)
    assert "100%" in node.on("df /var")
    node.fault(NODE, "--clear")
    assert "100%" not in node.on("df /var")


def test_the_list_says_what_each_does() -> None:
    done = subprocess.run(["trackbed", "lab", "faults"], capture_output=True, text=True, check=True)
    assert "nvidia_smi_hangs" in done.stdout
