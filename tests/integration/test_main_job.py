"""The main job on a real lab, as a user runs it: check, apply, break, mend, kill, lose a node."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from trackbed.errors import UsageError
from trackbed.lab.host import Host
from trackbed.lab.spec import host_dir

pytestmark = pytest.mark.lab
LAB = "it-job"
SECONDS = 900
# What a login, a look at the node or the passing of time leaves behind, check mode or not.
_EPHEMERAL = (
    "/dev", "/home", "/lab", "/proc", "/root", "/run", "/sys", "/tmp",
    "/var/lib/systemd", "/var/log", "/var/tmp", "/var/lib/sudo",
)  # fmt: skip


class Command:
    """The command line on one lab, with a state directory of its own."""

    def __init__(self, directory: Path) -> None:
        self.env = {**os.environ, "TRACKBED_LAB_DIR": str(directory)}
        self.env.pop("TRACKBED_INVENTORY", None)
        self.inventory = directory / LAB / "inventory"

    def argv(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "trackbed", *words]

    def call(self, *words: str, code: int = 0) -> str:
        done = subprocess.run(
            self.argv(*words),
            env=self.env,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    def read(self, *words: str, code: int = 0) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self.call(*words, "--json", code=code))
        assert document.get("exit_code", code) == code
        return document

    def on(self, node: str, command: str) -> str:
        return self.call("lab", "shell", "--name", LAB, node, "--", command)


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Command]:
    try:
        Host(host_dir()).engine_kind()
    except UsageError as error:
        pytest.skip(error.found)
    made = Command(tmp_path_factory.mktemp("labs"))
    made.call("lab", "up", "--name", LAB, "--nodes", "2")
    yield made
    made.call("lab", "down", "--name", LAB)


def _outside(node: str) -> tuple[set[str], str]:
    """Return what the engine says of a node's files, and its kernel settings: not our own word."""
    host = Host(host_dir())
    engine = host.engine(host.engine_kind(), start=False)
    assert engine is not None
    name = f"trackbed-{LAB}-{node}"
    changed = engine.call("comparing", ["diff", name], 120).splitlines()
    settings = engine.call("reading", ["exec", name, "sysctl", "-e", "vm", "net.core.rmem_max"], 60)
    return {line for line in changed if not _is_ephemeral(line.split(" ", 1)[1])}, settings


def _is_ephemeral(path: str) -> bool:
    """Directories above an ephemeral place count as changed, too."""
    return path.startswith(_EPHEMERAL) or any(one.startswith(path + "/") for one in _EPHEMERAL)


def test_check_mode_on_fresh_nodes_changes_nothing_seen_from_outside(command: Command) -> None:
    before = [_outside(node) for node in ("gpu-001", "gpu-002")]
    foretold = command.read("up", "--check")["site"]
    assert [_outside(node) for node in ("gpu-001", "gpu-002")] == before
    assert len(foretold["changes"]) > 10
    done = command.read("up", "--diff")["site"]
    assert done["changes"] == foretold["changes"], "what was foretold is what was done"
    assert [_outside(node) for node in ("gpu-001", "gpu-002")] != before


def test_a_second_run_changes_nothing(command: Command) -> None:
    again = command.read("site")
    assert again["changes"] == []
    assert {row["changed"] for row in again["nodes"]} == {0}


def test_a_slow_link_is_named_and_mended(command: Command) -> None:
    assert command.read("validate")["verdict"] == "level"
    command.call("lab", "fault", "--name", LAB, "gpu-002/gpu:5", "pcie_gen4")
    told = command.read("validate", code=3)
    (finding,) = [one for one in told["findings"] if one["verdict"] == "fail"]
    assert finding["entity"] == "gpu-002/gpu:5"
    assert (finding["expected"], finding["actual"]) == ("Gen5 x16", "Gen4 x16")
    assert command.read("report", code=3)["findings"] == told["findings"]
    command.call("lab", "fault", "--name", LAB, "gpu-002/gpu:5", "pcie_gen4", "--clear")
    assert command.read("validate")["verdict"] == "level"


@pytest.mark.parametrize(
    ("target", "kind", "check"),
    [("gpu-001/gpu:3", "gpu_missing", "gpu_count"), ("gpu-002", "kernel_other", "kernel_equal")],
)
def test_each_check_is_shown_to_fail(command: Command, target: str, kind: str, check: str) -> None:
    command.call("lab", "fault", "--name", LAB, target, kind)
    told = command.read("validate", code=3)
    assert check in {one["check"] for one in told["findings"] if one["verdict"] == "fail"}
    command.call("lab", "fault", "--name", LAB, target, kind, "--clear")
    assert command.read("validate")["verdict"] == "level"


def test_a_killed_command_leaves_a_journal_and_the_next_one_goes_on(command: Command) -> None:
    command.on("gpu-001", "sudo rm /etc/sysctl.d/90-trackbed.conf")
    with subprocess.Popen(
        command.argv("site"), env=command.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as child:
        for _ in range(200):
            time.sleep(0.05)
            if command.read("runs", "list")["runs"][0]["state"] == "running":
                break
        child.send_signal(signal.SIGKILL)
    newest = command.read("runs", "list")["runs"][0]
    assert (newest["verb"], newest["state"]) == ("site", "interrupted")
    command.read("site")
    assert "vm.swappiness" in command.on("gpu-001", "cat /etc/sysctl.d/90-trackbed.conf")


def test_an_unreachable_node_is_unknown_and_stops_nobody(command: Command) -> None:
    # Open connections are kept for a while, so they have to be ended, too.
    stop = "systemctl stop ssh.socket ssh.service; pkill sshd"
    command.on("gpu-002", f"sudo systemd-run sh -c 'sleep 1; {stop}'")
    time.sleep(4)
    try:
        told = command.read("validate", code=4)
        verdicts = {row["node"]: row["verdict"] for row in told["nodes"]}
        assert verdicts["gpu-002"] == "unknown"
        checks = {one["check"] for one in told["findings"] if one["entity"].startswith("gpu-001")}
        assert "gpu_pcie_link" in checks
    finally:
        command.call("lab", "reboot", "--name", LAB, "gpu-002")
    assert command.read("validate")["verdict"] == "level"


def test_the_same_by_plain_ansible(command: Command) -> None:
    done = subprocess.run(
        ["ansible-playbook", "-i", str(command.inventory), "trackbed.cluster.validate"],
        env={
            **command.env,
            "PATH": str(Path(sys.executable).parent) + os.pathsep + os.environ["PATH"],
            "ANSIBLE_CALLBACKS_ENABLED": "trackbed.cluster.journal",
        },
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert command.read("report")["verdict"] == "level"
