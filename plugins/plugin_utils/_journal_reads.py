# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Questions to the journal: plain functions over a connection. Private to trackbed.cluster."""

from __future__ import annotations

import json
import sqlite3
import typing as t
import zlib

from ansible_collections.trackbed.cluster.plugins.plugin_utils._finding import Finding
from ansible_collections.trackbed.cluster.plugins.plugin_utils._journal_rows import (
    INTERRUPTED,
    RUNNING,
    Evidence,
    NodeTally,
    Run,
    RunInfo,
    Sighting,
    Step,
)

_RUN = """SELECT id, verb, command, inventory, check_mode, version, user, controller,
    started, ended, exit_code, state, says FROM runs"""
_EVIDENCE = """SELECT e.node, e.started, e.seconds, e.raw, d.data AS document,
    r.data AS raw_data, r.bytes AS raw_bytes
    FROM evidence e JOIN blobs d ON d.hash = e.document LEFT JOIN blobs r ON r.hash = e.raw"""


def runs(db: sqlite3.Connection, limit: int | None, is_writing: bool) -> list[Run]:
    """Return the runs, newest first; `is_writing`: whether some process may still write."""
    most = -1 if limit is None else limit
    rows = db.execute(f"{_RUN} ORDER BY started DESC, rowid DESC LIMIT ?", (most,))
    found = [_run(db, row) for row in rows.fetchall()]
    # There is one writer: of the runs that say "running" only the newest can be telling the truth.
    newest = next((one.id for one in found if one.state == RUNNING), None)
    alive = newest if is_writing else None
    return [_honest(one, alive) for one in found]


def _honest(run: Run, alive: str | None) -> Run:
    if run.state != RUNNING or run.id == alive:
        return run
    says = run.says or "the process that ran it ended without a word"
    return Run(
        run.id, run.info, run.started, run.ended, run.exit_code, INTERRUPTED, says, run.nodes
    )


def _run(db: sqlite3.Connection, row: sqlite3.Row) -> Run:
    info = RunInfo(
        verb=row["verb"],
        command=row["command"],
        inventory=tuple(json.loads(row["inventory"])),
        check_mode=bool(row["check_mode"]),
        version=row["version"],
        user=row["user"],
        controller=row["controller"],
    )
    tallies = db.execute(
        "SELECT node, ok, changed, failed, unreachable, skipped, ignored FROM nodes"
        " WHERE run = ? ORDER BY node",
        (row["id"],),
    )
    return Run(
        id=row["id"],
        info=info,
        started=row["started"],
        ended=row["ended"],
        exit_code=row["exit_code"],
        state=row["state"],
        says=row["says"],
        nodes=tuple(NodeTally(*tally) for tally in tallies),
    )


def steps(db: sqlite3.Connection, run: str, node: str | None) -> list[Step]:
    """Return the steps of a run in the order in which they ended."""
    rows = db.execute(
        "SELECT * FROM steps WHERE run = ? AND (? IS NULL OR node = ?) ORDER BY id",
        (run, node, node),
    )
    return [
        Step(
            node=row["node"],
            task=row["task"],
            status=row["status"],
            playbook=row["playbook"],
            play=row["play"],
            role=row["role"],
            message=row["message"],
            diff=json.loads(row["diff"]) if row["diff"] else None,
            ignored=bool(row["ignored"]),
            started=row["started"],
            ended=row["ended"],
        )
        for row in rows
    ]


def evidence(db: sqlite3.Connection, run: str, node: str | None) -> list[Evidence]:
    """Return the evidence of a run, by node and source."""
    rows = db.execute(
        f"{_EVIDENCE} WHERE e.run = ? AND (? IS NULL OR e.node = ?)"
        " ORDER BY e.node, e.source, e.id",
        (run, node, node),
    )
    return [_evidence(row) for row in rows]


def latest_evidence(db: sqlite3.Connection, nodes: t.Iterable[str] | None) -> list[Evidence]:
    """Return the newest document of each node and source."""
    newest = " WHERE e.id IN (SELECT max(id) FROM evidence GROUP BY node, source)"
    rows = db.execute(_EVIDENCE + newest + " ORDER BY e.node, e.source")
    wanted = None if nodes is None else set(nodes)
    return [_evidence(row) for row in rows if wanted is None or row["node"] in wanted]


def _evidence(row: sqlite3.Row) -> Evidence:
    document = json.loads(zlib.decompress(row["document"]))
    document["started"], document["seconds"] = row["started"], row["seconds"]
    raw = None if row["raw_data"] is None else zlib.decompress(row["raw_data"])
    return Evidence(row["node"], document, raw)


def findings(db: sqlite3.Connection, run: str) -> list[Finding]:
    """Return what the judge said in a run, in its order."""
    rows = db.execute("SELECT body FROM findings WHERE run = ? ORDER BY id", (run,))
    return [Finding.from_dict(json.loads(row["body"])) for row in rows]


def history(db: sqlite3.Connection, identity: str) -> list[Sighting]:
    """Return where and when a part (serial, uuid, guid, mac) was seen, newest first."""
    rows = db.execute(
        "SELECT DISTINCT e.run, e.node, p.entity, e.source, e.started, e.document FROM parts p"
        " JOIN evidence e ON e.document = p.document WHERE p.identity = ?"
        " ORDER BY e.started DESC, e.id DESC",
        (identity,),
    )
    return [Sighting(*row) for row in rows]
