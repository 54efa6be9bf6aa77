"""The BMC in machine.json, and the stand-in ipmitool."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from nic_node import NicNode

from trackbed.lab.hardware.bmc import controller
from trackbed.lab.hardware.machine import machine_of
from trackbed.lab.hardware.plan import plan_of
from trackbed.lab.hardware.smbios import identity
from trackbed.lab.state import FaultMark, NodeState

STATE = NodeState("gpu-001", "h100-sxm")


class Tool:
    """ipmitool in a node of its own."""

    def __init__(self, node: NicNode, capsys: pytest.CaptureFixture[str]) -> None:
        self.node = node
        self.capsys = capsys

    def __call__(self, *words: str) -> tuple[int, str]:
        return self.node.run(self.capsys, "ipmitool", "ipmitool", *words)

    def rows(self, *words: str) -> dict[str, list[str]]:
        code, said = self(*words)
        assert code == 0
        cells = [[cell.strip() for cell in line.split("|")] for line in said.splitlines()]
        return {first: rest for first, *rest in cells}


@pytest.fixture
def tool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Tool:
    node = NicNode(tmp_path, monkeypatch)
    node.state(STATE)
    return Tool(node, capsys)


def bmc(state: NodeState) -> dict[str, Any]:
    found: dict[str, Any] = machine_of(plan_of(state), state)["bmc"]
    return found


def test_sensors_tell_what_the_other_tools_tell() -> None:
    machine = machine_of(plan_of(STATE), STATE)
    sensors = {sensor["name"]: sensor for sensor in machine["bmc"]["sensors"]}
    assert len(sensors) == len(machine["bmc"]["sensors"]) < 256
    assert all(len(name) <= 16 for name in sensors)
    for number, gpu in enumerate(machine["gpus"], 1):
        assert sensors[f"GPU{number} Temp"]["reading"] == gpu["temperature"]["gpu_c"]
    shares = [sensors[f"PSU{number} Power"]["reading"] for number in range(1, 7)]
    assert sum(shares) == pytest.approx(sensors["Total Power"]["reading"], abs=6)


def test_faults_show_in_sensors() -> None:
    gone = NodeState("gpu-001", "h100-sxm", faults=(FaultMark("gpu_off_bus", "gpu:3"),))
    names = {sensor["name"]: sensor["reading"] for sensor in bmc(gone)["sensors"]}
    assert names.get("GPU4 Temp") is None
    assert names["GPU5 Temp"] is not None
    short = NodeState("gpu-001", "h100-sxm", faults=(FaultMark("dimm_missing", "node"),))
    dimms = [s["name"] for s in bmc(short)["sensors"] if "DIMM" in s["name"]]
    assert len(dimms) == len([n for n in names if "DIMM" in n]) - 1


def test_a_repository_in_its_three_forms(tool: Tool) -> None:
    plain, long, limits = tool.rows("sdr"), tool.rows("sdr", "elist"), tool.rows("sensor")
    assert list(plain) == list(long) == list(limits)
    value, state = plain["12V"]
    assert value.endswith(" Volts")
    assert state == "ok"
    number, _state, entity, said = long["PSU1 Status"]
    assert number.endswith("h")
    assert (entity, said) == ("10.1", "Presence detected")
    assert plain["PSU1 Status"] == ["0x01", "ok"]
    assert limits["PSU1 Status"][:3] == ["0x1", "discrete", "0x0100"]
    assert limits["Chassis Intru"][:3] == ["0x0", "discrete", "0x0000"]
    assert long["Chassis Intru"][3] == ""
    assert limits["FAN1"][3:] == ["700.000", "1000.000", "1400.000", "na", "na", "na"]
    assert tool("sdr", "list") == tool("sdr")
    assert set(tool.rows("sdr", "type", "fan")) == {f"FAN{n}" for n in range(1, 11)}
    assert "PSU2 Status" in tool.rows("sdr", "type", "Power", "Supply")


@pytest.mark.parametrize(
    ("reading", "status"),
    [(6000, "ok"), (1400, "nc"), (900, "cr"), (0, "nr"), (None, "ns")],
)
def test_a_reading_is_held_against_its_limits(tool: Tool, reading: int | None, status: str) -> None:
    at = next(n for n, s in enumerate(bmc(STATE)["sensors"]) if s["name"] == "FAN1")
    facts = {f"bmc.sensors.{at}.reading": reading}
    tool.node.state(NodeState("gpu-001", "h100-sxm", overrides={"node": {"facts": facts}}))
    assert tool.rows("sdr")["FAN1"][1] == status
    assert tool.rows("sdr", "elist")["FAN1"][1] == status
    if reading is None:
        assert tool.rows("sdr")["FAN1"][0] == "no reading"
        assert tool.rows("sensor")["FAN1"][:3] == ["na", "RPM", "na"]


def test_heat_is_held_against_upper_limits(tool: Tool) -> None:
    facts = {"temperature.gpu_c": 88}
    tool.node.state(NodeState("gpu-001", "h100-sxm", overrides={"gpu:2": {"facts": facts}}))
    assert tool.rows("sdr")["GPU3 Temp"] == ["88 degrees C", "cr"]


def test_the_event_log_is_cleared_for_good(tool: Tool) -> None:
    code, said = tool("sel", "list")
    assert code == 0
    assert said.splitlines()[0].startswith("   1 | 03/19/2026 | 09:12:41 | Event Logging Disabled")
    assert "Event Logging Disabled SEL |" in tool("sel", "elist")[1]
    assert tool("sel", "clear")[1].startswith("Clearing SEL.")
    tool.node.boot()
    assert tool("sel", "list") == (0, "")


def test_it_knows_the_server(tool: Tool) -> None:
    assert tool("-V") == (0, "ipmitool version unknown\n")
    tool.node.write("var/lib/dpkg/status", "Package: ipmitool\nVersion: 1.8.19-4+deb12u2\n")
    assert tool("-V") == (0, "ipmitool version 1.8.19\n")
    said = tool("fru")[1]
    assert f" Product Serial        : {identity(plan_of(STATE))['product_serial']}\n" in said
    assert "Manufacturer ID           : 20974\n" in tool("-I", "open", "mc", "info")[1]
    assert tool("chassis", "power", "status") == tool("power", "status")
    assert tool("power", "status")[1] == "Chassis Power is on\n"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["-H", "bmc-001", "mc", "info"], "this server's BMC alone"),
        (["-I", "lanplus", "mc", "info"], "this server's BMC alone"),
        ([], "No command provided!"),
        (["sol", "activate"], "Invalid command: sol"),
        (["sel", "delete", "1"], "Invalid command: delete 1"),
    ],
)
def test_it_refuses(tool: Tool, words: list[str], says: str) -> None:
    code, said = tool(*words)
    assert code == 1
    assert says in said


def test_it_is_for_root(tool: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    code, said = tool("sdr")
    assert code == 1
    assert said.startswith("Could not open device at /dev/ipmi0")


def test_a_server_that_the_data_do_not_name_has_fans_and_supplies() -> None:
    plan = plan_of(STATE)
    other = replace(plan, platform=replace(plan.platform, product="TL-2U-X"))
    names = {sensor["name"] for sensor in controller(other, [], [])["sensors"]}
    assert {"FAN6", "PSU4 Status"} <= names
    assert "FAN7" not in names
