# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of what perftest prints: `ib_write_bw`, `ib_read_bw`, `ib_send_bw`, their `_lat` forms.

Format: a title (`RDMA_Write BW Test`), settings as `name : value` (two to a line,
split by tabs), addresses, a header line that begins with `#bytes`, a row per size.
**perftest's MB is 2**20 bytes**, its Gb is 10**9 bits (perftest_resources.c).
Server and client of one run may stand in one log, with every line twice: equal
rows are one result. A run of a fixed duration (`-D`) prints a peak of 0, which
means that it was not measured. Versions: 4.5 to 6.20.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _perftest_results
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import Entity, Reading
from ansible_collections.trackbed.cluster.plugins.module_utils._text import (
    Data,
    decode,
    number,
    numbered_lines,
)

KIND = "perftest"
TITLE = "perftest, text: bandwidth or latency between two RDMA ports"
VERSIONS = "perftest 4.5 to 6.20"
SOURCES = ("https://github.com/linux-rdma/perftest",)
PROVEN = True

FIELDS = _perftest_results.FIELDS
_COLUMN = re.compile(
    r"#bytes|#iterations|99(?:\.9)?% percentile(?:\[[^\]]*\])?"
    r"|[A-Za-z_]+(?: [a-z]+)?\[[^\]]*\]|CPU_Util\S*"
)
_COLUMNS = {
    "bw peak": "bw_peak",
    "bw average": "bw_average",
    "msgrate": "message_rate_mpps",
    "t_min": "latency_min_us",
    "t_max": "latency_max_us",
    "t_typical": "latency_typical_us",
    "t_avg": "latency_average_us",
    "t_stdev": "latency_stdev_us",
    "99% percentile": "latency_p99_us",
    "99.9% percentile": "latency_p999_us",
    "tps average": "transactions_per_s",
    "cpu_util": "cpu_util_pct",
}
_TITLE_LINE = re.compile(
    r"^\s*((?:RDMA_(?:Write|Read)|Send|Atomic|Raw Ethernet)\s*[A-Za-z_ ]*Test)\s*$"
)
_SETTING = re.compile(r"^\s*([A-Za-z_*][A-Za-z_. *]{1,22}?)\s*:\s*(.*?)\s*$")
_EXIT = re.compile(r"\bib_[a-z_]+ exit=([0-9]{1,3})\b")


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    if re.search(r"(?m)^\s*#bytes\s+#iterations\s", text):
        return 95
    return (
        90
        if re.search(r"(?m)^\s*(?:RDMA_(?:Write|Read)|Send) [A-Z][A-Za-z_ ]*Test\s*$", text)
        else 0
    )


def read(data: Data) -> Reading:
    """Read one log; each run is a `test:N` with `test:N/row:M`."""
    log = _Log()
    for line_number, line in numbered_lines(decode(data)):
        log.take(line_number, line)
    return log.finish()


class _Log:
    """Reads line by line; a title whose rows repeat is the other side of the same run."""

    def __init__(self) -> None:
        self.reading = Reading(KIND)
        self.node = self.reading.add(Entity(""))
        self.test: Entity | None = None
        self.columns: list[tuple[str, float]] = []
        self.seen: set[tuple[t.Any, ...]] = set()
        self.tests = 0
        self.rows = 0

    def take(self, line_number: int, line: str) -> None:
        """Take one line."""
        title = _TITLE_LINE.match(line)
        words = line.split()
        if title:
            self._title(" ".join(title.group(1).split()))
        elif words and words[0] == "#bytes":
            self._current()
            self.columns = _columns(line)
        elif self.columns and words and words[0].isascii() and words[0].isdigit():
            self._row(line_number, line, words)
        else:
            self._other(line_number, line)

    def _title(self, title: str) -> None:
        """Begin another run, unless the one before has no row yet or this is its other side."""
        if self.test is None or self.rows == 0 or self.test.values.get("title") != title:
            if self.test is not None and self.rows:
                self.test = None
            self._current().values["title"] = title
        self.columns = []

    def _other(self, line_number: int, line: str) -> None:
        code = _EXIT.search(line)
        if code:
            self.node.values["exit_code"] = int(code.group(1))
        elif _perftest_results.ERROR_LINE.match(line):
            self.reading.note(
                "tool_error", "perftest reported an error", line=line_number, verbatim=line.strip()
            )
        elif ":" in line and self.test is not None and "address:" not in line:
            for part in re.split(r"\t+| {2,}", re.sub(r"[\t ]+:", " :", line)):
                self._setting(_SETTING.match(part))

    def _setting(self, found: t.Match[str] | None) -> None:
        if found is None:
            return
        name, word = found.group(1).strip().lower(), found.group(2)
        values = self._current().values
        if name in _perftest_results.SETTINGS and word:
            field, kind, _says = _perftest_results.SETTINGS[name]
            value: t.Any = word
            if kind is int:
                value = number(word.replace("[B]", ""))
                value = int(value) if value is not None else None
            values.setdefault(field, value)
        elif name in ("rdma_cm qps", "pcie relax order") and word in ("ON", "OFF"):
            field = "rdma_cm" if name == "rdma_cm qps" else "relaxed_ordering"
            values.setdefault(field, word == "ON")

    def _row(self, line_number: int, line: str, words: list[str]) -> None:
        numbers = [number(word) for word in words]
        if len(words) < len(self.columns) or None in numbers[: len(self.columns)]:
            self.reading.note(
                "malformed",
                f"a row that does not have the {len(self.columns)} numbers of its header",
                line=line_number,
                verbatim=line.strip(),
            )
            return
        key = (self.tests, *numbers)
        if key in self.seen:  # the other side of the same run
            return
        self.seen.add(key)
        entity = Entity(f"{self._current().path}/row:{self.rows}")
        for (name, factor), value in zip(self.columns, numbers):
            _perftest_results.put(entity, name, factor, t.cast("float", value))
        self.rows += 1
        self.reading.add(entity, line_number)

    def _current(self) -> Entity:
        if self.test is None:
            self.test = self.reading.add(Entity(f"test:{self.tests}"))
            self.tests += 1
            self.rows = 0
        return self.test

    def finish(self) -> Reading:
        """Sum up; a run without a row is no result, whatever its exit code."""
        return _perftest_results.settle(self.reading)


def _columns(header: str) -> list[tuple[str, float]]:
    """Return (value name, factor to our unit) per column of a `#bytes` line."""
    found = []
    for match in _COLUMN.finditer(header):
        text = match.group(0)
        name = text.split("[")[0].strip().lower()
        if name == "#bytes":
            found.append(("size_b", 1.0))
        elif name == "#iterations":
            found.append(("iterations", 1.0))
        elif name in ("bw peak", "bw average"):
            factor = _perftest_results.MIB_TO_GBIT if "MB/sec" in text else 1.0
            found.append((f"{_COLUMNS[name]}_gbit_per_s", factor))
        else:
            found.append((_COLUMNS.get(name, ""), 1.0))
    return found
