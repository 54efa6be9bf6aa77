"""The recorder never holds up a run, never hides a failure, and counts what came."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.trackbed.cluster.plugins.plugin_utils._journal import Journal
from ansible_collections.trackbed.cluster.plugins.plugin_utils._journal_rows import (
    JournalError,
    RunInfo,
)

from trackbed.recorder import Recorder, uncounted


def _event(kind: str, host: str, result: dict[str, Any] | None, **data: Any) -> dict[str, Any]:
    return {
        "event": f"runner_on_{kind}",
        "event_data": {"host": host, "task": "T", "res": result, **data},
    }


def _stats(**counts: dict[str, int]) -> dict[str, Any]:
    hosts = {host for one in counts.values() for host in one}
    return {
        "event": "playbook_on_stats",
        "event_data": {"processed": dict.fromkeys(hosts, 1), **counts},
    }


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal.open(tmp_path / "journal.sqlite")


def _record(journal: Journal, events: list[dict[str, Any]]) -> tuple[str, list[str]]:
    run = journal.begin_run(RunInfo("site", "x"))
    recorder = Recorder(journal, run)
    recorder.start()
    assert [recorder.handle(event) for event in events] == [False] * len(events)
    return run, recorder.finish()


def test_events_become_steps(journal: Journal) -> None:
    events = [
        {"event": "playbook_on_play_start", "event_data": {"play": "p"}},
        _event("ok", "gpu-001", {"changed": True}, role="r"),
        _event("failed", "gpu-002", {"msg": "no"}),
        _event("unreachable", "gpu-003", {"msg": "gone"}),
        _event("failed", "gpu-001", {"msg": "never mind"}, ignore_errors=True),
        _stats(ok={"gpu-001": 2}, failures={"gpu-002": 1}, dark={"gpu-003": 1}),
    ]
    run, problems = _record(journal, events)
    assert problems == []
    assert [(one.node, one.status, one.ignored) for one in journal.steps(run)] == [
        ("gpu-001", "changed", False),
        ("gpu-002", "failed", False),
        ("gpu-003", "unreachable", False),
        ("gpu-001", "failed", True),
    ]


def test_an_event_that_never_came_is_noticed(journal: Journal) -> None:
    _, problems = _record(journal, [_event("ok", "gpu-001", {"changed": False}),
                                    _stats(ok={"gpu-001": 3, "gpu-002": 1})])  # fmt: skip
    assert problems == [
        "gpu-001: Ansible counts 3 results ok or unreachable, 1 came",
        "gpu-002: Ansible counts 1 results ok or unreachable, 0 came",
    ]


def test_a_result_replaced_by_nothing_is_noticed(journal: Journal) -> None:
    _, problems = _record(journal, [_event("ok", "gpu-001", {})])
    assert problems == ["the result of task 'T' on gpu-001 was too large and is lost"]


def test_a_skipped_task_comes_without_a_result_and_none_is_lost(journal: Journal) -> None:
    run, problems = _record(
        journal, [_event("skipped", "gpu-001", None), _stats(skipped={"gpu-001": 1})]
    )
    assert problems == []
    assert [one.status for one in journal.steps(run)] == ["skipped"]


def test_an_event_without_its_content_is_noticed(journal: Journal) -> None:
    _, problems = _record(journal, [{"uuid": "u", "counter": 3}, {"event": "EOF"}])
    assert problems == ["an event of ansible-playbook came without its content"]


def test_includes_are_counted_as_ansible_counts_them(journal: Journal) -> None:
    # Seen with ansible-core 2.19: one result of a loop over two files, two in its count; a role
    # that is included is not in its count.
    loop = {"results": [{"include": "a.yml"}, {"include": "b.yml"}]}
    events = [
        _event("ok", "gpu-001", loop, resolved_action="ansible.builtin.include_tasks"),
        _event("ok", "gpu-001", {"include_args": {}}, task_action="include_role"),
        _event("ok", "gpu-001", {"changed": False}, resolved_action="ansible.builtin.debug"),
        _stats(ok={"gpu-001": 3}),
    ]
    assert _record(journal, events)[1] == []
    events[-1] = _stats(ok={"gpu-001": 5})
    assert _record(journal, events)[1] == [
        "gpu-001: Ansible counts 5 results ok or unreachable, 1 came"
    ]


def test_an_unreachable_node_that_is_to_be_ignored_counts_as_ok() -> None:
    stats = {"processed": {"a": 1}, "ok": {"a": 1}, "ignored": {"a": 1}}
    assert uncounted(Counter({("a", "unreachable"): 1}), stats) == []
    assert uncounted(Counter({("a", "unreachable"): 2}), stats) != []


def test_a_rescued_failure_is_no_difference() -> None:
    stats = {"processed": {"a": 1}, "ok": {"a": 1}, "rescued": {"a": 1}, "failures": {}}
    assert uncounted(Counter({("a", "failed"): 1, ("a", "ok"): 1}), stats) == []


def test_nothing_can_be_compared_without_a_count() -> None:
    assert uncounted(Counter({("a", "ok"): 1}), None) == []


def test_a_journal_that_fails_cancels_the_run_and_is_reported(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = journal.begin_run(RunInfo("site", "x"))
    recorder = Recorder(journal, run)

    def full(*_: object) -> None:
        raise JournalError("database or disk is full")

    monkeypatch.setattr(journal, "write", full)
    recorder.start()
    for _ in range(3):
        recorder.handle(_event("ok", "gpu-001", {"changed": False}))
    problems = recorder.finish()
    assert recorder.must_stop()
    assert problems[0] == "the journal could not be written: database or disk is full"


def test_a_watcher_sees_every_event_and_its_failure_is_not_lost(journal: Journal) -> None:
    seen: list[str] = []

    def watch(event: Any) -> None:
        seen.append(event["event"])
        if len(seen) == 2:
            raise ValueError("a defect in the display")

    recorder = Recorder(journal, journal.begin_run(RunInfo("site", "x")), watch)
    recorder.start()
    for _ in range(2):
        recorder.handle(_event("ok", "gpu-001", {"changed": False}))
    assert "a defect in the display" in recorder.finish()[0]
    assert len(seen) == 2
