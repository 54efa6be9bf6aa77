# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From one Ansible result to records of the journal: pure, never an exception, never a secret.

Private to trackbed.cluster. Used by both sinks, the event handler of the command
line and the callback plugin, so that both write the same.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
import typing as t
import zlib
from collections.abc import Mapping

from ansible_collections.trackbed.cluster.plugins.module_utils._evidence import (
    RESULT_KEY,
    SCHEMA,
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
# What a node sends may unpack to a thousand times its size. The largest real output that we know,
# nvidia-bug-report.log, has a few MB.
RAW_LIMIT = 64 * 1024 * 1024
_SECRET_NAME = re.compile(
    r"password|passwd|passphrase|(?:^|[_-])pass(?:$|[_-])"
    r"|secret|token|private_?key|api_?key|credential",
    re.IGNORECASE,
)
_SECRET_TEXT = re.compile(
    r"(?i)\b((?:[a-z0-9_-]*(?:password|passwd|passphrase|secret|token|api[_-]?key))"
    r"[\"']?\s{0,4}[=:]\s{0,4})(?:\"[^\"\n]{1,400}\"|'[^'\n]{1,400}'|[^\s\"',;]{1,400})"
)
# https://user:password@host, Authorization: Bearer ..., and keys in PEM.
_SECRET_URL = re.compile(r"(?i)\b([a-z][a-z0-9+.-]{1,15}://[^\s/:@]{0,100}:)[^\s/@]{1,200}(?=@)")
_SECRET_BEARER = re.compile(r"(?i)\b(bearer|basic)\s{1,4}[a-z0-9._~+/=-]{8,}")
_SECRET_PEM = re.compile(
    r"-----BEGIN ([A-Z ]{0,20})PRIVATE KEY-----.*?(?:-----END [^\n]*|\Z)", re.DOTALL
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
        task=str(_storable(task)),
        status=kind,
        playbook=where.get("playbook") or "",
        play=where.get("play") or "",
        role=where.get("role") or "",
        message=str(_storable(_message(kind, result))),
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
    return _hidden(value) if isinstance(value, str) else value


def _hidden(text: str) -> str:
    text = _SECRET_TEXT.sub(rf"\1{HIDDEN}", text)
    text = _SECRET_URL.sub(rf"\1{HIDDEN}", text)
    text = _SECRET_BEARER.sub(rf"\1 {HIDDEN}", text)
    return _SECRET_PEM.sub(f"-----{HIDDEN}-----", text)


def _storable(value: t.Any) -> t.Any:
    """Return plain JSON types without what cannot be UTF-8: half a surrogate, from bytes."""
    text = json.dumps(value, default=str, ensure_ascii=False)
    return json.loads(text.encode("utf-8", "replace"))


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
    found = _storable(found)
    size = len(json.dumps(found))
    if size > DIFF_LIMIT:
        return [{"prepared": f"the difference has {size} characters, too many to keep\n"}]
    return t.cast("list[dict[str, t.Any]]", found)


def _evidence(host: str, result: Mapping[str, t.Any]) -> list[Record]:
    """Return what the result carries itself, and what each item of a loop does."""
    items = result.get("results")
    loop = [one for one in items if isinstance(one, Mapping)] if isinstance(items, list) else []
    found: list[Record] = []
    for one in [result, *loop]:
        if RESULT_KEY not in one:
            continue
        documents = one[RESULT_KEY]
        if isinstance(documents, list):
            found += [_document(host, document) for document in documents]
        else:
            found.append(_unusable(host, f"it is a {type(documents).__name__}, not a list"))
    return found


def _document(host: str, document: t.Any) -> Record:
    if not isinstance(document, Mapping) or document.get("schema") != SCHEMA:
        return _unusable(host, f"a document without schema {SCHEMA}")
    wrong = _misshapen(document)
    if wrong:
        return _unusable(host, wrong, str(document.get("source")))
    try:
        kept = _storable(dict(document))
    except Exception as error:  # noqa: BLE001  (whatever a module sent must not end the run)
        return _unusable(host, f"it cannot be stored ({type(error).__name__})")
    raw, doubt = _raw(document.get("raw"))
    part = document.get("raw")
    kept["raw"] = part and {
        "sha256": part.get("sha256"), "bytes": part.get("bytes"), "kept": raw is not None
    }  # fmt: skip
    if doubt:
        kept["problems"] = [*(kept.get("problems") or []), {"code": "inconsistent", "says": doubt}]
        kept["quality"] = "partial" if kept.get("quality") == "ok" else kept.get("quality")
    return Evidence(host, kept, raw)


def _misshapen(document: Mapping[str, t.Any]) -> str | None:
    """Return what keeps a document from being one, or None."""
    seconds = document.get("seconds")
    checks = {
        "a document without a source": isinstance(document.get("source"), str),
        "a document without entities": isinstance(document.get("entities"), list),
        "seconds that are no number": seconds is None
        or (isinstance(seconds, (int, float)) and abs(seconds) < math.inf and abs(seconds) < 1e9),
        "problems that are no list": isinstance(document.get("problems") or [], list),
        "a raw part that is no object": isinstance(document.get("raw") or {}, Mapping),
    }
    wrong = next((says for says, right in checks.items() if not right), None)
    return wrong or next(filter(None, map(_misshapen_entity, document["entities"])), None)


def _misshapen_entity(entity: t.Any) -> str | None:
    if not isinstance(entity, Mapping) or not isinstance(entity.get("path"), str):
        return "an entity without a path"
    ids = entity.get("ids") or {}
    if not isinstance(ids, Mapping) or any(
        one is not None and not isinstance(one, str) for one in ids.values()
    ):
        return f"identities of {entity['path']} that are no text"
    if not isinstance(entity.get("values") or {}, Mapping):
        return f"values of {entity['path']} that are no object"
    return None


def _raw(part: Mapping[str, t.Any] | None) -> tuple[bytes | None, str | None]:
    """Return the raw output that a document carries, or None and what is wrong with it."""
    packed = (part or {}).get("zlib_b64")
    if not part or not packed:
        return None, None
    try:
        unpacker = zlib.decompressobj()
        raw = unpacker.decompress(base64.b64decode(packed, validate=True), RAW_LIMIT)
    except (ValueError, TypeError, zlib.error) as error:
        return None, f"its raw output cannot be unpacked: {error}"
    if unpacker.unconsumed_tail:
        return None, f"its raw output has more than {RAW_LIMIT} bytes and was left out"
    if not unpacker.eof or hashlib.sha256(raw).hexdigest() != part.get("sha256"):
        return None, "its raw output is not the one that its sha256 names, and was left out"
    return raw, None


def _unusable(host: str, why: str, source: str = "unusable") -> Evidence:
    """Return evidence that says that there was some, and why it is lost."""
    problem = {"code": "malformed", "says": f"the module's evidence cannot be used: {why}"}
    return Evidence(
        host,
        {
            "schema": SCHEMA,
            "source": str(_storable(source[:200])),
            "tool": {"name": None, "version": None},
            "quality": "unreadable",
            "problems": [problem],
            "started": None,
            "seconds": None,
            "raw": None,
            "entities": [],
        },
    )
