"""The stand-in mlxlink."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from nic_node import NicNode

from trackbed.lab.state import FaultMark, NodeState

NONE = "N/A"


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> NicNode:
    made = NicNode(tmp_path, monkeypatch)
    made.state(NodeState("gpu-001", "h100-sxm"))
    made.write("usr/share/mft/version", "4.34.1-10\n")
    return made


def sections(said: str) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    lines = said.splitlines()
    for above, line in zip(["", *lines], lines, strict=False):
        if line and set(line) == {"-"}:
            assert len(line) == len(above)
            found[above] = {}
        elif " : " in line:
            label, _, value = line.partition(" : ")
            found[list(found)[-1]][label.rstrip()] = value
    return found


def test_it_tells_of_the_port(node: NicNode, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = node.run(capsys, "mlxlink", "mlxlink", "-d", "mlx5_0", "-p", "1")
    assert code == 0
    found = sections(said)
    assert list(found) == [
        "Operational Info",
        "Supported Info",
        "Troubleshooting Info",
        "Tool Information",
    ]
    assert found["Operational Info"]["Speed"] == "IB-NDR"
    assert found["Operational Info"]["Width"] == "4x"
    assert found["Supported Info"]["Enabled Link Speed"] == "0x000000f1 (NDR,HDR,EDR,FDR,SDR)"
    assert found["Troubleshooting Info"]["Recommendation"] == "No issue was observed"
    assert found["Tool Information"]["MFT Version"] == "mft 4.34.1-10"
    assert found["Tool Information"]["amBER Version"] == "4.8"
    line = next(line for line in said.splitlines() if line.startswith("Speed "))
    assert line.index(":") == 35


def test_errors_and_module_are_told_when_asked(
    node: NicNode, capsys: pytest.CaptureFixture[str]
) -> None:
    found = sections(node.run(capsys, "mlxlink", "mlxlink", "-d", "1a:00.0", "-m", "-c")[1])
    counters = found["Physical Counters and BER Info"]
    assert counters["Effective Physical BER"] == "15E-255"
    assert len(counters["Raw Physical Errors Per Lane"].split(",")) == 4
    assert found["Module Info"]["Vendor Part Number"] == "MCP7Y00-N002"
    assert found["Module Info"]["Temperature [C]"] == NONE


def test_ethernet_has_words_of_its_own(node: NicNode, capsys: pytest.CaptureFixture[str]) -> None:
    found = sections(node.run(capsys, "mlxlink", "mlxlink", "-d", "mlx5_1", "-c")[1])
    assert found["Operational Info"]["Speed"] == "100G"
    assert "Enabled Link Speed (Ext.)" in found["Supported Info"]
    assert "Symbol Errors" not in found["Physical Counters and BER Info"]


def test_faults_show(node: NicNode, capsys: pytest.CaptureFixture[str]) -> None:
    marks = (FaultMark("ib_half_rate", "nic:0"), FaultMark("ib_link_down", "nic:1"))
    node.state(NodeState("gpu-001", "h100-sxm", faults=marks))
    half = sections(node.run(capsys, "mlxlink", "mlxlink", "-d", "mlx5_0")[1])
    assert half["Operational Info"]["Width"] == "2x"
    down = sections(node.run(capsys, "mlxlink", "mlxlink", "-d", "mlx5_2", "-c")[1])
    assert down["Operational Info"]["State"] != "Active"
    assert down["Operational Info"]["Speed"] == NONE
    assert down["Physical Counters and BER Info"]["Raw Physical Errors Per Lane"] == NONE
    assert down["Troubleshooting Info"]["Status Opcode"] == "1"


def test_the_signal_of_each_lane(node: NicNode, capsys: pytest.CaptureFixture[str]) -> None:
    said = node.run(capsys, "mlxlink", "mlxlink", "-d", "mlx5_0", "-e")[1]
    eye = sections(said)["EYE Opening Info"]
    assert eye["Lane"] == "     0,     1,     2,     3"
    assert {"Initial FOM", "Last FOM", "Upper Grades", "Mid Grades", "Lower Grades"} < set(eye)
    assert all(88 <= int(value) <= 112 for value in eye["Initial FOM"].split(","))
    older = sections(node.run(capsys, "mlxlink", "mlxlink", "-d", "mlx5_1", "-e")[1])
    assert list(older["EYE Opening Info"]) == [
        "Physical Grade",
        "Height Eye Opening [mV]",
        "Phase  Eye Opening [psec]",
    ]
    told = json.loads(node.run(capsys, "mlxlink", "mlxlink", "-d", "mlx5_0", "-e", "--json")[1])
    lanes = told["result"]["output"]["EYE Opening Info"]["Lane"]
    assert lanes == {"values": ["0", "1", "2", "3"]}


def test_without_a_link_there_is_no_signal(
    node: NicNode, capsys: pytest.CaptureFixture[str]
) -> None:
    marks = (FaultMark("ib_link_down", "nic:0"),)
    node.state(NodeState("gpu-001", "h100-sxm", faults=marks))
    said = node.run(capsys, "mlxlink", "mlxlink", "-d", "mlx5_0", "-e")[1]
    assert set(sections(said)["EYE Opening Info"].values()) == {NONE}


def test_json_says_the_same(node: NicNode, capsys: pytest.CaptureFixture[str]) -> None:
    text = sections(node.run(capsys, "mlxlink", "mlxlink", "-d", "mlx5_0", "-c", "-m")[1])
    said = node.run(capsys, "mlxlink", "mlxlink", "-d", "mlx5_0", "-c", "-m", "--json")[1]
    assert said.startswith('{\n   "result" : {\n      "output" : {\n')
    told = json.loads(said)
    assert told["status"] == {"code": 0, "message": "success"}
    output = told["result"]["output"]
    assert {title: set(values) for title, values in output.items()} == {
        title: set(values) for title, values in text.items()
    }
    assert output["Supported Info"]["Enabled Link Speed"] == {
        "mask": "0x000000f1",
        "values": ["NDR", "HDR", "EDR", "FDR", "SDR"],
    }


def test_mstlink_is_of_mstflint(node: NicNode, capsys: pytest.CaptureFixture[str]) -> None:
    package = "Package: mstflint\nStatus: install ok installed\nVersion: 4.30.0+1-1\n"
    node.write("var/lib/dpkg/status", f"Package: less\nVersion: 5\n\n{package}\n")
    found = sections(node.run(capsys, "mlxlink", "mstlink", "-d", "mlx5_0")[1])
    assert found["Tool Information"] == {
        "Firmware Version": "28.43.1014",
        "amBER Version": "3.6",
        "MSTFLINT Version": "mstflint 4.30.0",
    }


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["-d", "mlx5_77"], "Failed to open device mlx5_77"),
        ([], "Provide device name"),
        (["-d", "mlx5_0", "-p", "2"], "Invalid port number: 2"),
        (["-d", "mlx5_0", "--port_state", "dn"], "Invalid option"),
    ],
)
def test_it_refuses(
    node: NicNode, capsys: pytest.CaptureFixture[str], words: list[str], says: str
) -> None:
    code, said = node.run(capsys, "mlxlink", "mlxlink", *words)
    assert code == 1
    assert said.startswith("\n-E- ")
    assert says in said
    told = json.loads(node.run(capsys, "mlxlink", "mlxlink", "--json", *words)[1])
    assert told["status"]["code"] == 1
    assert says in told["status"]["message"]
