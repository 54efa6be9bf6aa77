"""What a node's kernel says of processors and memory, read by the distribution's own tools."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.trackbed.cluster.plugins.module_utils._readers import lscpu

from trackbed.lab import faults, recipes
from trackbed.lab.hardware import catalogue, processors
from trackbed.lab.hardware.machine import machine_of
from trackbed.lab.hardware.plan import plan_of
from trackbed.lab.state import NodeState

_SPEC = importlib.util.spec_from_file_location(
    "lab_processors", recipes.node("debian12").sources[0] / "processors.py"
)
assert _SPEC is not None
assert _SPEC.loader is not None
node = importlib.util.module_from_spec(_SPEC)
sys.modules["lab_processors"] = node
_SPEC.loader.exec_module(node)


def machine(sku: str, *kinds: str) -> dict[str, Any]:
    state = NodeState("gpu-001", sku)
    for kind in kinds:
        state = faults.apply(state, "node", kind)
    return machine_of(plan_of(state), state)


def root_of(document: dict[str, Any], top: Path) -> Path:
    """Lay the files out as init binds them."""
    node.write(document, top / "made")
    (top / "proc").mkdir()
    (top / "sys/devices/system").mkdir(parents=True)
    for name in ("cpuinfo", "meminfo"):
        shutil.copy(top / "made" / name, top / "proc" / name)
    for name in ("cpu", "node"):
        (top / "made" / name).rename(top / "sys/devices/system" / name)
    return top


@pytest.mark.parametrize(
    ("of", "text"), [([0, 1, 2, 8], "0-2,8"), ([], ""), ([5], "5"), ([1, 2, 4, 5], "1-2,4-5")]
)
def test_lists(of: list[int], text: str) -> None:
    assert node.ranges(tuple(of)) == text
    assert node.numbers(text) == of


@pytest.mark.parametrize(
    ("of", "count", "text"),
    [([0], 4, "1"), ([33], 40, "02,00000000"), ([0, 31], 32, "80000001"), ([], 36, "0,00000000")],
)
def test_masks(of: list[int], count: int, text: str) -> None:
    assert node.mask(tuple(of), count) == text


@pytest.mark.parametrize("sku", sorted(catalogue.skus()))
def test_lscpu_sees_the_servers_processors(sku: str, tmp_path: Path) -> None:
    if shutil.which("lscpu") is None:
        pytest.skip("lscpu is not here")
    document = machine(sku)
    top = root_of(document, tmp_path)
    argv = ["lscpu", "-s", str(top)]
    text = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60).stdout
    parts = document["processors"]
    values = lscpu.read(text)
    seen = values.entities[0].values
    cpus = [number for one in document["numa"] for number in node.numbers(one["cpus"])]
    assert seen["cpu_count"] == len(cpus)
    assert seen["numa_node_count"] == len(document["numa"])
    assert f"Socket(s): {parts['sockets']:>22}" in text or str(parts["sockets"]) in text
    for one in document["numa"]:
        entity = values.entity(f"numa:{one['node']}")
        assert entity is not None
        assert entity.values["cpus"] == one["cpus"]
    instances = {line.split(":")[0] for line in text.splitlines() if line.startswith("L")}
    assert {"L1d cache", "L1i cache", "L2 cache", "L3 cache"} <= {i.strip() for i in instances}


@pytest.mark.parametrize("sku", sorted(catalogue.skus()))
def test_every_processor_of_a_platform_is_known(sku: str) -> None:
    state = NodeState("gpu-001", sku)
    assert plan_of(state).platform.cpu in processors.known()


def test_memory_is_what_the_modules_hold() -> None:
    whole = machine("h100-sxm")
    assert [one["memory_mib"] for one in whole["numa"]] == [1024 * 1024] * 2
    less = machine("h100-sxm", "dimm_missing")
    gone = [
        a["memory_mib"] - b["memory_mib"] for a, b in zip(whole["numa"], less["numa"], strict=True)
    ]
    assert sorted(gone) == [0, 64 * 1024]


def test_meminfo_adds_up(tmp_path: Path) -> None:
    document = machine("h100-sxm")
    node.write(document, tmp_path)
    rows = {}
    for line in (tmp_path / "meminfo").read_text().splitlines():
        name, value, *unit = line.split()
        rows[name.rstrip(":")] = int(value)
        assert unit == ([] if name.startswith("HugePages_") else ["kB"])
    assert 0.98 < rows["MemTotal"] / (2 * 1024**3) < 1
    assert rows["MemFree"] < rows["MemAvailable"] < rows["MemTotal"]
    first = (tmp_path / "node/node0/meminfo").read_text().splitlines()[0].split()
    assert first[:3] == ["Node", "0", "MemTotal:"]
    assert json.loads(json.dumps(document)) == document


def test_distances_grow_with_the_way(tmp_path: Path) -> None:
    node.write(machine("a100-sxm"), tmp_path)
    row = (tmp_path / "node/node0/distance").read_text().split()
    assert row == ["10", "12", "12", "12", "21", "21", "21", "21"]
