"""What the stand-ins for adapters and the BMC print, the product's own readers understand.

The two share no code: this is the place where they meet, and it is in a test alone.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest
from nic_node import NicNode

from trackbed.lab.hardware import skus
from trackbed.lab.state import NodeState

READERS = "ansible_collections.trackbed.cluster.plugins.module_utils._readers"


def read(kind: str, text: str) -> dict[str, Any]:
    reading = importlib.import_module(f"{READERS}.{kind}").read(text)
    assert reading.quality == "ok", reading.problems
    return {entity.path: entity.values for entity in reading.entities}


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> NicNode:
    made = NicNode(tmp_path, monkeypatch)
    made.write("usr/share/mft/version", "4.34.1-10\n")
    return made


@pytest.mark.parametrize("sku", skus())
def test_adapters(node: NicNode, capsys: pytest.CaptureFixture[str], sku: str) -> None:
    machine = node.state(NodeState("gpu-001", sku))
    for nic in machine["nics"]:
        if not nic["settings"]:
            continue
        device = nic["pci"].partition(":")[2]
        words = ("-d", device, "-e", "query")
        (told,) = read("mlxconfig", node.run(capsys, "mlxconfig", "mlxconfig", *words)[1]).values()
        assert told["device_type"] == nic["image"]["device_type"]
        assert told["current"]["NUM_OF_VFS"] == told["default"]["NUM_OF_VFS"]
        assert told["pending"] == []
        said = (
            f"# flint -d {device} q full\n"
            + node.run(capsys, "flint", "flint", "-d", device, "q", "full")[1]
        )
        (told,) = read("flint_query", said).values()
        assert told["psid"] == nic["psid"]
        for words in (("-m", "-c"), ("-m", "-c", "--json")):
            said = node.run(capsys, "mlxlink", "mlxlink", "-d", nic["name"], *words)[1]
            found = read("mlxlink", said)
            port = next(values for values in found.values() if "physical_state" in values)
            assert port["state"] == nic["link"]["state"]
            assert port["raw_errors_per_lane"] == nic["counters"]["raw_errors"]
        if nic["interface"]:
            said = node.run(capsys, "mlnx_qos", "mlnx_qos", "-i", nic["interface"])[1]
            assert any(values.get("trust") == "pcp" for values in read("mlnx_qos", said).values())


@pytest.mark.parametrize("sku", skus())
def test_all_adapters_in_one_list(
    node: NicNode, capsys: pytest.CaptureFixture[str], sku: str
) -> None:
    machine = node.state(NodeState("gpu-001", sku))
    node.run(capsys, "mst", "mst", "start")
    told = read("mlxfwmanager", node.run(capsys, "mlxfwmanager", "mlxfwmanager", "--query")[1])
    psids = sorted(values["psid"] for values in told.values() if "psid" in values)
    assert psids == sorted(nic["psid"] for nic in machine["nics"] if nic["settings"])


@pytest.mark.parametrize("sku", skus())
def test_the_bmc(node: NicNode, capsys: pytest.CaptureFixture[str], sku: str) -> None:
    machine = node.state(NodeState("gpu-001", sku))
    sensors = machine["bmc"]["sensors"]
    for words in (("sdr",), ("sdr", "elist"), ("sensor",)):
        found = read("ipmitool_sdr", node.run(capsys, "ipmitool", "ipmitool", *words)[1])
        rows = [values for path, values in found.items() if path]
        assert len(rows) == len(sensors)
    found = read("ipmitool_mc", node.run(capsys, "ipmitool", "ipmitool", "mc", "info")[1])
    assert any("1.06" in map(str, values.values()) for values in found.values())
    events = read("ipmitool_sel", node.run(capsys, "ipmitool", "ipmitool", "sel", "list")[1])
    assert len([path for path in events if path]) == len(machine["bmc"]["events"])
