# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Take a journal to another controller. Private to trackbed.cluster."""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
from pathlib import Path
from urllib.parse import quote

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
        source_uri = f"file:{quote(str(origin.absolute()))}?mode=ro"
        with contextlib.closing(sqlite3.connect(source_uri, uri=True)) as database:
            stored_version(database, str(origin))
            told = str(database.execute("PRAGMA integrity_check").fetchone()[0])
            if told != "ok":
                raise JournalError(f"{origin} is damaged: {told}", remedy="export it again")
            create_private(place)
            try:
                with contextlib.closing(sqlite3.connect(place)) as copy:
                    database.backup(copy)
            except BaseException:
                place.unlink(missing_ok=True)
                raise
