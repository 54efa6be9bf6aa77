# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The journal's tables and how older ones become newer. Private to trackbed.cluster."""

from __future__ import annotations

import sqlite3

from ansible_collections.trackbed.cluster.plugins.plugin_utils._journal_rows import JournalError

# "TRKB" in the file's header, so that another program's database is never taken for ours.
APPLICATION_ID = 0x54524B42

# MIGRATIONS[n] takes `user_version` n to n + 1. Never edit one that was released: add one.
# No STRICT, RETURNING or JSON operators: Enterprise Linux 9 has SQLite 3.34.
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE runs(
            id TEXT PRIMARY KEY,
            verb TEXT NOT NULL,
            command TEXT NOT NULL,
            inventory TEXT NOT NULL,
            check_mode INTEGER NOT NULL,
            version TEXT NOT NULL,
            user TEXT NOT NULL,
            controller TEXT NOT NULL,
            started TEXT NOT NULL,
            ended TEXT,
            exit_code INTEGER,
            state TEXT NOT NULL CHECK (state IN ('running', 'done', 'interrupted', 'failed')),
            says TEXT NOT NULL DEFAULT '')""",
        """CREATE TABLE nodes(
            run TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
            node TEXT NOT NULL,
            ok INTEGER NOT NULL DEFAULT 0,
            changed INTEGER NOT NULL DEFAULT 0,
            failed INTEGER NOT NULL DEFAULT 0,
            unreachable INTEGER NOT NULL DEFAULT 0,
            skipped INTEGER NOT NULL DEFAULT 0,
            ignored INTEGER NOT NULL DEFAULT 0,
            PRIMARY KEY (run, node)) WITHOUT ROWID""",
        """CREATE TABLE steps(
            id INTEGER PRIMARY KEY,
            run TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
            node TEXT NOT NULL,
            playbook TEXT NOT NULL,
            play TEXT NOT NULL,
            role TEXT NOT NULL,
            task TEXT NOT NULL,
            status TEXT NOT NULL
                CHECK (status IN ('ok', 'changed', 'failed', 'unreachable', 'skipped')),
            ignored INTEGER NOT NULL,
            message TEXT NOT NULL,
            diff TEXT,
            started TEXT,
            ended TEXT)""",
        "CREATE INDEX steps_of ON steps(run, node)",
        # Documents and raw outputs, each once, whatever number of runs saw it.
        """CREATE TABLE blobs(
            hash TEXT PRIMARY KEY,
            bytes INTEGER NOT NULL,
            data BLOB NOT NULL)""",
        # What differs between two otherwise equal documents (when, how long) is here.
        """CREATE TABLE evidence(
            id INTEGER PRIMARY KEY,
            run TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
            node TEXT NOT NULL,
            source TEXT NOT NULL,
            quality TEXT NOT NULL,
            started TEXT NOT NULL,
            seconds REAL,
            document TEXT NOT NULL REFERENCES blobs(hash),
            raw TEXT REFERENCES blobs(hash))""",
        "CREATE INDEX evidence_of_run ON evidence(run, node, source)",
        "CREATE INDEX evidence_of_node ON evidence(node, source)",
        "CREATE INDEX evidence_with ON evidence(document)",
        "CREATE INDEX evidence_raw ON evidence(raw)",
        # History follows the part: serial, uuid, guid, mac -> the documents that name it.
        """CREATE TABLE parts(
            identity TEXT NOT NULL,
            document TEXT NOT NULL REFERENCES blobs(hash) ON DELETE CASCADE,
            entity TEXT NOT NULL,
            kind TEXT NOT NULL,
            PRIMARY KEY (identity, document, entity, kind)) WITHOUT ROWID""",
        "CREATE INDEX parts_of ON parts(document)",
        """CREATE TABLE findings(
            id INTEGER PRIMARY KEY,
            run TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
            node TEXT NOT NULL,
            entity TEXT NOT NULL,
            "check" TEXT NOT NULL,
            verdict TEXT NOT NULL,
            body TEXT NOT NULL)""",
        "CREATE INDEX findings_of ON findings(run, node)",
    ),
)
VERSION = len(MIGRATIONS)


def stored_version(connection: sqlite3.Connection, path: str) -> int:
    """Return the schema version of the file; 0 is an empty one.

    Raises JournalError where it is no journal, or a newer Trackbed's.
    """
    try:
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        owner = int(connection.execute("PRAGMA application_id").fetchone()[0])
        tables = int(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError):
            raise
        raise _not_ours(path, str(error)) from error
    if owner != APPLICATION_ID and (owner or version or tables):
        raise _not_ours(path, "a database of another program")
    if version > VERSION:
        raise JournalError(
            f"{path} was written by a newer Trackbed (schema {version})",
            wanted=f"schema {VERSION} or older",
            remedy="upgrade trackbed on this controller, or use the journal of this version",
        )
    return version


def migrate(connection: sqlite3.Connection, path: str) -> None:
    """Bring the file to this version's schema, one step per transaction.

    The connection must be in autocommit mode (`isolation_level=None`).
    """
    for version in range(stored_version(connection, path), VERSION):
        connection.execute("BEGIN IMMEDIATE")
        try:
            for statement in MIGRATIONS[version]:
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {version + 1}")
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")


def _not_ours(path: str, why: str) -> JournalError:
    return JournalError(
        f"{path} is not a journal of Trackbed ({why})",
        wanted="a file that `trackbed` made, or a place where there is none",
        remedy="name another path for the journal in the cluster file",
    )
