"""What the driver tells of a broken GPU: machine.json and nvidia-smi before and after."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from smi_node import SmiNode

from trackbed.errors import UsageError
from trackbed.lab import faults
from trackbed.lab.hardware import effects_gpu
from trackbed.lab.hardware.facts import paths
from trackbed.lab.hardware.machine import machine_of
from trackbed.lab.hardware.plan import plan_of
from trackbed.lab.hardware.sysfs import tree_of
from trackbed.lab.state import NodeState

STATE = NodeState("gpu-002", "h100-sxm")
DRIVER = "580.126.09"
NEEDS_RESET = {"recovery_action": ("None", "Reset")}

# What of gpu:5 in machine.json is another value, before and after.
FACTS: dict[str, dict[str, tuple[Any, Any]]] = {
    "vbios_old": {"vbios": ("96.00.A5.00.01", "96.00.A4.00.01")},
    "ecc_uncorrectable": {
        **NEEDS_RESET,
        "ecc.volatile.sram_uncorrectable_secded": (0, 1),
        "ecc.aggregate.sram_uncorrectable_secded": (0, 1),
        "ecc.sram_sources.l2": (0, 1),
    },
    "row_remap_pending": {
        "recovery_action": ("None", "Drain and Reset"),
        "ecc.volatile.dram_uncorrectable": (0, 1),
        "ecc.aggregate.dram_uncorrectable": (0, 1),
        "rows.uncorrectable": (0, 1),
        "rows.pending": (False, True),
        "rows.banks.high": (0, 1),
        "rows.banks.max": (2560, 2559),
    },
    "row_remap_failure": {
        **NEEDS_RESET,
        "ecc.volatile.dram_uncorrectable": (0, 1),
        "ecc.aggregate.dram_uncorrectable": (0, 9),
        "rows.uncorrectable": (0, 8),
        "rows.failure": (False, True),
        "rows.banks.none": (0, 1),
        "rows.banks.max": (2560, 2559),
    },
    "thermal_throttle": {
        "temperature.gpu_c": (32, 89),
        "temperature.memory_c": (41, 93),
        "temperature.tlimit_c": (55, -2),
        "events.hw_slowdown": (False, True),
        "events.hw_thermal_slowdown": (False, True),
        "event_counters_us.hw_thermal_slowdown": (0, 86_400_000),
        "clocks.busy.graphics": (1980, 990),
        "clocks.busy.sm": (1980, 990),
    },
    "power_cap_low": {"power.cap_w": (None, 420.0)},
    "nvlink_down": {"nvlink.links.0.state": ("active", "inactive")},
    "fabric_in_progress": {"fabric.state": (None, "In Progress")},
    "persistence_off": {"forced.persistence": (None, False)},
    "mig_on": {"forced.mig": (None, True)},
    "xid_79": {"lost": (False, True), "recovery_action": ("None", "Reboot")},
    "xid_burst": {},
    "hbm_slow": {"memory.bandwidth_percent": (100, 70)},
}
# What nvidia-smi -q no longer says (-), and says instead (+).
SAYS: dict[str, list[str]] = {
    "vbios_old": ["-VBIOS Version : 96.00.A5.00.01", "+VBIOS Version : 96.00.A4.00.01"],
    "ecc_uncorrectable": [
        "-GPU Recovery Action : None",
        "+GPU Recovery Action : Reset",
        *["-SRAM Uncorrectable SEC-DED : 0", "+SRAM Uncorrectable SEC-DED : 1"] * 2,
        "-SRAM L2 : 0",
        "+SRAM L2 : 1",
    ],
    "row_remap_pending": [
        "-GPU Recovery Action : None",
        "+GPU Recovery Action : Drain and Reset",
        *["-DRAM Uncorrectable : 0", "+DRAM Uncorrectable : 1"] * 2,
        "-Uncorrectable Error : 0",
        "+Uncorrectable Error : 1",
        "-Pending : No",
        "+Pending : Yes",
        "-Max : 2560 bank(s)",
        "+Max : 2559 bank(s)",
        "-High : 0 bank(s)",
        "+High : 1 bank(s)",
    ],
    "row_remap_failure": [
        "-GPU Recovery Action : None",
        "+GPU Recovery Action : Reset",
        *["-DRAM Uncorrectable : 0"] * 2,
        "+DRAM Uncorrectable : 1",
        "+DRAM Uncorrectable : 9",
        "-Uncorrectable Error : 0",
        "+Uncorrectable Error : 8",
        "-Remapping Failure Occurred : No",
        "+Remapping Failure Occurred : Yes",
        "-Max : 2560 bank(s)",
        "+Max : 2559 bank(s)",
        "-None : 0 bank(s)",
        "+None : 1 bank(s)",
    ],
    "thermal_throttle": [
        "-HW Slowdown : Not Active",
        "+HW Slowdown : Active",
        "-HW Thermal Slowdown : Not Active",
        "+HW Thermal Slowdown : Active",
        "-HW Thermal Slowdown : 0 us",
        "+HW Thermal Slowdown : 86400000 us",
        "-GPU Current Temp : 32 C",
        "+GPU Current Temp : 89 C",
        "-GPU T.Limit Temp : 55 C",
        "+GPU T.Limit Temp : -2 C",
        "-Memory Current Temp : 41 C",
        "+Memory Current Temp : 93 C",
    ],
    "power_cap_low": ["-Current Power Limit : 700.00 W", "+Current Power Limit : 420.00 W"],
    "nvlink_down": [],
    "fabric_in_progress": [
        "-State : Completed",
        "+State : In Progress",
        "-Status : Success",
        "+Status : N/A",
        "-CliqueId : 0",
        "+CliqueId : N/A",
        "-ClusterUUID : 00000000-0000-0000-0000-000000000000",
        "+ClusterUUID : N/A",
    ],
    "persistence_off": ["-Persistence Mode : Enabled", "+Persistence Mode : Disabled"],
    "mig_on": [
        *["-Current : Disabled", "-Pending : Disabled", "+Current : Enabled", "+Pending : Enabled"],
        *[f"-{what} : 0 %" for what in ("GPU", "Memory", "Encoder", "Decoder", "JPEG", "OFA")],
        *[f"+{what} : N/A" for what in ("GPU", "Memory", "Encoder", "Decoder", "JPEG", "OFA")],
        "-Remapped Rows",
        *["-Correctable Error : 0", "-Uncorrectable Error : 0", "-Pending : No"],
        "-Remapping Failure Occurred : No",
        "-Bank Remap Availability Histogram",
        *["-Max : 2560 bank(s)", "-High : 0 bank(s)", "-Partial : 0 bank(s)"],
        *["-Low : 0 bank(s)", "-None : 0 bank(s)"],
        "+Remapped Rows : N/A",
    ],
    "xid_burst": [],
    "hbm_slow": [],
}


def _differences(before: Any, after: Any) -> Iterator[tuple[str, tuple[Any, Any]]]:
    def value(document: Any, path: str) -> Any:
        for part in path.split("."):
            document = document[int(part)] if isinstance(document, list) else document[part]
        return document

    assert list(paths(before)) == list(paths(after))
    for path in paths(before):
        pair = value(before, path), value(after, path)
        if pair[0] != pair[1] and not isinstance(pair[0], list):
            yield path, pair


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SmiNode:
    node = SmiNode(tmp_path, monkeypatch)
    node.driver(DRIVER, DRIVER)
    gpus = {gpu["uuid"]: {"persistence": True} for gpu in machine_of(plan_of(STATE), STATE)["gpus"]}
    node.settings({"gpus": gpus, "fabric": {"state": "Completed", "status": "Success"}})
    return node


def look(
    node: SmiNode, state: NodeState, capsys: pytest.CaptureFixture[str], *words: str
) -> list[str]:
    node.state(state)
    code, said = node.run(capsys, *words)
    assert code == 0, said
    lines = (" ".join(line.split()) for line in said.splitlines())
    return [line for line in lines if not line.startswith("Timestamp")]


def changes(before: list[str], after: list[str]) -> list[str]:
    old, new = Counter(before), Counter(after)
    gone, come = (old - new).elements(), (new - old).elements()
    return sorted([*(f"-{line}" for line in gone), *(f"+{line}" for line in come)])


def test_the_tables_have_every_fault() -> None:
    assert set(FACTS) == set(effects_gpu.FAULTS)
    assert set(SAYS) == set(FACTS) - {"xid_79"}


@pytest.mark.parametrize("kind", sorted(FACTS))
def test_a_fault_changes_exactly_these_facts_and_no_device(kind: str) -> None:
    after = faults.apply(STATE, "gpu:5", kind)
    healthy, plan = plan_of(STATE), plan_of(after)
    assert tree_of(plan) == tree_of(healthy)
    found = dict(_differences(machine_of(healthy, STATE), machine_of(plan, after)))
    # The BMC measures what the GPU's own sensors tell, and counts no lost GPU's watts.
    bmc = [path for path in found if path.startswith("bmc.sensors.")]
    assert bool(bmc) == (kind in ("thermal_throttle", "xid_79"))
    rest = {path: pair for path, pair in found.items() if path not in bmc}
    assert rest == {f"gpus.5.{path}": pair for path, pair in FACTS[kind].items()}
    again = faults.clear(after, "gpu:5", kind)
    assert again == STATE


@pytest.mark.parametrize("kind", sorted(SAYS))
def test_nvidia_smi_says_exactly_this(
    node: SmiNode, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = look(node, STATE, capsys, "-q")
    after = look(node, faults.apply(STATE, "gpu:5", kind), capsys, "-q")
    assert changes(before, after) == sorted(SAYS[kind])


def test_an_inactive_link_shows_where_links_are_shown(
    node: SmiNode, capsys: pytest.CaptureFixture[str]
) -> None:
    before = look(node, STATE, capsys, "nvlink", "-s")
    after = look(node, faults.apply(STATE, "gpu:5", "nvlink_down"), capsys, "nvlink", "-s")
    assert changes(before, after) == ["+Link 0: <inactive>", "-Link 0: 26.562 GB/s"]


def test_a_gpu_is_lost_for_the_driver_alone(
    node: SmiNode, capsys: pytest.CaptureFixture[str]
) -> None:
    node.state(faults.apply(STATE, "gpu:5", "xid_79"))
    code, said = node.run(capsys, "-q")
    assert code == 15
    assert "GPU 0000:BB:00.0: GPU is lost.  Reboot the system" in said


def test_faults_of_several_gpus_stand_beside_each_other() -> None:
    both = faults.apply(faults.apply(STATE, "gpu:1", "vbios_old"), "gpu:2", "vbios_old")
    plan = plan_of(faults.apply(both, "gpu:1", "power_cap_low"))
    gpus = machine_of(plan, both)["gpus"]
    assert [gpu["vbios"] for gpu in gpus].count("96.00.A4.00.01") == 2
    assert [gpu["power"]["cap_w"] for gpu in gpus] == [None, 420.0, *[None] * 6]


def test_a_gpu_without_a_fabric_state_cannot_be_in_progress() -> None:
    with pytest.raises(UsageError, match="tells of no fabric state"):
        faults.apply(NodeState("gpu-001", "a100-sxm"), "gpu:0", "fabric_in_progress")


def test_another_makers_gpu_has_no_such_fault() -> None:
    plan = plan_of(STATE)
    gpu = plan.find("gpu:0")
    assert gpu is not None
    other = replace(gpu, part=replace(gpu.part, key="mi300x"))
    with pytest.raises(UsageError, match="is no NVIDIA GPU"):
        effects_gpu.FAULTS["vbios_old"].apply(
            plan.with_device(gpu.address, lambda _gpu: other), "gpu:0"
        )


def test_a_limit_in_degrees_is_reached_in_degrees() -> None:
    state = faults.apply(NodeState("gpu-001", "a100-sxm"), "gpu:0", "thermal_throttle")
    temperature = machine_of(plan_of(state), state)["gpus"][0]["temperature"]
    assert (temperature["gpu_c"], temperature["tlimit_c"]) == (89, None)


def test_an_override_that_names_no_value_is_refused_before_a_fault_is_planted() -> None:
    wrong = NodeState("gpu-001", "h100-sxm", overrides={"gpu:1": {"facts": {"vbois": "1"}}})
    with pytest.raises(UsageError, match="has no value 'vbois'"):
        faults.apply(wrong, "gpu:2", "vbios_old")
