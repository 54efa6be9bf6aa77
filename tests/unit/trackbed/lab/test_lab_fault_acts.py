"""Faults that a node makes itself: what the plan asks for, what the node does and undoes."""

from __future__ import annotations

import subprocess
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from smi_node import SmiNode

from trackbed.errors import TrackbedError
from trackbed.lab import faults, nodes
from trackbed.lab.command import Result
from trackbed.lab.hardware import change_tree, effects_node, write_tree
from trackbed.lab.hardware.machine import machine_of
from trackbed.lab.hardware.plan import plan_of
from trackbed.lab.hardware.sysfs import tree_of
from trackbed.lab.spec import NodePaths
from trackbed.lab.state import FaultMark, NodeState

STATE = NodeState("gpu-002", "h100-sxm")
ACTS = sorted(set(effects_node.FAULTS) - {"nvidia_smi_hangs"})
STATUS = """\
Package: less
Status: install ok installed
Architecture: amd64

Package: nvidia-kernel-open-dkms
Status: deinstall ok config-files

Package: nvidia-open
Status: install ok installed
"""


class Node(SmiNode):
    """A node whose programs are only written down."""

    def __init__(self, top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(top, monkeypatch)
        self.ran: list[list[str]] = []
        monkeypatch.setattr(subprocess, "run", self._run)
        self.write("lab/boot_id", "first\n")
        self.write("var/lib/dpkg/status", STATUS)
        (top / "etc").mkdir()

    def _run(self, argv: Any, **_rest: Any) -> None:
        self.ran.append(list(argv))

    def text(self, path: str) -> str:
        return (self.top / path).read_text()

    def acts(self, *kinds: str) -> int:
        from standins.acts.main import main  # type: ignore[import-not-found]  # noqa: PLC0415

        self.ran.clear()
        self.write("lab/hw/acts", "".join(f"{kind}\n" for kind in kinds))
        code: int = main([])
        return code


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    return Node(tmp_path, monkeypatch)


@pytest.mark.parametrize("kind", ACTS)
def test_an_act_changes_no_hardware_and_asks_the_node(tmp_path: Path, kind: str) -> None:
    after = faults.apply(STATE, "node", kind)
    healthy, plan = plan_of(STATE), plan_of(after)
    assert tree_of(plan) == tree_of(healthy)
    assert machine_of(plan, after) == machine_of(healthy, STATE)
    assert plan.log == healthy.log
    write_tree(STATE, tmp_path)
    assert (tmp_path / "acts").read_text() == ""
    change_tree(STATE, after, tmp_path)
    assert (tmp_path / "acts").read_text() == f"{kind}\n"
    change_tree(after, faults.clear(after, "node", kind), tmp_path)
    assert (tmp_path / "acts").read_text() == ""


def test_the_node_knows_every_act(node: Node) -> None:
    from standins.acts.main import ACTS as KNOWN  # noqa: PLC0415

    assert sorted(KNOWN) == ACTS
    assert node.acts() == 0
    assert node.ran == []


def test_a_mismatch_is_in_both_places_and_goes(node: Node) -> None:
    node.driver("580.126.09", "580.126.09")
    node.write("proc/driver/nvidia/version", "NVRM version: Open Module  580.126.09  Release\n")
    assert node.acts("driver_mismatch") == 0
    assert node.text("sys/module/nvidia/version") == "580.126.08\n"
    assert "Open Module  580.126.08  Release" in node.text("proc/driver/nvidia/version")
    assert node.acts() == 0
    assert node.text("sys/module/nvidia/version") == "580.126.09\n"
    assert "Open Module  580.126.09  Release" in node.text("proc/driver/nvidia/version")


def test_nvidia_smi_says_the_mismatch(node: Node, capsys: pytest.CaptureFixture[str]) -> None:
    node.driver("580.126.09", "580.126.09")
    node.state(STATE)
    node.acts("driver_mismatch")
    code, said = node.run(capsys, "-L")
    assert code == 18
    assert "Driver/library version mismatch" in said
    node.acts()
    assert node.run(capsys, "-L")[0] == 0


def test_a_module_that_was_loaded_anew_stays(node: Node) -> None:
    node.driver("580.126.09", "580.126.09")
    node.acts("driver_mismatch")
    node.driver("595.71.05", "595.71.05")
    node.acts()
    assert node.text("sys/module/nvidia/version") == "595.71.05\n"


def test_without_a_driver_there_is_no_mismatch(
    node: Node, capsys: pytest.CaptureFixture[str]
) -> None:
    assert node.acts("driver_mismatch") == 1
    assert "no NVIDIA driver is loaded" in capsys.readouterr().err
    assert node.acts() == 0


@pytest.mark.parametrize(
    ("version", "before"),
    [("580.126.09", "580.126.08"), ("595.45.0", "595.44.99"), ("0.0", "0.0")],
)
def test_the_version_before(node: Node, version: str, before: str) -> None:
    from standins.acts.system import earlier  # type: ignore[import-not-found]  # noqa: PLC0415

    found = earlier(version)
    assert found == before or version == "0.0"


def test_the_clock_goes_and_comes_back(node: Node) -> None:
    assert node.acts("time_skew") == 0
    assert node.text("etc/ld.so.preload") == "/usr/lib/trackbed-lab/skew.so\n"
    node.acts()
    assert not (node.top / "etc/ld.so.preload").exists()
    node.write("etc/ld.so.preload", "/usr/lib/own.so\n")
    node.acts("time_skew")
    node.acts()
    assert node.text("etc/ld.so.preload") == "/usr/lib/own.so\n"


def test_ssh_goes_and_comes_back(node: Node) -> None:
    node.acts("ssh_down")
    assert [argv[:1] for argv in node.ran] == [["systemctl"], ["loginctl"]]
    assert "mask" in node.ran[0]
    node.acts("ssh_down")
    assert node.ran == []
    node.acts()
    assert node.ran[-1] == ["systemctl", "start", "ssh.service"]


def test_what_ends_with_the_boot_is_done_again_at_the_next(node: Node) -> None:
    node.acts("ssh_down", "dpkg_half_configured")
    node.write("lab/boot_id", "second\n")
    node.write("var/lib/dpkg/status", STATUS)  # somebody has mended it
    node.acts("ssh_down", "dpkg_half_configured")
    assert len(node.ran) == 2
    assert "half-configured" not in node.text("var/lib/dpkg/status")
    node.write("lab/boot_id", "third\n")
    node.acts()
    assert node.ran == []


def test_a_disk_is_filled_by_a_layer_of_its_own(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    from standins.acts import disk  # noqa: PLC0415

    filled: list[str] = []
    monkeypatch.setattr(disk, "_write_until_full", filled.append)
    node.acts("disk_full")
    (small, over) = node.ran
    assert small[:5] == ["mount", "-t", "tmpfs", "-o", "size=1m"]
    assert over[-1] == "/var"
    assert filled == [str(node.top / "lab/full/content")]
    node.acts()
    assert [argv[-1] for argv in node.ran] == ["/var", str(node.top / "lab/full")]


def test_a_package_is_left_half_configured(node: Node) -> None:
    node.acts("dpkg_half_configured")
    half = STATUS.replace("install ok installed", "install ok half-configured", 1)
    assert node.text("var/lib/dpkg/status") == half
    node.acts()
    assert node.text("var/lib/dpkg/status") == STATUS


def test_the_package_that_builds_modules_comes_first(node: Node) -> None:
    with_dkms = STATUS.replace("deinstall ok config-files", "install ok installed")
    node.write("var/lib/dpkg/status", with_dkms)
    node.acts("dpkg_half_configured")
    assert "nvidia-kernel-open-dkms\nStatus: install ok half-configured" in node.text(
        "var/lib/dpkg/status"
    )
    node.write("var/lib/dpkg/status", "")
    node.acts()
    assert node.acts("dpkg_half_configured") == 1


def test_nvidia_smi_hangs_until_it_is_cleared(
    node: Node, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from standins.nvidia_smi import main as program  # type: ignore[import-not-found]  # noqa: PLC0415

    monkeypatch.setattr(program, "_PAUSE", 0.01)
    monkeypatch.setattr(program.signal, "signal", lambda *_args: None)
    node.driver("580.126.09", "580.126.09")
    stuck = faults.apply(STATE, "node", "nvidia_smi_hangs")
    node.state(stuck)
    done: list[int] = []
    thread = threading.Thread(target=lambda: done.append(program.main(["-L"])), daemon=True)
    thread.start()
    time.sleep(0.2)
    assert done == []
    node.state(faults.clear(stuck, "node"))
    thread.join(20)
    assert done == [0]
    assert "GPU 7: NVIDIA H100" in capsys.readouterr().out


def test_a_stuck_driver_is_one_fact_and_three_lines() -> None:
    stuck = faults.apply(STATE, "node", "nvidia_smi_hangs")
    before, after = machine_of(plan_of(STATE), STATE), machine_of(plan_of(stuck), stuck)
    assert after == {**before, "driver": {"hangs": True}}
    assert tree_of(plan_of(stuck)) == tree_of(plan_of(STATE))
    [lines] = plan_of(stuck).log.values()
    assert "blocked for more than 120 seconds" in lines[0].text


@dataclass
class FakeEngine:
    """An engine in which one node runs, or not."""

    running: bool = True
    ok: bool = True
    calls: list[list[str]] = field(default_factory=list)

    def containers(self, _lab: str, _network: str) -> list[Any]:
        return [SimpleNamespace(node="gpu-002", running=self.running)]

    def attempt(self, args: list[str], _timeout: float) -> Result:
        self.calls.append(list(args))
        return Result(tuple(args), 0 if self.ok else 1, "", "" if self.ok else "disk_full: no\n")


def _planted(tmp_path: Path, engine: Any, kind: str) -> tuple[NodePaths, bool]:
    place = NodePaths(tmp_path)
    if not place.state.exists():
        write_tree(STATE, place.hardware)
        STATE.save(place.state)
    record: Any = SimpleNamespace(
        spec=SimpleNamespace(name="lab", network="net", container=lambda node: f"lab-{node}")
    )
    return place, nodes.plant(record, place, engine, faults.apply(STATE, "node", kind))


def test_a_running_node_is_told_of_its_acts(tmp_path: Path) -> None:
    engine = FakeEngine()
    assert _planted(tmp_path, engine, "disk_full")[1]
    assert engine.calls == [["exec", "lab-gpu-002", "/usr/lib/trackbed-lab/act"]]
    assert not _planted(tmp_path, engine, "disk_full")[1]
    assert len(engine.calls) == 1


@pytest.mark.parametrize(
    ("engine", "kind"),
    [(FakeEngine(), "bios_old"), (None, "disk_full"), (FakeEngine(running=False), "disk_full")],
)
def test_who_need_not_or_cannot_act_is_not_told(tmp_path: Path, engine: Any, kind: str) -> None:
    place, changed = _planted(tmp_path, engine, kind)
    assert changed
    assert NodeState.load(place.state).faults == (FaultMark(kind, "node"),)
    assert engine is None or engine.calls == []


def test_a_node_that_cannot_stays_as_it_was(tmp_path: Path) -> None:
    engine = FakeEngine(ok=False)
    with pytest.raises(TrackbedError, match="disk_full: no"):
        _planted(tmp_path, engine, "disk_full")
    assert NodeState.load(NodePaths(tmp_path).state) == STATE
    assert (NodePaths(tmp_path).hardware / "acts").read_text() == ""
