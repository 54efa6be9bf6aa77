# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of the file that perftest writes with `--out_json`.

Format: `test_info` with the settings, `results` with the one row of the run, a line a key.
Until 2023 it was no JSON: keys and words without quotes, a comma behind the last member.
**The file does not tell the unit of the bandwidths** (MB/s, or Gb/s with --report_gbits).
Size times message rate is the same quantity, so the unit follows from it; without a rate
(`--output=bandwidth`) it is not known, and the bandwidths are null. A peak of 0 was not
measured. Names and units as in the text form. Source: perftest_parameters.c,
`write_test_info_to_file` and what follows it; perftest 4.5 to 25.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import (
    _json,
    _perftest_results,
    _plain,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import Entity, Reading
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data, decode

KIND = "perftest-json"
TITLE = "perftest, JSON: bandwidth or latency between two RDMA ports"
VERSIONS = "perftest 4.5 to 25.x, also the form without quotes"
SOURCES = (
    "https://github.com/linux-rdma/perftest/blob/master/src/perftest_parameters.c",
    "https://github.com/linux-rdma/perftest/issues/216",
    "https://github.com/linux-rdma/perftest/pull/322",
)
PROVEN = True
FIELDS = _perftest_results.FIELDS
_BEGIN = re.compile(r'\{\s{0,99}"?test_info"?\s{0,9}:\s{0,9}\{')
_TABLE = re.compile(r"(?m)^\s*#bytes\s+#iterations\s")
# A text, a mark, or a word without quotes.
_TOKEN = re.compile(
    r'"(?P<text>[^"\n]{0,400})"|(?P<mark>[{}\[\]:,])|(?P<word>[^\s"{}\[\]:,]{1,400})'
)
_SETTINGS = {  # key -> the label of the text form
    "device": "device",
    "number_of_qps": "number of qps",
    "transport_type": "transport type",
    "connection_type": "connection type",
    "link_type": "link type",
    "gid_index": "gid index",
    "tx_depth": "tx depth",
    "mtu": "mtu",
    "tos": "tos",
}
_SWITCHES = {"rdma_cm_qps": "rdma_cm", "pcie_relax_order": "relaxed_ordering"}
_RESULTS = {
    "msgsize": "size_b",
    "n_iterations": "iterations",
    "msgrate": "message_rate_mpps",
    "msgrate_avg": "message_rate_mpps",
    "t_min": "latency_min_us",
    "t_max": "latency_max_us",
    "t_typical": "latency_typical_us",
    "t_avg": "latency_average_us",
    "avg_lat": "latency_average_us",
    "t_stdev": "latency_stdev_us",
    "percentile_99": "latency_p99_us",
    "percentile_99.9": "latency_p999_us",
    "tps_average": "transactions_per_s",
    "cpu_util": "cpu_util_pct",
}
_BANDWIDTHS = {
    "bw_peak": "bw_peak_gbit_per_s",
    "bw_average": "bw_average_gbit_per_s",
    "bw_avg": "bw_average_gbit_per_s",
}
_MOST_RUNS = 10_000
_Sections = t.Dict[str, t.Dict[str, str]]


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    found = _BEGIN.search(text)
    if not found:
        return 0
    if _TABLE.search(text):  # the text form beside it says as much, and the unit
        return 50
    return 96 if re.search(r"(?i)\bConnection_type|\bNumber_of_qps|\bDual_port", text) else 45


def read(data: Data) -> Reading:
    """Read one file, or several; each run is a `test:N` with a `test:N/row:0`."""
    reading = Reading(KIND, tool_name="perftest")
    reading.add(Entity(""))
    text = decode(data)
    begins = [found.start() for found in _BEGIN.finditer(text)]
    before = text[: begins[0]] if begins else text
    for number, line in _plain.lines(before):
        if _perftest_results.ERROR_LINE.match(line):
            says = "perftest reported an error"
            _plain.note(reading, "tool_error", says, line=number, verbatim=line.strip())
    for index, begin in enumerate(begins[:_MOST_RUNS]):
        end = begins[index + 1] if index + 1 < len(begins) else len(text)
        sections, whole = _sections(text, begin, end)
        _run(reading, index, sections)
        if not whole:
            says = "the object is not closed: the file was cut, or is still written"
            _plain.note(reading, "truncated", says, entity=f"test:{index}")
    return _perftest_results.settle(reading)


def _sections(text: str, begin: int, end: int) -> tuple[_Sections, bool]:
    """Return the members of each inner object, and whether the outer one is closed.

    Keys are in small letters. A member counts once a comma, a brace or a new key ends it.
    """
    found: _Sections = {}
    section, key = "", ""
    words: list[str] = []
    depth = 0
    for token in _TOKEN.finditer(text, begin, end):
        mark = token.group("mark")
        if mark is None:
            words.append(token.group("word") or token.group("text") or "")
        elif mark == ":":
            key, words = " ".join(words[-6:]).lower(), []
        elif mark in "{[":
            depth += 1
            section = key if depth == 2 else section
            key, words = "", []
        else:
            if key and depth == 2:
                found.setdefault(section, {}).setdefault(key, " ".join(words))
            key, words = "", []
            depth -= mark in "}]"
            if depth <= 0:
                return found, True
    return found, False


def _run(reading: Reading, index: int, sections: _Sections) -> None:
    test = reading.add(Entity(f"test:{index}"))
    _settings(reading, test, sections.get("test_info", {}))
    results = [name for name in sections if name.startswith("results")]
    for number, name in enumerate(results):
        row = Entity(f"{test.path}/row:{number}")
        if name.startswith("results_"):
            row.values["side"] = name[len("results_") :] or None
        _row(reading, row, sections[name])
        if set(row.values) - {"side"}:
            reading.add(row)
    if not results:
        _plain.note(reading, "missing_value", "no `results`", entity=test.path)


def _settings(reading: Reading, test: Entity, told: dict[str, str]) -> None:
    test.values["title"] = _title(told.get("test", ""))
    for key, label in _SETTINGS.items():
        if key not in told:
            continue
        name, kind, _says = _perftest_results.SETTINGS[label]
        word = told[key]
        test.values[name] = _json.integer_of(word) if kind is int else word or None
    for key, name in _SWITCHES.items():
        if key in told:
            word = told[key]
            test.values[name] = {"ON": True, "OFF": False}.get(word)
            if word == "Unsupported":
                test.notes[name] = "not_supported"
    for key in ("warning1", "warning2"):
        if told.get(key):
            reading.remark("inconsistent", f"perftest warns: {told[key][:160]}", entity=test.path)


def _title(word: str) -> str | None:
    """Return `RDMA_Write BW Test` for `RDMA_Write_BW_Test`, as the text form has it."""
    spaced = word.replace("_", " ")
    for kept in ("RDMA", "CMP AND SWAP", "FETCH AND ADD"):
        spaced = spaced.replace(f"{kept} ", f"{kept.replace(' ', '_')} ")
    return re.sub(r"\bRDMA ", "RDMA_", spaced).strip() or None


def _row(reading: Reading, row: Entity, told: dict[str, str]) -> None:
    numbers: dict[str, float] = {}
    for key, word in told.items():
        if key not in _RESULTS and key not in _BANDWIDTHS:
            continue
        value = _json.number_of(word)
        if value is not None:
            numbers[key] = value
            continue
        name = _RESULTS.get(key) or _BANDWIDTHS[key]
        row.values[name] = None
        where = {"entity": row.path, "field": name, "verbatim": word}
        _plain.note(reading, "unreadable_value", f"{key} is no number", **where)
    for key, value in numbers.items():
        if key in _RESULTS:
            _perftest_results.put(row, _RESULTS[key], 1.0, value)
    _bandwidths(reading, row, numbers)


def _bandwidths(reading: Reading, row: Entity, numbers: dict[str, float]) -> None:
    told = [key for key in _BANDWIDTHS if key in numbers]
    if not told:
        return
    average = numbers.get("bw_average", numbers.get("bw_avg"))
    factor = _factor(average, numbers.get("msgsize"), numbers.get("msgrate"))
    if not any(numbers[key] for key in told):
        factor = 1.0  # nothing is nothing in any unit
    for key in told:
        if factor is not None:
            _perftest_results.put(row, _BANDWIDTHS[key], factor, numbers[key])
        else:
            row.values[_BANDWIDTHS[key]] = None
            row.notes[_BANDWIDTHS[key]] = "unreadable"
    if factor is None:
        says = "the unit of the bandwidth, MB/s or Gb/s, follows neither from a rate nor a size"
        where = {"entity": row.path, "verbatim": f"{told[-1]} {numbers[told[-1]]}"}
        _plain.note(reading, "unreadable_value", says, **where)


def _factor(average: float | None, size: float | None, rate: float | None) -> float | None:
    """Return what makes Gbit/s of the bandwidth: its unit, found from size and message rate."""
    if not average or not size or not rate:
        return None
    wanted = size * rate * 8 / 1000
    for factor in (1.0, _perftest_results.MIB_TO_GBIT):
        # The units are a factor of 119 apart; what is printed is rounded.
        if 0.5 < average * factor / wanted < 2:
            return factor
    return None
