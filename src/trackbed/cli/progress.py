"""What is going on, told on stderr: one line that renews itself on a terminal, else one per task.

Counts, not events: a task on 1,000 nodes is one line. The first failures of a
task are told as they happen, because a long run is often stopped for them.
"""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from trackbed.output import Output, is_terminal
from trackbed.recorder import ENDS

_TASK_STARTS = ("playbook_on_task_start", "playbook_on_handler_task_start")
_WORDS = ("ok", "changed", "failed", "unreachable", "skipped")
# Per task; the count tells the rest, and the journal has them all.
_FAILURES_TOLD = 5
# A terminal is renewed at most this often (seconds): 1,000 nodes make thousands of events.
_RENEW = 0.1
_MESSAGE = 200


class Progress:
    """Follows the events of one run."""

    def __init__(
        self,
        output: Output,
        title: str,
        nodes: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Tell about a run of `title` over so many nodes on the messages' stream of `output`."""
        self._output = output
        self._title = title
        self._nodes = nodes
        self._clock = clock
        self._live = is_terminal(output.err)
        self._task = ""
        self._counts: Counter[str] = Counter()
        self._drawn_at = float("-inf")
        self._is_drawn = False

    def event(self, event: Mapping[str, Any]) -> None:
        """Take one event of ansible-runner; unknown ones are of no concern."""
        kind = event.get("event", "")
        data = event.get("event_data") or {}
        if kind in _TASK_STARTS:
            self._begin(str(data.get("task") or ""))
        elif kind in ENDS:
            self._count(ENDS[kind], data)

    def close(self) -> None:
        """Tell about the last task and leave the terminal clean."""
        self._end()

    def _begin(self, task: str) -> None:
        self._end()
        self._task = task
        self._draw(now=True)

    def _end(self) -> None:
        if self._task and self._counts and not self._live:
            self._output.say(self._line())
        self._clear()
        self._task = ""
        self._counts.clear()

    def _count(self, word: str, data: Mapping[str, Any]) -> None:
        result = data.get("res") or {}
        if word == "ok" and result.get("changed"):
            word = "changed"
        if word == "failed" and data.get("ignore_errors"):
            word = "ok"
        self._counts[word] += 1
        if word in ("failed", "unreachable"):
            self._tell(word, str(data.get("host", "?")), result)
        self._draw()

    def _tell(self, word: str, host: str, result: Mapping[str, Any]) -> None:
        if self._counts[word] > _FAILURES_TOLD:
            return
        message = " ".join(str(result.get("msg") or "no message").split())
        self._clear()
        self._output.say(f"{host}: {word}: {message[:_MESSAGE]}")

    def _line(self) -> str:
        counts = ", ".join(f"{self._counts[word]} {word}" for word in _WORDS if self._counts[word])
        return f"{self._title}: {self._task or 'start'}: {counts or 'begun'}"

    def _draw(self, *, now: bool = False) -> None:
        if not self._live or (not now and self._clock() - self._drawn_at < _RENEW):
            return
        done = f" ({sum(self._counts.values())} of {self._nodes})"
        width = shutil.get_terminal_size().columns - len(done) - 1
        self._output.err.write("\r\x1b[K" + self._line()[:width] + done)
        self._output.err.flush()
        self._drawn_at = self._clock()
        self._is_drawn = True

    def _clear(self) -> None:
        if self._is_drawn:
            self._output.err.write("\r\x1b[K")
            self._output.err.flush()
            self._is_drawn = False
