# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of the file that nccl-tests write with `-J FILE` (`--json`).

Format: one object on one line: `version` 1, `args`, `env`, `nccl_version` as a number,
`config` with `devices`, `results` with a row per size, `out_of_bounds`,
`average_bus_bandwidth`, `errors`, `end_time`. Truths and roots are texts ("true",
"    -1"), a NaN is "nan", an infinite number a bare `inf`, which is no JSON. The file
grows during the run: a run that died leaves it open. A process names the first of its
ranks alone. The environment may hold secrets: nothing of it is kept. Values as in the
text form. Source: nccl-tests src/util.cu, file version 1, nccl-tests 2.16 to 2.19.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import (
    _json,
    _json_docs,
    _nccl_results,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    PARTIAL,
    UNREADABLE,
    Entity,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data, decode

KIND = "nccl-tests-json"
TITLE = "nccl-tests, JSON: bandwidth of a collective by message size"
VERSIONS = "nccl-tests 2.16 to 2.19 (file version 1)"
SOURCES = (
    "https://github.com/NVIDIA/nccl-tests/blob/master/src/util.cu",
    "https://github.com/NVIDIA/nccl-tests/pull/318",
)
PROVEN = True
FIELDS = _nccl_results.FIELDS
_MODES = (("out_of_place", "oop"), ("in_place", "ip"))
_NUMBERS = (
    ("time", "time_us"),
    ("cpu_time", "cpu_time_us"),
    ("alg_bw", "algbw_gb_per_s"),
    ("bus_bw", "busbw_gb_per_s"),
)
_MOST_ROWS = 100_000
# Nothing stands between two files that were joined.
_JOINT = re.compile(r'\}[ \t]*(?=\{\s{0,9}"version"\s{0,9}:)')
# The keys keep this from the texts of the environment, whose quotes are escaped.
_INFINITE = re.compile(
    r'("(?:time|cpu_time|alg_bw|bus_bw|nwrong|bandwidth)"\s{0,9}:)\s{0,9}-?(?:inf|nan)\b'
)
_TABLE = re.compile(r"(?m)^#\s*size\s+count\s+type\b.*\bbusbw\b")
_BEGIN = re.compile(
    r'"version"\s*:\s*[0-9]{1,3}\s*,\s*"start_time"\s*:\s*"[^"]{0,40}"\s*,\s*"args"\s*:\s*\['
)


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    if _TABLE.search(text):  # the log with the text form says as much
        return 50 if '"bus_bw"' in text else 0
    if _BEGIN.search(text):
        return 97
    if '"alg_bw"' in text and '"bus_bw"' in text and '"nwrong"' in text:
        return 96
    return 90 if '"nccl_version"' in text and '"average_bus_bandwidth"' in text else 0


def read(data: Data) -> Reading:
    """Read one file, or several. Each is a `test:N` with `test:N/rank:R` and `test:N/row:M`."""
    reader = _Files()
    text, infinite = _INFINITE.subn(r"\1null", decode(data))
    if infinite:
        says = f"{infinite} numbers are infinite, or none"
        reader.reading.note("unreadable_value", says)
    documents, others = _json_docs.split(_JOINT.sub("}\n", text))
    for number, line in others:
        _nccl_results.launcher(reader.reading, reader.node, number, line)
    for document in documents:
        reader.document(document)
    return reader.finish()


class _Files:
    """Collects the tests of several files."""

    def __init__(self) -> None:
        self.reading = Reading(KIND, tool_name="nccl-tests")
        self.node = self.reading.add(Entity(""))
        self.tests = 0
        self.cut = False

    def document(self, document: _json_docs.Document) -> None:
        """Read one document; others than this format's are passed over."""
        known = len(self.reading.problems)
        body = _json.as_dict(_json.load(document.text, self.reading))
        # The text that a problem quotes may be of the environment.
        self.reading.problems[known:] = [
            dataclasses.replace(one, verbatim=None) for one in self.reading.problems[known:]
        ]
        if not {"results", "config", "nccl_version"} & set(body):
            return
        test = self.reading.add(Entity(f"test:{self.tests}"))
        self.tests += 1
        _settings(test, body)
        ranks = self._ranks(test, _json.as_dict(body.get("config")))
        rows = self._rows(test, body.get("results"))
        _nccl_results.sum_up(test, rows, ranks)
        _count_ranks(test, _json.as_dict(body.get("config")), ranks)
        self._footer(test, body)
        for error in body["errors"] if isinstance(body.get("errors"), list) else []:
            if isinstance(error, str) and error.strip():
                _nccl_results.last_error(self.reading, document.line, error.strip())

    def _footer(self, test: Entity, body: dict[str, t.Any]) -> None:
        bounds = _json.as_dict(body.get("out_of_bounds"))
        average = _json.as_dict(body.get("average_bus_bandwidth"))
        test.values["out_of_bounds"] = _json.integer_of(bounds.get("count"))
        test.values["out_of_bounds_ok"] = _truth(bounds.get("okay"))
        test.values["busbw_avg_gb_per_s"] = _json.number_of(average.get("bandwidth"))
        test.values["busbw_avg_ok"] = _truth(average.get("okay"))
        if "average_bus_bandwidth" not in body:
            self.cut = self.cut or "results" in body

    def _ranks(self, test: Entity, config: dict[str, t.Any]) -> list[Entity]:
        ranks = []
        for device in _json.dicts(config.get("devices"))[:_MOST_ROWS]:
            rank = _json.integer_of(device.get("rank"))
            if rank is None or not 0 <= rank < 10**7:
                self.reading.note("malformed", "a device without a rank", entity=test.path)
                continue
            entity = Entity(f"{test.path}/rank:{rank}")
            entity.values = {
                "host": _json.text_of(device.get("hostname")),
                "pid": _json.integer_of(device.get("pid")),
                "device": _json.integer_of(device.get("device")),
                "bus": _json.text_of(device.get("device_hex")),
                "name": _json.text_of(device.get("device_info")),
            }
            if self.reading.add(entity) is entity:
                ranks.append(entity)
        return ranks

    def _rows(self, test: Entity, results: t.Any) -> list[Entity]:
        rows: list[Entity] = []
        for result in _json.dicts(results)[:_MOST_ROWS]:
            row = Entity(f"{test.path}/row:{len(rows)}", values=_row_values(result))
            rows.append(_nccl_results.add_row(self.reading, row, None, ""))
        return rows

    def finish(self) -> Reading:
        """Return the reading, with a quality that says whether the files are whole."""
        if self.tests and self.reading.quality == UNREADABLE:  # one of several documents
            self.reading.quality = PARTIAL
        return _nccl_results.settle(self.reading, self.node, self.cut)


def _settings(test: Entity, body: dict[str, t.Any]) -> None:
    config = _json.as_dict(body.get("config"))
    words = body.get("args") if isinstance(body.get("args"), list) else []
    named = (_nccl_results.PROGRAM.search(one) for one in words or [] if isinstance(one, str))
    test.values["program"] = next((one.group(1) for one in named if one), None)
    test.values["nccl_version"] = _version(_json.integer_of(body.get("nccl_version")))
    checks = _json.integer_of(config.get("validation"))
    test.values["validation"] = None if checks is None else checks > 0


def _version(code: int | None) -> str | None:
    """Return 2.27.3 for 22703, 2.7.8 for 2708: NCCL_VERSION of nccl.h."""
    if code is None or not 1000 <= code < 10**7:
        return None
    major, rest = divmod(code, 1000 if code < 10000 else 10000)
    return f"{major}.{rest // 100}.{rest % 100}"


def _truth(word: t.Any) -> bool | None:
    if isinstance(word, bool):
        return word
    return {"true": True, "false": False}.get(word) if isinstance(word, str) else None


def _row_values(result: dict[str, t.Any]) -> dict[str, t.Any]:
    root = _json.integer_of(result.get("root"))
    redop = _json.text_of(result.get("redop"))
    values: dict[str, t.Any] = {
        "size_b": _json.integer_of(result.get("size")),
        "count": _json.integer_of(result.get("count")),
        "type": _json.text_of(result.get("type")),
        "redop": None if redop == "none" else redop,
        "root": root if root is not None and root >= 0 else None,
        "iterations": _json.integer_of(result.get("actual_iterations")),
    }
    for key, mode in _MODES:
        body = result.get(key)
        if not isinstance(body, dict):  # null: this half was not asked for
            continue
        for label, name in _NUMBERS:
            if label in body or not label.endswith("time"):
                values[f"{mode}_{name}"] = _json.number_of(body.get(label))
        if "nwrong" in body:
            values[f"{mode}_wrong"] = _json.integer_of(body["nwrong"])
    return values


def _count_ranks(test: Entity, config: dict[str, t.Any], ranks: list[Entity]) -> None:
    """Put the number of ranks where the file tells it: each process runs as many."""
    each = [_json.integer_of(config.get(name)) for name in ("nthreads", "ngpus")]
    processes = {(one.values["host"], one.values["pid"]) for one in ranks}
    if ranks and all(one is not None and 0 < one < 10**4 for one in each):
        count = len(processes) * t.cast("int", each[0]) * t.cast("int", each[1])
        if count >= t.cast("int", test.values.get("rank_count") or 0):
            test.values["rank_count"] = count
            test.notes.pop("rank_count", None)
            hosts = {host for host, _pid in processes}
            test.values["host_count"] = None if None in hosts else len(hosts)
