"""From the events of a run to the journal, without ever holding up the run.

The event handler only puts the event into a queue. One thread takes them out,
and it alone uses the journal until `finish`. A journal that cannot be written
cancels the run: what is not recorded must not be done.
"""

from __future__ import annotations

import queue
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from ansible_collections.trackbed.cluster.plugins.plugin_utils._journal import Journal
from ansible_collections.trackbed.cluster.plugins.plugin_utils._journal_rows import Record
from ansible_collections.trackbed.cluster.plugins.plugin_utils._records import records_from_result

Event = Mapping[str, Any]
# Events of ansible-runner 2.4 that end a task on a node -> status of the step.
ENDS = {
    "runner_on_ok": "ok",
    "runner_on_failed": "failed",
    "runner_on_unreachable": "unreachable",
    "runner_on_skipped": "skipped",
}
# The result of an include says only what was included. Ansible counts it once per file, not
# once per task, and a role not at all (strategy/__init__.py of ansible-core 2.19).
_INCLUDES = ("include_tasks", "include_role")
_BATCH = 500
_STATS = "playbook_on_stats"


class Recorder:
    """Writes one run into a journal."""

    def __init__(
        self, journal: Journal, run: str, watch: Callable[[Event], None] | None = None
    ) -> None:
        """Record into this run of the journal; `watch` sees every event, in the writer's thread."""
        self._journal = journal
        self._run = run
        self._watch = watch
        self._queue: queue.SimpleQueue[Event | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="journal", daemon=True)
        self._seen: Counter[tuple[str, str]] = Counter()
        self._stats: dict[str, Any] | None = None
        self._included: Counter[str] = Counter()
        self._lost: list[str] = []
        self.failure: Exception | None = None
        """Why the journal could not be written; then the run is to be cancelled."""

    def start(self) -> None:
        """Start the thread that writes."""
        self._thread.start()

    def handle(self, event: Event) -> bool:
        """Take one event; never raises, and tells the runner not to keep it on disk."""
        self._queue.put(event)
        return False

    def must_stop(self) -> bool:
        """Return whether the run has to be cancelled."""
        return self.failure is not None

    def finish(self) -> list[str]:
        """Write what is left and return what is wrong with the record, in sentences."""
        self._queue.put(None)
        self._thread.join()
        problems = [f"the journal could not be written: {self.failure}"] if self.failure else []
        return problems + self._lost + uncounted(self._seen, self._stats, self._included)

    def _work(self) -> None:
        """Take events in batches until the end; after a failure, only empty the queue."""
        while True:
            batch, is_last = self._take()
            if self.failure is None:
                try:
                    self._write(batch)
                except Exception as error:  # noqa: BLE001  (any failure must cancel, not vanish)
                    self.failure = error
            if is_last:
                return

    def _take(self) -> tuple[list[Event], bool]:
        batch: list[Event] = []
        event = self._queue.get()
        while event is not None:
            batch.append(event)
            if len(batch) >= _BATCH:
                return batch, False
            try:
                event = self._queue.get_nowait()
            except queue.Empty:
                return batch, False
        return batch, True

    def _write(self, batch: list[Event]) -> None:
        records: list[Record] = []
        for event in batch:
            if self._watch is not None:
                self._watch(event)
            records += self._records(event)
        if records:
            self._journal.write(self._run, records)

    def _records(self, event: Event) -> list[Record]:
        if "uuid" in event and not event.get("event"):
            # The runner found no file for what ansible-playbook announced (a full disk?).
            self._lost.append("an event of ansible-playbook came without its content")
        data = event.get("event_data") or {}
        if event.get("event") == _STATS:
            self._stats = dict(data)
        status = ENDS.get(str(event.get("event")))
        if status is None:
            return []
        host, result = str(data.get("host")), data.get("res")
        task = str(data.get("task") or "")
        ignored = bool(data.get("ignore_errors")) and status in ("failed", "unreachable")
        if not result:
            # The runner sends none for a task that was skipped; for any other it is what it puts
            # in place of a result above MAX_EVENT_RES characters.
            if status != "skipped":
                self._lost.append(
                    f"the result of task {task!r} on {host} was too large and is lost"
                )
            result = {}
        self._count(host, "ignored" if ignored else status, data, result)
        return records_from_result(
            host,
            status,
            result,
            task=task,
            ignored=ignored,
            where={
                "playbook": data.get("playbook"),
                "play": data.get("play"),
                "role": data.get("role"),
                "started": data.get("start"),
                "ended": data.get("end"),
            },
        )

    def _count(self, host: str, status: str, data: Event, result: Any) -> None:
        action = str(data.get("resolved_action") or data.get("task_action") or "")
        if status == "ok" and action.rpartition(".")[2] in _INCLUDES:
            items = result.get("results") if isinstance(result, Mapping) else None
            self._included[host] += len(items) if isinstance(items, list) else 1
        else:
            self._seen[host, status] += 1


def uncounted(
    seen: Counter[tuple[str, str]],
    stats: Mapping[str, Any] | None,
    included: Mapping[str, int] | None = None,
) -> list[str]:
    """Compare the results that came with Ansible's own count; return what does not agree.

    `seen`: by host and status (an ignored failure is `ignored`); `included`: by host,
    how many files were included at most. Without a count (the run was stopped)
    nothing can be compared.
    """
    if stats is None:
        return []
    found = []
    for host in sorted({host for host, _ in seen} | set(stats.get("processed") or {})):

        def told(*names: str, host: str = host) -> int:
            return sum(int((stats.get(name) or {}).get(host, 0)) for name in names)

        def came(*names: str, host: str = host) -> int:
            return sum(seen[host, name] for name in names)

        # An ignored failure counts as ok, and so does an unreachable node where the task says to
        # ignore that (which its event does not say).
        pairs = {
            "ok or unreachable": (told("ok", "dark"), came("ok", "ignored", "unreachable")),
            "failed": (told("failures", "rescued"), came("failed")),
            "skipped": (told("skipped"), came("skipped")),
        }
        for name, (count, arrived) in pairs.items():
            slack = (included or {}).get(host, 0) if name == "ok or unreachable" else 0
            if not 0 <= count - arrived <= slack:
                found.append(f"{host}: Ansible counts {count} results {name}, {arrived} came")
    return found
