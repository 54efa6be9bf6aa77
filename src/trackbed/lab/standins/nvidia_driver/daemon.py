"""What the daemons share: going into the background, holding devices, a pid file, an end."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from ..common.places import place

_TICK = 0.25


class FailedError(Exception):
    """The daemon does not come up; the text says why."""


class _Ended(BaseException):
    """A signal ended the daemon."""


def _nothing() -> None:
    pass


@dataclass
class Duty:
    """What a daemon does once it is up: it holds devices, answers at a port, and waits."""

    pid_file: str | None = None
    devices: list[str] = field(
        default_factory=list
    )  # below /dev; those that are not there are left
    port: tuple[str, int] | None = None
    tick: Callable[[], None] | None = None  # called several times a second
    end: Callable[[], None] = _nothing


def start(duty: Duty, *, foreground: bool = False) -> int:
    """Take up the duty: here until a signal ends it, or in a child that stays behind.

    Devices and port are opened before the call returns. Raises FailedError for a port in use.
    """
    held: list[Any] = [_open(name) for name in duty.devices]
    listening = _listen(*duty.port) if duty.port else None
    held.append(listening)
    if not foreground:
        sys.stdout.flush()
        child = os.fork()
        if child:
            _write_pid(duty, child)
            return 0
        os.setsid()
        _leave_terminal()
    else:
        _write_pid(duty, os.getpid())
    try:
        _serve(duty, listening)
    finally:
        if not foreground:
            os._exit(0)
    return 0


def options(words: list[str], flags: set[str], valued: set[str]) -> dict[str, str]:
    """Read options, `--name=value` too. Raises FailedError for one that the lab does not know."""
    found: dict[str, str] = {}
    rest = list(words)
    while rest:
        word, equals, value = rest.pop(0).partition("=")
        if word in flags and not equals:
            found[word] = "1"
        elif word in valued and (equals or rest):
            found[word] = value if equals else rest.pop(0)
        else:
            raise FailedError(f"unknown option of the lab's stand-in, or one without value: {word}")
    return found


def configuration(path: str, between: str = "=") -> dict[str, str]:
    """Return the settings of a file: NAME=value, or name value. Raises FailedError without it."""
    try:
        text = place(path).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise FailedError(f"failed to open configuration file {path}: {error.strerror}") from error
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    pairs = (line.partition(between) for line in lines if line)
    return {name.strip(): value.strip() for name, _, value in pairs}


def log(path: str, texts: list[str], level: str = "INFO") -> None:
    """Add lines to a daemon's log file; what cannot be written is lost."""
    stamp = time.strftime("%b %d %Y %H:%M:%S")
    target = place(path)
    with contextlib.suppress(OSError):
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("a", encoding="utf-8") as file:
            for text in texts:
                file.write(f"[{stamp}] [{level}] [tid {os.getpid()}] {text}\n")


def running(pid_file: str) -> int | None:
    """Return the number of the process that a pid file names, where it lives."""
    try:
        number = int(place(pid_file).read_text(encoding="ascii"))
        os.kill(number, 0)
    except PermissionError:
        return number
    except (OSError, ValueError):
        return None
    return number


def _open(name: str) -> int | None:
    try:
        return os.open(place(f"/dev/{name}"), os.O_RDONLY)
    except OSError:
        return None


def _listen(host: str, port: int) -> socket.socket:
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
        found.listen(16)
    except OSError as error:
        found.close()
        raise FailedError(f"cannot listen at {host}:{port}: {error.strerror}") from error
    return found


def _write_pid(duty: Duty, number: int) -> None:
    if duty.pid_file:
        path = place(duty.pid_file)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{number}\n", encoding="ascii")


def _leave_terminal() -> None:
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)


def _end(_number: int, _frame: FrameType | None) -> NoReturn:
    raise _Ended


def _serve(duty: Duty, listening: socket.socket | None) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _end)
    try:
        _wait(duty, listening)
    except _Ended:
        duty.end()
        if duty.pid_file:
            Path(place(duty.pid_file)).unlink(missing_ok=True)


def _wait(duty: Duty, listening: socket.socket | None) -> NoReturn:
    while True:
        if duty.tick:
            duty.tick()
            time.sleep(_TICK)
        elif listening:
            listening.accept()[0].close()
        else:
            signal.pause()
