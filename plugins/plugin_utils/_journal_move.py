# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Take a journal to another controller. Private to trackbed.cluster."""

from __future__ import annotations

import hashlib
import sqlite3
from pathlib import Path

from ansible_collections.trackbed.cluster.plugins.plugin_utils._journal_place import (
    as_journal_error,
    create_private,
    refuse_network_place,
)
from ansible_collections.trackbed.cluster.plugins.plugin_utils._journal_rows import JournalError
from ansible_collections.trackbed.cluster.plugins.plugin_utils._journal_schema import stored_version


def import_journal(source: str | Path, target: str | Path, sha256: str | None = None) -> None:
    """Make an exported file the journal at `target`, where there is none yet.

    Raises JournalError: not a journal, damaged, not the file that was exported.
    """
    origin, place = Path(source), Path(target).expanduser().absolute()
    if place.exists():
        raise JournalError(
            f"{place} exists already", wanted="no journal there", remedy="move the old one away"
        )
    with as_journal_error(origin):
        if sha256 and hashlib.sha256(origin.read_bytes()).hexdigest() != sha256:
            raise JournalError(
                f"{origin} is not the file that was exported",
                wanted=f"sha256 {sha256}",
                remedy="copy it again",
            )
        refuse_network_place(place)
        database = sqlite3.connect(f"file:{origin.absolute()}?mode=ro", uri=True)
        try:
            stored_version(database, str(origin))
            told = str(database.execute("PRAGMA integrity_check").fetchone()[0])
            if told != "ok":
                raise JournalError(f"{origin} is damaged: {told}", remedy="export it again")
            create_private(place)
            copy = sqlite3.connect(place)
            try:
                database.backup(copy)
            finally:
                copy.close()
        finally:
            database.close()
