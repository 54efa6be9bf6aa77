# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of NCCL Inspector's records: one JSON object a line, one operation each.

A time of 0 is no measurement (the operation was not timed), so time and
bandwidths are null then. Lines that are no JSON are named and passed over; a host or a
time may stand before the object, and a file may have been made pretty. `p2p_perf` is a
send or a receive; `dump_stats` (from v4.1) tells of operations that were overwritten
before they were written, so that the file lacks them. Formats v4.0 to v5.1.
Source: nccl ext-profiler/inspector, later plugins/profiler/inspector/inspector_json.cc.
"""

from __future__ import annotations

import json
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import (
    _json,
    _json_docs,
    _plain,
)
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

KIND = "nccl-inspector"
TITLE = "NCCL Inspector: time and bandwidth of single collectives, by rank"
VERSIONS = "format v4.0 to v5.1"
SOURCES = (
    "https://github.com/NVIDIA/nccl/tree/master/ext-profiler/inspector",
    "https://github.com/NVIDIA/nccl/blob/master/plugins/profiler/inspector/inspector_json.cc",
)
PROVEN = True
FIELDS = {
    "node": {
        "record_count": Field(int, "records read"),
        "skipped_line_count": Field(int, "lines that are no record"),
        "dropped_record_count": Field(int, "operations that the file lacks, as it says itself"),
    },
    "record": {
        "comm_id": Field(str, "communicator"),
        "rank": Field(int, "rank within it"),
        "rank_count": Field(int, "ranks of the communicator"),
        "node_count": Field(int, "nodes of the communicator"),
        "host": Field(str, "host name"),
        "pid": Field(int, "process"),
        "comm_name": Field(str, "name that the application gave it"),
        "collective": Field(str, "AllReduce, AllGather, ...; Send or Recv"),
        "algorithm": Field(str, "RING, TREE, NVLS ... as printed (from v4.2)"),
        "protocol": Field(str, "LL, LL128, SIMPLE as printed (from v4.2)"),
        "peer": Field(int, "rank at the other side of a send or a receive"),
        "sequence": Field(int, "running number of the collective in the communicator"),
        "size_b": Field(int, "message size", "B"),
        "time_us": Field(int, "execution time; null where it was not timed", "µs"),
        "timing_source": Field(str, "kernel_gpu, kernel_cpu, collective_cpu"),
        "algbw_gb_per_s": Field(float, "size divided by time", "GB/s"),
        "busbw_gb_per_s": Field(float, "bus bandwidth", "GB/s"),
        "graph_captured": Field(bool, "from a CUDA graph (v5.0)"),
        "dumped_at_us": Field(int, "when it was written, since 1970", "µs"),
    },
}
# (part, key) of a record -> name and type of ours.
_ABOUT: tuple[tuple[str, str, str, type], ...] = (
    ("header", "id", "comm_id", str),
    ("header", "comm_name", "comm_name", str),
    ("header", "rank", "rank", int),
    ("header", "n_ranks", "rank_count", int),
    ("header", "nnodes", "node_count", int),
    ("metadata", "hostname", "host", str),
    ("metadata", "pid", "pid", int),
    ("metadata", "dump_timestamp_us", "dumped_at_us", int),
)
# Keys carry the prefix of their part, but for the first and the last.
_MEASURED: tuple[tuple[str, str, type], ...] = (
    ("algo", "algorithm", str),
    ("proto", "protocol", str),
    ("peer", "peer", int),
    ("sn", "sequence", int),
    ("msg_size_bytes", "size_b", int),
    ("exec_time_us", "time_us", int),
    ("timing_source", "timing_source", str),
    ("algobw_gbs", "algbw_gb_per_s", float),
    ("busbw_gbs", "busbw_gb_per_s", float),
)
_PARTS = (("coll_perf", "coll"), ("p2p_perf", "p2p"))
# These came with later formats, or with one sort of record: left out where they are not.
_OPTIONAL = frozenset({"comm_name", "algorithm", "protocol", "peer"})
_TIMED = ("time_us", "algbw_gb_per_s", "busbw_gb_per_s")
_MAX_RECORDS = 100_000


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    return 97 if "inspector_output_format_version" in text else 0


def read(data: Data) -> Reading:
    """Read the records. Entities: "" and `record:N`."""
    dump = _Dump()
    text = decode(data)
    for line_number, line in numbered_lines(text):
        if line.strip() and not dump.take(_parsed(line), line_number):
            dump.skip(line_number, line)
        if dump.count > _MAX_RECORDS:
            break
    if not dump.count and '"header"' in text:  # made pretty: an object over several lines
        dump = _Dump()
        for document in _json_docs.split(text)[0]:
            dump.take(_json.load(document.text, dump.reading), document.line)
    return dump.finish()


class _Dump:
    """Collects the records of a file."""

    def __init__(self) -> None:
        self.reading = Reading(KIND, tool_name="nccl-inspector")
        self.node = self.reading.add(Entity(""))
        self.count = 0
        self.skipped = 0
        self.dropped: dict[tuple[t.Any, ...], int] = {}

    def take(self, record: t.Any, line: int) -> bool:
        """Take an object; return whether it is one of Inspector's."""
        body = _json.as_dict(record)
        metadata = _json.as_dict(body.get("metadata"))
        version = _json.text_of(metadata.get("inspector_output_format_version"))
        self.reading.tool_version = version or self.reading.tool_version
        for part, prefix in _PARTS:
            if isinstance(body.get(part), dict):
                self.count += 1
                if self.count <= _MAX_RECORDS:
                    entity = _record(self.reading, self.count - 1, line, (body, part, prefix))
                    self.reading.add(entity, line)
                return True
        stats = body.get("dump_stats")
        if not isinstance(stats, dict):
            return False
        header = _json.as_dict(body.get("header"))
        totals = [_json.integer_of(stats.get(f"{one}_dropped_total")) for _part, one in _PARTS]
        if any(one is not None for one in totals) and len(self.dropped) < _MAX_RECORDS:
            key = (str(header.get("id")), str(header.get("rank")), str(metadata.get("pid")))
            total = sum(one for one in totals if one is not None and one >= 0)
            self.dropped[key] = max(total, self.dropped.get(key, 0))
        return True

    def skip(self, number: int, line: str) -> None:
        """Count a line that is no record."""
        self.skipped += 1
        if self.skipped <= 20:
            says = "a line that is no record"
            self.reading.note("malformed", says, line=number, verbatim=line)

    def finish(self) -> Reading:
        """Return the reading."""
        values = self.node.values
        values["record_count"] = min(self.count, _MAX_RECORDS)
        values["skipped_line_count"] = self.skipped
        values["dropped_record_count"] = sum(self.dropped.values()) if self.dropped else None
        if values["dropped_record_count"]:
            says = f"{values['dropped_record_count']} operations were overwritten before the dump"
            self.reading.note("limited", says, entity="", field="dropped_record_count")
        if self.count > _MAX_RECORDS:
            self.reading.note("limited", f"only the first {_MAX_RECORDS} records are kept")
        if self.count == 0:
            self.reading.note("empty", "no record")
            self.reading.quality = UNREADABLE
        return self.reading


def _parsed(line: str) -> t.Any:
    start = line.find("{")
    try:
        return json.loads(line[max(start, 0) :], parse_constant=lambda _name: None)
    except (ValueError, RecursionError):
        return None


def _record(
    reading: Reading, index: int, line: int, found: tuple[dict[str, t.Any], str, str]
) -> Entity:
    body, part, prefix = found
    entity = Entity(f"record:{index}")
    for section, key, name, kind in _ABOUT:
        _put(entity, name, kind, _json.as_dict(body.get(section)).get(key))
    measured = body[part]
    _put(entity, "collective", str, measured.get(prefix))
    for key, name, kind in _MEASURED:
        _put(entity, name, kind, measured.get(f"{prefix}_{key}"))
    if "graphCaptured" in measured:
        _put(entity, "graph_captured", bool, measured["graphCaptured"])
    if entity.values["time_us"] == 0:
        for name in _TIMED:
            entity.values[name] = None
            entity.notes[name] = "unreadable"
        says = "a time of 0: the operation was not timed"
        where = {"line": line, "entity": entity.path, "field": "time_us"}
        _plain.note(reading, "unreadable_value", says, **where)
    return entity


def _put(entity: Entity, name: str, kind: type, value: t.Any) -> None:
    if name in _OPTIONAL and value in (None, "unknown"):
        return
    entity.values[name] = _typed(value, kind)


def _typed(value: t.Any, kind: type) -> t.Any:
    if kind is float and isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value) if abs(value) < 1e300 else None
    if isinstance(value, bool) and kind is not bool:
        return None
    if kind is int and isinstance(value, float):  # other writers of the format
        return int(value) if value.is_integer() else None
    return value if isinstance(value, kind) and value != "" else None
