"""The small pure parts: spec, record, files, keys, inventory, network, limits, cgroups, runtime."""

from __future__ import annotations

import ipaddress
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from lab_fakes import FakeEngine

from trackbed.errors import TrackbedError, UsageError
from trackbed.lab import cgroups, command, files, inventory, keys, limits, network, record, runtime
from trackbed.lab.spec import LabPaths, LabSpec, host_dir, lab_paths, lab_root


def test_names_follow_from_the_number_of_nodes():
    spec = LabSpec(nodes=3)
    assert spec.node_names == ("gpu-001", "gpu-002", "gpu-003")
    assert spec.node_pattern == "gpu-[001:003]"
    assert LabSpec(nodes=1).node_pattern == "gpu-001"
    assert spec.container("gpu-002") == "trackbed-lab-gpu-002"
    assert spec.network == "trackbed-lab"
    assert LabSpec(name="mol-kernel_tuning").cluster == "mol-kernel-tuning"
    assert LabSpec(name="a-_").cluster == "a"


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "Lab"},
        {"name": "../x"},
        {"name": ""},
        {"nodes": 0},
        {"nodes": 241},
        {"system": "plan9"},
    ],
)
def test_what_no_lab_can_be_is_refused(wrong):
    with pytest.raises(UsageError) as caught:
        LabSpec(**wrong)
    assert caught.value.wanted
    assert caught.value.remedy


def test_the_state_directory(tmp_path):
    assert lab_root({"TRACKBED_LAB_DIR": "/a"}) == Path("/a")
    assert lab_root({"XDG_STATE_HOME": "/b"}) == Path("/b/trackbed/lab")
    assert lab_root({}) == Path.home() / ".local/state/trackbed/lab"
    assert lab_paths("x", {"TRACKBED_LAB_DIR": "/a"}).dir == Path("/a/x")


def test_shared_facts_lie_where_a_boot_removes_them(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert host_dir({}) == Path("/run/trackbed-lab")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert host_dir({"XDG_RUNTIME_DIR": "/run/user/1000"}) == Path("/run/user/1000/trackbed-lab")
    assert host_dir({"TRACKBED_LAB_DIR": "/a"}) == Path("/a/.host")


def test_a_record_comes_back_as_it_was_written(tmp_path):
    made = record.LabRecord(LabSpec(nodes=2), "podman", "i:1", "10.213.4.0/24").finish()
    made.save(tmp_path / "lab.json")
    assert record.load(tmp_path / "lab.json") == made
    assert made.addresses == {"gpu-001": "10.213.4.11", "gpu-002": "10.213.4.12"}
    assert record.load(tmp_path / "none.json") is None


def test_the_last_address_of_the_largest_lab_is_in_its_subnet():
    made = record.LabRecord(LabSpec(nodes=240), "podman", "i", "10.213.4.0/24")
    assert made.addresses["gpu-240"] == "10.213.4.250"


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"schema": 9}', '{"schema": 1, "spec": {}}'])
def test_a_broken_record_says_what_to_do(tmp_path, text):
    place = tmp_path / "lab.json"
    place.write_text(text, encoding="utf-8")
    with pytest.raises(TrackbedError) as caught:
        record.load(place)
    assert "trackbed lab down" in caught.value.remedy


def test_hidden_directories_are_no_labs(tmp_path):
    for name in ("b", "a", ".host"):
        (tmp_path / name).mkdir()
    (tmp_path / "file").write_text("", encoding="ascii")
    assert [lab.name for lab in record.all_labs(tmp_path)] == ["a", "b"]
    assert list(record.all_labs(tmp_path / "none")) == []


def test_a_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    place = tmp_path / "f"
    assert files.write(place, "one")
    assert not files.write(place, "one")
    assert stat.S_IMODE(place.stat().st_mode) == 0o600

    def killed(self, target):
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        files.write(place, "two")
    assert place.read_text(encoding="ascii") == "one"
    assert [entry.name for entry in tmp_path.iterdir()] == ["f"]


def test_a_private_directory_is_private(tmp_path):
    assert stat.S_IMODE(files.private_dir(tmp_path / "a").stat().st_mode) == 0o700


def test_keys_are_made_once_and_never_by_half(tmp_path):
    fake = FakeEngine()
    private = tmp_path / "id"
    keys.ensure_pair(private, "c", fake)
    keys.ensure_pair(private, "c", fake)
    assert len(fake.calls) == 1
    private.unlink()  # as a kill between the two renames would leave it
    keys.ensure_pair(private, "c", fake)
    assert private.exists()
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["id", "id.pub"]


def test_ssh_keygen_that_is_missing_or_fails_is_an_error(tmp_path, monkeypatch):
    fake = FakeEngine()
    fake.fail_at = "ssh-keygen"
    with pytest.raises(command.CommandError, match="making a key"):
        keys.ensure_pair(tmp_path / "id", "c", fake)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="ssh-keygen is not installed"):
        keys.ensure_pair(tmp_path / "id", "c", fake)


def test_host_keys_are_always_checked(tmp_path):
    paths = LabPaths(tmp_path / "lab")
    argv = keys.ssh_argv(paths, "10.0.0.1")
    assert "StrictHostKeyChecking=yes" in argv
    assert f"UserKnownHostsFile={paths.known_hosts}" in argv
    assert argv[-1] == "ops@10.0.0.1"
    assert "BatchMode=yes" in argv
    assert "BatchMode=yes" not in keys.ssh_argv(paths, "10.0.0.1", batch=False)


def test_known_hosts_holds_every_node(tmp_path):
    fake = FakeEngine()
    paths = LabPaths(tmp_path / "lab")
    keys.ensure_client(paths, fake)
    keys.ensure_host(paths, paths.node("gpu-001"), fake)
    assert keys.write_known_hosts(paths, {"gpu-001": "10.0.0.1"})
    assert paths.known_hosts.read_text(encoding="ascii") == "gpu-001,10.0.0.1 ssh-ed25519 AAAA\n"
    allowed = paths.node("gpu-001").boot / "authorized_keys"
    assert allowed.read_text(encoding="ascii").startswith("ssh-ed25519 ")


def test_the_inventory_is_that_of_a_site(tmp_path):
    paths = LabPaths(tmp_path / "lab")
    made = record.LabRecord(LabSpec(nodes=2), "podman", "i", "10.213.4.0/24")
    assert inventory.write(made, paths, tmp_path / "control")
    assert not inventory.write(made, paths, tmp_path / "control")
    site = yaml.safe_load(paths.site.read_text(encoding="utf-8"))
    assert site == {
        "plugin": "trackbed.cluster.cluster",
        "cluster": "lab",
        "journal": str(paths.journal),
        "nodes": [{"names": "gpu-[001:002]", "sku": "h100-sxm"}],
    }
    everyone = yaml.safe_load((paths.inventory / "group_vars/all.yml").read_text(encoding="utf-8"))
    assert everyone["ansible_user"] == "ops"
    assert "StrictHostKeyChecking=yes" in everyone["ansible_ssh_common_args"]
    one = yaml.safe_load((paths.inventory / "host_vars/gpu-002.yml").read_text(encoding="utf-8"))
    assert one == {"ansible_host": "10.213.4.12"}


def test_control_sockets_have_room_for_their_names(tmp_path):
    deep = LabPaths(tmp_path / ("x" * 90) / "lab")
    assert len(str(inventory.control_dir(deep, Path("/run/trackbed-lab")))) < 40


ROUTES = """\
Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT
eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0
eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
tun0\t0000D50A\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0
broken
"""


def test_routes_are_read_without_the_default_one():
    found = network.parse_routes(ROUTES)
    assert [str(net) for net in found] == ["192.0.2.0/24", "10.213.0.0/16"]
    assert all(net.prefixlen for net in network.host_routes())


def test_a_subnet_is_stable_free_and_differs_between_labs():
    first = network.choose("lab", [])
    assert first == network.choose("lab", [])
    second = network.choose("lab", [ipaddress.IPv4Network(first)])
    assert second != first
    assert second.startswith("10.213.")
    assert network.choose("lab", network.parse_routes(ROUTES)).startswith("172.30.")


def test_no_free_subnet_is_an_error():
    with pytest.raises(TrackbedError, match="in use"):
        network.choose("lab", [ipaddress.IPv4Network("0.0.0.0/0")])


def test_capabilities_are_read_from_the_status_file():
    assert limits.holds_sys_resource("Name:\tx\nCapEff:\t000001ffffffffff\n")
    assert not limits.holds_sys_resource("CapEff:\t000001fffeffffff\n")
    assert not limits.holds_sys_resource("")
    here = limits.read("cpu pids")
    assert here.pids_controller
    assert not limits.read("cpu").pids_controller


PURE = "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n"
MIXED = (
    "tmpfs /sys/fs/cgroup tmpfs rw 0 0\ncgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n"
    "cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n"
)


def test_only_a_host_with_version_2_alone_needs_no_namespace():
    assert cgroups.layout(PURE) == cgroups.UNIFIED
    assert cgroups.layout(MIXED) == cgroups.HYBRID
    assert cgroups.layout("") == cgroups.HYBRID


def test_a_keeper_is_known_by_number_and_start():
    mine = cgroups.start_time(os.getpid())
    assert mine is not None
    assert cgroups.Keeper(os.getpid(), mine).alive
    assert not cgroups.Keeper(os.getpid(), mine + 1).alive
    assert cgroups.start_time(2**22 + 1) is None
    cgroups.stop_keeper(cgroups.Keeper(os.getpid(), mine + 1))  # must not kill this very process


def test_a_keeper_that_lives_is_ended():
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    started = cgroups.start_time(child.pid)
    assert started is not None
    keeper = cgroups.Keeper(child.pid, started)
    assert "--target" in keeper.prefix
    cgroups.stop_keeper(keeper)
    assert not keeper.alive


def test_a_namespace_is_taken_up_by_another_keeper(monkeypatch):
    here = cgroups.namespace_of("self")
    assert cgroups.namespace_of(2**22 + 1) == ""
    assert cgroups.revive("") is None
    assert cgroups.revive("mnt:[1]") is None
    real = subprocess.Popen
    entered: list[str] = []

    def without_nsenter(argv, **options):
        entered.extend(argv[:4])
        return real(argv[4:], **options)

    monkeypatch.setattr(subprocess, "Popen", without_nsenter)
    keeper = cgroups.revive(here)
    assert keeper is not None
    assert (entered[0], entered[3]) == ("nsenter", "--mount")
    assert cgroups.namespace_of(entered[2]) == here
    assert keeper.alive
    assert keeper.namespace == here
    cgroups.stop_keeper(keeper)
    assert not keeper.alive


def test_a_refused_namespace_is_explained(monkeypatch):
    monkeypatch.setattr(cgroups, "_ENTER", "echo 'umount: no permission' >&2; exit 1")
    real = subprocess.Popen

    def without_unshare(argv, **options):
        return real(argv[2:], **options)

    monkeypatch.setattr(subprocess, "Popen", without_unshare)
    with pytest.raises(TrackbedError, match="no permission") as caught:
        cgroups.start_keeper()
    assert "unified_cgroup_hierarchy" in caught.value.remedy


def test_the_wrapped_runtime_drops_the_device_rules_and_nothing_else(tmp_path):
    echo = tmp_path / "real"
    echo.write_text('#!/bin/sh\necho "$@"\n', encoding="ascii")
    echo.chmod(0o700)
    bundle = tmp_path / "bundle"
    bundle.mkdir()
    config = {"linux": {"resources": {"devices": [{"allow": False}], "cpu": {}}}, "x": 1}
    (bundle / "config.json").write_text(json.dumps(config), encoding="utf-8")
    wrapper = tmp_path / "oci-runtime"
    runtime.write(wrapper, str(echo))
    said = command.run([str(wrapper), "create", "--bundle", str(bundle), "id"], 20)
    assert said.out.split() == ["create", "--bundle", str(bundle), "id"]
    assert json.loads((bundle / "config.json").read_text(encoding="utf-8")) == {
        "linux": {"resources": {"cpu": {}}},
        "x": 1,
    }
    assert command.run([str(wrapper), "kill", "id"], 20).out == "kill id\n"


def test_a_program_that_hangs_or_is_missing_is_a_result():
    assert command.run(["sleep", "20"], 0.1).code is None
    assert command.run(["/none/such"], 1).code == 127
    late = command.run([sys.executable, "-c", "print('x', flush=True); input(); "
                        "import time; time.sleep(20)"], 5)  # fmt: skip
    assert late.code == 1  # stdin is empty: nothing can wait for a person
    error = command.CommandError(command.Result(("p",), None, "", "a\n\nb\n"), doing="trying")
    assert error.found == "trying: p did not end in time: a; b"
