# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of nvbandwidth: text, and JSON as `-j` prints it.

Per test case a status, a matrix and a sum. In JSON the cells are strings and
`N/A` is no measurement (with -v the tool's own minimum counts it as 0, so that
minimum is not read). GB/s is 10**9 bytes per second; latency tests print ns.
An error makes the tool print its document twice. From 0.7 the JSON lists the devices.
Versions 0.4 to 0.10. Source: nvbandwidth json_output.cpp, output.cpp.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._identity import pci_address
from ansible_collections.trackbed.cluster.plugins.module_utils._readers import (
    _json,
    _json_docs,
    _plain,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
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

KIND = "nvbandwidth"
TITLE = "nvbandwidth, text and JSON: memory and link bandwidth by test case"
VERSIONS = "0.4 to 0.10"
SOURCES = ("https://github.com/NVIDIA/nvbandwidth",)
PROVEN = True
STATUSES = ("passed", "waived", "not_found", "error", "running")
FIELDS = {
    "node": {
        "driver_version": Field(str, "driver"),
        "cuda_runtime_version": Field(int, "CUDA runtime, 12040 for 12.4"),
        "test_count": Field(int, "test cases named in the output"),
    },
    "gpu": {
        "name": Field(str, "product name"),
        "host": Field(str, "node that it is in, where that is told"),
    },
    "test": {
        "status": Field(str, "what became of it", values=STATUSES),
        "description": Field(str, "what was measured, with the unit that the tool names"),
        "sum": Field(float, "sum of the matrix, in the unit of the description"),
        "matrix": Field(list, "rows of cells; null is no measurement"),
        "min": Field(float, "least of the measured cells"),
        "max": Field(float, "largest of the measured cells"),
        "error": Field(str, "the tool's own word on it, where it failed"),
    },
}
_VERSION = re.compile(r"^nvbandwidth Version: v?(\S+)")
_RUNNING = re.compile(r"^Running ([A-Za-z0-9_]{3,80})\.\s*$")
_SUM = re.compile(r"^SUM ([A-Za-z0-9_]{3,80})\s+(\S+)")
_DEVICE = re.compile(
    r"^(?:Device )?([0-9]{1,4}): ([^()]{1,100}?)(?: \(((?:PCI:)?[0-9a-fA-F:.]{4,20})\))?"
    r"(?::? ?\(([A-Za-z0-9._-]{1,100})\))?$"
)
_BEGIN = re.compile(r'\{\s{0,99}"nvbandwidth"\s{0,9}:')
_MOST_TESTS = 4096
_ERRORS = (
    "ERROR:",
    "[ERROR]",
    "CUDA_RUNTIME error",
    "CUDA error",
    "ASSERT in expression",
    " Invalid value when checking the pattern",
)
_ROW = re.compile(r"^\s*[0-9]{1,3}(?:\s+(?:[0-9.]+|N/A))+\s*$")
_HEADING = re.compile(r"\((?:GB/s|ns|us)\)\s*$")


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    if re.search(r"(?m)^nvbandwidth Version: ", text) or _BEGIN.search(text):
        return 97
    return 80 if re.search(r"(?m)^SUM [a-z_]+_(?:ce|sm) ", text) else 0


def read(data: Data) -> Reading:
    """Read the output; each test case is `test:NAME`."""
    text = decode(data)
    return _read_json(text) if _BEGIN.search(text) else _Text(text).reading


def _read_json(text: str) -> Reading:
    reading = Reading(KIND, tool_name="nvbandwidth")
    node = reading.add(Entity(""))
    for document in _json_docs.split(text)[0]:
        body = _json.as_dict(_json.as_dict(_json.load(document.text, reading)).get("nvbandwidth"))
        reading.tool_version = _json.text_of(body.get("version")) or reading.tool_version
        for key, name, reader in (
            ("Driver Version", "driver_version", _json.text_of),
            ("CUDA Runtime Version", "cuda_runtime_version", _json.integer_of),
        ):
            value = reader(body.get(key))
            if value is not None or name not in node.values:
                node.values[name] = value
        devices = body.get("GPU Device list")
        for device in devices[:_MOST_TESTS] if isinstance(devices, list) else []:
            found = _DEVICE.match(str(device))
            if found:
                _add_gpu(reading, found)
        for case in _json.dicts(body.get("testcases"))[:_MOST_TESTS]:
            _json_case(reading, case)
        if body.get("error"):
            says = "nvbandwidth reported an error"
            _plain.note(reading, "tool_error", says, verbatim=body["error"])
        if body.get("warning"):
            says = f"nvbandwidth warns: {str(body['warning'])[:160]}"
            reading.remark("tool_error", says, verbatim=str(body["warning"])[:200])
    if reading.quality == UNREADABLE:  # one of several documents
        reading.quality = PARTIAL
    return _counted(reading)


def _add_gpu(reading: Reading, found: t.Match[str]) -> None:
    index, name, bus, host = found.groups()
    entity = Entity(f"gpu:{int(index)}", values={"name": name.strip() or None})
    address = pci_address(bus)
    if address:
        entity.ids["pci"] = address
    if host:
        entity.values["host"] = host
    known = reading.added(entity.path)
    if known is None or (known.ids, known.values) != (entity.ids, entity.values):
        reading.add(entity)


def _json_case(reading: Reading, case: dict[str, t.Any]) -> None:
    name = _json.text_of(case.get("name"))
    if name is None:
        _plain.note(reading, "malformed", "a test case without a name")
        return
    entity = Entity(f"test:{re.sub('[/:]', '_', name)[:100]}")
    _set_status(reading, entity, str(case.get("status") or ""))
    entity.values["description"] = _text_or_none(case.get("bandwidth_description"))
    total = _json.number_of(case.get("sum"))
    entity.values["sum"] = total if total is not None and abs(total) < 1e300 else None
    rows = case.get("bandwidth_matrix")
    if isinstance(rows, list):
        cells = [[_cell(str(one)) for one in row] for row in rows if isinstance(row, list)]
        _set_matrix(entity, cells)
    error = _json.text_of(case.get("error"))
    if error:
        entity.values["error"] = error[:400]
        says = "nvbandwidth reported an error in a test case"
        _plain.note(reading, "tool_error", says, entity=entity.path, verbatim=error)
    path, count = entity.path, 1
    while count < 100:
        known = reading.added(entity.path)
        if known is None:
            reading.add(entity)
        if known is None or known.values == entity.values:  # the same, printed twice
            return
        count += 1
        entity.path = f"{path}_{count}"


def _set_status(reading: Reading, entity: Entity, printed: str) -> None:
    status = printed.strip().lower().replace(" ", "_")
    entity.values["status"] = status or None
    if status and status not in STATUSES:
        entity.values["status"] = printed
        entity.notes["status"] = "verbatim"
        reading.note(
            "unknown_value", "a status that is not known", entity=entity.path, verbatim=printed
        )


def _set_matrix(entity: Entity, rows: list[list[float | None]]) -> None:
    entity.values["matrix"] = t.cast("list[t.Any]", rows)
    cells = [one for row in rows for one in row if one is not None]
    entity.values["min"] = min(cells) if cells else None
    entity.values["max"] = max(cells) if cells else None


def _cell(text: str) -> float | None:
    value = number(text)
    return None if value is None else float(value)


def _text_or_none(value: t.Any) -> str | None:
    return value.strip() or None if isinstance(value, str) else None


def _counted(reading: Reading) -> Reading:
    tests = [one for one in reading.entities if one.path.startswith("test:")]
    reading.entities[0].values["test_count"] = len(tests)
    if not tests:
        reading.note("missing_value", "no test case in the output")
        reading.quality = UNREADABLE
    return reading


class _Text:
    """Reads the text form line by line."""

    def __init__(self, text: str) -> None:
        self.reading = Reading(KIND, tool_name="nvbandwidth")
        self.node = self.reading.add(Entity(""))
        self.test: Entity | None = None
        self.rows: list[list[float | None]] = []
        for line_number, line in numbered_lines(text):
            self._line(line_number, line)
        self._close(None)
        _counted(self.reading)

    def _line(self, line_number: int, line: str) -> None:
        running, total, device = _RUNNING.match(line), _SUM.match(line), _DEVICE.match(line)
        version = _VERSION.match(line)
        if running:
            self._close(line_number)
            entity = Entity(f"test:{running.group(1)}", values={"status": "running"})
            self.test = self.reading.add(entity, line_number)
        elif total:
            self._sum(line_number, *total.groups())
        elif version:
            self.reading.tool_version = version.group(1)
        elif device and line.startswith("Device "):
            _add_gpu(self.reading, device)
        elif line.startswith("Driver Version:"):
            self.node.values["driver_version"] = _text_or_none(line.partition(":")[2])
        elif line.startswith("CUDA Runtime Version:"):
            value = number(line.partition(":")[2])
            self.node.values["cuda_runtime_version"] = value if isinstance(value, int) else None
        else:
            self._body(line_number, line)

    def _body(self, line_number: int, line: str) -> None:
        if self.test is not None and _HEADING.search(line):
            self.test.values["description"] = line.strip()
        elif self.test is not None and _ROW.match(line) and "description" in self.test.values:
            cells = line.split()
            # The line above the matrix numbers the columns; it has no row number before it.
            if self.rows or any("." in cell or cell == "N/A" for cell in cells):
                self.rows.append([_cell(cell) for cell in cells[1:]])
        elif line.startswith(_ERRORS):
            self.reading.note(
                "tool_error", "nvbandwidth reported an error", line=line_number, verbatim=line
            )
            if self.test is not None:
                self.test.values["status"] = "error"

    def _sum(self, line_number: int, name: str, printed: str) -> None:
        if self.test is None or self.test.path != f"test:{name}":
            self._close(line_number)
            self.test = self.reading.add(Entity(f"test:{name}"), line_number)
        self.test.values["status"] = "passed"
        self.test.values["sum"] = _cell(printed)
        self._close(line_number)

    def _close(self, line_number: int | None) -> None:
        test, rows = self.test, self.rows
        self.test, self.rows = None, []
        if test is None:
            return
        if rows:
            _set_matrix(test, rows)
        if test.values.get("status") == "running":
            self.reading.note(
                "truncated",
                "a test case that has begun and gave no sum",
                line=line_number,
                entity=test.path,
            )
