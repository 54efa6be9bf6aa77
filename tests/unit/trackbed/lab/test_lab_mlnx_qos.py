"""The stand-in mlnx_qos."""

from __future__ import annotations

from pathlib import Path

import pytest
from nic_node import NicNode

from trackbed.lab.state import NodeState

PORT = "ens40np0"


class Tool:
    """mlnx_qos in a node of its own."""

    def __init__(self, node: NicNode, capsys: pytest.CaptureFixture[str]) -> None:
        self.node = node
        self.capsys = capsys

    def __call__(self, *words: str) -> tuple[int, str]:
        return self.node.run(self.capsys, "mlnx_qos", "mlnx_qos", *words)

    def told(self, *words: str) -> str:
        code, said = self("-i", PORT, *words)
        assert code == 0, said
        return said


@pytest.fixture
def tool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Tool:
    node = NicNode(tmp_path, monkeypatch)
    node.state(NodeState("gpu-001", "h100-sxm"))
    return Tool(node, capsys)


def test_settings_last_until_the_boot(tool: Tool) -> None:
    before = tool.told()
    assert "Priority trust state: pcp\n" in before
    assert tool.told("--trust", "dscp", "--pfc", "0,0,0,1,0,0,0,0") == tool.told()
    after = tool.told()
    assert "Priority trust state: dscp\n" in after
    assert "\tenabled     0   0   0   1   0   0   0   0   \n" in after
    assert "\tbuffer      0   0   0   1   0   0   0   0   \n" in after
    assert tool.told("--trust", "dscp") == after
    tool.node.boot()
    assert tool.told() == before


def test_code_points_are_moved(tool: Tool) -> None:
    said = tool.told("--dscp2prio", "set,26,3")
    assert "Priority trust state: dscp\n" in said
    assert "\tprio:3 dscp:31,30,29,28,27,26,25,24,\n" in said
    said = tool.told("--dscp2prio", "set,48,3", "--dscp2prio", "set,49,3")
    assert "\tprio:3 dscp:49,48,31,30,29,28,27,26,\n\tprio:3 dscp:25,24,\n" in said
    said = tool.told("--dscp2prio", "del,48,3")
    assert "\tprio:0 dscp:48,07,06,05,04,03,02,01,\n\tprio:0 dscp:00,\n" in said
    assert "Priority trust state: pcp" in tool.told("--dscp2prio", "flush")
    assert "dscp:31,30,29,28,27,26,25,24,\n" in tool.told("--trust", "dscp")


def test_classes_share_the_port(tool: Tool) -> None:
    ets = ("--tsa", "ets,ets,strict,strict,strict,strict,strict,vendor")
    said = tool.told(*ets, "--tcbw", "10,90,0,0,0,0,0,0", "-r", "0,25,0,0,0,0,0,0")
    assert "tc: 0 ratelimit: unlimited, tsa: ets, bw: 10%\n" in said
    assert "tc: 1 ratelimit: 25.0 Gbps, tsa: ets, bw: 90%\n" in said
    assert "tc: 2 ratelimit: unlimited, tsa: strict\n" in said
    said = tool.told("-p", "0,0,0,1,1,1,1,1")
    assert "tc: 2" not in said
    assert "tc: 1 ratelimit: 25.0 Gbps, tsa: ets, bw: 90%\n\t priority:  3\n" in said
    assert "tc: 7 ratelimit: unlimited, tsa: vendor\n" in tool.told("-a")


def test_buffers_cable_and_mode(tool: Tool) -> None:
    said = tool.told(
        "--prio2buffer", "0,0,2,0,0,0,0,0", "--cable_len", "30", "-d", "fw",
        "--buffer_size", "20016,156096,0,0,0,0,0,0",
    )  # fmt: skip
    assert "Receive buffer size (bytes): 20016,156096,0,0,0,0,0,0,max_buffer_size=" in said
    assert "Cable len: 30\n" in said
    assert "DCBX mode: Firmware controlled\n" in said
    assert "\tbuffer      0   0   2   0   0   0   0   0   \n" in said
    assert "DCBX mode: OS controlled\n" in tool.told("-d", "os")
    assert "DCBX mode: OS controlled\n" in tool.told("-d", "get")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "Interface name is required"),
        (["-i", PORT, "more"], "Bad arguments"),
        (["-i", "eth0"], "Netlink error: No such device."),
        (["-i", PORT, "--pfc", "0,0,0,2,0,0,0,0"], "2 is not in the range 0..1"),
        (["-i", PORT, "--pfc", "1,1"], "pfc list must have 8 items"),
        (["-i", PORT, "--pfc", "1,1,1,1,1,1,1,1,1"], "Too many items for PFC"),
        (["-i", PORT, "--pfc", "a,1,1,1,1,1,1,1"], "Bad value for PFC"),
        (["-i", PORT, "--trust", "both"], "Invalid trust state command."),
        (["-i", PORT, "--trust", "pcp", "--dscp2prio", "flush"], "at the same time"),
        (["-i", PORT, "--dscp2prio", "set,64,1"], "Invalid dscp2prio command."),
        (["-i", PORT, "--dscp2prio", "put,1,1"], "Invalid dscp2prio command."),
        (["-i", PORT, "-d", "on"], "Invalid dcbx mode command."),
        (["-i", PORT, "--tsa", "ets,ets,ets,ets,ets,ets,ets,wrr"], "Bad TSA value"),
        (["-i", PORT, "--tsa", ",".join(["ets"] * 8)], "Netlink error: Bad value."),
        (["-i", PORT, "--tcbw", "100,0,0,0,0,0,0,0"], "ETS BW for a strict/vendor TC"),
    ],
)
def test_what_is_wrong_changes_nothing(tool: Tool, words: list[str], says: str) -> None:
    before = tool.told()
    code, said = tool(*words)
    assert code == 1
    assert says in said
    assert tool.told() == before


def test_everybody_may_look_and_root_may_change(
    tool: Tool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    tool.told()
    assert "Operation not permitted" in tool("-i", PORT, "--trust", "dscp")[1]
