"""machine.json: what the stand-ins know of a node, made from its state and from nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from trackbed.errors import UsageError
from trackbed.lab import faults
from trackbed.lab.hardware import change_tree, skus, write_tree
from trackbed.lab.hardware.facts import merged, paths, put
from trackbed.lab.hardware.gpu import gpu_models, link_counters
from trackbed.lab.hardware.machine import machine_json, machine_of
from trackbed.lab.hardware.plan import plan_of
from trackbed.lab.hardware.topology import relation
from trackbed.lab.state import NodeState

STATE = NodeState("gpu-002", "h100-sxm")
DOCS = Path(__file__).resolve().parents[4] / "docs" / "lab.md"


def machine(state: NodeState = STATE) -> dict[str, Any]:
    return machine_of(plan_of(state), state)


def gpu(state: NodeState, name: str) -> dict[str, Any]:
    return next(one for one in machine(state)["gpus"] if one["device"] == name)


@pytest.mark.parametrize("sku", skus())
def test_each_sku_has_eight_gpus_of_its_model(sku: str) -> None:
    found = machine(NodeState("gpu-001", sku))
    assert [one["index"] for one in found["gpus"]] == list(range(8))
    assert [one["device"] for one in found["gpus"]] == [f"gpu:{n}" for n in range(8)]
    part = {one["pci_id"] for one in found["gpus"]}
    assert part == {f"10de:{plan_of(NodeState('x', sku)).find('gpu:0').part.device:04x}"}  # type: ignore[union-attr]
    assert len({one["platform"]["module_id"] for one in found["gpus"]}) == 8


@pytest.mark.parametrize("sku", skus())
def test_identities_are_the_nodes_own_and_readings_are_within_the_model(sku: str) -> None:
    one, other = (machine(NodeState(name, sku))["gpus"] for name in ("gpu-001", "gpu-002"))
    for key in ("uuid", "serial", "pdi"):
        values = [item[key] for item in (*one, *other)]
        assert len(set(values)) == 16
    for item in one:
        model = gpu_models()[plan_of(NodeState("gpu-001", sku)).find(item["device"]).part.key]  # type: ignore[union-attr]
        low, high = model.readings["temperature.gpu_c"]
        assert low <= item["temperature"]["gpu_c"] <= high
        low, high = model.readings["power.draw_w"]
        assert low <= item["power"]["draw_w"] <= high
        if model.tlimit_zero_c is not None:
            margin = item["temperature"]["tlimit_c"]
            assert margin + item["temperature"]["gpu_c"] == model.tlimit_zero_c


def test_equal_states_make_equal_bytes() -> None:
    assert machine_json(machine_of(plan_of(STATE), STATE)) == machine_json(
        machine_of(plan_of(STATE), STATE)
    )


@pytest.mark.parametrize(
    ("kind", "changed"),
    [
        ("pcie_gen4", {"pcie.gen": 4}),
        ("pcie_x8", {"pcie.width": 8}),
        ("gpu_off_bus", {"lost": True}),
    ],
)
def test_a_fault_of_the_bus_shows_on_that_gpu_alone(kind: str, changed: dict[str, Any]) -> None:
    before, after = machine(), machine(faults.apply(STATE, "gpu:5", kind))
    found = {
        f"{one['device']}.{path}"
        for one, other in zip(before["gpus"], after["gpus"], strict=True)
        for path in paths(one)
        if value_at(one, path) != value_at(other, path)
    }
    assert found == {f"gpu:5.{path}" for path in changed} | (
        {"gpu:5.pcie.gen", "gpu:5.pcie.width"} & found if kind == "gpu_off_bus" else set()
    )
    for path, value in changed.items():
        assert value_at(after["gpus"][5], path) == value


def value_at(document: Any, path: str) -> Any:
    for key in path.split("."):
        document = document[int(key)] if isinstance(document, list) else document[key]
    return document


def test_a_missing_gpu_is_gone_and_the_others_keep_what_identifies_them() -> None:
    before, after = machine(), machine(faults.apply(STATE, "gpu:5", "gpu_missing"))
    assert [one["device"] for one in after["gpus"]] == [
        f"gpu:{number}" for number in range(8) if number != 5
    ]
    assert [one["index"] for one in after["gpus"]] == list(range(7))
    assert [one["uuid"] for one in after["gpus"]] == [
        one["uuid"] for one in before["gpus"] if one["device"] != "gpu:5"
    ]


def test_how_gpus_and_nics_are_joined() -> None:
    found = machine()["topology"]
    assert found["gpu:0"]["nic:0"] == "PIX"  # the same switch
    assert found["gpu:0"]["gpu:1"] == "NODE"
    assert found["gpu:0"]["gpu:7"] == "SYS"
    assert found["nic:3"]["gpu:3"] == found["gpu:3"]["nic:3"]
    plan = plan_of(STATE)
    ethernet, vga = (
        next(d for d in plan.devices if d.part.key == key) for key in ("bcm5720", "ast2600")
    )
    assert relation(plan, ethernet, vga) == "PHB"  # two ports of one host bridge
    rome = machine(NodeState("gpu-001", "a100-sxm"))["topology"]
    assert rome["gpu:0"]["gpu:1"] == "PIX"


def test_an_override_names_a_value_by_its_path() -> None:
    facts = {"vbios": "96.00.74.00.0D", "nvlink.links.3.state": "inactive"}
    state = NodeState("gpu-002", "h100-sxm", overrides={"gpu:3": {"facts": facts}})
    assert gpu(state, "gpu:3")["vbios"] == "96.00.74.00.0D"
    assert gpu(state, "gpu:3")["nvlink"]["links"][3]["state"] == "inactive"
    assert gpu(state, "gpu:4") == gpu(STATE, "gpu:4")
    whole = NodeState(
        "gpu-002", "h100-sxm", overrides={"node": {"facts": {"topology.gpu:0.gpu:1": "PIX"}}}
    )
    assert machine(whole)["topology"]["gpu:0"]["gpu:1"] == "PIX"
    assert NodeState.from_dict(state.to_dict()) == state


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"ecc.volatile.dram_uncorected": 1}, "ecc.volatile.dram_uncorrectable"),
        ({"nvlink.links.18.state": "inactive"}, "has no value"),
        ({"temperature.gpu_c": "hot"}, "a value such as"),
        ({"vbios": 96.0}, "in quotes"),
    ],
)
def test_a_wrong_path_or_kind_is_refused_with_what_comes_near(
    facts: dict[str, Any], said: str
) -> None:
    state = NodeState("gpu-002", "h100-sxm", overrides={"gpu:3": {"facts": facts}})
    with pytest.raises(UsageError) as error:
        machine(state)
    assert "gpu-002: gpu:3" in str(error.value)
    assert said in f"{error.value} {error.value.wanted} {error.value.remedy}"


def test_every_item_of_a_list_can_be_named_at_once() -> None:
    links = put(machine()["gpus"][0], {"nvlink.links.*.errors.crc": 2}, "x")["nvlink"]["links"]
    assert [link["errors"]["crc"] for link in links] == [2] * 18


def test_laying_over_replaces_lists_and_goes_into_mappings() -> None:
    assert merged({"a": {"b": 1, "c": [1, 2]}}, {"a": {"c": [3]}, "d": None}) == {
        "a": {"b": 1, "c": [3]},
        "d": None,
    }


def test_the_file_is_written_and_a_fault_changes_it_at_once(tmp_path: Path) -> None:
    write_tree(STATE, tmp_path)
    assert json.loads((tmp_path / "machine.json").read_text()) == machine()
    inode = (tmp_path / "machine.json").stat().st_ino
    write_tree(STATE, tmp_path)
    assert (tmp_path / "machine.json").stat().st_ino == inode
    after = faults.apply(STATE, "gpu:5", "pcie_x8")
    change_tree(STATE, after, tmp_path)
    assert json.loads((tmp_path / "machine.json").read_text()) == machine(after)
    assert not list(tmp_path.glob("*.new"))


def test_models_hold_all_that_a_gpu_must_have() -> None:
    """A model without a SKU of its own yet has the same values as the others."""
    listed = {
        key: {path for path in paths(model.facts) if not path.startswith("clocks.supported.")}
        for key, model in gpu_models().items()
    }
    assert set(listed) >= {"h100_sxm", "h200_sxm", "b200", "a100_sxm_80", "gb200"}
    for key, found in listed.items():
        assert found == listed["h100_sxm"], key


def test_links_are_shared_out_among_the_switches() -> None:
    found = machine()
    remotes = [link["remote"] for link in found["gpus"][0]["nvlink"]["links"]]
    assert set(remotes) == {one["device"] for one in found["nvswitches"]}
    blackwell = machine(NodeState("gpu-001", "b200"))["gpus"][0]["nvlink"]
    assert blackwell["links"][0]["remote"] is None  # the switches are not on the bus
    assert set(blackwell["links"][0]["errors"]) == set(link_counters("blackwell"))


def test_the_layout_is_documented() -> None:
    """Each key of the document, and of a GPU, stands in docs/lab.md."""
    text = DOCS.read_text(encoding="utf-8").partition("## machine.json")[2]
    found = machine()
    for key in (*found, *found["gpus"][0], *found["nics"][0]):
        assert f"`{key}`" in text, key
