"""The stand-ins flint, mst and mlxfwreset."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from nic_node import NicNode

from trackbed.lab.state import NodeState

DEVICE = "1a:00.0"
MST = "/dev/mst/mt4129_pciconf0"


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> NicNode:
    made = NicNode(tmp_path, monkeypatch)
    made.state(NodeState("gpu-001", "h100-sxm"))
    return made


def test_flint_tells_of_the_image(node: NicNode, capsys: pytest.CaptureFixture[str]) -> None:
    code, short = node.run(capsys, "flint", "mstflint", "-d", DEVICE, "q")
    assert code == 0
    lines = short.splitlines()
    assert lines[:3] == [
        "Image type:            FS4",
        "FW Version:            28.43.1014",
        "FW Release Date:       7.11.2024",
    ]
    assert "PSID:                  MT_0000000838" in lines
    assert lines[-1] == "Security Attributes:   secure-fw"
    full = node.run(capsys, "flint", "flint", "-d", DEVICE, "query", "full")[1]
    assert set(lines) < set(full.splitlines())
    assert "Encryption:            Disabled" in full


def test_flint_tells_of_an_image_that_does_not_run_yet(
    node: NicNode, capsys: pytest.CaptureFixture[str]
) -> None:
    facts = {"image.version": "28.45.1200", "image.rom": []}
    node.state(NodeState("gpu-001", "h100-sxm", overrides={"nic:0": {"facts": facts}}))
    said = node.run(capsys, "flint", "flint", "-d", "mlx5_0", "q")[1]
    assert "FW Version:            28.45.1200\nFW Version(Running):   28.43.1014\n" in said
    assert "Rom Info:              N/A\n" in said


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["-d", "ff:00.0", "q"], "Cannot open Device: ff:00.0. No such file"),
        (["-d", DEVICE], "No command found."),
        (["q"], "a device must be specified"),
        (["-d", DEVICE, "burn"], "Invalid argument: burn"),
    ],
)
def test_flint_refuses(
    node: NicNode, capsys: pytest.CaptureFixture[str], words: list[str], says: str
) -> None:
    code, said = node.run(capsys, "flint", "flint", *words)
    assert code == 1
    assert said.startswith("-E- ")
    assert says in said


def test_flint_is_for_root(
    node: NicNode, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert "Permission denied" in node.run(capsys, "flint", "flint", "-d", DEVICE, "q")[1]
    assert node.run(capsys, "mst", "mst", "start")[0] == 1


def test_mst_makes_the_devices(node: NicNode, capsys: pytest.CaptureFixture[str]) -> None:
    before = node.run(capsys, "mst", "mst", "status")[1]
    assert "MST PCI configuration module is not loaded" in before
    assert "\n1a:00.0\n" in before
    assert node.run(capsys, "flint", "flint", "-d", MST, "q")[0] == 1
    code, said = node.run(capsys, "mst", "mst", "start")
    assert code == 0
    assert "Loading MST PCI configuration module - Success\nCreate devices\n" in said
    assert "already loaded" in node.run(capsys, "mst", "mst", "start")[1]
    assert node.run(capsys, "flint", "flint", "-d", MST, "q")[0] == 0
    after = node.run(capsys, "mst", "mst", "status")[1]
    assert f"{MST}         - PCI configuration cycles access.\n" in after
    assert "domain:bus:dev.fn=0000:1a:00.0 " in after
    table = node.run(capsys, "mst", "mst", "status", "-v")[1].splitlines()
    assert table[6].split() == ["DEVICE_TYPE", "MST", "PCI", "RDMA", "NET", "NUMA"]
    assert table[7].split() == ["ConnectX7(rev:0)", MST, "1a:00.0", "mlx5_0", "0"]
    assert table[9].split()[4] == "net-ens40np0"
    assert node.run(capsys, "mst", "mst", "restart")[0] == 0
    assert "Unloading" in node.run(capsys, "mst", "mst", "stop")[1]
    assert "Unloading" not in node.run(capsys, "mst", "mst", "stop")[1]
    assert "  NA  " in node.run(capsys, "mst", "mst", "status", "-v")[1]
    assert node.run(capsys, "mst", "mst", "cable", "add")[0] == 1


def test_a_firmware_reset_loads_what_was_set(
    node: NicNode, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def current() -> str:
        words = ("-d", DEVICE, "-e", "q", "NUM_OF_VFS")
        said = node.run(capsys, "mlxconfig", "mlxconfig", *words)[1]
        return next(line for line in said.splitlines() if "NUM_OF_VFS" in line).split()[-2]

    node.run(capsys, "mlxconfig", "mlxconfig", "-d", DEVICE, "-y", "set", "NUM_OF_VFS=8")
    monkeypatch.setattr("sys.stdin", StringIO("n\n"))
    assert node.run(capsys, "mlxfwreset", "mlxfwreset", "-d", DEVICE, "reset")[0] == 1
    assert current() == "0"
    code, said = node.run(
        capsys, "mlxfwreset", "mlxfwreset", "-d", DEVICE, "-y", "-l", "4", "reset"
    )
    assert (code, current()) == (0, "0")
    assert "reboot machine" in said
    code, said = node.run(capsys, "mlxfwreset", "mlxfwreset", "-d", DEVICE, "-y", "reset")
    assert code == 0
    assert "-I- Sending Reset Command To Fw             -Done\n" in said
    assert said.endswith("-Skipped\n-I- FW was loaded successfully.\n")
    assert current() == "8"


def test_a_firmware_reset_has_levels(node: NicNode, capsys: pytest.CaptureFixture[str]) -> None:
    said = node.run(capsys, "mlxfwreset", "mlxfwreset", "-d", DEVICE, "query")[1]
    supported = [line for line in said.splitlines() if "-Supported" in line]
    assert [line[0] for line in supported] == ["3", "4", "0", "0", "1"]
    assert supported[0].endswith("-Supported (default)")
    assert node.run(capsys, "mlxfwreset", "mlxfwreset", "-d", DEVICE, "-l", "0", "r")[0] == 1
    assert node.run(capsys, "mlxfwreset", "mlxfwreset", "-d", "mlx5_99", "q")[0] == 1


def test_mlxfwmanager_lists_all_adapters(node: NicNode, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = node.run(capsys, "mlxfwmanager", "mlxfwmanager", "--query")
    assert code == 1
    assert "run 'mst start'" in said
    node.run(capsys, "mst", "mst", "start")
    code, said = node.run(capsys, "mlxfwmanager", "mlxfwmanager")
    assert code == 0
    assert said.startswith("Querying Mellanox devices firmware ...\n\nDevice #1:\n----------\n\n")
    assert said.count("  Status:           No matching image found\n") == 9
    assert f"  PCI Device Name:  {MST}\n" in said
    assert "     FW             28.43.1014     N/A           \n" in said
    assert "     PXE            3.7.0500       N/A           \n" in said
    one = node.run(capsys, "mlxfwmanager", "mlxfwmanager", "-d", DEVICE)[1]
    assert one.count("Device #") == 1
    assert node.run(capsys, "mlxfwmanager", "mlxfwmanager", "-u")[0] == 1


def test_an_image_that_does_not_run_yet_is_told_of_by_mlxfwmanager(
    node: NicNode, capsys: pytest.CaptureFixture[str]
) -> None:
    facts = {"image.version": "28.45.1200"}
    node.state(NodeState("gpu-001", "h100-sxm", overrides={"nic:0": {"facts": facts}}))
    said = node.run(capsys, "mlxfwmanager", "mlxfwmanager", "-d", "mlx5_0")[1]
    assert "     FW             28.45.1200     N/A           \n" in said
    assert "28.43.1014" in said


@pytest.mark.parametrize(
    ("package", "program", "says"),
    [
        ("mlxconfig", "mlxconfig", "mlxconfig, mft 4.34.1-10, built on "),
        ("mlxconfig", "mstconfig", "mstconfig, mstflint 4.21.0, built on "),
        ("flint", "flint", "flint, mft 4.34.1-10, built on "),
        ("mlxlink", "mlxlink", "mlxlink, mft 4.34.1-10, built on "),
        ("mlxfwreset", "mlxfwreset", "mlxfwreset, mft 4.34.1-10, built on "),
        ("mlxfwmanager", "mlxfwmanager", "mlxfwmanager, mft 4.34.1-10, built on "),
        ("mst", "mst", "mst, mft 4.34.1-10, built on "),
    ],
)
def test_programs_say_which_release_they_are(
    node: NicNode,
    capsys: pytest.CaptureFixture[str],
    package: str,
    program: str,
    says: str,
) -> None:
    node.write("usr/share/mft/version", "4.34.1-10\n")
    node.write("var/lib/dpkg/status", "Package: mstflint\nVersion: 4.21.0+1-1\n\n")
    code, said = node.run(capsys, package, program, "--version")
    assert code == 0
    assert said.startswith(says)
