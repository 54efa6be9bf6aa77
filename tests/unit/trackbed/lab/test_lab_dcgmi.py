"""The stand-in dcgmi: its tables in DCGM 4's form, and how faults show in them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from smi_node import SmiNode

from trackbed.lab import faults
from trackbed.lab.state import NodeState

VERSION, DRIVER = "4.6.0", "580.126.09"


class Node(SmiNode):
    """A node with a host engine, GPUs in persistence mode and a fabric that is complete."""

    def up(self, *planted: tuple[str, str], persistence: bool = True) -> None:
        state = NodeState("gpu-001", "h100-sxm")
        for target, kind in planted:
            state = faults.apply(state, target, kind)
        document = self.state(state)
        self.driver(DRIVER, DRIVER)
        own = {"persistence": persistence}
        gpus = {gpu["uuid"]: own for gpu in document["gpus"]}
        self.settings({"fabric": {"state": "Completed"}, "gpus": gpus})
        self.write("run/nvhostengine.pid", f"{os.getpid()}\n")

    def dcgmi(self, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
        from standins.dcgmi.main import main  # type: ignore[import-not-found]  # noqa: PLC0415

        capsys.readouterr()
        code: int = main(VERSION, list(words))
        return code, capsys.readouterr().out


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    return Node(tmp_path, monkeypatch)


def results(text: str) -> dict[str, dict[int, Any]]:
    found = json.loads(text)["DCGM Diagnostic"]["test_categories"]
    return {
        test["name"]: {one["entity_id"]: one for one in test["results"]}
        for category in found
        for test in category["tests"]
    }


def test_a_healthy_node_passes_all_levels(node: Node, capsys: pytest.CaptureFixture[str]) -> None:
    node.up()
    tests = {"1": 1, "2": 3, "3": 7}
    for level, count in tests.items():
        code, said = node.dcgmi(capsys, "diag", "-r", level, "-j")
        assert code == 0
        found = results(said)
        assert len(found) == count
        assert all(one["status"] == "Pass" for gpus in found.values() for one in gpus.values())
    document = json.loads(said)
    assert document["metadata"] == {"version": VERSION, "Driver Version Detected": DRIVER}
    assert [one["entity_id"] for one in document["entity_groups"][0]["entities"]] == list(range(8))


def test_the_table_of_dcgm_4(node: Node, capsys: pytest.CaptureFixture[str]) -> None:
    node.up()
    code, said = node.dcgmi(capsys, "diag", "-r", "2")
    lines = said.splitlines()
    assert code == 0
    assert {len(line) for line in lines[1:]} == {78}
    assert "| GPU Device IDs Detected   | 2330, 2330, 2330, 2330, 2330, 2330, 2330, 2330 |" in lines
    titles = [line.split("  ")[1] for line in lines if "-----  " in line]
    assert titles == ["Metadata", "Deployment", "Hardware", "Integration"]
    assert sum("GPU7: Pass" in line for line in lines) == 3


@pytest.mark.parametrize(
    ("kind", "test", "word"),
    [
        ("ecc_uncorrectable", "memory", "double-bit ECC"),
        ("row_remap_pending", "software", "row remappings are pending"),
        ("row_remap_failure", "software", "row remapping failed"),
        ("pcie_gen4", "pcie", "link generation 4"),
        ("pcie_x8", "pcie", "link width 8"),
        ("nvlink_down", "pcie", "is currently down"),
        ("hbm_slow", "memory_bandwidth", "memory bandwidth"),
        ("thermal_throttle", "targeted_stress", "temperature"),
        ("fabric_in_progress", "software", "In Progress"),
    ],
)
def test_a_fault_fails_its_test_on_its_gpu_alone(
    node: Node, capsys: pytest.CaptureFixture[str], kind: str, test: str, word: str
) -> None:
    node.up(("gpu:5", kind))
    code, said = node.dcgmi(capsys, "diag", "-r", "3", "-j")
    assert code == 226
    found = results(said)[test]
    assert [gpu for gpu, one in found.items() if one["status"] == "Fail"] == [5]
    assert any(word in one["warning"] for one in found[5]["warnings"])
    code, said = node.dcgmi(capsys, "diag", "-r", "3")
    assert code == 226
    assert "| Warning: GPU5             | " in said
    assert "GPU5: Fail" in said


def test_without_persistence_mode_the_software_test_fails(
    node: Node, capsys: pytest.CaptureFixture[str]
) -> None:
    node.up(persistence=False)
    _, said = node.dcgmi(capsys, "diag", "-r", "1", "-j")
    assert all(one["status"] == "Fail" for one in results(said)["software"].values())


def test_a_missing_gpu_is_not_found(node: Node, capsys: pytest.CaptureFixture[str]) -> None:
    node.up(("gpu:2", "gpu_missing"), ("gpu:4", "gpu_off_bus"))
    code, said = node.dcgmi(capsys, "discovery", "-l")
    assert code == 0
    assert said.startswith("6 GPUs found.\n")
    assert "0 NvSwitches found." in said
    assert "0 ConnectX found." in said


def test_switches_are_seen_through_their_library(
    node: Node, capsys: pytest.CaptureFixture[str]
) -> None:
    node.up()
    node.write("usr/lib/x86_64-linux-gnu/libnvidia-nscq.so.2", "")
    assert "4 NvSwitches found." in node.dcgmi(capsys, "discovery", "-l")[1]
    _, said = node.dcgmi(capsys, "nvlink", "-s")
    assert "    physicalId 3:\n" in said
    assert said.split().count("U") == 8 * 18 * 2  # each link from both ends


def test_a_link_that_is_down_shows(node: Node, capsys: pytest.CaptureFixture[str]) -> None:
    node.up(("gpu:5", "nvlink_down"))
    _, said = node.dcgmi(capsys, "nvlink", "-s")
    rows = said.split("    gpuId 5:\n")
    assert " D" in rows[1].splitlines()[0] or rows[1].startswith("        D")
    assert "D " not in rows[0]


def test_health(node: Node, capsys: pytest.CaptureFixture[str]) -> None:
    node.up()
    assert "| Healthy " in node.dcgmi(capsys, "health", "-c")[1]
    node.up(("gpu:5", "ecc_uncorrectable"))
    said = node.dcgmi(capsys, "health", "-c")[1]
    assert "| -> 5                      | Failure" in said
    assert {len(line) for line in said.splitlines()} == {88}


def test_without_a_host_engine_or_a_driver(node: Node, capsys: pytest.CaptureFixture[str]) -> None:
    node.up()
    assert node.dcgmi(capsys, "--version") == (0, f"\ndcgmi  version: {VERSION}\n\n")
    node.driver(DRIVER, None)
    assert node.dcgmi(capsys, "discovery", "-l")[1].startswith("0 GPUs found.\n")
    code, said = node.dcgmi(capsys, "diag", "-r", "1")
    assert (code, "NVML doesn't exist" in said) == (255, True)
    (node.top / "run/nvhostengine.pid").unlink()
    code, said = node.dcgmi(capsys, "discovery", "-l")
    assert code == 235
    assert "Unable to connect to host engine" in said


@pytest.mark.parametrize(
    "words", [["topo"], ["diag"], ["diag", "-r", "4"], ["nvlink", "-e"], ["discovery", "-x"], []]
)
def test_what_is_not_known_is_refused(
    node: Node, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    node.up()
    assert node.dcgmi(capsys, *words)[0] == 255
