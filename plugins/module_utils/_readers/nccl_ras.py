# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of the RAS subsystem's report (`ncclras`, `rcclras`, or a text to port 28028).

Format: versions, a job summary, a table of communicators in groups that are
alike, then errors that name ranks. Ranks are named below warnings too (those that are
behind): only those below INCOMPLETE are missing. Versions: NCCL 2.24 to 2.30, RCCL 2.28.
Source: NCCL user guide, "RAS"; nccl src/ras/client_support.cc.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
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

KIND = "nccl-ras"
TITLE = "NCCL and RCCL RAS report: which ranks answer"
VERSIONS = "NCCL 2.24 to 2.32, RCCL 2.28"
SOURCES = ("https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting/ras.html",)
PROVEN = True
FIELDS = {
    "node": {
        "node_count": Field(int, "nodes of the job"),
        "process_count": Field(int, "processes of the job"),
        "gpu_count": Field(int, "GPUs of the job"),
        "missing_rank_count": Field(int, "ranks that are named as missing"),
        "dead_process_count": Field(int, "processes that RAS has given up"),
        "timeout_count": Field(int, "time-outs while the data was gathered"),
    },
    "group": {
        "comm_count": Field(int, "communicators in this group"),
        "nodes_per_comm": Field(int, "nodes of each"),
        "ranks_per_node": Field(str, "ranks on each node; a range where they differ"),
        "ranks_per_comm": Field(int, "ranks that each should have"),
        "rank_count": Field(int, "ranks of the group that answered"),
        "status": Field(str, "as printed: RUNNING, INIT, FINALIZE, ABORT, MISMATCH"),
        "errors": Field(str, "as printed: OK, INCOMPLETE, ERROR, NOCOMM, MISMATCH"),
    },
    "rank": {
        "gpu": Field(int, "GPU of the missing rank"),
        "process": Field(int, "its process"),
        "host": Field(str, "its node, as printed"),
    },
}
_VERSION = re.compile(r"^(NCCL|RCCL) version\s+(\S+)")
_GROUP = re.compile(
    r"^\s*([0-9]{1,6})\s+([0-9]{1,7})\s+([0-9]{1,7})\s+([0-9]{1,5}(?:-[0-9]{1,5})?)\s+([0-9]{1,8})"
    r"\s+([0-9]{1,9})\s+([A-Z][A-Z,]*)\s+([A-Z][A-Z,]*)\s*$"
)
_SUMMARY = re.compile(
    r"^\s*([0-9]{1,7})\s+([0-9-]{1,9})\s+([0-9-]{1,9})\s+([0-9]{1,8})\s+([0-9]{1,8})\s*$"
)
_RANK = re.compile(
    r"^\s*Rank ([0-9]{1,8}) -- GPU ([0-9]{1,4})(?: \(NVML [0-9]{1,4}\))?"
    r" managed by process ([0-9]{1,10}) on node (\S+)"
)
# Without details: `The missing rank: 21`, or no information on its process.
_BARE_RANK = re.compile(r"^\s*(?:The missing rank: |Rank )([0-9]{1,8})(?: -- \[process .*)?$")
_SECTION = re.compile(
    r"^(?:#([0-9]{1,6})-[0-9]{1,6} \([0-9a-f]{1,16}\) )?(INCOMPLETE|DEAD|ERROR|TIMEOUT|MISMATCH)$"
)
_DEAD = re.compile(r"^\s*([0-9]{1,8}) job process(?:es are| is) considered dead")
_TIMEOUTS = re.compile(r"^\s*Encountered ([0-9]{1,8}) communication timeouts?\b")


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    is_report = "Job summary\n" in text and re.search(r"(?m)^Communicators\.\.\.", text)
    return 96 if is_report else 0


def read(data: Data) -> Reading:
    """Read one report. Entities: "", `group:N`, `rank:N` for those that are missing."""
    reading = Reading(KIND)
    node = reading.add(Entity(""))
    text = decode(data)
    section, comm = "INCOMPLETE", "0"
    for line_number, line in numbered_lines(text):
        version, summary, heading = _VERSION.match(line), _SUMMARY.match(line), _SECTION.match(line)
        group, rank = _GROUP.match(line), _RANK.match(line) or _BARE_RANK.match(line)
        if version:
            reading.tool_name, reading.tool_version = version.group(1), version.group(2)
        elif group:
            reading.add(_group(*group.groups()), line_number)
        elif summary and "process_count" not in node.values:
            nodes, _per_node, _per_process, processes, gpus = summary.groups()
            node.values.update(
                {"node_count": int(nodes), "process_count": int(processes), "gpu_count": int(gpus)}
            )
        elif heading:
            section, comm = heading.group(2), heading.group(1) or comm
        elif rank and section == "INCOMPLETE":
            _missing(reading, comm, rank, line_number)
        else:
            _count(node, line)
    missing = sum("rank:" in one.path for one in reading.entities)
    node.values["missing_rank_count"] = missing
    return _finish(reading, text)


def _missing(reading: Reading, group: str, found: t.Match[str], line: int) -> None:
    """Keep a missing rank; one of another communicator with the same number is another one."""
    entity = _rank(*found.groups()) if len(found.groups()) > 1 else _rank(found.group(1))
    known = reading.added(entity.path)
    if known is not None and known.values != entity.values:
        entity.path = f"group:{int(group)}/{entity.path}"
    if reading.added(entity.path) is None:
        reading.add(entity, line)


def _count(node: Entity, line: str) -> None:
    dead, timeouts = _DEAD.match(line), _TIMEOUTS.match(line)
    if dead:
        node.values["dead_process_count"] = int(dead.group(1))
    elif timeouts:
        node.values["timeout_count"] = int(timeouts.group(1))


def _group(index: str, comms: str, nodes: str, per_node: str, *rest: str) -> Entity:
    per_comm, ranks, status, errors = rest
    return Entity(
        f"group:{int(index)}",
        values={
            "comm_count": int(comms),
            "nodes_per_comm": int(nodes),
            "ranks_per_node": per_node,
            "ranks_per_comm": int(per_comm),
            "rank_count": int(ranks),
            "status": status,
            "errors": errors,
        },
    )


def _rank(rank: str, gpu: str = "", process: str = "", host: str = "") -> Entity:
    entity = Entity(f"rank:{int(rank)}")
    entity.values = {
        "gpu": int(gpu) if gpu else None,
        "process": int(process) if process else None,
        "host": host or None,
    }
    return entity


def _finish(reading: Reading, text: str) -> Reading:
    groups = [one for one in reading.entities if one.path.startswith("group:")]
    if not groups:
        reading.note("missing_value", "no table of communicators")
        reading.quality = UNREADABLE
    elif not re.search(r"(?m)^(?:Errors|Warnings)\s*$", text):
        reading.note("truncated", "the report ends before its list of errors")
    return reading
