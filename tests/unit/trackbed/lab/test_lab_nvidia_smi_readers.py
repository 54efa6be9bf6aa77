"""What the stand-in nvidia-smi prints, the product's own readers read as the machine has it.

The two share no code: this is the place where they meet, and it is in a test alone.
"""

from __future__ import annotations

import ast
import importlib
from pathlib import Path
from typing import Any

import pytest
from smi_node import STANDINS, SmiNode

from trackbed.lab.hardware import skus
from trackbed.lab.state import NodeState

READERS = "ansible_collections.trackbed.cluster.plugins.module_utils._readers"
DRIVERS = ("535.161.08", "550.90.07", "570.148.08", "580.126.09", "595.71.05", "610.57.04")


def read(kind: str, text: str) -> Any:
    reading = importlib.import_module(f"{READERS}.{kind}").read(text)
    assert reading.quality == "ok", reading.problems
    return {entity.path: entity for entity in reading.entities}


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SmiNode:
    made = SmiNode(tmp_path, monkeypatch)
    made.settings({"fabric": {"state": "Completed", "status": "Success"}})
    return made


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("sku", skus())
@pytest.mark.parametrize("kind", ["xml", "q"])
def test_the_whole_state(
    node: SmiNode, capsys: pytest.CaptureFixture[str], sku: str, driver: str, kind: str
) -> None:
    document = node.state(NodeState("gpu-001", sku))
    node.driver(driver, driver)
    words = ["-q", "-x"] if kind == "xml" else ["-q"]
    found = read(f"nvidia_smi_{kind}", node.run(capsys, *words)[1])
    assert found[""].values["attached_gpus"] == 8
    assert found[""].values["driver_version"] == driver
    for gpu in document["gpus"]:
        entity = found[f"gpu:{gpu['index']}"]
        assert entity.ids["uuid"] == gpu["uuid"]
        assert entity.ids["serial"] == gpu["serial"]
        assert entity.ids["pci"] == gpu["pci"]
        values = entity.values
        assert values["name"] == gpu["name"]
        assert values["vbios_version"] == gpu["vbios"]
        assert values["pcie_gen"] == gpu["pcie"]["gen"]
        assert values["pcie_width"] == gpu["pcie"]["width"]
        assert values["temperature_c"] == gpu["temperature"]["gpu_c"]
        assert values["temperature_margin_c"] == gpu["temperature"]["tlimit_c"]
        assert values["memory_total_mib"] == gpu["memory"]["total_mib"]
        assert values["power_limit_w"] == gpu["power"]["default_w"]
        assert values["remap_pending"] is False
        fabric = "completed" if gpu["fabric"]["supported"] else None
        assert values["fabric_state"] == fabric


@pytest.mark.parametrize("driver", DRIVERS)
def test_lists_matrices_links_and_the_table(
    node: SmiNode, capsys: pytest.CaptureFixture[str], driver: str
) -> None:
    document = node.state(NodeState("gpu-001", "h100-sxm"))
    node.driver(driver, driver)
    listed = read("nvidia_smi_list", node.run(capsys, "-L")[1])
    links = read("nvidia_smi_nvlink", node.run(capsys, "nvlink", "-s")[1])
    matrix = read("nvidia_smi_topo", node.run(capsys, "topo", "-m")[1])
    table = read("nvidia_smi_table", node.run(capsys)[1])
    for gpu in document["gpus"]:
        path = f"gpu:{gpu['index']}"
        assert listed[path].ids["uuid"] == gpu["uuid"]
        assert links[path].ids["uuid"] == gpu["uuid"]
        assert sum(one.startswith(f"{path}/nvlink:") for one in links) == 18
        assert path in matrix
        assert table[path].ids["pci"] == gpu["pci"]
    errors = read("nvidia_smi_nvlink", node.run(capsys, "nvlink", "-e")[1])
    assert sum(one.startswith("gpu:7/nvlink:") for one in errors) == 18
    version = read("nvidia_smi_version", node.run(capsys, "--version")[1])
    assert driver in version[""].values.values()


def test_values_separated_by_commas(node: SmiNode, capsys: pytest.CaptureFixture[str]) -> None:
    document = node.state(NodeState("gpu-001", "b200"))
    node.driver("580.126.09", "580.126.09")
    fields = "index,uuid,serial,temperature.gpu,power.limit"
    said = node.run(capsys, f"--query-gpu={fields}", "--format=csv")[1]
    found = read("nvidia_smi_query_csv", said)
    for gpu in document["gpus"]:
        assert found[f"gpu:{gpu['index']}"].ids["uuid"] == gpu["uuid"]


def test_stand_ins_import_nothing_of_ours() -> None:
    """Standard library and each other alone: no reader, no part of the product."""
    for path in STANDINS.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for item in ast.walk(tree):
            names = [alias.name for alias in item.names] if isinstance(item, ast.Import) else []
            if isinstance(item, ast.ImportFrom) and not item.level:
                names = [item.module or ""]
            for name in names:
                assert not name.startswith(("trackbed", "ansible", "yaml")), f"{path}: {name}"
