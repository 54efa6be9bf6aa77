"""Run one playbook with ansible-runner: no secret on disk or in argv, no orphan, no lost event."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from ansible_runner import Runner as Engine
from ansible_runner import RunnerConfig

from trackbed import collection
from trackbed.control import Control
from trackbed.errors import TrackbedError

# Above any result that a module of ours may return (module_utils/_evidence.py bounds them).
_MAX_EVENT_RES = 4_000_000
# What the supervisor itself needs; ansible-runner writes it to disk (see trackbed.child).
_PUBLIC = ("LANG", "LC_ALL", "PATH", "TERM")
# Seconds that a stopped playbook has, beyond the grace of the supervisor itself.
_PATIENCE = 30.0

# How ansible-runner itself is to behave (it reads this from a file, whatever it is passed):
# look often whether to stop (it looks after each wait, seconds), and keep no output on disk: what
# a task prints may be secret, and a full disk there is an exception that leaves an orphan.
_SETTINGS = {"pexpect_timeout": 0.25, "suppress_ansible_output": True, "suppress_output_file": True}
# What it prints outside of the results of tasks: why a playbook does not start.
_TALK = ("verbose", "error", "warning", "system_warning", "deprecated")
_STATS = "playbook_on_stats"
_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")

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
    """Where it failed: the end of what ansible-playbook printed beside the results of tasks."""


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
        """Run the job. SIGINT, SIGTERM and SIGHUP stop the playbook and are told in the outcome.

        A second signal does not wait for a clean end. Raises what `on_event` raised, and
        TrackbedError where ansible-playbook could not be run or not be stopped.
        """
        with tempfile.TemporaryDirectory(prefix="trackbed-run-") as place:
            private = Path(place)
            private.chmod(0o700)
            control, guard = Control(private), _Guard(on_event)
            with _signals(control) as signals:

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
                except OSError as error:
                    raise _no_room(private, error) from error
                finally:
                    ended = control.close(_PATIENCE)
            guard.raise_failure()
            return _outcome(engine, guard, control, signals.is_set(), ended)


class _Guard:
    """Keeps an exception of the handler until the playbook has been stopped."""

    def __init__(self, handler: Callable[[Event], bool]) -> None:
        self._handler = handler
        self._failure: Exception | None = None
        self._said: deque[str] = deque(maxlen=50)
        self.has_stats = False

    @property
    def failed(self) -> bool:
        return self._failure is not None

    def handle(self, event: Event) -> bool:
        kind = event.get("event")
        self.has_stats |= kind == _STATS
        if kind in _TALK and event.get("stdout"):
            self._said.append(_COLOUR.sub("", str(event["stdout"])))
        try:
            self._handler(event)
        except Exception as error:  # noqa: BLE001  (raised again once the playbook is stopped)
            self._failure = self._failure or error
        return False

    def last_words(self) -> str:
        """Return the end of what was printed outside of results."""
        return "\n".join(self._said).strip()[-4_000:]

    def raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure


def _outcome(
    engine: Engine, guard: _Guard, control: Control, interrupted: bool, ended: bool
) -> RunOutcome:
    rc = int(engine.rc if engine.rc is not None else 1)
    if not ended:
        raise TrackbedError(
            f"some processes of the playbook did not end within {_PATIENCE:.0f} seconds",
            wanted="nothing of it left",
            remedy="find them with `pgrep -af ansible-playbook` and end them",
        )
    if rc == 0 and not guard.has_stats and not control.was_stopped:
        raise TrackbedError(
            "ansible-playbook ended well, but its events did not arrive",
            wanted="the final count that it always sends",
            remedy="look whether the disk of the temporary directory is full, then run it again",
        )
    return RunOutcome(
        rc=rc,
        status="canceled" if control.was_stopped else str(engine.status),
        interrupted=interrupted,
        output=guard.last_words() if rc else "",
    )


def _no_room(private: Path, error: OSError) -> TrackbedError:
    return TrackbedError(
        f"ansible-playbook could not be run in {private}: {error}",
        wanted="a temporary directory that can be written",
        remedy="free space there, or set TMPDIR to another place",
    )


def _config(job: Job, private: Path, control: Control) -> RunnerConfig:
    options = list(job.options)
    options += [name for name, wanted in (("--check", job.check), ("--diff", job.diff)) if wanted]
    if job.variables:
        place = private / "variables.json"
        _write_private(place, dict(job.variables))
        options += ["-e", f"@{place}"]
    (private / "env").mkdir(mode=0o700)
    _write_private(private / "env" / "settings", _SETTINGS)
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
        # It becomes the working directory: ./ansible.cfg and relative paths are the user's.
        project_dir=str(Path.cwd()),
        # Its own choice, jsonfile, would put every fact on disk, ansible_env with its secrets too.
        fact_cache_type="memory",
    )
    config.prepare()
    control.send_environment(_environment(config.env))
    config.env = {name: os.environ[name] for name in _PUBLIC if name in os.environ}
    config.command = control.command(config.command)
    return config


def _write_private(place: Path, value: Mapping[str, Any]) -> None:
    place.touch(0o600)
    place.write_text(json.dumps(value), encoding="utf-8")


def _environment(prepared: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of ansible-playbook: the user's, the runner's and our own."""
    # In a venv of its own (pipx) the programs of ansible-core are beside python, not on PATH.
    beside = str(Path(sys.executable).parent)
    theirs = dict(prepared)
    if "ANSIBLE_HOST_KEY_CHECKING" not in os.environ:
        # ansible-runner turns it off where nobody has decided; Ansible's own default is on.
        theirs.pop("ANSIBLE_HOST_KEY_CHECKING", None)
    return {
        "ANSIBLE_PIPELINING": "true",
        **theirs,
        "PATH": beside + os.pathsep + os.environ.get("PATH", os.defpath),
        "ANSIBLE_COLLECTIONS_PATH": collection.search_path(),
        "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "true",
        "ANSIBLE_FORCE_COLOR": "false",
        "MAX_EVENT_RES": str(_MAX_EVENT_RES),
        # The callback plugin, if somebody has enabled it, leaves the recording to us.
        "TRACKBED_RECORDED": "1",
    }


@contextmanager
def _signals(control: Control) -> Iterator[threading.Event]:
    """Stop the playbook on a signal instead of dying of it, and at once on a second one."""
    noted = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield noted
        return

    def note(*_: object) -> None:
        if noted.is_set():
            control.kill()
        noted.set()
        control.stop()

    # One that is ignored (nohup, a job in the background) stays so.
    kinds = [
        kind
        for kind in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(kind) is not signal.SIG_IGN
    ]
    before = {kind: signal.signal(kind, note) for kind in kinds}
    try:
        yield noted
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)
