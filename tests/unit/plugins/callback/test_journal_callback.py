"""The callback below the real ansible-playbook: it records, and is heard where it cannot."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from ansible_collections.trackbed.cluster.plugins.plugin_utils._journal import Journal
from ansible_collections.trackbed.cluster.plugins.plugin_utils._journal_rows import RunInfo

INVENTORY = f"""
all:
  hosts:
    gpu-001:
    gpu-002:
  vars:
    ansible_connection: local
    ansible_python_interpreter: {sys.executable}
"""
PLAY = """
- name: Look
  hosts: all
  gather_facts: false
  tasks:
    - name: Change
      ansible.builtin.command: "true"
    - name: Skip
      ansible.builtin.debug:
      when: false
    - name: Fail
      ansible.builtin.fail:
        msg: "token=hunter22 refused"
      when: inventory_hostname == "gpu-002"
    - name: Hide
      ansible.builtin.debug:
        msg: hunter22
      no_log: true
"""
Play = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.sqlite"


@pytest.fixture
def play(tmp_path: Path) -> Play:
    (tmp_path / "inventory.yml").write_text(INVENTORY)
    (tmp_path / "look.yml").write_text(textwrap.dedent(PLAY))

    def run(**env: str) -> subprocess.CompletedProcess[str]:
        program = Path(sys.executable).with_name("ansible-playbook")
        return subprocess.run(
            [str(program), "-i", "inventory.yml", "look.yml"],
            cwd=tmp_path,
            env={**os.environ, "ANSIBLE_CALLBACKS_ENABLED": "trackbed.cluster.journal", **env},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run


def test_a_plain_run_is_recorded(play: Play, path: Path) -> None:
    told = play(TRACKBED_JOURNAL=str(path))
    assert told.returncode == 2, told.stderr
    with Journal.open(path, read_only=True) as journal:
        (run,) = journal.runs()
        steps = journal.steps(run.id)
    assert (run.info.verb, run.state, run.exit_code) == ("look", "done", 1)
    assert run.info.command == "ansible-playbook look.yml"
    assert [(one.task, one.status) for one in steps if one.node == "gpu-002"] == [
        ("Change", "changed"),
        ("Skip", "skipped"),
        ("Fail", "failed"),
    ]
    assert {one.play for one in steps} == {"Look"}
    assert "hunter22" not in repr(steps)


def test_a_journal_that_somebody_else_writes_is_said_and_the_play_goes_on(
    play: Play, path: Path
) -> None:
    with Journal.open(path) as other:
        other.begin_run(RunInfo("site", "x"))
        told = play(TRACKBED_JOURNAL=str(path))
        assert len(other.runs()) == 1
    says = " ".join((told.stdout + told.stderr).split())
    assert f"is being written by process {os.getpid()}" in says
    assert "the journal gets nothing of this run" in says
    assert "gpu-001 : ok=2" in says


def test_a_place_is_asked_for(play: Play) -> None:
    told = play()
    assert "no journal is named: set TRACKBED_JOURNAL" in " ".join(
        (told.stdout + told.stderr).split()
    )


def test_the_inventory_may_name_the_place(play: Play, path: Path, tmp_path: Path) -> None:
    (tmp_path / "inventory.yml").write_text(INVENTORY + f"    trackbed_journal: {path}\n")
    play()
    with Journal.open(path, read_only=True) as journal:
        assert journal.runs()[0].state == "done"


def test_below_the_command_line_it_does_nothing(play: Play, path: Path) -> None:
    told = play(TRACKBED_JOURNAL=str(path), TRACKBED_RECORDED="1")
    assert told.returncode == 2
    assert "journal" not in told.stdout + told.stderr
    assert not path.exists()
