"""The runner's end of the FIFO to `trackbed.child`: environment, orders, and being alive."""

from __future__ import annotations

import contextlib
import fcntl
import os
import sys
import threading
import time
from pathlib import Path

from trackbed import child


class Control:
    """Holds the FIFO open as long as this process lives: its end is the child's end."""

    def __init__(self, private: Path) -> None:
        """Make the FIFO in a directory that only we can enter."""
        self._private = private
        self._path = private / "control"
        os.mkfifo(self._path, 0o600)
        # Reading too, or the open would wait for the child. It is not passed on by exec.
        self._fd: int | None = os.open(self._path, os.O_RDWR | os.O_CLOEXEC)
        self.was_stopped = False
        # Re-entrant: a signal's handler may give an order while one is being given.
        self._guard = threading.RLock()
        self._is_sending = False
        self._waiting = b""

    def command(self, command: list[str]) -> list[str]:
        """Return the command under the child's supervision."""
        program = [sys.executable, "-I", "-S", str(Path(child.__file__).resolve())]
        return [*program, str(self._path), str(self._private), *command]

    def send_environment(self, environment: dict[str, str]) -> None:
        """Hand over the environment, in memory.

        In a thread, because it may be more than a FIFO holds before the child reads.
        """
        if self._fd is None:
            return
        self._is_sending = True
        data = child.pack_environment(environment)
        threading.Thread(target=self._send, args=(self._fd, data), daemon=True).start()

    def stop(self) -> None:
        """Ask for a clean end, once: SIGINT to ansible-playbook, after a while the hard way."""
        if not self.was_stopped:
            self.was_stopped = True
            self._order(child.STOP)

    def kill(self) -> None:
        """End everything at once."""
        self._order(child.KILL)

    def close(self, patience: float) -> bool:
        """Let go, which ends what still runs; return whether it has ended within `patience` s."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
        until = time.monotonic() + patience
        while not self._has_ended():
            if time.monotonic() >= until:
                return False
            time.sleep(0.02)
        return True

    def _order(self, order: bytes) -> None:
        with self._guard:
            if self._is_sending:  # in the middle of the environment it would be part of it
                self._waiting += order
            elif self._fd is not None:
                _write_all(self._fd, order)

    def _send(self, fd: int, data: bytes) -> None:
        _write_all(fd, data)
        with self._guard:
            self._is_sending = False
            _write_all(fd, self._waiting)

    def _has_ended(self) -> bool:
        try:
            fd = os.open(self._private / child.ALIVE, os.O_RDONLY)
        except FileNotFoundError:  # never started, or gone with the whole directory
            return True
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        finally:
            os.close(fd)
        return True


def _write_all(fd: int, data: bytes) -> None:
    with contextlib.suppress(OSError):  # closed meanwhile: then nobody wants it any more
        while data:
            data = data[os.write(fd, data) :]
