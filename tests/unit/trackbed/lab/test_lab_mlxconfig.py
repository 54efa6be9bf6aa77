"""The stand-in mlxconfig: what is set holds from the next start of the firmware on."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from nic_node import NicNode

from trackbed.lab.state import NodeState

FIRST, SECOND = "1a:00.0", "mlx5_2"


class Tool:
    """mlxconfig in a node of its own."""

    def __init__(self, node: NicNode, capsys: pytest.CaptureFixture[str]) -> None:
        self.node = node
        self.capsys = capsys

    def __call__(self, *words: str, program: str = "mlxconfig") -> tuple[int, str]:
        return self.node.run(self.capsys, "mlxconfig", program, *words)

    def values(self, name: str, device: str = FIRST) -> list[str]:
        """Return default, current and next value of a setting."""
        code, said = self("-d", device, "-e", "query", name)
        assert code == 0
        line = next(line for line in said.splitlines() if f" {name} " in line)
        return line.lstrip("* ").split()[1:]


@pytest.fixture
def tool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Tool:
    node = NicNode(tmp_path, monkeypatch)
    node.state(NodeState("gpu-001", "h100-sxm"))
    return Tool(node, capsys)


def test_a_setting_holds_after_the_boot(tool: Tool) -> None:
    code, said = tool("-y", "-d", FIRST, "set", "SRIOV_EN=True", "NUM_OF_VFS=0x10")
    assert code == 0
    assert said.endswith("-I- Please reboot machine to load new configurations.\n")
    assert tool.values("NUM_OF_VFS") == ["0", "0", "16"]
    assert tool.values("SRIOV_EN") == ["False(0)", "False(0)", "True(1)"]
    assert tool.values("NUM_OF_VFS", SECOND) == ["0", "0", "0"]
    tool.node.boot()
    assert tool.values("NUM_OF_VFS") == ["0", "16", "16"]
    assert "*" in tool("-d", FIRST, "-e", "query", "NUM_OF_VFS")[1]


def test_a_reset_gives_the_factory_settings_back(tool: Tool) -> None:
    tool("-y", "-d", FIRST, "set", "LINK_TYPE_P1=ETH", "ATS_ENABLED=1")
    tool.node.boot()
    assert tool("-y", "-d", FIRST, "reset", "ATS_ENABLED")[0] == 0
    assert tool.values("ATS_ENABLED") == ["False(0)", "True(1)", "False(0)"]
    assert tool.values("LINK_TYPE_P1") == ["IB(1)", "ETH(2)", "ETH(2)"]
    assert tool("-y", "-d", FIRST, "reset")[0] == 0
    tool.node.boot()
    assert tool.values("LINK_TYPE_P1") == ["IB(1)", "IB(1)", "IB(1)"]


def test_arrays_are_set_by_their_places(tool: Tool) -> None:
    assert tool("-y", "-d", FIRST, "set", "MODULE_SPLIT_M0[2..3]=7")[0] == 0
    said = tool("-d", FIRST, "query", "MODULE_SPLIT_M0[1..3]", "MODULE_SPLIT_M0")[1]
    assert [line.split() for line in said.splitlines() if "SPLIT" in line] == [
        ["MODULE_SPLIT_M0[1]", "0"],
        ["MODULE_SPLIT_M0[2]", "7"],
        ["MODULE_SPLIT_M0[3]", "7"],
        ["MODULE_SPLIT_M0", "Array[0..15]"],
    ]


def test_nothing_is_set_without_a_yes(tool: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", StringIO("n\n"))
    code, said = tool("-d", FIRST, "set", "SRIOV_EN=1")
    assert code == 1
    assert said.endswith("(y/n) [n] : -E- Aborted by user.\n")
    monkeypatch.setattr("sys.stdin", StringIO("no\n"))
    assert tool("-d", FIRST, "reset")[0] == 1
    assert tool.values("SRIOV_EN")[2] == "False(0)"
    monkeypatch.setattr("sys.stdin", StringIO("yes\n"))
    assert tool("-d", FIRST, "set", "SRIOV_EN=1")[0] == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["set", "NO_SUCH=1"], "The Device doesn't support NO_SUCH parameter"),
        (["query", "no_such"], "The Device doesn't support no_such parameter"),
        (["set", "NUM_OF_VFS[1]=1"], "The Device doesn't support NUM_OF_VFS[1] parameter"),
        (["set", "MODULE_SPLIT_M0=1"], "The Device doesn't support MODULE_SPLIT_M0 parameter"),
        (["query", "MODULE_SPLIT_M0[0..16]"], "Index 16 of the parameter MODULE_SPLIT_M0 is out"),
        (["set", "NUM_OF_VFS=128"], "The value is not in the range 0-127"),
        (["set", "SRIOV_EN=2"], "Cannot parse the value"),
        (["set", "LINK_TYPE_P1=FC"], "Cannot parse the value"),
        (["set", "LINK_TYPE_P1=9"], "Cannot parse the value"),
        (["set", "NUM_OF_VFS"], "Invalid configuration argument: NUM_OF_VFS"),
        (["set"], "No configurations to set"),
        (["backup"], "Invalid argument: backup"),
        (["query", "--raw"], "Invalid argument: --raw"),
        ([], "No command found."),
        (["query", "-j"], "Option -j requires an argument."),
    ],
)
def test_what_it_cannot_do_changes_nothing(tool: Tool, words: list[str], says: str) -> None:
    code, said = tool("-y", "-d", FIRST, *words)
    assert code == 3
    assert said.startswith("-E- ")
    assert says in said
    assert not (tool.node.top / "var").exists()


def test_devices_are_those_of_the_vendor(tool: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    assert tool("-d", "ff:00.0", "query") == (3, "-E- Failed to open the device\n")
    assert tool("-d", "/dev/mst/mt4129_pciconf0", "query")[0] == 3
    assert "mst might be stopped" in tool("query")[1]
    assert "Device must be specified" in tool("set", "A=1", program="mstconfig")[1]
    code, said = tool("query", "SRIOV_EN", program="mstconfig")
    assert code == 0
    assert said.count("Device:") == 9
    assert "/sys/bus/pci/devices/0000:1a:00.0/config" in said
    assert tool("-d", "/sys/bus/pci/devices/0000:1a:00.0/config", "query")[0] == 0
    tool.node.write("/dev/mst/mt4129_pciconf1", "")
    assert "Device #1" in tool("query", "SRIOV_EN")[1]
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert tool("-d", FIRST, "query") == (3, "-E- Failed to open the device\n")


def test_a_setting_is_listed_while_it_is_of_use(tool: Tool) -> None:
    assert "MAX_ACC_OUT_READ" not in tool("-d", FIRST, "query")[1]
    tool("-y", "-d", FIRST, "set", "ADVANCED_PCI_SETTINGS=1")
    tool.node.boot()
    assert "MAX_ACC_OUT_READ" in tool("-d", FIRST, "query")[1]


def test_json_goes_to_a_file(tool: Tool, tmp_path: Path) -> None:
    tool("-y", "-d", FIRST, "set", "NUM_OF_VFS=4")
    path = tmp_path / "out.json"
    code, said = tool("-d", FIRST, "-e", "-j", str(path), "query", "NUM_OF_VFS", "SRIOV_EN")
    assert (code, said) == (0, f"Query output saved to {path} successfully\n")
    text = path.read_text(encoding="utf-8")
    assert text.startswith('{\n\t"Device #1" : \n\t{\n\t\t"description" : "')
    told = json.loads(text)["Device #1"]["tlv_configuration"]
    assert told["NUM_OF_VFS"] == {
        "current_value": 0,
        "default_value": 0,
        "modified": True,
        "next_value": 4,
        "read_only": False,
    }
    assert told["SRIOV_EN"]["next_value"] == "False(0)"
