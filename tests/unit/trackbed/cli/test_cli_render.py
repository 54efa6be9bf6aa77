"""Documents as text."""

from __future__ import annotations

from typing import Any

from trackbed.cli import render


def row(node: str, state: str = "ok", **counts: int) -> dict[str, Any]:
    zero = {"ok": 0, "changed": 0, "failed": 0, "unreachable": 0, "skipped": 0}
    return {"node": node, "state": state, **zero, **counts}


CHANGE = {
    "node": "a",
    "role": "r",
    "task": "T",
    "setting": "vm.swappiness",
    "before": "60",
    "after": "1",
}
FAILURE = {"node": "b", "status": "failed", "role": "r", "task": "T", "message": "broke"}


def document(node: str, source: str = "os", **more: Any) -> dict[str, Any]:
    base = {"node": node, "source": source, "quality": "ok", "problems": [], "tool": None}
    return {**base, "entities": [{"path": node}], **more}


def test_a_run_of_site_tells_what_would_change_and_what_broke() -> None:
    found = {
        "verb": "site",
        "check": True,
        "changes": [CHANGE],
        "failures": [FAILURE],
        "nodes": [row("a", "changed", changed=1), row("b", "failed", failed=1)],
    }
    text = render.site(found, colour=False, width=80)
    assert "Would change:" in text
    assert "vm.swappiness: 60 -> 1" in text
    assert "broke" in text


def test_facts_of_nodes_that_answer_alike_share_a_line() -> None:
    found = {
        "verb": "facts",
        "failures": [],
        "nodes": [row("n1", ok=1), row("n2", ok=1)],
        "documents": [
            document("n1"),
            document("n2"),
            document(
                "n1",
                "lspci",
                quality="partial",
                tool={"name": "lspci", "version": "3.9.0"},
                entities=[{"path": "n1"}, {"path": "n1/gpu:0"}, {"path": "n1/gpu:1"}],
                problems=[{"says": "no\naccess " + "x" * 200}, {"says": "other"}],
            ),
        ],
    }
    lines = render.facts(found, colour=False, width=80).splitlines()
    assert lines[1].split() == ["n[1-2]", "os", "-", "ok", "1", "node", "-"]
    assert lines[2].split()[:10] == [
        *("n1", "lspci", "lspci", "3.9.0", "partial", "1", "node,", "2", "gpu", "no"),
    ]
    assert lines[2].endswith("… (and 1 more)")
    assert lines[-1] == "read 2 of 2 nodes"
    assert "\x1b[33mpartial\x1b[0m" in render.facts(found, colour=True, width=80)


def test_facts_leave_out_what_a_node_has_not() -> None:
    found = {
        "verb": "facts",
        "failures": [],
        "nodes": [row("n1", ok=1)],
        "documents": [document("n1"), document("n1", "amd-smi-json", quality="not_applicable")],
    }
    text = render.facts(found, colour=False, width=80)
    assert "amd-smi" not in text
    assert "read 1 of 1 node" in text


def test_facts_tell_who_did_not_answer() -> None:
    found = {
        "verb": "facts",
        "failures": [{**FAILURE, "status": "unreachable"}],
        "nodes": [row("b", "unreachable", unreachable=1)],
        "documents": [],
        "changes": [],
    }
    text = render.facts(found, colour=False, width=80)
    assert "Unreachable on b." in text
    assert text.endswith("read 0 of 1 node\n")


RUN = {
    "id": "r1",
    "verb": "site",
    "state": "done",
    "exit_code": 0,
    "says": "",
    "check": True,
    "started": "s",
    "ended": None,
    "user": "u",
    "controller": "c",
    "command": "ansible-playbook",
}


def test_runs_and_one_run() -> None:
    listed = render.runs({"runs": [{**RUN, "nodes": 4}]}, colour=False).splitlines()
    assert listed[1].split() == ["r1", "site", "done", "0", "yes", "s", "u", "4"]
    assert render.runs({"runs": []}, colour=False) == "no runs yet\n"
    one = {**RUN, "nodes": [row("a", ok=1)], "changes": [CHANGE], "failures": [FAILURE]}
    text = render.run({"run": one}, colour=False, width=80)
    assert "exit code   0\nsays        -\ncheck       yes" in text
    assert "command     ansible-playbook" in text
    assert "60 -> 1" in text
    assert "broke" in text


def test_status_never_leaves_a_hole() -> None:
    found = {
        "nodes": [
            {"node": "a", "seen": "t3"}
            | {"site": {"run": "r1", "at": "t1", "state": "ok"}}
            | {"validate": {"run": "r2", "at": "t2", "state": "fail"}},
            {"node": "b", "seen": None, "site": None, "validate": None},
        ]
    }
    lines = render.status(found, colour=False).splitlines()
    assert lines[1].split() == ["a", "fail", "t2", "ok", "t1", "t3"]
    assert lines[2].split() == ["b", "never", "-", "never", "-", "-"]
    assert "no node" in render.status({"nodes": []}, colour=False)


def test_settings() -> None:
    rows = [
        {"setting": "inventory", "value": ["/a", "/b"], "source": "--inventory"},
        {"setting": "journal", "value": None, "source": "default"},
    ]
    lines = render.settings({"settings": rows}).splitlines()
    assert lines[1].split() == ["inventory", "/a,", "/b", "--inventory"]
    assert lines[2].split() == ["journal", "-", "default"]
