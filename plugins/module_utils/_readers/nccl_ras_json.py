# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of the RAS subsystem's report as JSON (`ncclras -f json`, `rcclras -f json`).

Format: versions, every communicator with the ranks that answered and those that are
missing, and how the gathering went. The words `status` and `errors` of the text form are
not in it; they are found by the rules that the text form is made by. A host `unknown` and
a process -1 are no values. Versions: NCCL 2.28.7 to 2.32. Source: NCCL user guide, "RAS",
"JSON Output"; nccl src/ras/client_support.cc, `rasDumpCommsToJSON`.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import (
    _json,
    _json_docs,
    _plain,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data

KIND = "nccl-ras-json"
TITLE = "NCCL and RCCL RAS report, JSON: which ranks answer"
VERSIONS = "NCCL 2.28.7 to 2.32"
SOURCES = (
    "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting/ras.html",
    "https://github.com/NVIDIA/nccl/blob/master/src/ras/client_support.cc",
)
PROVEN = True
FIELDS = {
    "node": {
        "comm_count": Field(int, "communicators that the report counts"),
        "missing_rank_count": Field(int, "ranks that are named as missing"),
        "timeout_count": Field(int, "time-outs while the data was gathered"),
        "collection_time_s": Field(float, "time that gathering took", "s"),
        "cuda_runtime_version": Field(int, "CUDA runtime, 13000 for 13.0"),
        "cuda_driver_version": Field(int, "CUDA version of the driver"),
        "time": Field(str, "when it was written, as printed"),
    },
    "comm": {
        "comm_id": Field(str, "hash of the communicator"),
        "ranks_per_comm": Field(int, "ranks that it should have"),
        "rank_count": Field(int, "ranks that answered"),
        "missing_rank_count": Field(int, "ranks that did not"),
        "status": Field(str, "RUNNING, INIT, FINALIZE, ABORT; MISMATCH where ranks differ"),
        "errors": Field(str, "OK, or what of INCOMPLETE, ERROR, MISMATCH holds"),
    },
    "rank": {
        "gpu": Field(int, "CUDA index of its GPU"),
        "gpu_nvml": Field(int, "NVML index of its GPU"),
        "process": Field(int, "its process"),
        "host": Field(str, "its node, as printed"),
        "missing": Field(bool, "it did not answer for this communicator"),
        "unresponsive": Field(bool, "its process did not answer at all"),
        "considered_dead": Field(bool, "RAS has given its process up"),
        "status": Field(str, "RUNNING, INIT, FINALIZE or ABORT"),
        "init_state": Field(int, "result of the initialisation, an ncclResult_t; 0 is success"),
        "async_error": Field(int, "asynchronous error, an ncclResult_t; 0 is none"),
        "collective_counts": Field(dict, "operations done, by name"),
    },
}
_MOST_RANKS = 200_000
_FINE = (0, 7)  # ncclSuccess, ncclInProgress of nccl.h
_ERROR = re.compile(r"^(?:ERROR:|Error\b|Connecting to \S+: |Failed to |.*[Cc]onnection refused)")


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    if '"communicators_count"' in text and '"communicators"' in text:
        return 97
    return 94 if '"secondary_hash"' in text and '"missing_ranks_count"' in text else 0


def read(data: Data) -> Reading:
    """Read one report. Entities: "", `comm:N`, `comm:N/rank:R`."""
    report = _Report()
    documents, others = _json_docs.split(data)
    for number, line in others:
        if _ERROR.match(line):
            says = "the tool reported an error"
            _plain.note(report.reading, "tool_error", says, line=number, verbatim=line)
    for document in documents:
        report.document(_json.as_dict(_json.load(document.text, report.reading)))
    return _json_docs.settle(report.reading, '`"communicators":`')


class _Report:
    """Collects the communicators of a report."""

    def __init__(self) -> None:
        self.reading = Reading(KIND)
        self.node: Entity | None = None
        self.comms = 0
        self.ranks = 0

    def document(self, body: dict[str, t.Any]) -> None:
        """Read one document; a second report is kept out: its communicators are the same."""
        if "communicators" not in body:
            return
        if self.node is not None:
            self.reading.note("limited", "more than one report; the first is read")
            return
        node = self.node = self.reading.add(Entity(""))
        version = _json.text_of(body.get("rccl_version"))
        self.reading.tool_name = "RCCL" if version else "NCCL"
        self.reading.tool_version = version or _json.text_of(body.get("nccl_version"))
        footer = _json.as_dict(body.get("ras"))
        node.values = {
            "comm_count": _json.integer_of(body.get("communicators_count")),
            "missing_rank_count": 0,
            "timeout_count": _json.integer_of(footer.get("timeouts_count")),
            "collection_time_s": _json.number_of(footer.get("collection_time_sec")),
            "cuda_runtime_version": _json.integer_of(body.get("cuda_runtime_version")),
            "cuda_driver_version": _json.integer_of(body.get("cuda_driver_version")),
            "time": _json.text_of(body.get("timestamp")),
        }
        missing = sum(self._comm(one) for one in _json.dicts(body["communicators"]))
        node.values["missing_rank_count"] = missing
        self._equal("", "comm_count", node.values["comm_count"], self.comms)
        if not footer:
            self.reading.note("truncated", "the report ends before its `ras` part")

    def _equal(self, path: str, name: str, told: t.Any, found: int) -> None:
        if told is not None and told != found:
            says = f"{name} says {told}, but {found} are listed"
            _plain.note(self.reading, "inconsistent", says, entity=path, field=name)

    def _comm(self, body: dict[str, t.Any]) -> int:
        """Keep a communicator with its ranks; return how many of them are missing."""
        comm = self.reading.add(Entity(f"comm:{self.comms}"))
        self.comms += 1
        comm.values = {
            "comm_id": _json.text_of(body.get("hash")),
            "ranks_per_comm": _json.integer_of(body.get("size")),
            "rank_count": _json.integer_of(body.get("ranks_count")),
            "missing_rank_count": _json.integer_of(body.get("missing_ranks_count")),
        }
        here = [self._rank(comm, one, False) for one in _json.dicts(body.get("ranks"))]
        gone = [self._rank(comm, one, True) for one in _json.dicts(body.get("missing_ranks"))]
        present, missing = ([one for one in found if one is not None] for found in (here, gone))
        self._equal(comm.path, "rank_count", comm.values["rank_count"], len(present))
        self._equal(
            comm.path, "missing_rank_count", comm.values["missing_rank_count"], len(missing)
        )
        _judge(comm, present, missing)
        return len(missing)

    def _rank(self, comm: Entity, body: dict[str, t.Any], missing: bool) -> Entity | None:
        rank = _json.integer_of(body.get("rank"))
        self.ranks += 1
        if rank is None or not 0 <= rank < 10**8 or self.ranks > _MOST_RANKS:
            code = "limited" if self.ranks > _MOST_RANKS else "malformed"
            _plain.note(self.reading, code, "a rank that is not kept", entity=comm.path)
            return None
        entity = Entity(f"{comm.path}/rank:{rank}", values=_place(body))
        status = _json.as_dict(body.get("status"))
        entity.values["missing"] = missing
        if missing:
            entity.values["unresponsive"] = _truth(status.get("unresponsive"))
            entity.values["considered_dead"] = _truth(status.get("considered_dead"))
        else:
            counts = _json.as_dict(body.get("collective_counts"))
            entity.values["init_state"] = _json.integer_of(status.get("init_state"))
            entity.values["async_error"] = _json.integer_of(status.get("async_error"))
            entity.values["status"] = _status(status)
            entity.values["collective_counts"] = {
                name: _json.integer_of(count) for name, count in list(counts.items())[:100]
            }
        return entity if self.reading.add(entity) is entity else None


def _place(body: dict[str, t.Any]) -> dict[str, t.Any]:
    host, pid = _json.text_of(body.get("host")), _json.integer_of(body.get("pid"))
    return {
        "gpu": _json.integer_of(body.get("cuda_dev")),
        "gpu_nvml": _json.integer_of(body.get("nvml_dev")),
        "process": pid if pid is not None and pid >= 0 else None,
        "host": None if host == "unknown" else host,
    }


def _truth(value: t.Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _status(status: dict[str, t.Any]) -> str | None:
    if not {"init_state", "abort_flag"} <= set(status):
        return None
    if status["abort_flag"] is True:
        return "ABORT"
    if status.get("finalize_called") is True or status.get("destroy_flag") is True:
        return "FINALIZE"
    return "RUNNING" if status["init_state"] == 0 else "INIT"


def _judge(comm: Entity, present: list[Entity], missing: list[Entity]) -> None:
    """Put the words that the text form has for this communicator."""
    states = {one.values["status"] for one in present} - {None}
    absent = [one for one in missing if one.values["unresponsive"] is False]
    counts = [one.values["collective_counts"] for one in present]
    counts = [one for one in counts if one]  # none are told where the report was cut
    wrong = any(
        one.values[name] not in (None, *_FINE)
        for one in present
        for name in ("init_state", "async_error")
    )
    differs = len(states) > 1 or bool(absent) or any(one != counts[0] for one in counts)
    found = (
        ("INCOMPLETE", len(missing) > len(absent)),
        ("ERROR", wrong),
        ("MISMATCH", differs),
    )
    comm.values["errors"] = ",".join(name for name, holds in found if holds) or "OK"
    comm.values["status"] = (
        "MISMATCH" if len(states) > 1 else t.cast("str", next(iter(states), None))
    )
