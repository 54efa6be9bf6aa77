# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of the text that nccl-tests and rccl-tests print (`all_reduce_perf` and its sisters).

Format: comment lines with `#` (ranks, column names, footers), one row per
message size. The columns are taken from the header line, because they changed:
`error` (largest deviation) until 2.11, then `#wrong` (count of wrong elements),
no `root` in old RCCL forms, `#iters` since 2.17, four more with `-I 1`.
`N/A` means that results were not checked. Lines of NCCL itself, of mpirun and of
wrappers may stand anywhere between. Source: nccl-tests src/common.cu, versions
2.0 to 2.19; rccl-tests.
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
from ansible_collections.trackbed.cluster.plugins.module_utils._text import (
    Data,
    decode,
    number,
    numbered_lines,
)

KIND = "nccl-tests"
TITLE = "nccl-tests and rccl-tests, text: bandwidth of a collective by message size"
VERSIONS = "nccl-tests 2.0 to 2.19, rccl-tests"
SOURCES = ("https://github.com/NVIDIA/nccl-tests", "https://github.com/ROCm/rccl-tests")
PROVEN = True

_MODES = (("oop", "out of place"), ("ip", "in place"))
_MODE_FIELDS = {
    "time_us": (float, "mean time of one operation", "µs"),
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
            for mode, words in _MODES
            for name, (kind, says, unit) in _MODE_FIELDS.items()
        },
    ),
}

_RANK = re.compile(
    r"^#\s+Rank\s+([0-9]{1,7})\s+(?:Group\s+[0-9]+\s+)?Pid\s+([0-9]{1,10})\s+"
    r"(?:on\s+(\S+)\s+)?device\s+([0-9]{1,4})\s+\[([^\]]{0,40})\]\s*(.*)$"
)
_HEADER = re.compile(r"^#\s*size\s+count\s+type\b.*\bbusbw\b")
_AVERAGE = re.compile(r"^#\s*Avg bus bandwidth\s*:\s*(\S+)")
_BOUNDS = re.compile(r"^#\s*Out of bounds values\s*:\s*([0-9]{1,18})\s+(\S+)")
_VERSION = re.compile(r"^(?:NCCL|RCCL) version\s*:?\s*(\S+)")
_PROGRAM = re.compile(
    r"\b((?:all_reduce|all_gather|reduce_scatter|alltoallv?|sendrecv|broadcast"
    r"|reduce|gather|scatter|hypercube)_perf)\b"
)
_EXIT = re.compile(r"(?:[Ee]xit code:|exited with exit code|mpirun exited)\s*([0-9]{1,3})\b")
_ABORT = re.compile(
    r"Test (?:NCCL )?failure|job has been aborted|FATAL|exited with non-zero status"
    r"|exited on signal|NCCL ERROR"
)
_MODE_COLUMNS = {
    "time": "time_us",
    "algbw": "algbw_gb_per_s",
    "busbw": "busbw_gb_per_s",
    "#wrong": "wrong",
    "error": "max_error",
}


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    if re.search(r"(?m)^#\s*size\s+count\s+type\b.*\bbusbw\b", text):
        return 95
    if re.search(r"(?m)^# (?:nThread [0-9]+ nGpus|Avg bus bandwidth)", text):
        return 90
    return 60 if "_perf" in text and "not enough slots" in text else 0


def read(data: Data) -> Reading:
    """Read one log; each table is a `test:N` with `test:N/rank:R` and `test:N/row:M`."""
    reader = _Log()
    for line_number, line in numbered_lines(decode(data)):
        reader.take(line_number, line)
    return reader.finish()


class _Log:
    """Reads line by line; ranks and settings belong to the table that follows them."""

    def __init__(self) -> None:
        self.reading = Reading(KIND)
        self.node = self.reading.add(Entity(""))
        self.test: Entity | None = None
        self.columns: list[str] = []
        self.rows: list[Entity] = []
        self.ranks: list[Entity] = []
        self.closed = False
        self.tests = 0

    def take(self, line_number: int, line: str) -> None:
        """Take one line."""
        if line.startswith("#"):
            self._comment(line_number, line)
        elif self.columns and re.match(r"^\s*[0-9]{1,18}\s+[0-9]{1,18}\s+[a-z]", line):
            self._row(line_number, line)
        else:
            self._other(line_number, line)

    def _comment(self, line_number: int, line: str) -> None:
        if line.startswith(("# nThread", "# Collective test starting")):
            if self.closed or self.rows:
                self._close()
            self._settings(line)
        rank = _RANK.match(line)
        if rank:
            if self.closed:
                self._close()
            self._rank(line_number, rank)
        elif _HEADER.match(line):
            if self.rows:
                self._close()
            self._current()
            self.columns = line.lstrip("#").split()
        self._footer(line)

    def _settings(self, line: str) -> None:
        test = self._current()
        program = _PROGRAM.search(line)
        if program:
            test.values["program"] = program.group(1)
        validation = re.search(r"\bvalidation: ([01])\b", line)
        if validation:
            test.values["validation"] = validation.group(1) == "1"

    def _footer(self, line: str) -> None:
        average, bounds = _AVERAGE.match(line), _BOUNDS.match(line)
        if bounds:
            self._current().values["out_of_bounds"] = int(bounds.group(1))
            self._current().values["out_of_bounds_ok"] = bounds.group(2) == "OK"
        if average:
            value = number(average.group(1))
            self._current().values["busbw_avg_gb_per_s"] = None if value is None else float(value)
            self.closed = True

    def _rank(self, line_number: int, found: t.Match[str]) -> None:
        rank, pid, host, device, bus, name = found.groups()
        test = self._current()
        entity = Entity(f"{test.path}/rank:{int(rank)}")
        entity.values = {
            "host": host,
            "pid": int(pid),
            "device": int(device),
            "bus": bus or None,
            "name": name.strip() or None,
        }
        kept = self.reading.add(entity, line_number)
        if kept is entity:
            self.ranks.append(entity)

    def _row(self, line_number: int, line: str) -> None:
        words = line.split()
        if len(words) < len(self.columns):
            self.reading.note(
                "malformed",
                f"a row with {len(words)} columns where {len(self.columns)} were expected",
                line=line_number,
                verbatim=line,
            )
            return
        entity = Entity(f"{self._current().path}/row:{len(self.rows)}")
        entity.values = _row_values(self.columns, words)
        for name, value in entity.values.items():
            if value is None and name.endswith(("wrong", "max_error")):
                entity.notes[name] = "not_supported"
        broken = [n for n in ("oop_busbw_gb_per_s",) if entity.values.get(n) is None]
        if broken:
            self.reading.note(
                "malformed", "a row without a bandwidth", line=line_number, verbatim=line
            )
        self.rows.append(self.reading.add(entity, line_number))

    def _other(self, line_number: int, line: str) -> None:
        version = _VERSION.match(line.strip())
        if version:
            self._current().values["nccl_version"] = version.group(1)
        program = _PROGRAM.search(line)
        if program and self.test is None and not self.tests:
            self._current().values["program"] = program.group(1)
        code = _EXIT.search(line)
        if code:
            self.node.values["exit_code"] = int(code.group(1))
        if "not enough slots" in line:
            self.node.values["launch_failed"] = True
            self._error(line_number, "the launcher did not start the job", line)
        elif _ABORT.search(line):
            self.node.values["aborted"] = True
            self._error(line_number, "a process reported a failure", line)

    def _error(self, line_number: int, says: str, line: str) -> None:
        self.reading.note("tool_error", says, line=line_number, verbatim=line.strip())

    def _current(self) -> Entity:
        if self.test is None:
            self.test = self.reading.add(Entity(f"test:{self.tests}"))
            self.tests += 1
        return self.test

    def _close(self) -> None:
        """Sum up the table that has ended."""
        if self.test is not None:
            self.test.values["row_count"] = len(self.rows)
            _sum_up(self.test, self.rows)
            _sum_up_ranks(self.test, self.ranks)
        self.test, self.columns, self.rows, self.ranks, self.closed = None, [], [], [], False

    def finish(self) -> Reading:
        """Return the reading, with a quality that says whether the tables are whole."""
        unclosed = bool(self.rows) and not self.closed
        self._close()
        has_rows = any(one.values.get("row_count") for one in self.reading.entities)
        if unclosed:
            self.reading.note(
                "truncated", "the table has no average below it: the run did not end, or was cut"
            )
        if not has_rows:
            self.reading.note("missing_value", "no row with a measurement")
            told = {"launch_failed", "aborted"} & set(self.node.values)
            self.reading.quality = ERROR if told else UNREADABLE
        elif self.reading.quality == OK and not any(
            one.values.get("busbw_avg_gb_per_s") is not None for one in self.reading.entities
        ):
            self.reading.quality = PARTIAL
            self.reading.note("missing_value", "no average bandwidth")
        return self.reading


def _row_values(columns: list[str], words: list[str]) -> dict[str, t.Any]:
    values: dict[str, t.Any] = {}
    mode = ""
    for column, word in zip(columns, words):
        value = number(word)
        if column == "size":
            values["size_b"] = _whole(value)
        elif column == "count":
            values["count"] = _whole(value)
        elif column in ("type", "redop"):
            values[column] = None if word == "none" else word
        elif column == "root":
            values["root"] = _whole(value) if value is not None and value >= 0 else None
        elif column == "#iters":
            values["iterations"] = _whole(value)
        elif column in _MODE_COLUMNS:
            # "time" begins each of the two halves of the row.
            if column == "time":
                mode = "ip" if mode else "oop"
            name = _MODE_COLUMNS[column]
            typed = _whole(value) if name == "wrong" else (None if value is None else float(value))
            values["{}_{}".format(mode or "oop", name)] = typed
    return values


def _whole(value: float | int | None) -> int | None:
    return None if value is None else int(value)


def _sum_up(test: Entity, rows: list[Entity]) -> None:
    counts = [row.values.get(name) for row in rows for name in ("oop_wrong", "ip_wrong")]
    known = [one for one in counts if isinstance(one, int)]
    test.values["wrong_total"] = sum(known) if known else None
    sized = [row for row in rows if row.values.get("size_b") is not None]
    if sized:
        largest = max(sized, key=lambda row: t.cast(int, row.values["size_b"]))
        test.values["largest_size_b"] = largest.values["size_b"]
        for mode, _words in _MODES:
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
