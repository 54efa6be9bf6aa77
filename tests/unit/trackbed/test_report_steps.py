from __future__ import annotations

import re
import textwrap
from typing import Any

from trackbed import report_steps
from trackbed.report import render_steps


def _row(
    node: str, state: str = "ok", ok: int = 12, changed: int = 0, **more: int
) -> dict[str, Any]:
    counts = {"failed": 0, "unreachable": 0, "skipped": 1, **more}
    return {"node": node, "state": state, "ok": ok, "changed": changed, **counts}


def _failure(
    node: str, message: str | None = "no space left", status: str = "failed"
) -> dict[str, Any]:
    task = "Write the sysctl file"
    return {
        "node": node,
        "status": status,
        "role": "kernel_tuning",
        "task": task,
        "message": message,
    }


def _change(node: str, before: Any = "60", after: Any = "10", **more: Any) -> dict[str, Any]:
    base = {"role": "kernel_tuning", "task": "Apply", "setting": "vm.swappiness"}
    return {"node": node, **base, "before": before, "after": after, **more}


def _render(rows: Any, failures: Any = (), changes: Any = (), **more: Any) -> str:
    return render_steps(rows, failures, changes, **{"colour": False, "width": 88, **more})


def _is(text: str, wanted: str) -> None:
    assert text == textwrap.dedent(wanted).lstrip("\n")


def test_nothing_to_change() -> None:
    _is(
        _render([_row(f"gpu-00{n}") for n in range(1, 5)]),
        """
        gpu-[001-004]: nothing to change.

        node           state  ok  changed  failed  unreachable  skipped
        gpu-[001-004]  ok     12  0        0       0            1
        """,
    )


def test_changes_are_folded_by_setting() -> None:
    rows = [_row("gpu-001", "changed", 10, 2), _row("gpu-002", "changed", 10, 2), _row("gpu-003")]
    changes = [
        _change("gpu-001"),
        _change("gpu-002"),
        _change("gpu-001", None, "1", setting="net.x"),
        _change("gpu-002", "a\nb", "a\nc", setting="/etc/some.conf"),
        _change("gpu-002", None, None, setting="Reload systemd", role=""),
    ]
    _is(
        _render(rows, changes=changes),
        """
        gpu-[001-003]: 5 settings changed on 2 nodes.

        node           state    ok  changed  failed  unreachable  skipped
        gpu-[001-002]  changed  10  2        0       0            1
        gpu-003        ok       12  0        0       0            1

        Changed:
          kernel_tuning: vm.swappiness: 60 -> 10 (gpu-[001-002])
          kernel_tuning: net.x: (absent) -> 1 (gpu-001)
          kernel_tuning: /etc/some.conf (gpu-002)
          Reload systemd (gpu-002)
        """,
    )


def test_check_mode_says_would() -> None:
    text = _render([_row("gpu-001", "changed", 10, 1)], changes=[_change("gpu-001")], check=True)
    assert text.startswith("gpu-001: 1 setting would change on 1 node.\n")
    assert "\nWould change:\n" in text


def test_a_failure_comes_first_with_its_message() -> None:
    rows = [
        _row("gpu-001"),
        _row("gpu-002", "failed", 3, failed=1),
        _row("gpu-003", "unreachable", 0, unreachable=1),
    ]
    failures = [_failure("gpu-002"), _failure("gpu-003", "Connection timed out", "unreachable")]
    _is(
        _render(rows, failures),
        """
        Failed on gpu-002; unreachable on gpu-003. kernel_tuning | Write the sysctl file: no
        space left

        node     state        ok  changed  failed  unreachable  skipped
        gpu-002  failed       3   0        1       0            1
        gpu-003  unreachable  0   0        0       1            1
        gpu-001  ok           12  0        0       0            1

        FAILED  kernel_tuning | Write the sysctl file
          where  gpu-002
          what   no space left

        UNREACHABLE  kernel_tuning | Write the sysctl file
          where  gpu-003
          what   Connection timed out
        """,
    )


def test_the_same_failure_on_many_nodes_is_one_paragraph() -> None:
    nodes = [f"gpu-{n:03}" for n in range(1, 101)]
    rows = [_row(node, "failed", 3, failed=1) for node in nodes]
    text = _render(rows, [_failure(node) for node in nodes])
    assert len(text.splitlines()) == 8
    assert "  where  gpu-[001-100]\n" in text


def test_untouched_nodes_are_not_called_fine() -> None:
    text = _render([_row("gpu-001"), _row("gpu-002", "untouched", 0, skipped=0)])
    assert text.startswith("Untouched on gpu-002.\n")


def test_no_rows() -> None:
    assert _render([]) == "No node was touched.\n"


def test_a_failure_without_message_or_task() -> None:
    failure = {**_failure("gpu-001", None), "role": None, "task": None}
    text = _render([_row("gpu-001", "failed", failed=1)], [failure])
    assert text.startswith("Failed on gpu-001. (no task): no message\n")


def test_long_messages_and_long_lists_are_cut_and_counted() -> None:
    rows = [_row(f"n{n}", "failed", ok=n, failed=1) for n in range(30)]
    failures = [_failure(f"n{n}", f"{n} " + "x " * 1000) for n in range(20)]
    changes = [_change("n1", setting=f"s{n}") for n in range(50)]
    text = _render(rows, failures, changes)
    assert " … (cut)" in text
    assert f"… and {30 - report_steps.MAX_ROWS} more nodes, none in a worse state.\n" in text
    assert (
        f"… and {20 - report_steps.MAX_FAILURES} more failures; `trackbed runs` has them.\n" in text
    )
    assert f"… and {50 - report_steps.MAX_CHANGES} more settings.\n" in text


def test_an_unknown_state_is_shown_last() -> None:
    lines = _render([_row("a", "odd"), _row("b")]).splitlines()
    assert [line.split()[0] for line in lines[3:5]] == ["b", "a"]


def test_colour() -> None:
    rows, failures = [_row("gpu-001", "failed", failed=1)], [_failure("gpu-001")]
    coloured = _render(rows, failures, colour=True)
    assert "\x1b[31mFAILED\x1b[0m" in coloured
    assert re.sub(r"\x1b\[\d+m", "", coloured) == _render(rows, failures)
