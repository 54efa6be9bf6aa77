"""Stands between the runner and ansible-playbook: `python child.py CONTROL PRIVATE COMMAND…`.

Three things need a process of their own:

* ansible-runner writes the environment of what it starts to disk. So it starts this
  program with almost none, and the real one comes through a FIFO, in memory.
* The workers of ansible-core 2.19 are in sessions of their own, so that killing the
  process group of ansible-playbook leaves them, and what they started, alive. This
  program adopts them (prctl(2), PR_SET_CHILD_SUBREAPER) and ends them all.
* The FIFO also says whether the parent lives. A parent that is gone, even by SIGKILL,
  writes no journal: the playbook must not go on, and its private directory must go.

Standard library only, and no import of this package: it is started with `-I -S`.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import select
import shutil
import signal
import sys
import time
from pathlib import Path

ALIVE = "alive"
"""File in the private directory, locked (flock) while this program runs."""
STOP = b"s"
KILL = b"k"
NOT_STARTED = 127
# Seconds that ansible-playbook has to end after SIGINT: its workers end at once, a
# callback plugin may have something to write. A SIGINT that comes while it forks a worker
# can be lost in that worker; so whatever is left after a while gets SIGTERM.
GRACE = 10.0
_URGE_AFTER = 2.0
_KILL_PATIENCE = 5.0
_HANDLED = (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT)
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36  # prctl(2), linux/prctl.h


def pack_environment(environment: dict[str, str]) -> bytes:
    """Return what `unpack_environment` reads: a length, a line end, NUL-separated entries."""
    body = b"\0".join(os.fsencode(f"{name}={value}") for name, value in environment.items())
    return b"%d\n" % len(body) + body


def unpack_environment(body: bytes) -> dict[bytes, bytes]:
    """Return the environment; an entry without a name is left out."""
    found = {}
    for entry in body.split(b"\0"):
        name, equals, value = entry.partition(b"=")
        if name and equals:
            found[name] = value
    return found


def descendants(root: int) -> list[int]:
    """Return the living processes below this one, those nearest to it first."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError, ValueError, IndexError):
            # The name in parentheses may itself hold blanks and parentheses (proc_pid_stat(5)).
            state, parent = (
                (entry / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()[:2]
            )
            if state != "Z":
                children.setdefault(int(parent), []).append(int(entry.name))
    found, next_ones = [], [root]
    while next_ones:
        next_ones = [child for one in next_ones for child in children.get(one, [])]
        found += next_ones
    return found


class Supervisor:
    """One command with all its descendants."""

    def __init__(self, control: int) -> None:
        """Obey what comes through this descriptor."""
        self._control = control
        self._buffer = b""
        self._pid = 0
        self._code: int | None = None
        self._until: float | None = None
        self._urge_at: float | None = None
        self.is_orphan = False

    def environment(self) -> dict[bytes, bytes] | None:
        """Wait for the environment; None where the parent has died before it was sent."""
        while b"\n" not in self._buffer:
            if not self._fill():
                return None
        head, _, self._buffer = self._buffer.partition(b"\n")
        while len(self._buffer) < int(head):
            if not self._fill():
                return None
        body, self._buffer = self._buffer[: int(head)], self._buffer[int(head) :]
        return unpack_environment(body)

    def run(self, command: list[str], environment: dict[bytes, bytes]) -> int:
        """Run the command to its end, natural or not; return its exit code."""
        told, tell = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(tell, warn_on_full_buffer=False)
        for kind in _HANDLED:
            signal.signal(kind, lambda *_: None)
        self._pid = _start(command, environment)
        self._obey()
        while self._code is None:
            watched = [told] if self.is_orphan else [told, self._control]
            ready, _, _ = select.select(watched, [], [], 0.5)
            if self._control in ready and not self._fill():
                self.is_orphan = True
                self._stop()
            self._obey()
            if told in ready and set(os.read(told, 4096)) & {signal.SIGTERM, signal.SIGINT}:
                self._stop()
            self._press()
            self._reap()
        if self._until is not None:
            self._kill()
        return self._code

    def _fill(self) -> bool:
        """Read more from the parent, waiting for it; return False where there is no parent."""
        while True:
            # Reading comes first: select(2) waits for ever for a FIFO that nobody has open.
            with contextlib.suppress(BlockingIOError):
                more = os.read(self._control, 65536)
                self._buffer += more
                return bool(more)
            select.select([self._control], [], [])

    def _obey(self) -> None:
        orders, self._buffer = self._buffer, b""
        if STOP in orders:
            self._stop()
        if KILL in orders:
            self._until = 0.0

    def _stop(self) -> None:
        """Ask for an end, once."""
        if self._until is None:
            self._until = time.monotonic() + GRACE
            self._urge_at = time.monotonic() + _URGE_AFTER
            with contextlib.suppress(OSError):
                os.kill(self._pid, signal.SIGINT)

    def _press(self) -> None:
        """Do what is due to whatever has not ended yet."""
        now = time.monotonic()
        if self._urge_at is not None and now >= self._urge_at:
            self._urge_at = None
            for pid in descendants(os.getpid()):
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGTERM)
        if self._until is not None and now >= self._until:
            self._kill()

    def _kill(self) -> None:
        """End every descendant, those included that have left our session."""
        give_up = time.monotonic() + _KILL_PATIENCE
        while time.monotonic() < give_up:
            left = descendants(os.getpid())
            for pid in left:
                with contextlib.suppress(OSError):  # gone, or root's by sudo
                    os.kill(pid, signal.SIGKILL)
            self._reap()
            if not left:
                return
            time.sleep(0.02)

    def _reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return
                if pid == self._pid:
                    code = os.waitstatus_to_exitcode(status)
                    self._code = code if code >= 0 else 128 - code


def _start(command: list[str], environment: dict[bytes, bytes]) -> int:
    # Until it has handlers of its own the child would swallow a signal with ours.
    signal.pthread_sigmask(signal.SIG_BLOCK, _HANDLED)
    pid = os.fork()
    if pid:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _HANDLED)
        return pid
    try:
        # Should we be killed ourselves, ansible-playbook at least is told.
        _prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        signal.set_wakeup_fd(-1)
        for kind in _HANDLED:
            signal.signal(kind, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _HANDLED)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.execvpe(command[0], command, environment)  # noqa: S606  (a list, no shell)
    except OSError as error:
        os.write(1, f"{command[0]}: {error.strerror}\n".encode())
    finally:
        os._exit(NOT_STARTED)


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def main(arguments: list[str]) -> int:
    """Run the command; return its exit code."""
    control, private, *command = arguments
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    alive = os.open(Path(private, ALIVE), os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(alive, fcntl.LOCK_EX)
    # Not blocking: with no parent at the other end an open would wait for ever.
    supervisor = Supervisor(os.open(control, os.O_RDONLY | os.O_NONBLOCK))
    environment = supervisor.environment()
    code = NOT_STARTED
    if environment is not None:
        code = supervisor.run(command, environment)
    if environment is None or supervisor.is_orphan:
        shutil.rmtree(private, ignore_errors=True)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
