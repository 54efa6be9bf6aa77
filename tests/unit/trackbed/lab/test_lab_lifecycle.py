"""Making, killing, finding again and removing labs, on an engine that only remembers."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from lab_fakes import BOOT_ID, ORDINARY, RESTRICTED, FakeEngine

from trackbed.errors import TrackbedError, UsageError
from trackbed.lab import cli, lifecycle, nameserver, nodes, record
from trackbed.lab.engine import Engine
from trackbed.lab.host import Host
from trackbed.lab.lifecycle import Wish
from trackbed.lab.spec import LabPaths, LabSpec
from trackbed.lab.state import FaultMark, NodeState


class Lab:
    """A lab in a directory of its own, with everything around it made up."""

    def __init__(self, tmp_path: Path, limits=ORDINARY) -> None:
        self.fake = FakeEngine()
        self.limits = limits
        self.paths = LabPaths(tmp_path / "state" / "lab")
        self.host = Host(tmp_path / "host", {}, self.fake)
        self.host.engine_kind = lambda asked="": asked or "podman"
        self.host.engine = lambda kind, start: Engine(kind, limits, runner=self.fake)
        self.said: list[str] = []

    def up(self, **wish):
        return lifecycle.up(Wish("lab", **wish), self.paths, self.host, self.said.append)

    def down(self):
        return lifecycle.down(self.paths, self.host, self.said.append)


@pytest.fixture
def lab(tmp_path, monkeypatch):
    made = Lab(tmp_path)
    # The trees of made-up hardware have tests of their own, and take 0.2 s each.
    monkeypatch.setattr(nodes, "write_tree", _small_tree)
    monkeypatch.setattr(nodes, "change_tree", lambda before, after, dest: _small_tree(after, dest))
    monkeypatch.setattr(nodes, "_PAUSE", 0.001)
    monkeypatch.setattr(Host, "_restore", lambda self, before, engine: None)
    monkeypatch.setattr(nameserver, "directory", lambda environ, user: tmp_path / "aardvark-dns")
    return made


def _small_tree(state: NodeState, dest: Path) -> None:
    (dest / "pci").mkdir(parents=True, exist_ok=True)
    (dest / "osrelease").write_text(state.kernel_release + "\n", encoding="ascii")


def test_up_makes_everything_once(lab):
    first = lab.up(nodes=2)
    assert [name for name in first.changed if name.startswith("gpu")] == ["gpu-001", "gpu-002"]
    assert sorted(lab.fake.containers) == ["trackbed-lab-gpu-001", "trackbed-lab-gpu-002"]
    assert first.record.finished
    assert lab.paths.site.exists()
    assert (lab.paths.node("gpu-001").hardware / "pci").is_dir()
    before = lab.fake.verbs()
    second = lab.up()
    assert second.changed == ()
    assert second.record == first.record
    assert lab.fake.verbs() == before


def test_the_head_comes_first_and_tells_the_nodes_its_key(lab):
    made = lab.up(nodes=2, head=True)
    assert made.record.spec.head
    started = [call for call in lab.fake.calls if call[:2] == ["podman", "run"]]
    heads = [call for call in started if call[call.index("--hostname") + 1] == "head"]
    assert started[0] == heads[0]
    assert heads[0][heads[0].index("--ip") + 1] == made.record.head_address
    # It is an ordinary container: it simulates no machine, so it needs none of a node's rights.
    assert not [word for word in heads[0] if "cap-add" in word or "/dev/fuse" in word]
    for node in made.record.spec.node_names:
        key = lab.paths.node(node).boot / "head.asc"
        assert key.read_text(encoding="ascii").startswith("-----BEGIN PGP PUBLIC KEY BLOCK")
    assert lab.up().changed == ()
    assert lab.down()
    assert lab.fake.containers == {}


def test_another_shape_of_an_existing_lab_is_refused(lab):
    lab.up(nodes=2)
    for wish in ({"nodes": 3}, {"sku": "b200"}, {"system": "debian13"}):
        with pytest.raises(UsageError, match="is there, with 2 nodes of h100-sxm") as caught:
            lab.up(**wish)
        assert "trackbed lab down --name lab" in caught.value.remedy


def _interrupted(*_: object) -> nodes.Answer:
    raise KeyboardInterrupt


# Each is a call after which `up` was killed; the next `up` must finish or remake the lab.
@pytest.mark.parametrize("place", ["network create", "ssh-keygen", "run --detach", "ssh -F"])
def test_up_that_died_halfway_is_finished_by_the_next(lab, place, monkeypatch):
    lab.fake.fail_at = place
    if place == "ssh -F":  # while it waited
        lab.fake.fail_at = ""
        with monkeypatch.context() as patch:
            patch.setattr(nodes, "wait", _interrupted)
            with pytest.raises(KeyboardInterrupt):
                lab.up(nodes=2)
    else:
        with pytest.raises(TrackbedError):
            lab.up(nodes=2)
    lab.fake.fail_at = ""
    known = record.load(lab.paths.record)
    assert known is not None
    assert not known.finished
    result = lab.up()
    assert result.record.finished
    assert len(result.record.addresses) == 2
    assert len(lab.fake.containers) == 2


def test_dead_and_foreign_nodes_are_replaced(lab):
    lab.up(nodes=2)
    lab.fake.containers["trackbed-lab-gpu-001"]["dead"] = "yes"
    lab.fake.containers["trackbed-lab-gpu-009"] = {
        **lab.fake.containers["trackbed-lab-gpu-002"], "trackbed.node": "gpu-009"
    }  # fmt: skip
    result = lab.up()
    assert result.changed == ("gpu-001",)
    assert sorted(lab.fake.containers) == ["trackbed-lab-gpu-001", "trackbed-lab-gpu-002"]
    assert "dead" not in lab.fake.containers["trackbed-lab-gpu-001"]


def test_planted_faults_outlive_a_second_up(lab):
    lab.up(nodes=1)
    place = lab.paths.node("gpu-001")
    state = NodeState.load(place.state)
    assert nodes.change(place, replace(state, faults=(FaultMark("pcie_gen4", "gpu:3"),)))
    lab.up()
    assert NodeState.load(place.state).faults == (FaultMark("pcie_gen4", "gpu:3"),)
    assert not nodes.change(place, NodeState.load(place.state))


def test_down_leaves_nothing_and_says_when_there_was_nothing(lab):
    lab.up(nodes=2)
    assert lab.down()
    assert not lab.paths.dir.exists()
    assert lab.fake.containers == {}
    assert lab.fake.networks == {}
    assert not lab.down()


def test_down_removes_what_is_left_of_a_lab_without_its_directory(lab):
    lab.up(nodes=1)
    shutil.rmtree(lab.paths.dir)
    assert lifecycle.names_of_all(lab.paths.dir.parent, lab.host) == ["lab"]
    assert lab.down()
    assert lab.fake.containers == {}


def test_down_ends_the_name_server_that_dead_labs_keep(lab, tmp_path):
    left = tmp_path / "aardvark-dns" / "trackbed-dead"
    left.parent.mkdir()
    left.write_text("10.213.9.1\n", encoding="ascii")
    lab.up(nodes=1)
    assert left.exists()
    assert lab.down()
    assert not left.exists()


def test_down_removes_a_lab_whose_record_is_broken(lab):
    lab.up(nodes=1)
    lab.paths.record.write_text("{", encoding="ascii")
    assert lab.down()
    assert lab.fake.containers == {}


def test_open_connections_are_closed(lab):
    lab.up(nodes=1)
    control = lifecycle.inventory.control_dir(lab.paths, lab.host.dir)
    (control / "socket").write_text("", encoding="ascii")
    lab.down()
    assert ["ssh", "-o", f"ControlPath={control}/socket", "-O", "exit", "node"] in lab.fake.calls
    assert not control.exists()


def test_the_same_name_in_another_directory_is_left_alone(lab, tmp_path):
    lab.up(nodes=1)
    other = LabPaths(tmp_path / "elsewhere" / "lab")
    mine = lab.paths
    lab.paths = other
    with pytest.raises(UsageError, match="is there already, kept in"):
        lab.up(nodes=1)
    with pytest.raises(UsageError):
        lab.down()
    assert lab.fake.containers
    assert lifecycle.names_of_all(other.dir.parent, lab.host) == []
    shutil.rmtree(mine.dir)  # a directory that has gone owns nothing
    assert lab.up(nodes=1).record.finished


def test_a_restricted_host_gets_the_wrapped_runtime(lab):
    lab.host.engine = lambda kind, start: Engine(kind, RESTRICTED, runner=lab.fake)
    lab.up(nodes=1)
    assert lab.paths.runtime.exists()
    started = next(call for call in lab.fake.calls if "run" in call[3:4])
    assert started[1:3] == ["--runtime", str(lab.paths.runtime)]


def test_a_node_that_does_not_come_is_named_with_its_own_words(lab):
    lab.up(nodes=1)
    made = record.load(lab.paths.record)
    lab.fake.fail_at = "ssh -F"
    engine = Engine("podman", ORDINARY, runner=lab.fake)
    with pytest.raises(TrackbedError) as caught:
        nodes.wait(made, lab.paths, "gpu-001", engine, seconds=0)
    assert "gpu-001 was not ready" in caught.value.found
    assert "ssh says: Error: planted" in caught.value.found
    assert "planted.service failed" in caught.value.found
    assert "trackbed lab up" in caught.value.remedy


def test_failed_units_are_told(lab, monkeypatch):
    answer = nodes.Answer(BOOT_ID, 1, "degraded", ("x.service",))
    monkeypatch.setattr(lifecycle.nodes, "wait", lambda *args: answer)
    lab.up(nodes=1)
    assert "gpu-001: these units failed: x.service" in lab.said


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (f"{BOOT_ID}\nrunning\n10\n17\n", nodes.Answer(BOOT_ID, 7, "running", ())),
        (f"{BOOT_ID}\ndegraded\na.service\n10\n17\n",
         nodes.Answer(BOOT_ID, 7, "degraded", ("a.service",))),
        (f"{BOOT_ID}\nrunning\n", None),
        (f"{BOOT_ID}\nrunning\nx\ny\n", None),
        ("", None),
    ],
)  # fmt: skip
def test_answers(text, answer):
    assert nodes.parse_answer(text) == answer


def test_network_defaults_hold_no_secret_and_no_interface():
    lines = nodes.namespace_defaults().splitlines()
    paths = [line.split("\t")[0] for line in lines]
    assert all(len(line.split("\t")) == 3 for line in lines)
    assert not any("/conf/" in path or "rss_key" in path for path in paths)
    assert "net/ipv4/ip_forward" in paths


@pytest.fixture
def shell(lab, monkeypatch):
    """Call the command line on the made-up lab: exit code, text, documents."""
    monkeypatch.setenv("TRACKBED_LAB_DIR", str(lab.paths.dir.parent))
    monkeypatch.setattr(cli, "Host", lambda directory: lab.host)
    parser = argparse.ArgumentParser()
    cli.add_parser(parser.add_subparsers(dest="verb"))

    def call(*words):
        text: list[str] = []
        documents: list[dict] = []
        args = parser.parse_args(["lab", *words])
        code = cli.run(args, lab.said.append, documents.append, text.append)
        return code, "\n".join(text), documents

    return call


def test_the_life_of_a_lab_on_the_command_line(shell, lab):
    code, text, documents = shell("up", "--nodes", "2")
    assert code == 0
    assert "lab is up: 2 nodes" in text
    assert documents[0]["nodes"]["gpu-001"].endswith(".11")
    assert shell("up")[1].startswith("lab was up already; nothing was changed")
    code, text, documents = shell("fault", "gpu-002/gpu:5", "pcie_gen4")
    assert documents[0]["changed"]
    assert "gpu:5 pcie_gen4" in text
    assert "nothing was changed" in shell("fault", "gpu-002/gpu:5", "pcie_gen4")[1]
    code, text, documents = shell("status")
    assert code == 0
    assert documents[0]["nodes"][1]["faults"] == [{"target": "gpu:5", "kind": "pcie_gen4"}]
    assert documents[0]["nodes"][0]["uptime_s"] == 7
    assert BOOT_ID in text
    assert shell("fault", "gpu-002", "--clear")[2][0]["faults"] == []
    assert shell("reboot", "gpu-001")[2][0]["boot_id"] == BOOT_ID
    assert shell("down")[1] == "lab is gone"
    assert shell("down")[1] == "there is no lab lab; nothing was changed"


def test_status_of_a_lab_that_is_not_whole_is_partial(shell, lab):
    shell("up", "--nodes", "2")
    lab.fake.containers["trackbed-lab-gpu-002"]["dead"] = "yes"
    code, _, documents = shell("status")
    assert code == 4
    assert documents[0]["nodes"][1]["state"] == "stopped"
    lab.fake.fail_at = "ssh -F"
    assert shell("status")[2][0]["nodes"][0]["state"] == "unreachable"


def test_down_all_and_images(shell, lab):
    assert "there is no lab; nothing was changed" in shell("down", "--all")[1]
    shell("up", "--nodes", "1")
    _, text, documents = shell("down", "--all", "--images")
    assert documents[0]["removed"] == ["lab"]
    assert documents[0]["images"]
    assert "images removed: " in text


def test_wrong_words_are_explained(shell):
    shell("up", "--nodes", "1")
    for words, found in (
        (("status", "--name", "none"), "there is no lab 'none'"),
        (("up", "--name", "x", "--sku", "none"), "no SKU 'none'"),
        (("fault", "gpu-009/gpu:1", "pcie_gen4"), "no node 'gpu-009'"),
        (("fault", "gpu-001/gpu:1"), "no kind of fault"),
        (("reboot", "gpu-7"), "no node 'gpu-7'"),
        (("shell", "gpu-001", "--name", "x"), "stands after the node"),
    ):
        with pytest.raises(UsageError) as caught:
            shell(*words)
        assert found in caught.value.found
        assert caught.value.wanted


def test_faults_are_listed(shell):
    code, text, documents = shell("faults")
    assert code == 0
    assert "pcie_gen4" in {row["kind"] for row in documents[0]["faults"]}
    assert text.splitlines()[0].split() == ["kind", "on", "what", "will", "be", "seen"]


def test_a_shell_has_the_users_own_input_and_exit_code(shell, lab, monkeypatch):
    shell("up", "--nodes", "1")
    ran: list[list[str]] = []

    def fake_run(argv, check):
        ran.append(argv)
        return subprocess.CompletedProcess(argv, 7)

    monkeypatch.setattr(cli.subprocess, "run", fake_run)
    assert shell("shell", "gpu-001", "--", "uname", "-r")[0] == 7
    assert ran[0][-2:] == ["uname", "-r"]
    assert "StrictHostKeyChecking=yes" in ran[0]
    assert shell("shell", "gpu-001")[0] == 7


def test_specs_of_wishes():
    assert Wish("x").spec(None) == LabSpec(name="x")
    assert Wish("x", nodes=2).spec(LabSpec(name="x", nodes=2)).nodes == 2
    assert os.path.isabs(LabPaths(Path("/a/x")).runtime)  # noqa: PTH117
