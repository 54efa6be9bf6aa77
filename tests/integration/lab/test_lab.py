"""A real lab on this host's engine. Run with `pytest -m lab tests/integration/lab`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from trackbed.errors import UsageError
from trackbed.lab import hostsnapshot
from trackbed.lab.host import Host
from trackbed.lab.spec import host_dir

pytestmark = pytest.mark.lab
# An image may have to be built first.
SECONDS = 900
SETTING = Path("/proc/sys/vm/swappiness")
HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")


class Labs:
    """The command line, with a state directory of its own."""

    def __init__(self, directory: Path) -> None:
        self.dir = directory
        self.env = {**os.environ, "TRACKBED_LAB_DIR": str(directory)}

    def call(self, *words: str, code: int = 0) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "trackbed", "lab", *words],
            env=self.env,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    def read(self, *words: str) -> dict:
        return json.loads(self.call(*words, "--json"))

    def on(self, name: str, node: str, command: str) -> str:
        return self.call("shell", "--name", name, node, "--", command)


@pytest.fixture(scope="module")
def others() -> list[str]:
    """Labs that somebody else runs on this host; the host cannot be compared then."""
    host = Host(host_dir())
    try:
        engine = host.engine(host.engine_kind(), start=False)
    except UsageError as error:
        pytest.skip(error.found)
    return engine.labs() if engine is not None else []


@pytest.fixture(scope="module")
def before(others: list[str]) -> hostsnapshot.HostSnapshot:
    return hostsnapshot.take()


@pytest.fixture(scope="module")
def labs(tmp_path_factory: pytest.TempPathFactory, before: object) -> Iterator[Labs]:
    made = Labs(tmp_path_factory.mktemp("labs"))
    yield made
    made.call("down", "--all")


@pytest.fixture(scope="module")
def lab(labs: Labs) -> Labs:
    made = labs.read("up", "--name", "it-a", "--nodes", "2")
    assert sorted(made["nodes"]) == ["gpu-001", "gpu-002"]
    return labs


def test_nodes_are_servers_with_an_unprivileged_user(lab: Labs) -> None:
    assert lab.on("it-a", "gpu-001", "id -un; sudo id -un").split() == ["ops", "root"]
    assert lab.on("it-a", "gpu-001", "systemctl is-system-running").strip() == "running"
    assert "GH100" in lab.on("it-a", "gpu-001", "lspci -nn -d 10de::0302")
    assert lab.on("it-a", "gpu-001", "getent hosts gpu-002").split()[0].startswith("10.")


def test_a_second_up_changes_nothing(lab: Labs) -> None:
    boots = [node["boot_id"] for node in lab.read("status", "--name", "it-a")["nodes"]]
    assert lab.read("up", "--name", "it-a")["changed"] == []
    assert [node["boot_id"] for node in lab.read("status", "--name", "it-a")["nodes"]] == boots


def test_settings_and_modules_are_the_nodes_own(lab: Labs) -> None:
    outside = (SETTING.read_text(), HUGE_PAGES.read_text() if HUGE_PAGES.exists() else "")
    other = str((int(outside[0]) + 7) % 100)
    set_them = (
        f"sudo sysctl -qw vm.swappiness={other} net.core.rmem_max=268435456 && "
        "echo never | sudo tee /sys/kernel/mm/transparent_hugepage/enabled && "
        "sudo modprobe br_netfilter && cat /proc/sys/vm/swappiness /proc/sys/net/core/rmem_max "
        "/sys/kernel/mm/transparent_hugepage/enabled /sys/module/br_netfilter/initstate"
    )
    if HUGE_PAGES.exists():
        said = lab.on("it-a", "gpu-001", set_them).splitlines()
        assert said[1:] == [other, "268435456", "always madvise [never]", "live"]
    assert (SETTING.read_text(), HUGE_PAGES.read_text() if HUGE_PAGES.exists() else "") == outside
    assert lab.on("it-a", "gpu-002", "cat /proc/sys/vm/swappiness").strip() != other
    refused = "echo much | sudo tee /proc/sys/vm/swappiness >/dev/null 2>&1; echo $?"
    assert lab.on("it-a", "gpu-001", refused).strip() == "1"


def test_the_hosts_devices_and_rights_are_out_of_reach(lab: Labs) -> None:
    devices = lab.on("it-a", "gpu-001", "find /dev -type b; ls /dev").split()
    assert not {name for name in devices if name.startswith(("/dev/", "vd", "sd", "nvidia", "mem"))}
    assert (
        lab.on("it-a", "gpu-001", "sudo mknod /tmp/x b 1 1 2>&1; test -e /tmp/x; echo $?")[-2:]
        == "1\n"
    )
    held = lab.on("it-a", "gpu-001", "sudo grep CapBnd /proc/1/status").split()[1]
    for bit in (16, 17, 22, 25, 34):  # SYS_MODULE, SYS_RAWIO, SYS_BOOT, SYS_TIME, SYSLOG
        assert not int(held, 16) >> bit & 1


def test_boot_brings_back_what_files_ask_for_and_nothing_else(lab: Labs) -> None:
    lab.on("it-a", "gpu-002", "echo vm.swappiness=3 | sudo tee /etc/sysctl.d/90-x.conf; "
           "echo tcp_bbr | sudo tee /etc/modules-load.d/x.conf; sudo sysctl -qw vm.dirty_ratio=77; "
           "sudo modprobe br_netfilter")  # fmt: skip
    lab.call("reboot", "--name", "it-a", "gpu-002")
    said = lab.on("it-a", "gpu-002", "cat /proc/sys/vm/swappiness /proc/sys/vm/dirty_ratio; lsmod")
    assert said.split()[0] == "3"
    assert said.split()[1] != "77"
    assert "tcp_bbr" in said
    assert "br_netfilter" not in said


def test_ansibles_own_reboot_works(lab: Labs, tmp_path: Path) -> None:
    play = tmp_path / "reboot.yml"
    play.write_text(
        "- hosts: all\n  gather_facts: false\n  tasks:\n"
        "    - ansible.builtin.reboot:\n        reboot_timeout: 120\n",
        encoding="ascii",
    )
    old = {node["node"]: node["boot_id"] for node in lab.read("status", "--name", "it-a")["nodes"]}
    program = Path(sys.executable).with_name("ansible-playbook")
    done = subprocess.run(
        [str(program), "-i", str(lab.dir / "it-a/inventory"), str(play)],
        capture_output=True, text=True, timeout=SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    new = {node["node"]: node["boot_id"] for node in lab.read("status", "--name", "it-a")["nodes"]}
    assert all(new[name] and new[name] != old[name] for name in old)


def test_a_fault_is_seen_at_once_and_mended(lab: Labs) -> None:
    look = "sudo lspci -vv -d 10de::0302 | grep -c 'Speed 16GT/s (downgraded)'; true"
    assert lab.on("it-a", "gpu-002", look).strip() == "0"
    assert lab.read("fault", "--name", "it-a", "gpu-002/gpu:5", "pcie_gen4")["changed"]
    assert lab.on("it-a", "gpu-002", look).strip() == "1"
    assert lab.on("it-a", "gpu-001", look).strip() == "0"
    assert lab.read("fault", "--name", "it-a", "gpu-002", "--clear")["faults"] == []
    assert lab.on("it-a", "gpu-002", look).strip() == "0"


def test_two_labs_stand_side_by_side(lab: Labs) -> None:
    second = lab.read("up", "--name", "it-b", "--nodes", "1", "--os", "debian13")
    first = lab.read("status", "--name", "it-a")
    assert second["nodes"]["gpu-001"] not in {node["address"] for node in first["nodes"]}
    assert "trixie" in lab.on("it-b", "gpu-001", "cat /etc/os-release")
    assert "bookworm" in lab.on("it-a", "gpu-001", "cat /etc/os-release")
    assert lab.read("down", "--name", "it-b")["removed"] == ["it-b"]
    assert not (lab.dir / "it-b").exists()
    assert lab.on("it-a", "gpu-001", "hostname").strip() == "gpu-001"


def test_a_killed_up_is_finished_by_the_next(lab: Labs) -> None:
    program = [sys.executable, "-m", "trackbed", "lab", "up", "--name", "it-c", "--nodes", "2"]
    process = subprocess.Popen(program, env=lab.env, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("starting"):
            break
    process.kill()
    process.wait(60)
    made = lab.read("up", "--name", "it-c")
    assert sorted(made["nodes"]) == ["gpu-001", "gpu-002"]
    assert lab.read("up", "--name", "it-c")["changed"] == []
    lab.call("down", "--name", "it-c")


def test_down_leaves_nothing_and_the_host_is_as_before(
    lab: Labs, before: hostsnapshot.HostSnapshot, others: list[str]
) -> None:
    assert lab.read("down", "--name", "it-a")["removed"] == ["it-a"]
    assert lab.read("down", "--name", "it-a")["removed"] == []
    assert list(lab.dir.iterdir()) == []
    assert lab.read("down", "--all")["removed"] == []
    if others:
        pytest.skip(f"other labs run on this host ({', '.join(others)}): it changes by itself")
    assert hostsnapshot.compare(before, hostsnapshot.take()) == []
