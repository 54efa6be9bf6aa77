# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What goes into the journal and comes out of it. Private to trackbed.cluster.

Times are UTC, `2026-12-01T04:50:03Z`, with milliseconds where a step has them.
"""

from __future__ import annotations

import dataclasses
import datetime
import getpass
import json
import os
import socket
import typing as t

RUNNING = "running"
DONE = "done"
INTERRUPTED = "interrupted"
FAILED = "failed"
STATES = (RUNNING, DONE, INTERRUPTED, FAILED)

STEP_OK = "ok"
STEP_CHANGED = "changed"
STEP_FAILED = "failed"
STEP_UNREACHABLE = "unreachable"
STEP_SKIPPED = "skipped"
STATUSES = (STEP_OK, STEP_CHANGED, STEP_FAILED, STEP_UNREACHABLE, STEP_SKIPPED)


class JournalError(Exception):
    """The journal cannot be used: what was found, what was wanted, what to do."""

    def __init__(self, found: str, *, wanted: str = "", remedy: str = "") -> None:
        """Keep the three parts apart; the text of the exception joins them."""
        super().__init__("; ".join(part for part in (found, wanted, remedy) if part))
        self.found = found
        self.wanted = wanted
        self.remedy = remedy


def user_name() -> str:
    """Return who runs this; behind sudo, the person and not root."""
    behind = os.environ.get("SUDO_USER")
    if behind:
        return behind
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a uid without an entry in passwd
        return str(os.getuid())


@dataclasses.dataclass(frozen=True)
class RunInfo:
    """What is known of a run before it starts."""

    verb: str
    command: str
    """The equivalent plain `ansible-playbook` line, without secrets."""
    inventory: tuple[str, ...] = ()
    check_mode: bool = False
    version: str = ""
    user: str = dataclasses.field(default_factory=user_name)
    controller: str = dataclasses.field(default_factory=socket.gethostname)


@dataclasses.dataclass(frozen=True)
class NodeTally:
    """How many results of each status one node had in one run."""

    node: str
    ok: int = 0
    changed: int = 0
    failed: int = 0
    unreachable: int = 0
    skipped: int = 0
    ignored: int = 0
    """Failed or unreachable, but the play said to go on; not counted above."""


@dataclasses.dataclass(frozen=True)
class Run:
    """One run as the journal knows it."""

    id: str
    info: RunInfo
    started: str
    ended: str | None
    exit_code: int | None
    state: str
    """A run whose process died reads `interrupted`, whatever was written last."""
    says: str
    """Why it ended as it did, where there is something to say."""
    nodes: tuple[NodeTally, ...] = ()


@dataclasses.dataclass(frozen=True)
class Step:
    """One result of one task on one node."""

    node: str
    task: str
    status: str
    playbook: str = ""
    play: str = ""
    role: str = ""
    message: str = ""
    diff: list[dict[str, t.Any]] | None = None
    ignored: bool = False
    started: str | None = None
    ended: str | None = None


@dataclasses.dataclass(frozen=True)
class Evidence:
    """One evidence document of one node, and the raw output it was read from where kept."""

    node: str
    document: dict[str, t.Any]
    """As the contract has it, without the packed raw output."""
    raw: bytes | None = None


Record = t.Union[Step, Evidence]


@dataclasses.dataclass(frozen=True)
class Sighting:
    """One place and time at which a part was observed."""

    run: str
    node: str
    entity: str
    source: str
    started: str
    document: str
    """Hash of the document."""


def inventory_text(sources: t.Iterable[str]) -> str:
    """Return the inventory sources as the journal stores them."""
    return json.dumps(list(sources))


def new_run_id(now: datetime.datetime, suffix: str) -> str:
    """Return an id that sorts by time: `20261201-055003-ab12`."""
    return f"{now:%Y%m%d-%H%M%S}-{suffix}"
