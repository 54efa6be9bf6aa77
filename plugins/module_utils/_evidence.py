# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Turn readings into the evidence documents that a module returns. Private to trackbed.cluster.

The result key is `trackbed_evidence`, a list of documents, one per source. All
documents of one result together stay below `RESULT_LIMIT` characters of JSON:
ansible-runner silently replaces larger results by {}.
"""

from __future__ import annotations

import base64
import dataclasses
import datetime
import hashlib
import json
import typing as t
import zlib

from ansible_collections.trackbed.cluster.plugins.module_utils._reading import Reading

SCHEMA = 1
RESULT_KEY = "trackbed_evidence"
# ansible-runner 2.4 replaces an event's result above 700,000 characters; the
# rest of a result (invocation, diff) needs room too.
RESULT_LIMIT = 500_000


def utc_now() -> str:
    """Return the time as `2026-12-01T04:50:03Z`."""
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def document(
    reading: Reading, node: str, started: str, seconds: float, raw: bytes | None
) -> dict[str, t.Any]:
    """Build one evidence document. `raw` is the tool's output without secrets, or None."""
    return {
        "schema": SCHEMA,
        "source": reading.kind,
        "tool": {"name": reading.tool_name, "version": reading.tool_version},
        "quality": reading.quality,
        "problems": [dataclasses.asdict(one) for one in reading.problems],
        "started": started,
        "seconds": round(seconds, 3),
        "raw": _raw_part(raw),
        "entities": [
            {
                "path": _full_path(node, one.path),
                "ids": one.ids,
                "values": one.values,
                "notes": one.notes,
            }
            for one in reading.entities
        ],
    }


def bounded(documents: list[dict[str, t.Any]], limit: int = RESULT_LIMIT) -> list[dict[str, t.Any]]:
    """Drop raw outputs, largest first, then entities, until all fit `limit` characters.

    What was dropped is said: `raw.kept` false, or quality `partial` with the problem `limited`.
    """
    kept = [dict(one) for one in documents]
    for one in sorted(kept, key=lambda d: -len((d["raw"] or {}).get("zlib_b64") or "")):
        if _size(kept) <= limit:
            return kept
        if one["raw"]:
            one["raw"] = dict(one["raw"], kept=False, zlib_b64=None)
    for one in sorted(kept, key=lambda d: -_size(d["entities"])):
        if _size(kept) <= limit:
            return kept
        says = (
            f"{len(one['entities'])} entities left out: the result would exceed {limit} characters"
        )
        one["problems"] = [*one["problems"][:20], {"code": "limited", "says": says}]
        one["entities"] = []
        one["quality"] = "partial"
    return kept


def raw_text(part: dict[str, t.Any] | None) -> bytes | None:
    """Return the raw output that a document carries, or None where it was not kept."""
    packed = (part or {}).get("zlib_b64")
    return zlib.decompress(base64.b64decode(packed)) if packed else None


def _raw_part(raw: bytes | None) -> dict[str, t.Any] | None:
    if raw is None:
        return None
    return {
        "sha256": hashlib.sha256(raw).hexdigest(),
        "bytes": len(raw),
        "kept": True,
        "zlib_b64": base64.b64encode(zlib.compress(raw, 9)).decode("ascii"),
    }


def _full_path(node: str, path: str) -> str:
    if not path:
        return node
    if path.startswith("link:"):
        ends = sorted(f"{node}/{end}" for end in path[len("link:") :].split("--"))
        return "link:" + "--".join(ends)
    return f"{node}/{path}"


def _size(value: t.Any) -> int:
    return len(json.dumps(value))
