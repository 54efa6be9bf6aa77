"""How each node stands, from the runs of the journal."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.trackbed.cluster.plugins.plugin_utils._finding import Finding
from ansible_collections.trackbed.cluster.plugins.plugin_utils._journal_rows import (
    NodeTally,
    Run,
    RunInfo,
)

from trackbed.cli import standing


def run(name: str, verb: str, *tallies: NodeTally, check: bool = False) -> Run:
    info = RunInfo(verb, "", check_mode=check, user="u", controller="c")
    return Run(name, info, f"start of {name}", f"end of {name}", 0, "done", "", tallies)


def finding(entity: str, verdict: str) -> Finding:
    return Finding("c", entity, verdict, "major", "says")


def test_the_newest_of_each_kind_counts() -> None:
    runs = [
        run("r4", "site", NodeTally("a", failed=1), check=True),
        run("r3", "validate", NodeTally("a", ok=1), NodeTally("b", unreachable=1)),
        run("r2", "site", NodeTally("a", changed=1), NodeTally("b", ok=1)),
        run("r1", "site", NodeTally("a", failed=1), NodeTally("b", failed=1)),
    ]
    judged = {"r3": [finding("a/gpu:1", "fail"), finding("a", "pass"), finding("b", "unknown")]}
    rows = standing.standings(runs, judged)
    assert rows == [
        {"node": "a", "seen": "end of r4"}
        | {"site": {"run": "r2", "at": "end of r2", "state": "changed"}}
        | {"validate": {"run": "r3", "at": "end of r3", "state": "fail"}},
        {"node": "b", "seen": "end of r2"}
        | {"site": {"run": "r2", "at": "end of r2", "state": "ok"}}
        | {"validate": {"run": "r3", "at": "end of r3", "state": "unknown"}},
    ]


def test_nodes_that_were_never_seen_have_a_row_where_they_are_asked_about() -> None:
    runs = [run("r1", "site", NodeTally("n10", ok=1), NodeTally("n2", ok=1))]
    assert [row["node"] for row in standing.standings(runs, {})] == ["n2", "n10"]
    rows = standing.standings(runs, {}, ["x", "n2"])
    assert [row["node"] for row in rows] == ["x", "n2"]
    assert rows[0] == {"node": "x", "site": None, "validate": None, "seen": None}


def judged(state: str | None, applied: str | None = None) -> dict[str, Any]:
    return {
        "validate": state and {"run": "r", "at": "t", "state": state},
        "site": applied and {"run": "r", "at": "t", "state": applied},
    }


@pytest.mark.parametrize(
    ("rows", "code"),
    [
        ([judged("pass", "ok")], 0),
        ([judged("pass"), judged("fail")], 3),
        ([judged("warn"), judged("unknown")], 3),
        ([judged("pass"), judged("unknown")], 4),
        ([judged("skip")], 4),
        ([judged(None)], 4),
        ([judged("pass", "failed")], 4),
        ([judged("pass", "unreachable")], 4),
        ([], 4),
    ],
)
def test_the_exit_code_is_that_of_the_last_judgements(rows: list[Any], code: int) -> None:
    assert standing.code(rows) == code
