"""The action plugin: which run it judges, what it returns, when it fails."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible.errors import AnsibleActionFail
from ansible.playbook.task import Task
from ansible_collections.trackbed.cluster.plugins.action.judge import ActionModule
from ansible_collections.trackbed.cluster.plugins.plugin_utils._book import load
from ansible_collections.trackbed.cluster.plugins.plugin_utils._journal import Journal
from ansible_collections.trackbed.cluster.plugins.plugin_utils._journal_rows import (
    Evidence,
    RunInfo,
)

CHECKS = [check.id for check in load().checks]
ONLY_KERNEL = {check: {"enabled": False} for check in CHECKS if check != "kernel_equal"}


def system(node: str, kernel: str) -> Evidence:
    entity = {"path": node, "ids": {}, "values": {"kernel_release": kernel}}
    tool = {"name": None, "version": None}
    document = {"schema": 1, "source": "os", "tool": tool, "quality": "ok", "problems": []}
    document |= {"started": "2026-12-01T00:00:00Z", "seconds": 0.1, "raw": None}
    return Evidence(node, {**document, "entities": [entity]})


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "j.sqlite"


def record(place: Path, **kernels: str) -> tuple[Journal, str]:
    """Begin a run that has read these nodes; the caller closes the journal."""
    journal = Journal.open(place)
    run = journal.begin_run(RunInfo("validate", "", user="u", controller="c"))
    journal.write(run, [system(node, kernel) for node, kernel in kernels.items()])
    return journal, run


def act(arguments: dict[str, Any], **variables: Any) -> dict[str, Any]:
    task = Task.load({"action": "trackbed.cluster.judge", "args": arguments})
    task.args = arguments
    connection = SimpleNamespace(_shell=SimpleNamespace(tmpdir=None))
    action = ActionModule(task, connection, SimpleNamespace(check_mode=False), None, None, None)
    hostvars = {name: {"trackbed_sku": "h100-sxm"} for name in arguments.get("nodes", ())}
    return action.run(task_vars={"hostvars": hostvars, **variables})


def test_the_run_in_progress_is_judged(place: Path) -> None:
    journal, run = record(place, n1="6.1", n2="6.1")
    with journal:
        found = act({"nodes": ["n1", "n2"], "policy": ONLY_KERNEL, "journal": str(place)})
    assert (found["failed"], found["verdict"], found["run"]) == (False, "level", run)
    assert found["counts"] == {
        "pass": 2,
        "warn": 0,
        "fail": 0,
        "unknown": 0,
        "skip": 2 * len(ONLY_KERNEL),
    }
    assert {one["check"] for one in found["trackbed_findings"]} >= {"kernel_equal"}


def test_a_node_that_was_not_read_fails_the_task(place: Path) -> None:
    journal, _ = record(place, n1="6.1", n2="6.1")
    with journal:
        found = act({"nodes": ["n1", "n2", "n3"], "policy": ONLY_KERNEL}, trackbed_journal=place)
    assert (found["failed"], found["verdict"]) == (True, "unknown")
    assert "n3" in found["msg"]


def test_it_may_be_told_not_to_fail(place: Path) -> None:
    journal, _ = record(place, n1="6.1", n2="6.1", n3="5.10")
    with journal:
        arguments = {"nodes": ["n1", "n2", "n3"], "policy": ONLY_KERNEL, "journal": str(place)}
        found = act({**arguments, "fail": False})
        assert act(arguments)["failed"]
    assert (found["failed"], found["verdict"]) == (False, "not level")
    assert found["msg"].startswith("not level; ")


def test_a_run_by_its_id(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal, run = record(place, n1="6.1", n2="6.1")
    with journal:
        journal.end_run(run, 0, "done")
    monkeypatch.setenv("TRACKBED_JOURNAL", str(place))
    found = act({"nodes": ["n1", "n2"], "policy": ONLY_KERNEL, "run": run})
    assert (found["run"], found["verdict"]) == (run, "level")


def test_no_run_in_progress_is_said_with_the_remedy(place: Path) -> None:
    journal, run = record(place, n1="6.1")
    with journal:
        journal.end_run(run, 0, "done")
    with pytest.raises(AnsibleActionFail, match="ANSIBLE_CALLBACKS_ENABLED"):
        act({"nodes": ["n1"], "journal": str(place)})


def test_no_journal_is_said_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRACKBED_JOURNAL", raising=False)
    with pytest.raises(AnsibleActionFail, match="no journal is named"):
        act({"nodes": ["n1"]})


def test_a_wrong_policy_is_refused(place: Path) -> None:
    journal, _ = record(place, n1="6.1")
    with journal, pytest.raises(AnsibleActionFail, match="kernel_eqal"):
        act({"nodes": ["n1"], "journal": str(place), "policy": {"kernel_eqal": {}}})


def test_many_findings_make_a_message_that_can_be_read(place: Path) -> None:
    journal, _ = record(place)
    names = [f"n{i}" for i in range(100)]
    with journal:
        found = act({"nodes": names, "journal": str(place)})
    assert len(found["trackbed_findings"]) == 100 * len(CHECKS)
    assert found["msg"].endswith("; and 80 more")
