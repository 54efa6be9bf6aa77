# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the readers of nccl-tests share: the values, the sums over a table, the launcher's words.

Private to trackbed.cluster. Entities: "", `test:N`, `test:N/rank:R`, `test:N/row:M`.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    ERROR,
    OK,
    PARTIAL,
    UNREADABLE,
    Entity,
    Field,
    Reading,
)

MODES = (("oop", "out of place"), ("ip", "in place"))
_MODE_FIELDS = {
    "time_us": (float, "mean time of one operation", "µs"),
    "cpu_time_us": (float, "processor time of one operation, where that was asked for", "µs"),
    "algbw_gb_per_s": (float, "size divided by time", "GB/s"),
    "busbw_gb_per_s": (float, "bus bandwidth: comparable between numbers of ranks", "GB/s"),
    "wrong": (int, "wrong elements; null where results were not checked", None),
    "max_error": (float, "largest deviation (layout before 2.12)", None),
}
FIELDS = {
    "node": {
        "launch_failed": Field(bool, "the launcher said that the job did not start"),
        "aborted": Field(bool, "a process ended with an error before the test was over"),
        "exit_code": Field(int, "exit code that the launcher reported"),
    },
    "test": {
        "program": Field(str, "such as all_reduce_perf, where the log names it"),
        "nccl_version": Field(str, "version that NCCL printed"),
        "rank_count": Field(int, "ranks; at_least where not all of them are listed"),
        "host_count": Field(int, "hosts among the ranks listed"),
        "gpu_name": Field(str, "product name, if the same for all ranks listed"),
        "validation": Field(bool, "whether the test was told to check results"),
        "row_count": Field(int, "message sizes in the table"),
        "busbw_avg_gb_per_s": Field(float, "the footer's average over all sizes", "GB/s"),
        "busbw_avg_ok": Field(bool, "its word on that average; null where none was asked for"),
        "out_of_bounds": Field(int, "values out of bounds, by the footer"),
        "out_of_bounds_ok": Field(bool, "the footer's own word on it"),
        "wrong_total": Field(int, "sum of the wrong elements; null where nothing was checked"),
        "largest_size_b": Field(int, "largest message", "B"),
        "largest_oop_busbw_gb_per_s": Field(float, "out of place, at the largest size", "GB/s"),
        "largest_ip_busbw_gb_per_s": Field(float, "in place, at the largest size", "GB/s"),
    },
    "rank": {
        "host": Field(str, "host name as printed"),
        "pid": Field(int, "process"),
        "device": Field(int, "device index of the process"),
        "bus": Field(str, "PCI bus as printed: [0x1b] or [0000:1b:00]"),
        "name": Field(str, "product name"),
    },
    "row": dict(
        {
            "size_b": Field(int, "message size", "B"),
            "count": Field(int, "elements"),
            "type": Field(str, "data type"),
            "redop": Field(str, "reduction; null where the collective has none"),
            "root": Field(int, "root rank; null where the collective has none"),
            "iterations": Field(int, "iterations of this row"),
        },
        **{
            f"{mode}_{name}": Field(kind, f"{says}, {words}", unit)
            for mode, words in MODES
            for name, (kind, says, unit) in _MODE_FIELDS.items()
        },
    ),
}

PROGRAM = re.compile(
    r"\b((?:all_reduce|all_gather|reduce_scatter|alltoallv?|sendrecv|broadcast"
    r"|reduce|gather|scatter|hypercube)_perf)\b"
)
_EXIT = re.compile(r"(?:[Ee]xit code:|exited with exit code|mpirun exited)\s*([0-9]{1,3})\b")
_ABORT = re.compile(
    r"Test (?:NCCL )?failure|job has been aborted|FATAL|exited with non-zero status"
    r"|exited on signal|NCCL ERROR"
)


def launcher(reading: Reading, node: Entity, line_number: int, line: str) -> None:
    """Take a line that is none of the test's: the launcher or a process may say that it failed."""
    code = _EXIT.search(line)
    if code:
        node.values["exit_code"] = int(code.group(1))
    if "not enough slots" in line:
        node.values["launch_failed"] = True
        _error(reading, line_number, "the launcher did not start the job", line)
    elif _ABORT.search(line):
        node.values["aborted"] = True
        _error(reading, line_number, "a process reported a failure", line)


def last_error(reading: Reading, line_number: int | None, says: str) -> None:
    """Take what NCCL called its last error, which the tests print below the table."""
    reading.note("tool_error", "NCCL told of an error", line=line_number, verbatim=says)


def _error(reading: Reading, line_number: int, says: str, line: str) -> None:
    reading.note("tool_error", says, line=line_number, verbatim=line.strip())


def add_row(reading: Reading, entity: Entity, line_number: int | None, line: str) -> Entity:
    """Keep a row; what was not checked, and a row without a bandwidth, is said."""
    for name, value in entity.values.items():
        if value is None and name.endswith(("wrong", "max_error")):
            entity.notes[name] = "not_supported"
    modes = [mode for mode, _words in MODES if f"{mode}_algbw_gb_per_s" in entity.values]
    if not modes or entity.values.get(f"{modes[0]}_busbw_gb_per_s") is None:
        where = {"line": line_number, "entity": entity.path, "verbatim": line or None}
        reading.note("malformed", "a row without a bandwidth", **where)
    return reading.add(entity, line_number)


def sum_up(test: Entity, rows: list[Entity], ranks: list[Entity]) -> None:
    """Sum up a table that has ended, and its ranks."""
    test.values["row_count"] = len(rows)
    _sum_up_ranks(test, ranks)
    counts = [row.values.get(name) for row in rows for name in ("oop_wrong", "ip_wrong")]
    known = [one for one in counts if isinstance(one, int)]
    test.values["wrong_total"] = sum(known) if known else None
    sized = [row for row in rows if row.values.get("size_b") is not None]
    if sized:
        largest = max(sized, key=lambda row: t.cast(int, row.values["size_b"]))
        test.values["largest_size_b"] = largest.values["size_b"]
        for mode, _words in MODES:
            busbw = largest.values.get(f"{mode}_busbw_gb_per_s")
            test.values[f"largest_{mode}_busbw_gb_per_s"] = busbw


def _sum_up_ranks(test: Entity, ranks: list[Entity]) -> None:
    if not ranks:
        return
    numbers = [int(one.path.rsplit(":", 1)[1]) for one in ranks]
    test.values["rank_count"] = max(numbers) + 1
    whole = len(numbers) == max(numbers) + 1
    if not whole:
        test.notes["rank_count"] = "at_least"
    hosts = {one.values["host"] for one in ranks}
    if whole and None not in hosts:
        test.values["host_count"] = len(hosts)
    names = {one.values["name"] for one in ranks}
    if len(names) == 1:
        test.values["gpu_name"] = names.pop()


def settle(reading: Reading, node: Entity, cut: bool) -> Reading:
    """Return the reading with a quality that says whether the tables are whole."""
    has_rows = any(one.values.get("row_count") for one in reading.entities)
    if cut:
        reading.note(
            "truncated", "the table has no average below it: the run did not end, or was cut"
        )
    if not has_rows:
        reading.note("missing_value", "no row with a measurement")
        told = {"launch_failed", "aborted"} & set(node.values)
        reading.quality = ERROR if told else UNREADABLE
    elif reading.quality == OK and not any(
        one.values.get("busbw_avg_gb_per_s") is not None for one in reading.entities
    ):
        reading.quality = PARTIAL
        reading.note("missing_value", "no average bandwidth")
    return reading
