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

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _nccl_results
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import Entity, Reading
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

FIELDS = _nccl_results.FIELDS

_RANK = re.compile(
    r"^#\s+Rank\s+([0-9]{1,7})\s+(?:Group\s+[0-9]+\s+)?Pid\s+([0-9]{1,10})\s+"
    r"(?:on\s+(\S+)\s+)?device\s+([0-9]{1,4})\s+\[([^\]]{0,40})\]\s*(.*)$"
)
_HEADER = re.compile(r"^#\s*size\s+count\s+type\b.*\bbusbw\b")
_AVERAGE = re.compile(r"^#\s*Avg bus bandwidth\s*:\s*(\S+)(?:\s+(OK|FAILED))?")
_LAST_ERROR = re.compile(r"^# error: (\S.*)$")
_BOUNDS = re.compile(r"^#\s*Out of bounds values\s*:\s*([0-9]{1,18})\s+(\S+)")
_VERSION = re.compile(r"^(?:NCCL|RCCL) version\s*:?\s*(\S+)")
_MODE_COLUMNS = {
    "time": "time_us",
    "cputime": "cpu_time_us",
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
        error = _LAST_ERROR.match(line)
        if error:
            _nccl_results.last_error(self.reading, line_number, error.group(1))
        self._footer(line)

    def _settings(self, line: str) -> None:
        test = self._current()
        program = _nccl_results.PROGRAM.search(line)
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
            if average.group(2):
                self._current().values["busbw_avg_ok"] = average.group(2) == "OK"
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
        self.rows.append(_nccl_results.add_row(self.reading, entity, line_number, line))

    def _other(self, line_number: int, line: str) -> None:
        version = _VERSION.match(line.strip())
        if version:
            self._current().values["nccl_version"] = version.group(1)
        program = _nccl_results.PROGRAM.search(line)
        if program and self.test is None and not self.tests:
            self._current().values["program"] = program.group(1)
        _nccl_results.launcher(self.reading, self.node, line_number, line)

    def _current(self) -> Entity:
        if self.test is None:
            self.test = self.reading.add(Entity(f"test:{self.tests}"))
            self.tests += 1
        return self.test

    def _close(self) -> None:
        """Sum up the table that has ended."""
        if self.test is not None:
            _nccl_results.sum_up(self.test, self.rows, self.ranks)
        self.test, self.columns, self.rows, self.ranks, self.closed = None, [], [], [], False

    def finish(self) -> Reading:
        """Return the reading, with a quality that says whether the tables are whole."""
        cut = bool(self.rows) and not self.closed
        self._close()
        return _nccl_results.settle(self.reading, self.node, cut)


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
            # "time", or "cputime" with -C 1, begins each of the two halves of the row.
            if column in ("time", "cputime"):
                mode = "ip" if mode else "oop"
            name = _MODE_COLUMNS[column]
            typed = _whole(value) if name == "wrong" else (None if value is None else float(value))
            values["{}_{}".format(mode or "oop", name)] = typed
    return values


def _whole(value: float | int | None) -> int | None:
    return None if value is None else int(value)
