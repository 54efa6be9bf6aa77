# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sources of facts about a node: how each is asked. Private to trackbed.cluster.

A source is one entry of `SOURCES`. Its `collect` does the I/O within a time-out
and hands the output to a pure reader; it never raises.
"""

from __future__ import annotations

import dataclasses
import os
import re
import time
import typing as t
from pathlib import Path

from ansible_collections.trackbed.cluster.plugins.module_utils import _command, _evidence
from ansible_collections.trackbed.cluster.plugins.module_utils._readers import lspci, node_os
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    ABSENT,
    ERROR,
    TIMEOUT,
    Reading,
    failed,
)

# A file of /proc that answers at all answers with less.
FILE_LIMIT_BYTES = 65_536
OUTPUT_LIMIT_BYTES = _command.LIMIT_BYTES


@dataclasses.dataclass(frozen=True)
class Collected:
    """One answer of one source, ready to become an evidence document."""

    reading: Reading
    started: str
    seconds: float
    raw: bytes | None
    """The output without secrets; None where there was none."""


@dataclasses.dataclass(frozen=True)
class Source:
    """Where facts come from."""

    says: str
    collect: t.Callable[[float], Collected]
    """Takes the time-out in seconds."""


def collect_pci(timeout_s: float) -> Collected:
    """Ask `lspci -D -nn -vvv`. As an ordinary user it hides links and ACS: quality partial."""
    collected = from_tool(
        ("lspci", "-D", "-nn", "-vvv"),
        timeout_s,
        lspci.KIND,
        lspci.read,
        "install the package pciutils (apt-get install pciutils, dnf install pciutils)",
    )
    if collected.raw is not None:
        version = _command.run(("lspci", "--version"), min(timeout_s, 5.0)).stdout
        found = re.search(rb"version (\d[\w.]{0,20})", version)
        collected.reading.tool_version = found.group(1).decode() if found else None
    return collected


def collect_os(_timeout_s: float) -> Collected:
    """Read /etc/os-release and /proc; no tool, and nothing there that can hang."""
    started, begin = _evidence.utc_now(), time.monotonic()
    parts = {path: _file_text(path) for path in node_os.WANTED}
    if parts[node_os.OS_RELEASE] is None:
        parts[node_os.OS_RELEASE_FALLBACK] = _file_text(node_os.OS_RELEASE_FALLBACK)
    parts[node_os.MACHINE] = os.uname().machine
    raw = node_os.join({path: text for path, text in parts.items() if text is not None})
    return Collected(node_os.read(raw), started, time.monotonic() - begin, raw)


SOURCES: dict[str, Source] = {
    "os": Source("distribution, kernel, boot", collect_os),
    "pci": Source("PCI devices, their links and settings", collect_pci),
}


def from_tool(
    argv: t.Sequence[str],
    timeout_s: float,
    kind: str,
    read: t.Callable[[bytes], Reading],
    install: str,
) -> Collected:
    """Run a tool and read its output; what kept it from answering becomes the quality.

    Of an output that was cut off by the time-out nothing is read: counts from
    half a list would look like missing hardware.
    """
    run = _command.run(argv, timeout_s, OUTPUT_LIMIT_BYTES, now=_evidence.utc_now())
    name = argv[0]
    if run.outcome == _command.ABSENT:
        says = f"{name} is not on the node (looked in {_command.search_path()}); {install}"
        return _failure(run, failed(kind, ABSENT, "tool_absent", says))
    if run.outcome == _command.TIMEOUT:
        says = (
            f"{name} did not answer within {timeout_s:g} s and was killed; "
            "a device that hangs does this: look into the kernel log"
        )
        return _failure(run, failed(kind, TIMEOUT, "timed_out", says, verbatim=_tail(run.stderr)))
    if run.outcome == _command.ERROR:
        says = f"{name} could not be started"
        return _failure(run, failed(kind, ERROR, "tool_error", says, verbatim=_tail(run.stderr)))
    if run.rc and not run.stdout.strip():
        says = f"{name} printed nothing and ended with exit status {run.rc}"
        return _failure(run, failed(kind, ERROR, "tool_error", says, verbatim=_tail(run.stderr)))
    reading = read(run.stdout)
    if run.rc:
        says = f"{name} ended with exit status {run.rc}; what it printed is kept"
        reading.note("tool_error", says, verbatim=_tail(run.stderr))
    if run.cut:
        reading.note("limited", f"only the first {len(run.stdout)} bytes of the output are kept")
    return Collected(reading, run.started, run.seconds, run.stdout)


def _failure(run: _command.Result, reading: Reading) -> Collected:
    reading.tool_name = run.argv[0]
    return Collected(reading, run.started, run.seconds, None)


def _tail(stderr: bytes) -> str | None:
    return stderr[-200:].decode("utf-8", "replace").strip() or None


def _file_text(path: str) -> str | None:
    """Return the beginning of a file, or None where it cannot be read."""
    try:
        with Path(path).open("rb") as stream:
            return stream.read(FILE_LIMIT_BYTES).decode("utf-8", "replace")
    except OSError:
        return None
