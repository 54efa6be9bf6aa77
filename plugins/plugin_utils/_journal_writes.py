# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How records become rows: plain functions over a connection. Private to trackbed.cluster."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import typing as t
import zlib

from ansible_collections.trackbed.cluster.plugins.plugin_utils._journal_rows import Evidence, Step

# Identities that name a part for good; a PCI address names a place.
_LASTING = ("serial", "uuid", "guid", "mac")


def as_json(value: t.Any) -> str:
    """Return the one text of a value, so that equal values have equal hashes."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def store_step(db: sqlite3.Connection, run: str, step: Step) -> None:
    """Store one step and count it."""
    db.execute(
        "INSERT INTO steps(run, node, playbook, play, role, task, status, ignored, message, diff,"
        " started, ended) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            run,
            step.node,
            step.playbook,
            step.play,
            step.role,
            step.task,
            step.status,
            int(step.ignored),
            step.message,
            as_json(step.diff) if step.diff else None,
            step.started,
            step.ended,
        ),
    )
    column = "ignored" if step.ignored else step.status
    db.execute("INSERT OR IGNORE INTO nodes(run, node) VALUES (?, ?)", (run, step.node))
    # The column is one of the words that the table's own check allows.
    db.execute(
        f"UPDATE nodes SET {column} = {column} + 1 WHERE run = ? AND node = ?",  # noqa: S608
        (run, step.node),
    )


def store_evidence(db: sqlite3.Connection, run: str, one: Evidence) -> None:
    """Store one document, once, and index the parts that it names."""
    document = {
        key: value for key, value in one.document.items() if key not in ("started", "seconds")
    }
    text = as_json(document).encode()
    digest = _store_blob(db, text)
    raw = None if one.raw is None else _store_blob(db, one.raw)
    db.execute("INSERT OR IGNORE INTO nodes(run, node) VALUES (?, ?)", (run, one.node))
    db.execute(
        "INSERT INTO evidence(run, node, source, quality, started, seconds, document, raw)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            run,
            one.node,
            str(document.get("source")),
            str(document.get("quality")),
            str(one.document.get("started") or ""),
            one.document.get("seconds"),
            digest,
            raw,
        ),
    )
    parts = [
        (value, digest, str(entity.get("path")), kind)
        for entity in document.get("entities") or []
        for kind, value in (entity.get("ids") or {}).items()
        if kind in _LASTING and value
    ]
    db.executemany(
        "INSERT OR IGNORE INTO parts(identity, document, entity, kind) VALUES (?, ?, ?, ?)", parts
    )


def _store_blob(db: sqlite3.Connection, data: bytes) -> str:
    digest = hashlib.sha256(data).hexdigest()
    known = db.execute("SELECT 1 FROM blobs WHERE hash = ?", (digest,)).fetchone()
    if known is None:
        db.execute(
            "INSERT INTO blobs(hash, bytes, data) VALUES (?, ?, ?)",
            (digest, len(data), zlib.compress(data, 6)),
        )
    return digest
