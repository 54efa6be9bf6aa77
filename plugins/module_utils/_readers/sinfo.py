# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of sinfo: its JSON, `-R`, the default table, `%n|%T|%E|%G`, and counts of states.

Traps: `-R` cuts a reason at 20 characters; `drained*` is a state with a mark;
Slurm 22 writes `"state": "idle"` beside `state_flags`, later ones a list.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _json, _slurm
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    ERROR,
    UNREADABLE,
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import (
    Data,
    decode,
    numbered_lines,
)

KIND = "sinfo"
TITLE = "Slurm's nodes and partitions by sinfo"
VERSIONS = "Slurm 19.05 to 25.05"
SOURCES = ("https://slurm.schedmd.com/sinfo.html",)
PROVEN = True
_ROW = {
    "node_list": Field(str, "nodes, in Slurm's short form"),
    "reason": Field(str, "why they are down or drained; -R cuts it at 20 characters"),
    "reason_by": Field(str, "who set the reason"),
    "reason_time": Field(str, "when it was set, in the controller's local time"),
    "partition": Field(str, "partition, without the mark of the default one"),
    "available": Field(str, "up, down, drain, inact"),
    "time_limit": Field(str, "longest run of a job"),
    "node_count": Field(int, "nodes"),
    "state": Field(str, "state, as in slurm_node"),
    "state_flags": Field(list, "flags, as in slurm_node"),
    "draining_or_drained": Field(bool, "gets no new job"),
    "not_responding": Field(bool, "slurmctld cannot reach slurmd"),
}
FIELDS = {
    "node": {"slurm_node_count": Field(int, "nodes that are named or counted")},
    "slurm_node": {**_slurm.NODE_FIELDS, "slurmd_version": Field(str, "version of slurmd")},
    "row": _ROW,
}
_COUNT = re.compile(r"^\s*([0-9]{1,7})\s+([A-Za-z_+*~#!%$@^-]{2,120})\s*$")
_REASON_HEAD = re.compile(r"^REASON\s+USER\s+TIMESTAMP\s+NODELIST\s*$")
_TABLE_HEAD = re.compile(r"^PARTITION\s+AVAIL\s+TIMELIMIT\s+NODES\s+STATE\s+NODELIST\s*$")
_REASON_ROW = re.compile(r"^(.*\S)?\s+(\S+)\s+([0-9]{4}-[0-9T:-]{10,20}|Unknown)\s+(\S+)$")
_NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._\[\],-]{0,200}$")


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    if re.match(r"\s*\{", text):
        is_slurm = re.search(r'"(?:sinfo|nodes)"\s*:\s*\[', text) and '"Slurm' in text
        return 93 if is_slurm or '"slurmd_version"' in text else 0
    lines = [line for line in text.split("\n")[:200] if line.strip()]
    if any(_REASON_HEAD.match(one) or _TABLE_HEAD.match(one) for one in lines[:3]):
        return 96
    if lines and all(_state_count(one) for one in lines):
        return 90
    return 88 if lines and all(_pipe(one) for one in lines) else 0


def read(data: Data) -> Reading:
    """Read one output; entities `slurm_node:<name>` where nodes are named, else `row:N`."""
    reading = Reading(KIND)
    node = reading.add(Entity(""))
    text = decode(data)
    if re.match(r"\s*[{\[]", text):
        _document(reading, _json.as_dict(_json.load(text, reading)))
    else:
        _lines(reading, text)
    nodes = [one for one in reading.entities if one.path.startswith("slurm_node:")]
    counts = [one.values.get("node_count") for one in reading.entities if one.path[:4] == "row:"]
    known = [one for one in counts if isinstance(one, int)]
    node.values["slurm_node_count"] = len(nodes) + sum(known) if nodes or known else None
    if len(reading.entities) == 1:
        told = any(one.code == "tool_error" for one in reading.problems)
        if not told:
            reading.note("other_format", "nothing that sinfo prints")
        reading.quality = ERROR if told else UNREADABLE
    return reading


def _document(reading: Reading, document: dict[str, t.Any]) -> None:
    for body in _json.dicts(document.get("nodes", document.get("sinfo")))[:200_000]:
        name = _json.text_of(body.get("name"))
        if name is None:
            name = _json.text_of((_json.as_dict(body.get("nodes")).get("nodes") or [None])[0])
        if name is None:
            reading.note("missing_value", "a node without its name")
            continue
        entity = reading.add(Entity("slurm_node:" + re.sub("[/:]", "_", name)))
        state = body.get("state", _json.as_dict(body.get("node")).get("state"))
        words = state if isinstance(state, list) else [state]
        words = [*words, *(body.get("state_flags") or [])]
        _slurm.put_state(entity, "+".join(one for one in words if isinstance(one, str)))
        gres = body.get("gres")
        _slurm.put_gres(entity, gres if isinstance(gres, str) else None)
        entity.values["slurmd_version"] = _json.text_of(body.get("slurmd_version"))
        entity.values["reason"] = _json.text_of(body.get("reason"))
        entity.values["reason_by"] = _json.text_of(body.get("reason_set_by_user"))
    for error in _json.dicts(document.get("errors")):
        said = _json.text_of(error.get("description")) or _json.text_of(error.get("error"))
        reading.note("tool_error", "Slurm reported an error", verbatim=said)


def _lines(reading: Reading, text: str) -> None:
    head = ""
    for line_number, line in numbered_lines(text):
        if _REASON_HEAD.match(line) or _TABLE_HEAD.match(line):
            head = line.split()[0]
        elif re.match(r"^(?:sinfo|slurm_\w+).*error", line):
            reading.note("tool_error", "sinfo reported an error", line=line_number, verbatim=line)
        elif line.strip() and not _one(reading, head, line):
            reading.note(
                "malformed",
                "not a line of sinfo, or one that is cut",
                line=line_number,
                verbatim=line.strip(),
            )


def _one(reading: Reading, head: str, line: str) -> bool:
    row = Entity(f"row:{len(reading.entities) - 1}")
    count, pipe = _state_count(line), _pipe(line)
    reason = _REASON_ROW.match(line) if head == "REASON" else None
    words = line.split(None, 5)
    if reason:
        row.values["reason"] = _slurm.none_of(reason.group(1))
        row.values.update({"reason_by": reason.group(2), "node_list": reason.group(4)})
        row.values["reason_time"] = _slurm.none_of(reason.group(3))
    elif head == "PARTITION" and len(words) == 6 and re.match(r"^[0-9]{1,7}$", words[3], re.ASCII):
        row.values.update({"partition": words[0].rstrip("*") or None, "available": words[1]})
        row.values.update({"time_limit": words[2], "node_count": int(words[3])})
        row.values["node_list"] = words[5]
        _slurm.put_state(row, words[4])
    elif count and not head:
        row.values["node_count"] = int(count[0])
        _slurm.put_state(row, count[1])
    elif pipe and not head:
        name, state, rest, gres = pipe
        row = Entity("slurm_node:" + re.sub("[/:]", "_", name))
        _slurm.put_state(row, state)
        row.values["reason"] = _slurm.none_of(rest)
        _slurm.put_gres(row, gres)
    else:
        return False
    reading.add(row)
    return True


def _state_count(line: str) -> tuple[str, str] | None:
    found = _COUNT.match(line)
    return (found.group(1), found.group(2)) if found and _slurm.is_state(found.group(2)) else None


def _pipe(line: str) -> tuple[str, str, str, str] | None:
    """Return (node, state, reason, gres) of `%n|%T|%E|%G`."""
    parts = line.strip().split("|")
    if len(parts) < 4 or not _NAME.match(parts[0]) or not _slurm.is_state(parts[1]):
        return None
    return parts[0], parts[1], "|".join(parts[2:-1]), parts[-1]
