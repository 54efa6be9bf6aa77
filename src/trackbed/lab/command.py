"""Run a program with a time limit, and say what went wrong in the lab's own error."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from trackbed.errors import TrackbedError


@dataclass(frozen=True)
class Result:
    """What a program answered. `code` is None where it did not end in time."""

    argv: tuple[str, ...]
    code: int | None
    out: str
    err: str

    @property
    def ok(self) -> bool:
        """Whether it ended with exit code 0."""
        return self.code == 0

    @property
    def last_words(self) -> str:
        """Its last three lines that are not empty: where programs put their reason."""
        lines = [line.strip() for line in (self.err or self.out).splitlines() if line.strip()]
        return "; ".join(lines[-3:]) or "no message"


Runner = Callable[[Sequence[str], float], Result]


class CommandError(TrackbedError):
    """A program failed that the lab cannot do without."""

    def __init__(self, result: Result, *, doing: str, remedy: str = "") -> None:
        """Name what was being done, the program, its exit code and its last words."""
        how = "did not end in time" if result.code is None else f"ended with {result.code}"
        super().__init__(
            f"{doing}: {result.argv[0]} {how}: {result.last_words}",
            wanted="exit code 0",
            remedy=remedy or f"run it by hand to see more: {' '.join(result.argv)}",
        )
        self.result = result


def run(argv: Sequence[str], timeout: float) -> Result:
    """Run a program to its end, or kill it after `timeout` seconds. Never raises for a failure."""
    command = tuple(argv)
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        return Result(command, None, _text(error.stdout), _text(error.stderr))
    except OSError as error:
        return Result(command, 127, "", f"{command[0]}: {error.strerror}")
    return Result(command, done.returncode, done.stdout, done.stderr)


def _text(captured: bytes | str | None) -> str:
    if captured is None:
        return ""
    return captured if isinstance(captured, str) else captured.decode(errors="replace")
