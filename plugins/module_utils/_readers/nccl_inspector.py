# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of NCCL Inspector's records: one JSON object a line, one collective each.

A time of 0 is no measurement (the collective was not timed), so time and
bandwidths are null then. Lines that are no JSON are named and passed over.
Formats v4.0 and v5.0. Source: nccl ext-profiler/inspector.
"""

from __future__ import annotations

import json
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

KIND = "nccl-inspector"
TITLE = "NCCL Inspector: time and bandwidth of single collectives, by rank"
VERSIONS = "format v4.0, v5.0"
SOURCES = ("https://github.com/NVIDIA/nccl/tree/master/ext-profiler/inspector",)
PROVEN = True
FIELDS = {
    "node": {
        "record_count": Field(int, "records read"),
        "skipped_line_count": Field(int, "lines that are no record"),
    },
    "record": {
        "comm_id": Field(str, "communicator"),
        "rank": Field(int, "rank within it"),
        "rank_count": Field(int, "ranks of the communicator"),
        "node_count": Field(int, "nodes of the communicator"),
        "host": Field(str, "host name"),
        "pid": Field(int, "process"),
        "collective": Field(str, "AllReduce, AllGather, ..."),
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
_MAP: tuple[tuple[str, str, str, type], ...] = (
    ("header", "id", "comm_id", str),
    ("header", "rank", "rank", int),
    ("header", "n_ranks", "rank_count", int),
    ("header", "nnodes", "node_count", int),
    ("metadata", "hostname", "host", str),
    ("metadata", "pid", "pid", int),
    ("metadata", "dump_timestamp_us", "dumped_at_us", int),
    ("coll_perf", "coll", "collective", str),
    ("coll_perf", "coll_sn", "sequence", int),
    ("coll_perf", "coll_msg_size_bytes", "size_b", int),
    ("coll_perf", "coll_exec_time_us", "time_us", int),
    ("coll_perf", "coll_timing_source", "timing_source", str),
    ("coll_perf", "coll_algobw_gbs", "algbw_gb_per_s", float),
    ("coll_perf", "coll_busbw_gbs", "busbw_gb_per_s", float),
    ("coll_perf", "graphCaptured", "graph_captured", bool),
)
_TIMED = ("time_us", "algbw_gb_per_s", "busbw_gb_per_s")
_MAX_RECORDS = 100_000


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    return 97 if "inspector_output_format_version" in text else 0


def read(data: Data) -> Reading:
    """Read the records. Entities: "" and `record:N`."""
    reading = Reading(KIND, tool_name="nccl-inspector")
    node = reading.add(Entity(""))
    count = skipped = 0
    for line_number, line in numbered_lines(decode(data)):
        if not line.strip():
            continue
        record = _parsed(line)
        if record is None:
            skipped += 1
            if skipped <= 20:
                reading.note(
                    "malformed", "a line that is no record", line=line_number, verbatim=line
                )
        elif count < _MAX_RECORDS:
            reading.add(_record(reading, count, line_number, record), line_number)
            count += 1
        else:
            reading.note("limited", f"only the first {_MAX_RECORDS} records are kept")
            break
    node.values.update({"record_count": count, "skipped_line_count": skipped})
    if count == 0:
        reading.note("empty", "no record")
        reading.quality = UNREADABLE
    return reading


def _parsed(line: str) -> dict[str, t.Any] | None:
    try:
        record = json.loads(line, parse_constant=lambda _name: None)
    except (ValueError, RecursionError):
        return None
    is_record = isinstance(record, dict) and isinstance(record.get("coll_perf"), dict)
    return record if is_record else None


def _record(reading: Reading, index: int, line: int, record: dict[str, t.Any]) -> Entity:
    entity = Entity(f"record:{index}")
    for part, key, name, kind in _MAP:
        section = record.get(part)
        value = section.get(key) if isinstance(section, dict) else None
        if value is not None or name != "graph_captured":
            entity.values[name] = _typed(value, kind)
    version = (record.get("metadata") or {}) if isinstance(record.get("metadata"), dict) else {}
    printed = version.get("inspector_output_format_version")
    if isinstance(printed, str) and printed:
        reading.tool_version = printed
    if entity.values["time_us"] == 0:
        for name in _TIMED:
            entity.values[name] = None
            entity.notes[name] = "unreadable"
        reading.note(
            "unreadable_value",
            "a time of 0: the collective was not timed",
            line=line,
            entity=entity.path,
            field="time_us",
        )
    return entity


def _typed(value: t.Any, kind: type) -> t.Any:
    if kind is float and isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value) if abs(value) < 1e300 else None
    if isinstance(value, bool) and kind is not bool:
        return None
    return value if isinstance(value, kind) and value != "" else None
