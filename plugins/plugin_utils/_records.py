# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From one Ansible result to records of the journal: pure, never an exception, never a secret.

Private to trackbed.cluster. Used by both sinks, the event handler of the command
line and the callback plugin, so that both write the same.
"""

from __future__ import annotations

import json
import re
import typing as t
from collections.abc import Mapping

from ansible_collections.trackbed.cluster.plugins.module_utils._evidence import (
    RESULT_KEY,
    SCHEMA,
    raw_text,
)
from ansible_collections.trackbed.cluster.plugins.plugin_utils._journal_rows import (
    STEP_CHANGED,
    STEP_FAILED,
    STEP_OK,
    STEP_SKIPPED,
    STEP_UNREACHABLE,
    Evidence,
    Record,
    Step,
)

# A message is for a person; a diff may hold whole files.
MESSAGE_LIMIT = 4_000
DIFF_LIMIT = 200_000
_SECRET_NAME = re.compile(
    r"password|passwd|passphrase|(?:^|[_-])pass(?:$|[_-])"
    r"|secret|token|private_?key|api_?key|credential",
    re.IGNORECASE,
)
_SECRET_TEXT = re.compile(
    r"(?i)\b((?:[a-z0-9_-]*(?:password|passwd|passphrase|secret|token|api[_-]?key))"
    r"[\"']?\s{0,4}[=:]\s{0,4})[\"']?([^\s\"',;]{1,200})"
)
HIDDEN = "********"


def records_from_result(
    host: str,
    status: str,
    result: Mapping[str, t.Any],
    *,
    task: str = "",
    ignored: bool = False,
    where: Mapping[str, str | None] | None = None,
) -> list[Record]:
    """Return a step and the evidence that one result of one task on one host carries.

    `status` is ok, failed, unreachable or skipped; `where` may name playbook, play,
    role, started and ended.
    """
    where = where or {}
    kind = _status(status, result)
    step = Step(
        node=host,
        task=task,
        status=kind,
        playbook=where.get("playbook") or "",
        play=where.get("play") or "",
        role=where.get("role") or "",
        message=_message(kind, result),
        diff=_diff(result),
        ignored=ignored,
        started=where.get("started"),
        ended=where.get("ended"),
    )
    return [step, *_evidence(host, result)]


def without_secrets(value: t.Any) -> t.Any:
    """Return a copy in which values under secret names, and secrets in texts, are hidden."""
    if isinstance(value, Mapping):
        return {
            str(key): HIDDEN if _SECRET_NAME.search(str(key)) and one else without_secrets(one)
            for key, one in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [without_secrets(one) for one in value]
    return _SECRET_TEXT.sub(rf"\1{HIDDEN}", value) if isinstance(value, str) else value


def _status(status: str, result: Mapping[str, t.Any]) -> str:
    if status == "ok":
        return STEP_CHANGED if result.get("changed") else STEP_OK
    known = {"failed": STEP_FAILED, "unreachable": STEP_UNREACHABLE, "skipped": STEP_SKIPPED}
    return known.get(status, STEP_FAILED)


def _message(kind: str, result: Mapping[str, t.Any]) -> str:
    if result.get("_ansible_no_log") or "censored" in result:
        return ""
    parts = [str(result.get("msg") or "")]
    if kind in (STEP_FAILED, STEP_UNREACHABLE):
        parts += [str(result.get(key) or "") for key in ("stderr", "module_stderr")]
        parts += _items(result)
    elif kind == STEP_SKIPPED:
        parts.append(str(result.get("skip_reason") or ""))
    text = "\n".join(dict.fromkeys(part.strip() for part in parts if part.strip()))
    return t.cast("str", without_secrets(text))[:MESSAGE_LIMIT]


def _items(result: Mapping[str, t.Any]) -> list[str]:
    """Return the messages of the failed items of a loop."""
    items = result.get("results")
    if not isinstance(items, list):
        return []
    failed = [one for one in items if isinstance(one, Mapping) and one.get("failed")]
    return [f"{one.get('item')}: {one.get('msg')}" for one in failed[:20]]


def _diff(result: Mapping[str, t.Any]) -> list[dict[str, t.Any]] | None:
    raw = result.get("diff")
    if not raw or result.get("_ansible_no_log"):
        return None
    many = raw if isinstance(raw, list) else [raw]
    found = [without_secrets(one) for one in many if isinstance(one, Mapping) and one]
    if not found:
        return None
    size = len(json.dumps(found, default=str))
    if size > DIFF_LIMIT:
        return [{"prepared": f"the difference has {size} characters, too many to keep\n"}]
    return t.cast("list[dict[str, t.Any]]", json.loads(json.dumps(found, default=str)))


def _evidence(host: str, result: Mapping[str, t.Any]) -> list[Record]:
    if RESULT_KEY not in result:
        return []
    documents = result[RESULT_KEY]
    if not isinstance(documents, list):
        return [_unusable(host, f"it is a {type(documents).__name__}, not a list")]
    return [_document(host, one) for one in documents]


def _document(host: str, document: t.Any) -> Record:
    if not isinstance(document, Mapping) or document.get("schema") != SCHEMA:
        return _unusable(host, f"a document without schema {SCHEMA}")
    if not isinstance(document.get("source"), str) or not isinstance(
        document.get("entities"), list
    ):
        return _unusable(host, "a document without source or entities")
    try:
        raw_part = document.get("raw")
        raw = raw_text(raw_part if isinstance(raw_part, dict) else None)
        kept = {**document, "raw": _raw_reference(raw_part, raw)}
        json.dumps(kept)
    except Exception as error:  # noqa: BLE001  (whatever a module sent must not end the run)
        return _unusable(host, f"a document that cannot be stored ({type(error).__name__})")
    return Evidence(host, kept, raw)


def _raw_reference(part: t.Any, raw: bytes | None) -> dict[str, t.Any] | None:
    if not isinstance(part, Mapping):
        return None
    return {"sha256": part.get("sha256"), "bytes": part.get("bytes"), "kept": raw is not None}


def _unusable(host: str, why: str) -> Evidence:
    """Return evidence that says that there was some, and why it is lost."""
    problem = {"code": "malformed", "says": f"the module's evidence cannot be used: {why}"}
    return Evidence(
        host,
        {
            "schema": SCHEMA,
            "source": "unusable",
            "tool": {"name": None, "version": None},
            "quality": "unreadable",
            "problems": [problem],
            "started": None,
            "seconds": None,
            "raw": None,
            "entities": [],
        },
    )
