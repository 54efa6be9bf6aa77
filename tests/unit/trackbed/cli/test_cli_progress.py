"""Live progress: counts, not events."""

from __future__ import annotations

import io
from typing import Any

import pytest

from trackbed.cli.progress import Progress
from trackbed.output import Output


class Terminal(io.StringIO):
    """A stream that a person watches."""

    def isatty(self) -> bool:
        return True


def task(name: str) -> dict[str, Any]:
    return {"event": "playbook_on_task_start", "event_data": {"task": name}}


def end(kind: str, host: str, **result: Any) -> dict[str, Any]:
    return {"event": f"runner_on_{kind}", "event_data": {"host": host, "res": result}}


def told(events: list[dict[str, Any]], err: io.StringIO | None = None, clock: Any = None) -> str:
    stream = err or io.StringIO()
    progress = Progress(
        Output(io.StringIO(), stream), "site", 3, **({"clock": clock} if clock else {})
    )
    for event in events:
        progress.event(event)
    progress.close()
    return stream.getvalue()


def test_one_plain_line_per_task_with_counts() -> None:
    text = told(
        [
            {"event": "playbook_on_start", "event_data": {}},
            task("Write the files"),
            end("ok", "a", changed=True),
            end("ok", "b"),
            end("skipped", "c"),
            task("Load them"),
            end("ok", "a"),
        ]
    )
    assert text.splitlines() == [
        "site: Write the files: 1 ok, 1 changed, 1 skipped",
        "site: Load them: 1 ok",
    ]


def test_failures_are_told_at_once_with_their_reason() -> None:
    text = told([task("T"), end("unreachable", "a", msg="ssh:\n  timed out"), end("failed", "b")])
    assert text.splitlines() == [
        "a: unreachable: ssh: timed out",
        "b: failed: no message",
        "site: T: 1 failed, 1 unreachable",
    ]


def test_a_thousand_failures_are_a_count() -> None:
    text = told([task("T"), *(end("failed", f"n{i}", msg="x" * 999) for i in range(1000))])
    lines = text.splitlines()
    assert len(lines) == 6
    assert lines[-1] == "site: T: 1000 failed"
    assert max(map(len, lines)) < 230


def test_an_ignored_failure_is_none() -> None:
    event = end("failed", "a", msg="no matter")
    event["event_data"]["ignore_errors"] = True
    assert told([task("T"), event]) == "site: T: 1 ok\n"


def test_a_task_without_results_says_nothing() -> None:
    assert told([task("T"), task("U")]) == ""


@pytest.mark.parametrize("event", [{}, {"event": "runner_on_start"}, {"event": "verbose"}])
def test_other_events_are_of_no_concern(event: dict[str, Any]) -> None:
    assert told([event]) == ""


def test_a_terminal_has_one_line_that_renews_itself_and_goes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    ticks = iter(range(100))
    text = told(
        [task("T"), end("ok", "a"), end("failed", "b", msg="broken"), end("ok", "c")],
        Terminal(),
        clock=lambda: float(next(ticks)),
    )
    assert "\n" not in text.replace("b: failed: broken\n", "")
    assert "site: T: 2 ok, 1 failed (3 of 3)" in text
    assert text.endswith("\r\x1b[K")


def test_a_terminal_is_not_flooded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    events = [task("T"), *(end("ok", f"n{i}") for i in range(1000))]
    text = told(events, Terminal(), clock=lambda: 0.0)
    assert text.count("\r") == 2  # the first drawing and the clearing


def test_a_long_task_name_stays_on_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    text = told([task("T" * 200)], Terminal())
    assert max(len(part.removeprefix("\x1b[K")) for part in text.split("\r")) < 40
