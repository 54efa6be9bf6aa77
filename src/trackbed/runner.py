"""Run one playbook with ansible-runner: no secret on disk or in argv, no orphan, no lost event."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from ansible_runner import Runner as Engine
from ansible_runner import RunnerConfig

from trackbed import collection
from trackbed.control import Control

# Above any result that a module of ours may return (module_utils/_evidence.py bounds them).
_MAX_EVENT_RES = 4_000_000
# What the supervisor itself needs; ansible-runner writes it to disk (see trackbed.child).
_PUBLIC = ("LANG", "LC_ALL", "PATH", "TERM")
# Seconds that a stopped playbook has, beyond the grace of the supervisor itself.
_PATIENCE = 30.0

Event = Mapping[str, Any]


@dataclass(frozen=True)
class Job:
    """One playbook run."""

    playbook: str
    """Name in a collection (trackbed.cluster.site) or path."""
    inventory: tuple[str, ...]
    limit: str | None = None
    tags: tuple[str, ...] = ()
    check: bool = False
    diff: bool = False
    forks: int | None = None
    verbosity: int = 0
    options: tuple[str, ...] = ()
    """More options of ansible-playbook; they are in argv, so never a secret."""
    variables: Mapping[str, Any] = field(default_factory=dict)
    """Extra variables; passed in a file that only its owner can read."""


@dataclass(frozen=True)
class RunOutcome:
    """How it ended. `status` is the runner's: successful, failed, canceled, timeout, error."""

    rc: int
    status: str
    interrupted: bool = False
    output: str = ""
    """The end of what ansible-playbook printed, where it failed before any task."""


class Player(Protocol):
    """What the command line needs of a runner; tests have their own."""

    def run(
        self,
        job: Job,
        on_event: Callable[[Event], bool],
        must_stop: Callable[[], bool] = lambda: False,
    ) -> RunOutcome:
        """Run the job; `on_event` must only enqueue."""


class Runner:
    """Runs ansible-playbook as a child in a private directory that is gone afterwards."""

    def run(
        self,
        job: Job,
        on_event: Callable[[Event], bool],
        must_stop: Callable[[], bool] = lambda: False,
    ) -> RunOutcome:
        """Run the job. SIGINT and SIGTERM stop the playbook and are told in the outcome."""
        with tempfile.TemporaryDirectory(prefix="trackbed-run-") as place, _signals() as signals:
            private = Path(place)
            private.chmod(0o700)
            control, guard = Control(private), _Guard(on_event)

            def cancelled() -> bool:
                if signals.is_set() or must_stop() or guard.failed:
                    control.stop()
                # Never "yes": the runner would kill the supervisor and orphan what is below it.
                return False

            try:
                engine = Engine(
                    _config(job, private, control),
                    event_handler=guard.handle,
                    cancel_callback=cancelled,
                )
                engine.run()
            finally:
                ended = control.close(_PATIENCE)
            output = _last_output(private) if engine.rc and not guard.events else ""
            guard.raise_failure()
            if not ended:
                output = "some processes of the playbook could not be ended"
            return RunOutcome(
                rc=int(engine.rc if engine.rc is not None else 1),
                status="canceled" if control.was_stopped else str(engine.status),
                interrupted=signals.is_set(),
                output=output,
            )


class _Guard:
    """Keeps an exception of the handler until the playbook has been stopped."""

    def __init__(self, handler: Callable[[Event], bool]) -> None:
        self._handler = handler
        self._failure: Exception | None = None
        self.events = 0

    @property
    def failed(self) -> bool:
        return self._failure is not None

    def handle(self, event: Event) -> bool:
        if event.get("event") not in (None, "verbose"):
            self.events += 1
        try:
            self._handler(event)
        except Exception as error:  # noqa: BLE001  (raised again once the playbook is stopped)
            self._failure = self._failure or error
        return False

    def raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure


def _config(job: Job, private: Path, control: Control) -> RunnerConfig:
    options = list(job.options)
    options += [name for name, wanted in (("--check", job.check), ("--diff", job.diff)) if wanted]
    if job.variables:
        place = private / "variables.json"
        place.touch(0o600)
        place.write_text(json.dumps(dict(job.variables)), encoding="utf-8")
        options += ["-e", f"@{place}"]
    config = RunnerConfig(
        private_data_dir=str(private),
        playbook=job.playbook,
        inventory=list(job.inventory),
        limit=job.limit,
        tags=",".join(job.tags) or None,
        forks=job.forks,
        verbosity=job.verbosity or None,
        cmdline=shlex.join(options) or None,
        quiet=True,
        suppress_ansible_output=True,
    )
    config.prepare()
    control.send_environment(_environment(config.env))
    config.env = {name: os.environ[name] for name in _PUBLIC if name in os.environ}
    config.command = control.command(config.command)
    return config


def _environment(prepared: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of ansible-playbook: the user's, the runner's and our own."""
    # In a venv of its own (pipx) the programs of ansible-core are beside python, not on PATH.
    beside = str(Path(sys.executable).parent)
    return {
        **prepared,
        "PATH": beside + os.pathsep + os.environ.get("PATH", os.defpath),
        "ANSIBLE_COLLECTIONS_PATH": collection.search_path(),
        "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "true",
        "ANSIBLE_PIPELINING": "true",
        "ANSIBLE_FORCE_COLOR": "false",
        "MAX_EVENT_RES": str(_MAX_EVENT_RES),
    }


@contextmanager
def _signals() -> Iterator[threading.Event]:
    """Note SIGINT and SIGTERM instead of dying of them, so that the playbook is stopped first."""
    noted = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield noted
        return
    kinds = (signal.SIGINT, signal.SIGTERM)
    before = {kind: signal.signal(kind, lambda *_: noted.set()) for kind in kinds}
    try:
        yield noted
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)


def _last_output(private: Path) -> str:
    found = sorted(private.glob("artifacts/*/stdout"))
    text = found[-1].read_text(encoding="utf-8", errors="replace") if found else ""
    return text.strip()[-4_000:]
