"""What a run came to."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from ansible_collections.trackbed.cluster.plugins.plugin_utils._finding import Finding
from ansible_collections.trackbed.cluster.plugins.plugin_utils._journal_rows import NodeTally, Step

from trackbed.cli import summary


def test_the_weightier_code_wins_in_any_order() -> None:
    order = [130, 2, 1, 3, 4, 0]
    for first, second in itertools.combinations(order, 2):
        assert summary.worst([second, first]) == first
    assert summary.worst([]) == 0


@pytest.mark.parametrize(
    ("counts", "state"),
    [
        ({"ok": 3}, "ok"),
        ({"ok": 3, "changed": 1}, "changed"),
        ({"ok": 3, "changed": 1, "unreachable": 1}, "unreachable"),
        ({"failed": 1, "unreachable": 1}, "failed"),
        ({"skipped": 1}, "ok"),
        ({"ignored": 1}, "ok"),
        ({}, "untouched"),
    ],
)
def test_the_state_of_a_node(counts: dict[str, int], state: str) -> None:
    assert summary.node_state(NodeTally("a", **counts)) == state


def test_a_node_without_any_result_is_not_left_out() -> None:
    rows = summary.node_rows(["a", "b"], [NodeTally("a", ok=1)])
    assert [(row["node"], row["state"]) for row in rows] == [("a", "ok"), ("b", "untouched")]


@pytest.mark.parametrize(
    ("states", "code"),
    [
        (["ok", "changed"], 0),
        (["ok", "unreachable"], 4),
        (["ok", "untouched"], 4),
        (["unreachable", "failed"], 1),
        ([], 0),
    ],
)
def test_the_code_of_a_run(states: list[str], code: int) -> None:
    assert summary.run_code([{"state": state} for state in states]) == code


@pytest.mark.parametrize(
    ("quality", "code"),
    [
        ("ok", 0),
        ("absent", 0),
        ("not_applicable", 0),
        ("partial", 4),
        ("unreadable", 4),
        ("timeout", 4),
        ("error", 4),
    ],
)
def test_what_could_not_be_read_leaves_it_open(quality: str, code: int) -> None:
    assert summary.quality_code([{"quality": "ok"}, {"quality": quality}]) == code


def step(**fields: Any) -> Step:
    return Step(**{"node": "a", "task": "T", "status": "changed", **fields})


def test_each_item_of_a_diff_is_a_change() -> None:
    diff = [
        {"before_header": "vm.swappiness", "after_header": "vm.swappiness"}
        | {"before": "60\n", "after": "1\n"},
        {"before": "same", "after": "same"},
    ]
    assert summary.changes([step(role="r", diff=diff), step(status="ok", diff=diff)]) == [
        {"node": "a", "role": "r", "task": "T", "setting": "vm.swappiness"}
        | {"before": "60", "after": "1"},
    ]


def test_a_change_without_a_diff_is_still_a_change() -> None:
    found = summary.changes([step(), step(diff=[{"before": 1, "after": 1}])])
    assert [(row["setting"], row["before"]) for row in found] == [("T", None), ("T", None)]


def test_failures_without_those_that_the_play_passed_over() -> None:
    steps = [
        step(status="failed", message="broke", role="r"),
        step(status="unreachable", node="b"),
        step(status="failed", ignored=True),
        step(status="ok"),
    ]
    assert summary.failures(steps) == [
        {"node": "a", "status": "failed", "role": "r", "task": "T", "message": "broke"},
        {"node": "b", "status": "unreachable", "role": "", "task": "T", "message": ""},
    ]


def finding(entity: str, verdict: str) -> Finding:
    return Finding("check", entity, verdict, "major", "says")


def test_a_node_is_as_good_as_its_worst_finding_and_unknown_without_any() -> None:
    found = summary.verdicts(
        ["a", "b", "c"],
        [
            finding("a", "pass"),
            finding("a/gpu:1", "fail"),
            finding("b", "pass"),
            finding("b/gpu:0", "skip"),
            finding("link:b/gpu:0--d/gpu:1", "warn"),
        ],
    )
    assert found == {"a": "fail", "b": "warn", "c": "unknown", "d": "warn"}


def test_unknown_outweighs_pass() -> None:
    assert summary.worst_verdict(["pass", "unknown"]) == "unknown"
    assert summary.worst_verdict(["pass", "skip"]) == "pass"
    assert summary.worst_verdict([]) == "unknown"


@pytest.mark.parametrize(("code", "word"), [(0, "level"), (3, "not level"), (4, "unknown")])
def test_in_a_word(code: int, word: str) -> None:
    assert summary.in_a_word(code) == word
