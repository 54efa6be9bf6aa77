# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The journal: one SQLite file per cluster, crash-safe, with one writer.

Private to trackbed.cluster.

Rollback journal and `synchronous=FULL`: whatever was written is there after a
power cut. (WAL with several connections could corrupt a file up to SQLite
3.51.2, https://sqlite.org/wal.html#walresetbug, and does not work everywhere.)
"""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import os
import secrets
import sqlite3
import typing as t
from pathlib import Path
from urllib.parse import quote

from ansible_collections.trackbed.cluster.plugins.plugin_utils import _journal_reads as reads
from ansible_collections.trackbed.cluster.plugins.plugin_utils import _journal_writes as writes
from ansible_collections.trackbed.cluster.plugins.plugin_utils._finding import Finding
from ansible_collections.trackbed.cluster.plugins.plugin_utils._journal_place import (
    WriterLock,
    as_journal_error,
    create_private,
    refuse_network_place,
)
from ansible_collections.trackbed.cluster.plugins.plugin_utils._journal_rows import (
    INTERRUPTED,
    RUNNING,
    Evidence,
    JournalError,
    Record,
    Run,
    RunInfo,
    Sighting,
    Step,
    inventory_text,
    new_run_id,
)
from ansible_collections.trackbed.cluster.plugins.plugin_utils._journal_schema import (
    migrate,
    stored_version,
)

# A reader that copies the file or a back-up may hold it for a moment (seconds).
_BUSY = 10.0


class Journal:
    """An open journal. Used by one thread at a time, and never after a fork."""

    def __init__(self, path: Path, connection: sqlite3.Connection, lock: WriterLock | None) -> None:
        """Use `open` instead."""
        self.path = path
        self._connection = connection
        self._lock = lock
        self._probe = lock or WriterLock(path)
        self._pid = os.getpid()

    @classmethod
    def open(cls, path: str | Path, *, read_only: bool = False) -> Journal:
        """Open the journal at this path; a writer makes it where there is none.

        Raises JournalError: no journal (read only), another writer, a network file
        system, a file of something else or of a newer version, a disk that fails.
        """
        place = Path(path).expanduser().absolute()
        refuse_network_place(place)
        if read_only and not place.is_file():
            raise JournalError(
                f"there is no journal at {place}",
                wanted="the journal of a cluster that was worked on before",
                remedy="run `trackbed site` or `trackbed validate` first, or correct the path",
            )
        lock = None if read_only else WriterLock(place)
        with as_journal_error(place):
            if lock:
                create_private(place)
                lock.acquire()
            try:
                connection = _connect(place, read_only)
            except BaseException:
                if lock:
                    lock.release()
                raise
        return cls(place, connection, lock)

    def __enter__(self) -> Journal:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()

    def close(self) -> None:
        """Close the file and let others write."""
        if os.getpid() == self._pid:
            self._connection.close()
            if self._lock:
                self._lock.release()

    # -- writing ---------------------------------------------------------------

    def begin_run(self, info: RunInfo) -> str:
        """Note that a run begins, before it does anything; return its id."""
        now = datetime.datetime.now(datetime.UTC)
        with self._transaction() as db:
            run = _free_id(db, now)
            # We hold the right to write, so nobody else can still be running.
            db.execute(
                "UPDATE runs SET state = ?, says = 'the process that ran it ended without a word'"
                " WHERE state = ?",
                (INTERRUPTED, RUNNING),
            )
            db.execute(
                "INSERT INTO runs(id, verb, command, inventory, check_mode, version, user,"
                " controller, started, state) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    run,
                    info.verb,
                    info.command,
                    inventory_text(info.inventory),
                    int(info.check_mode),
                    info.version,
                    info.user,
                    info.controller,
                    _stamp(now),
                    RUNNING,
                ),
            )
        return run

    def write(self, run: str, records: t.Iterable[Record]) -> None:
        """Store steps and evidence, all or none."""
        with self._transaction() as db:
            for record in records:
                if isinstance(record, Step):
                    writes.store_step(db, run, record)
                else:
                    writes.store_evidence(db, run, record)

    def add_findings(self, run: str, findings: t.Iterable[Finding]) -> None:
        """Store what the judge said."""
        with self._transaction() as db:
            db.executemany(
                'INSERT INTO findings(run, node, entity, "check", verdict, body)'
                " VALUES (?, ?, ?, ?, ?, ?)",
                [
                    (
                        run,
                        one.node,
                        one.entity,
                        one.check,
                        one.verdict,
                        writes.as_json(one.as_dict()),
                    )
                    for one in findings
                ],
            )

    def end_run(self, run: str, exit_code: int, state: str, says: str = "") -> None:
        """Note how a run ended."""
        now = datetime.datetime.now(datetime.UTC)
        with self._transaction() as db:
            db.execute(
                "UPDATE runs SET ended = ?, exit_code = ?, state = ?, says = ? WHERE id = ?",
                (_stamp(now), exit_code, state, says, run),
            )

    def prune(self, keep: int) -> list[str]:
        """Forget all but the newest `keep` runs and what only they refer to; return their ids."""
        with self._transaction() as db:
            rows = db.execute(
                "SELECT id FROM runs ORDER BY started DESC, rowid DESC LIMIT -1 OFFSET ?", (keep,)
            )
            gone = [row["id"] for row in rows.fetchall()]
            db.executemany("DELETE FROM runs WHERE id = ?", [(one,) for one in gone])
            db.execute(
                "DELETE FROM blobs WHERE hash NOT IN (SELECT document FROM evidence"
                " UNION SELECT raw FROM evidence WHERE raw IS NOT NULL)"
            )
        with as_journal_error(self.path):
            self._db().execute("VACUUM")
        return gone

    # -- reading ---------------------------------------------------------------

    def runs(self, limit: int | None = None) -> list[Run]:
        """Return the runs, newest first."""
        with as_journal_error(self.path):
            return reads.runs(self._db(), limit, self._probe.is_held())

    def run(self, run: str) -> Run | None:
        """Return the run with this id."""
        return next((one for one in self.runs() if one.id == run), None)

    def steps(self, run: str, node: str | None = None) -> list[Step]:
        """Return the steps of a run."""
        with as_journal_error(self.path):
            return reads.steps(self._db(), run, node)

    def evidence(self, run: str, node: str | None = None) -> list[Evidence]:
        """Return the evidence of a run, by node and source."""
        with as_journal_error(self.path):
            return reads.evidence(self._db(), run, node)

    def latest_evidence(self, nodes: t.Iterable[str] | None = None) -> list[Evidence]:
        """Return the newest document of each node and source."""
        with as_journal_error(self.path):
            return reads.latest_evidence(self._db(), nodes)

    def findings(self, run: str) -> list[Finding]:
        """Return what the judge said in a run."""
        with as_journal_error(self.path):
            return reads.findings(self._db(), run)

    def history(self, identity: str) -> list[Sighting]:
        """Return where and when a part (serial, uuid, guid, mac) was seen, newest first."""
        with as_journal_error(self.path):
            return reads.history(self._db(), identity)

    # -- moving ----------------------------------------------------------------

    def export(self, target: str | Path) -> str:
        """Copy the journal as it is now into a new file; return its sha256.

        Raises JournalError where the target exists.
        """
        place = Path(target)
        if place.exists():
            raise JournalError(
                f"{place} exists", wanted="a new file", remedy="name another, or remove it"
            )
        with as_journal_error(place):
            create_private(place)
            copy = sqlite3.connect(place)
            try:
                self._db().backup(copy)
            finally:
                copy.close()
            return hashlib.sha256(place.read_bytes()).hexdigest()

    def _db(self) -> sqlite3.Connection:
        if os.getpid() != self._pid:
            raise JournalError(
                "the journal was opened by the process that this one was forked from",
                wanted="a journal of its own in each process",
                remedy="this is a defect of Trackbed: report it",
            )
        return self._connection

    @contextlib.contextmanager
    def _transaction(self) -> t.Iterator[sqlite3.Connection]:
        db = self._db()
        with as_journal_error(self.path):
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
            except BaseException:
                # A full disk may have rolled back already.
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise
            db.execute("COMMIT")


def _connect(place: Path, read_only: bool) -> sqlite3.Connection:
    # Whoever opens the file next rolls back what a killed writer left: a reader must be able to.
    mode = "ro" if read_only and not os.access(place, os.W_OK) else "rw"
    uri = f"file:{quote(str(place))}?mode={mode}"
    # Handed from the main thread to the writer's and back, never used by both at once.
    connection = sqlite3.connect(
        uri, uri=True, timeout=_BUSY, isolation_level=None, check_same_thread=False
    )
    try:
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA foreign_keys = ON")
        if read_only:
            connection.execute("PRAGMA query_only = ON")
        stored_version(connection, str(place))
        if not read_only:
            connection.execute("PRAGMA journal_mode = DELETE")
            connection.execute("PRAGMA synchronous = FULL")
            migrate(connection, str(place))
    except BaseException:
        connection.close()
        raise
    return connection


def _free_id(db: sqlite3.Connection, now: datetime.datetime) -> str:
    """Return an id that no run has: a script may begin many within one second."""
    while True:
        run = new_run_id(now, secrets.token_hex(2))
        if db.execute("SELECT 1 FROM runs WHERE id = ?", (run,)).fetchone() is None:
            return run


def _stamp(now: datetime.datetime) -> str:
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")
