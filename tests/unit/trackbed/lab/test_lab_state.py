"""A node's state: what is read is what was written, and nothing unknown is let in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from trackbed.errors import UsageError
from trackbed.lab import faults
from trackbed.lab.hardware import skus
from trackbed.lab.hardware.effects import FAULTS
from trackbed.lab.hardware.plan import healthy_plan, plan_of
from trackbed.lab.state import FaultMark, NodeState

STATE = NodeState("gpu-002", "h100-sxm")


def test_a_state_survives_its_file(tmp_path: Path) -> None:
    state = NodeState(
        "gpu-002",
        "b200",
        "6.8.0-90-generic",
        {"gpu:3": {"max_read_request": 512}},
        (FaultMark("pcie_gen4", "gpu:5"),),
    )
    state.save(tmp_path / "state.yml")
    assert NodeState.load(tmp_path / "state.yml") == state


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ([], "list"),
        ({"schema": 2, "name": "a", "sku": "b"}, "schema 2"),
        ({"schema": 1, "name": "a", "sku": "b", "gpus": 8}, "unknown key gpus"),
        ({"schema": 1, "name": "", "sku": "b"}, "name is ''"),
        ({"schema": 1, "name": "a", "sku": "b", "faults": {"a": 1}}, "dict"),
        ({"schema": 1, "name": "a", "sku": "b", "overrides": {"gpu:1": {"x": 1}}}, "unknown key x"),
        ({"schema": 1, "name": "a", "sku": "b", "overrides": {"node": {"acs_control": -1}}}, "-1"),
    ],
)
def test_a_wrong_state_is_refused(document: Any, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        NodeState.from_dict(document)


def test_an_unreadable_state_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "state.yml").write_text("a: [")
    with pytest.raises(UsageError, match=r"state\.yml cannot be read"):
        NodeState.load(tmp_path / "state.yml")


@pytest.mark.parametrize("sku", sorted(skus()))
def test_every_sku_makes_a_whole_node(sku: str) -> None:
    plan = healthy_plan(NodeState("gpu-001", sku))
    names = plan.names()
    assert sum(name.startswith("gpu:") for name in names) == 8
    addresses = [device.address for device in plan.devices]
    assert len(addresses) == len(set(addresses))


def test_a_fault_twice_is_one_and_clearing_mends() -> None:
    once = faults.apply(STATE, "gpu:5", "pcie_gen4")
    assert faults.apply(once, "gpu:5", "pcie_gen4") == once
    assert faults.clear(once, "gpu:5", "pcie_gen4") == STATE
    assert faults.clear(once, "node") == STATE
    assert faults.clear(STATE, "gpu:5") == STATE


@pytest.mark.parametrize(
    ("target", "kind", "says"),
    [
        ("gpu:9", "pcie_gen4", "gpu:0"),
        ("gpu:5", "no_such_fault", "pcie_gen4"),
        ("gpu:5", "kernel_other", "whole node|takes the node|node"),
        ("node", "pcie_gen4", "gpu:0"),
    ],
)
def test_what_does_not_exist_is_refused_with_what_does(target: str, kind: str, says: str) -> None:
    with pytest.raises(UsageError) as error:
        faults.apply(STATE, target, kind)
    told = f"{error.value.found} {error.value.wanted} {error.value.remedy}"
    assert any(word in told for word in says.split("|"))


def test_a_fault_that_cannot_be_is_refused() -> None:
    with pytest.raises(UsageError, match="Gen4 link by design"):
        faults.apply(NodeState("gpu-001", "a100-sxm"), "gpu:0", "pcie_gen4")
    gone = faults.apply(STATE, "gpu:5", "gpu_missing")
    with pytest.raises(UsageError):
        faults.apply(gone, "gpu:5", "pcie_gen4")


@pytest.mark.parametrize(
    ("text", "parsed"), [("gpu-002", ("gpu-002", "node")), ("gpu-002/gpu:5", ("gpu-002", "gpu:5"))]
)
def test_targets(text: str, parsed: tuple[str, str]) -> None:
    assert faults.parse_target(text) == parsed


@pytest.mark.parametrize("text", ["", "/gpu:5", "gpu-002/"])
def test_wrong_targets(text: str) -> None:
    with pytest.raises(UsageError, match="the target is"):
        faults.parse_target(text)


@pytest.mark.parametrize("kind", sorted(FAULTS))
def test_every_fault_says_what_it_does_and_changes_the_plan(kind: str) -> None:
    fault = FAULTS[kind]
    assert len(fault.effect) > 15
    target = "node" if fault.target == "node" else f"{fault.target}:1"
    assert plan_of(faults.apply(STATE, target, kind)) != healthy_plan(STATE)
