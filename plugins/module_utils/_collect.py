# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ask tools and kernel files of a node, each within a time-out. Private to trackbed.cluster.

Nothing here raises for anything that the node does: what kept a source from
answering becomes the quality of its reading.
"""

from __future__ import annotations

import dataclasses
import time
import typing as t
from pathlib import Path

from ansible_collections.trackbed.cluster.plugins.module_utils import _command, _evidence
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    ABSENT,
    ERROR,
    NOT_APPLICABLE,
    OK,
    PARTIAL,
    TIMEOUT,
    Reading,
    failed,
)

# A file of /proc that answers at all answers with less.
FILE_LIMIT_BYTES = 262_144
OUTPUT_LIMIT_BYTES = _command.LIMIT_BYTES
Read = t.Callable[[bytes], Reading]


@dataclasses.dataclass(frozen=True)
class Collected:
    """One answer of one source, ready to become an evidence document."""

    reading: Reading
    started: str
    seconds: float
    raw: bytes | None
    """The output without secrets; None where there was none."""


class Attempt(t.Protocol):
    """One way to ask."""

    @property
    def name(self) -> str:
        """Return the program or file that is asked."""

    def __call__(self, timeout_s: float) -> Collected:
        """Ask, within the time-out."""


@dataclasses.dataclass(frozen=True)
class Tool:
    """One command that answers, and how its answer is read."""

    argv: tuple[str, ...]
    kind: str
    read: Read
    install: str
    """What to do where it is missing."""
    normal: frozenset[int] = frozenset({0})
    """Exit statuses that are no trouble."""
    clean: t.Callable[[bytes], bytes] | None = None
    """Takes secrets out of the output before anything is kept."""

    @property
    def name(self) -> str:
        """Return the program."""
        return self.argv[0]

    def __call__(self, timeout_s: float) -> Collected:
        """Run it and read its output.

        Of an output that was cut off by the time-out nothing is read: counts from
        half a list would look like missing hardware.
        """
        run = _command.run(self.argv, timeout_s, OUTPUT_LIMIT_BYTES, now=_evidence.utc_now())
        refused = self._refusal(run, timeout_s)
        if refused is not None:
            refused.tool_name = self.name
            return Collected(refused, run.started, run.seconds, None)
        raw = self.clean(run.stdout) if self.clean else run.stdout
        reading = self.read(raw)
        reading.tool_name = reading.tool_name or self.name
        if run.rc not in self.normal:
            says = f"{self.name} ended with exit status {run.rc}; what it printed is kept"
            reading.note("tool_error", says, verbatim=tail(run.stderr))
        if run.cut:
            reading.note("limited", f"only the first {len(raw)} bytes of the output are kept")
        return Collected(reading, run.started, run.seconds, raw)

    def _refusal(self, run: _command.Result, timeout_s: float) -> Reading | None:
        name = self.name
        if run.outcome == _command.ABSENT:
            where = _command.search_path()
            says = f"{name} is not on the node (looked in {where}); {self.install}"
            return failed(self.kind, ABSENT, "tool_absent", says)
        if run.outcome == _command.TIMEOUT:
            says = (
                f"{name} did not answer within {timeout_s:g} s and was killed; "
                "a device that hangs does this: look into the kernel log"
            )
            return failed(self.kind, TIMEOUT, "timed_out", says, verbatim=tail(run.stderr))
        if run.outcome == _command.ERROR:
            says = f"{name} could not be started"
            return failed(self.kind, ERROR, "tool_error", says, verbatim=tail(run.stderr))
        if run.rc not in self.normal and not run.stdout.strip():
            says = f"{name} printed nothing and ended with exit status {run.rc}"
            return failed(self.kind, ERROR, "tool_error", says, verbatim=tail(run.stderr))
        return None


@dataclasses.dataclass(frozen=True)
class KernelFile:
    """One file of the kernel that answers at once, and how it is read."""

    path: str
    kind: str
    read: Read
    missing: str
    """What it means that it is not there."""

    @property
    def name(self) -> str:
        """Return the path."""
        return self.path

    def __call__(self, timeout_s: float) -> Collected:
        """Read it; what the kernel holds ready is there at once, `timeout_s` is not needed."""
        del timeout_s
        started, begin = _evidence.utc_now(), time.monotonic()
        text = file_bytes(self.path)
        if text is None:
            says = f"{self.path} is not there: {self.missing}"
            reading = failed(self.kind, ABSENT, "tool_absent", says)
        else:
            reading = self.read(text)
        reading.tool_name = self.path
        return Collected(reading, started, time.monotonic() - begin, text)


def first_of(attempts: t.Sequence[Attempt], timeout_s: float) -> Collected:
    """Return the first answer that can be used, best source first.

    What better sources said instead is recorded as the problem `fallback`; it
    lowers the quality only where they failed, not where they are not installed.
    Where none could be used, the first that was there at all says why. A program
    that hung is not asked again in another form.
    """
    passed: list[Collected] = []
    hung: set[str] = set()
    for attempt in attempts:
        if attempt.name in hung:
            continue
        found = attempt(timeout_s)
        if found.reading.quality in (OK, PARTIAL, NOT_APPLICABLE):
            for one in passed:
                _record(found.reading, one.reading)
            return found
        passed.append(found)
        if found.reading.quality == TIMEOUT:
            hung.add(attempt.name)
    told = next((one for one in passed if one.reading.quality != ABSENT), passed[0])
    for one in passed:
        if one is not told:
            told.reading.problems.extend(one.reading.problems)
    return told


def _record(reading: Reading, better: Reading) -> None:
    why = better.problems[0].says if better.problems else f"it was {better.quality}"
    says = f"{better.tool_name or better.kind} was asked first: {why}"
    if better.quality in (ABSENT, NOT_APPLICABLE):
        reading.remark("fallback", says)
    else:
        reading.note("fallback", says)


def not_applicable(kind: str, says: str) -> Collected:
    """Return that this node has no such thing."""
    reading = Reading(kind, NOT_APPLICABLE)
    reading.remark("no_device", says)
    return Collected(reading, _evidence.utc_now(), 0.0, None)


def tail(stderr: bytes) -> str | None:
    """Return the end of what a tool said, or None where it said nothing."""
    return stderr[-200:].decode("utf-8", "replace").strip() or None


def file_bytes(path: str | Path) -> bytes | None:
    """Return the beginning of a file, or None where it cannot be read."""
    try:
        with Path(path).open("rb") as stream:
            return stream.read(FILE_LIMIT_BYTES)
    except OSError:
        return None


def file_text(path: str | Path) -> str | None:
    """Return the beginning of a file as text, or None where it cannot be read."""
    data = file_bytes(path)
    return None if data is None else data.decode("utf-8", "replace")


def entries(directory: Path) -> list[Path]:
    """Return what a directory holds, sorted; nothing where it cannot be read."""
    try:
        return sorted(directory.iterdir())
    except OSError:
        return []


def package(name: str) -> str:
    """Return what to do where the tool of a distribution's package is missing."""
    return f"install the package {name} (apt-get install {name}, dnf install {name})"
