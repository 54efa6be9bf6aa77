# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run one tool on the node: bounded in time and in output. Private to trackbed.cluster.

`AnsibleModule.run_command` has no time-out, and field tools hang: a GPU that is
off the bus can hold `lspci` or `nvidia-smi` for ever. Here the whole process
group is killed at the limit, and a process that not even SIGKILL can end (it
waits in the kernel, state D) is left behind rather than waited for.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import selectors
import shutil
import signal
import subprocess
import time
import typing as t

OK = "ok"  # it ran to its end; `rc` says how
ABSENT = "absent"  # there is no such program
TIMEOUT = "timeout"
ERROR = "error"  # it is there, but could not be started
LIMIT_BYTES = 8 * 1024 * 1024
STDERR_LIMIT_BYTES = 64 * 1024
# sudo and cron often leave these out, and lspci or ethtool live there.
EXTRA_PATH = ("/usr/local/sbin", "/usr/sbin", "/sbin")
# What is left in a pipe after the tool has ended arrives within this time; a
# background child that inherited the pipe would hold it open for ever.
GRACE_S = 1.0
_CHUNK = 65_536


@dataclasses.dataclass(frozen=True)
class Result:
    """What one run of a tool gave."""

    argv: tuple[str, ...]
    outcome: str
    """One of OK, ABSENT, TIMEOUT, ERROR."""
    rc: int | None = None
    stdout: bytes = b""
    stderr: bytes = b""
    started: str = ""
    """UTC, `2026-12-01T04:50:03Z`."""
    seconds: float = 0.0
    cut: bool = False
    """True where stdout was longer than the limit; the rest is lost."""


def search_path(path: str | None = None) -> str:
    """Return `path` (default: the environment's) followed by the system directories it lacks."""
    found = [one for one in (path or os.environ.get("PATH", os.defpath)).split(os.pathsep) if one]
    return os.pathsep.join(found + [one for one in EXTRA_PATH if one not in found])


def run(
    argv: t.Sequence[str], timeout_s: float, limit_bytes: int = LIMIT_BYTES, now: str = ""
) -> Result:
    """Run `argv` (a list, never a shell line) in locale C, without standard input.

    Never raises for anything that the tool does. `now` is put into `started`.
    """
    program = shutil.which(argv[0], path=search_path())
    if program is None:
        return Result(tuple(argv), ABSENT, started=now)
    begin = time.monotonic()
    try:
        process = _start(program, argv)
    except (OSError, ValueError) as error:
        return Result(tuple(argv), ERROR, stderr=str(error).encode(), started=now)
    pipes = _Pipes(process, limit_bytes)
    in_time = pipes.read_until(begin + timeout_s)
    rc = _end(process)
    pipes.close()
    return Result(
        tuple(argv),
        OK if in_time else TIMEOUT,
        rc if in_time else None,
        bytes(pipes.stdout),
        bytes(pipes.stderr),
        now,
        time.monotonic() - begin,
        pipes.cut,
    )


def _start(program: str, argv: t.Sequence[str]) -> subprocess.Popen[bytes]:
    environment = {
        name: value
        for name, value in os.environ.items()
        if name != "LANGUAGE" and not name.startswith("LC_")
    }
    environment.update(LC_ALL="C", LANG="C", PATH=search_path())
    return subprocess.Popen(
        [program, *argv[1:]],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        start_new_session=True,  # its own group: grandchildren are killed with it
    )


class _Pipes:
    """Collects both outputs of a process without ever blocking on one."""

    def __init__(self, process: subprocess.Popen[bytes], limit_bytes: int) -> None:
        self.stdout, self.stderr = bytearray(), bytearray()
        self.cut = False
        self._process = process
        self._selector = selectors.DefaultSelector()
        for stream, sink, limit in (
            (process.stdout, self.stdout, limit_bytes),
            (process.stderr, self.stderr, STDERR_LIMIT_BYTES),
        ):
            if stream is None:  # never: both are PIPE
                continue
            os.set_blocking(stream.fileno(), False)
            self._selector.register(stream, selectors.EVENT_READ, (sink, limit))

    def read_until(self, deadline: float) -> bool:
        """Read until the process has ended and its pipes are empty; False at the deadline."""
        ended_at: float | None = None
        while self._selector.get_map():
            now = time.monotonic()
            if ended_at is None and self._process.poll() is not None:
                ended_at = now
            if ended_at is not None and now > ended_at + GRACE_S:
                return True
            if now > deadline:
                return ended_at is not None
            for key, _events in self._selector.select(min(0.05, max(0.0, deadline - now))):
                self._take(key)
        # Both pipes are closed, yet the process may still run.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(max(0.0, deadline - time.monotonic()))
        return self._process.poll() is not None

    def _take(self, key: selectors.SelectorKey) -> None:
        sink, limit = key.data
        try:
            chunk = os.read(key.fd, _CHUNK)
        except BlockingIOError:
            return
        if not chunk:
            self._selector.unregister(key.fileobj)
            return
        room = limit - len(sink)
        sink += chunk[: max(0, room)]
        if len(chunk) > room and sink is self.stdout:
            self.cut = True

    def close(self) -> None:
        """Close our ends; whoever still writes gets SIGPIPE."""
        self._selector.close()
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()


def _end(process: subprocess.Popen[bytes]) -> int | None:
    """Kill what is left of the group; return the exit status where there is one."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        return process.wait(2.0)
    return None
