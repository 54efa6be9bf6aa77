# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of fio's results, `--output-format=json` and `json+`, also of a client with servers.

Format: `fio version`, `jobs` (or `client_stats`) with `read`, `write` and `trim`, `disk_util`.
Until fio 2 latencies are in microseconds and `bw` in KiB/s alone; from 3.0 `clat_ns` and
`bw_bytes`. What a job was not asked to do is 0 in fio's words and null in ours.
With `--status-interval` a document stands for each state; all but the last have an `eta`.
Versions: fio 2.1 to 3.39. Source: fio(1), "JSON output".
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

KIND = "fio-json"
TITLE = "Results of fio, JSON"
VERSIONS = "fio 2.1 to 3.39"
SOURCES = (
    "https://github.com/axboe/fio/issues/272",
    "https://github.com/axboe/fio/issues/430",
    "https://github.com/axboe/fio/issues/672",
    "https://github.com/axboe/fio/issues/1627",
)
PROVEN = True
_WAYS = ("read", "write", "trim")
_OPTIONS = {
    "rw": "pattern",
    "readwrite": "pattern",
    "bs": "block_size",
    "blocksize": "block_size",
    "iodepth": "io_depth",
    "numjobs": "job_count",
    "ioengine": "io_engine",
    "filename": "filename",
    "directory": "directory",
    "size": "size",
    "direct": "direct",
}
_NUMBERS = frozenset({"io_depth", "job_count"})


def _way_fields(way: str) -> dict[str, Field]:
    return {
        f"{way}_gb_per_s": Field(float, f"throughput of {way}", "10^9 B/s"),
        f"{way}_iops": Field(float, f"{way} operations a second", "1/s"),
        f"{way}_total_b": Field(int, f"bytes of {way}", "B"),
        f"{way}_count": Field(int, f"{way} operations done"),
        f"{way}_runtime_s": Field(float, f"time spent with {way}", "s"),
        f"{way}_latency_average_us": Field(float, f"average latency of {way}", "µs"),
        f"{way}_latency_max_us": Field(float, f"longest latency of {way}", "µs"),
        f"{way}_latency_p50_us": Field(float, f"median completion latency of {way}", "µs"),
        f"{way}_latency_p99_us": Field(float, f"99 % complete within, {way}", "µs"),
        f"{way}_latency_p999_us": Field(float, f"99.9 % complete within, {way}", "µs"),
    }


FIELDS = {
    "node": {
        "test_count": Field(int, "jobs that are told of"),
        "failed_test_count": Field(int, "jobs that ended with an error"),
        "time": Field(str, "when it was written, as printed"),
    },
    "test": {
        "name": Field(str, "name of the job"),
        "host": Field(str, "server that ran it, where fio ran as a client"),
        "error_code": Field(int, "errno that the job ended with; 0 is none"),
        "eta_s": Field(int, "time left; more than 0: the job had not ended", "s"),
        "elapsed_s": Field(int, "time taken", "s"),
        "pattern": Field(str, "read, write, randread, randrw ..."),
        "block_size": Field(str, "block size, as it was given"),
        "io_depth": Field(int, "operations in flight that were asked for"),
        "job_count": Field(int, "processes that were asked for"),
        "io_engine": Field(str, "libaio, io_uring, libcufile ..."),
        "filename": Field(str, "file or device"),
        "directory": Field(str, "directory of the files"),
        "size": Field(str, "size, as it was given"),
        "direct": Field(str, "1: past the page cache"),
        "cpu_user_pct": Field(float, "processor time in user mode", "%"),
        "cpu_system_pct": Field(float, "processor time in the kernel", "%"),
        **_way_fields("read"),
        **_way_fields("write"),
        **_way_fields("trim"),
    },
    "disk": {
        "busy_pct": Field(float, "time that the disk was busy", "%"),
        "read_count": Field(int, "reads"),
        "write_count": Field(int, "writes"),
    },
}
_ERROR = re.compile(
    # Two of fio's words change how a job runs, and are no errors.
    r"^fio: (?!this platform does not|file \S{1,200} exceeds 32-bit)"
    r"|^(?:file|engine)[:\w-]* .*(?:error|failed|not found)",
    re.IGNORECASE,
)
_MOST_TESTS = 4096


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    if re.search(r'"fio version"\s*:\s*"', text[:30000]):
        return 97
    return 80 if '"jobname"' in text and '"clat' in text else 0


def read(data: Data) -> Reading:
    """Read one or several results. Entities: "", `test:<job>`, `disk:<name>`."""
    reading = Reading(KIND, tool_name="fio")
    tests = _Tests(reading)
    documents, others = _json_docs.split(data)
    for number, line in others:
        if _ERROR.match(line):
            _plain.note(reading, "tool_error", "fio reported an error", line=number, verbatim=line)
        elif not documents:  # else it is fio's talk, or its results as text (normal,json)
            _plain.malformed(reading, number, line, "a result of fio")
    for document in documents:
        tests.document(_json.as_dict(_json.load(document.text, reading)))
    return tests.finish()


class _Tests:
    """Collects jobs over several documents."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.node = Entity("")
        self.known = False
        self.names: dict[str, int] = {}

    def document(self, body: dict[str, t.Any]) -> None:
        """Take a document."""
        version = _json.text_of(body.get("fio version"))
        self.known = self.known or version is not None
        if version:
            self.reading.tool_version = re.sub(r"^fio-", "", version)
        if "time" in body:
            self.node.values["time"] = _json.text_of(body["time"])
        shared = _json.as_dict(body.get("global options"))
        jobs = [*_json.dicts(body.get("jobs")), *_json.dicts(body.get("client_stats"))]
        for job in jobs:
            self._job(job, shared)
        if version and not jobs:
            says = "no job in the result; it ended early, or every job failed to start"
            _plain.note(self.reading, "missing_value", says)
        for disk in _json.dicts(body.get("disk_util")):
            self._disk(disk)

    def _path(self, kind: str, name: str) -> str:
        path = f"{kind}:{re.sub(r'[/:]', '_', name)[:100]}"
        self.names[path] = count = self.names.get(path, 0) + 1
        return path if count == 1 else f"{path}_{count}"

    def _job(self, job: dict[str, t.Any], shared: dict[str, t.Any]) -> None:
        if sum(self.names.values()) > _MOST_TESTS:
            return
        name = _json.text_of(job.get("jobname"))
        test = self.reading.add(Entity(self._path("test", name or "unnamed")))
        values = test.values
        values.update(
            {
                "name": name,
                "host": _json.text_of(job.get("hostname")),
                "error_code": _json.integer_of(job.get("error")),
                "eta_s": _json.integer_of(job.get("eta")),
                "elapsed_s": _json.integer_of(job.get("elapsed")),
                "cpu_user_pct": _json.number_of(job.get("usr_cpu")),
                "cpu_system_pct": _json.number_of(job.get("sys_cpu")),
            }
        )
        for label, word in {**shared, **_json.as_dict(job.get("job options"))}.items():
            if label in _OPTIONS:
                option = _OPTIONS[label]
                reader = _json.integer_of if option in _NUMBERS else _json.text_of
                values[option] = reader(word)
        for way in _WAYS:
            self._way(test, way, job.get(way))
        if values["error_code"]:
            says = f"the job ended with error {values['error_code']}"
            _plain.note(self.reading, "tool_error", says, entity=test.path, field="error_code")

    def _way(self, test: Entity, way: str, body: t.Any) -> None:
        """Put what was measured of reads, writes or trims; null where none were asked for."""
        numbers = _json.as_dict(body)
        pattern = str(test.values.get("pattern") or "")
        count = _json.integer_of(numbers.get("total_ios"))
        asked = way in pattern or (way != "trim" and pattern in ("rw", "randrw"))
        if not numbers:
            if asked:
                says = f"the result of {way} is not there"
                _plain.note(self.reading, "truncated", says, entity=test.path)
            return
        if not _json.integer_of(numbers.get("io_bytes")) and not count and not asked:
            return
        whole = _json.number_of(numbers.get("bw_bytes"))
        kib = _json.number_of(numbers.get("bw"))
        speed = whole if whole is not None else kib * 1024 if kib is not None else None
        runtime = _json.number_of(numbers.get("runtime"))
        test.values.update(
            {
                f"{way}_gb_per_s": None if speed is None else speed / 1e9,
                f"{way}_iops": _json.number_of(numbers.get("iops")),
                f"{way}_total_b": _total(numbers),
                f"{way}_count": count,
                f"{way}_runtime_s": None if runtime is None else runtime / 1e3,
            }
        )
        if whole is None and kib is not None:
            test.notes[f"{way}_gb_per_s"] = "rounded"
        _latencies(test, way, numbers, count != 0)

    def _disk(self, body: dict[str, t.Any]) -> None:
        name = _json.text_of(body.get("name"))
        if name is None or len(self.names) > _MOST_TESTS:
            return
        disk = self.reading.add(Entity(self._path("disk", name)))
        disk.values["busy_pct"] = _json.number_of(body.get("util"))
        disk.values["read_count"] = _json.integer_of(body.get("read_ios"))
        disk.values["write_count"] = _json.integer_of(body.get("write_ios"))

    def finish(self) -> Reading:
        """Count the jobs."""
        tests = [one for one in self.reading.entities if one.path.startswith("test:")]
        if tests or self.known:
            failed = [one for one in tests if one.values.get("error_code")]
            self.node.values["test_count"] = len(tests)
            self.node.values["failed_test_count"] = len(failed)
            self.reading.entities.insert(0, self.node)
        return _json_docs.settle(self.reading, '`"fio version":`')


def _total(numbers: dict[str, t.Any]) -> int | None:
    """Return bytes: fio 2 calls KiB `io_bytes`, fio 3 tells them apart."""
    whole = _json.integer_of(numbers.get("io_bytes"))
    return whole * 1024 if whole is not None and "io_kbytes" not in numbers else whole


def _latencies(test: Entity, way: str, numbers: dict[str, t.Any], any_done: bool) -> None:
    for label, scale in (("_ns", 1e-3), ("", 1.0)):
        total, completion = (_json.as_dict(numbers.get(f"{one}{label}")) for one in ("lat", "clat"))
        if not total and not completion:
            continue
        both = total or completion
        percentiles = _json.as_dict(completion.get("percentile")) or _json.as_dict(
            total.get("percentile")
        )
        found = {
            "average": both.get("mean"),
            "max": both.get("max"),
            "p50": percentiles.get("50.000000"),
            "p99": percentiles.get("99.000000"),
            "p999": percentiles.get("99.900000"),
        }
        for name, value in found.items():
            number = _json.number_of(value)
            # gtod_reduce and jobs without any operation leave zeros.
            known = number is not None and any_done and number > 0
            test.values[f"{way}_latency_{name}_us"] = number * scale if known and number else None
        return
