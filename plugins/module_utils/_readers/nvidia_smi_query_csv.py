# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `nvidia-smi --query-gpu=... --format=csv`, and of its lists of processes and pages.

Format: a header of column names with units in brackets, and a row a GPU or process. With
`noheader` the columns are those of the command, where it stands above; else they cannot be
known, and such rows are kept as they are, cell by cell: what a cell says of itself (an
identity, a unit) is all that is concluded. Cells in brackets are states: `[N/A]`,
`[Not Supported]`, `[Unknown Error]`, `[GPU requires reset]`. With -l rows come again: the
first sample is kept as `gpu:N`, later ones as `sample:1/gpu:N`. Versions: driver 418 to 610.
Source: nvidia-smi(1), --help-query-gpu, --help-query-compute-apps and the like.
"""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import (
    _nvidia_errors,
    _nvidia_rows,
    _pasted,
    _plain,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._nvidia_query import KNOWN
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    ERROR,
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data, decode

KIND = "nvidia-smi-query-csv"
TITLE = "nvidia-smi --query-gpu: values of each GPU, CSV"
VERSIONS = "driver 418 to 610"
SOURCES = (
    "nvidia-smi(1), --help-query-gpu",
    "https://github.com/utkuozdemir/nvidia_gpu_exporter/pull/438",
    "https://github.com/enkore/i3pystatus/pull/776",
)
PROVEN = True
FIELDS = {
    "node": {
        "driver_version": Field(str, "driver that is loaded"),
        "row_count": Field(int, "rows below the headers"),
        "gpu_count": Field(int, "GPUs that the driver counts; null where it is not asked"),
        "process_count": Field(int, "processes listed; null where they are not asked for"),
        "sample_count": Field(int, "how often each GPU is listed"),
    },
    **_nvidia_rows.FIELDS,
}
_COLUMN = re.compile(r"^([A-Za-z][A-Za-z0-9_.]{1,80})\s*(?:\[([^\]]{1,10})\])?$")
_TELLING = frozenset({"index", "name", "uuid", "pid", "gpu_uuid", "graphics"})
# The command, from which columns without a header are known.
_ASKED = re.compile(r"--query-(?:gpu|[a-z-]{4,20})[= ]['\"]?([a-z][A-Za-z0-9_.,]{1,4000})")
_MAX_ROWS = 4096
_HEAD = 60


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    lines = [line.strip() for _number, line in _pasted.lines(text[:20000])][:_HEAD]
    if any(_header(line) for line in lines):
        return 95
    rows = [_cells(line) for line in lines if not _is_other(line)]
    if any(_ASKED.search(line) for line in lines):
        telling = sum(any(_nvidia_rows.is_value(cell) for cell in row) for row in rows)
        return 90 if rows and telling * 2 >= len(rows) else 0
    rows = [row for row in rows if len(row) > 1 or _nvidia_rows.is_value(row[0])]  # words around it
    rows = rows[:-1] or rows  # the last may be cut
    if not rows or min(len(row) for row in rows) < 2:
        return 0
    if all(any(_nvidia_rows.UUID.match(cell) for cell in row) for row in rows):
        return 85
    same = len({len(row) for row in rows}) == 1
    if same and all(any(_nvidia_rows.is_telling(cell) for cell in row) for row in rows):
        return 75
    # A row of numbers and bracketed states alone says no more than that.
    states = any(_nvidia_rows.STATE.match(cell) for row in rows for cell in row)
    plain = all(_nvidia_rows.is_value(cell) for row in rows for cell in row)
    return 70 if plain and states and min(len(row) for row in rows) > 2 else 0


def read(data: Data) -> Reading:
    """Read all outputs. Entities: "", `gpu:N`, `process:<pid>`, `retired_page:N`, `row:N`."""
    reading = Reading(KIND, tool_name="nvidia-smi")
    tables = _Tables(reading)
    lines = _pasted.lines(data)
    last = 0 if decode(data).endswith("\n") else len(lines)
    for position, (number, line) in enumerate(lines, 1):
        word = line.strip()
        header, cells, asked = _header(word), _cells(word), _ASKED.search(word)
        if header:
            tables.header(header)
        elif asked:
            if "noheader" in word:
                tables.header(asked.group(1).lower().strip(",").split(","))
        elif tables.is_row(cells):
            tables.row(cells, number, position == last)
        elif not _error(reading, word, number):
            _pasted.strange(reading, number, line, "a row of cells")
    return tables.finish()


def _cells(line: str) -> list[str]:
    return [cell.strip().strip('"').strip() for cell in line.split(",")]


def _header(line: str) -> list[str]:
    """Return the names of the columns of a header, in lower case; none where it is no header."""
    found = [_COLUMN.match(cell) for cell in _cells(line)]
    names = [one.group(1).lower() for one in found if one]
    if len(names) < len(found) or not KNOWN & set(names):
        return []
    if len(names) == 1:
        return names if "." in names[0] or (found[0] and found[0].group(2)) else []
    return names if _TELLING & set(names) or any("." in name for name in names) else []


def _is_other(line: str) -> bool:
    """Return whether the line is the shell's, the command's, or an error."""
    if _pasted.is_noise(line) or _ASKED.search(line):
        return True
    return "," not in line and _nvidia_errors.understand(line) is not None


def _error(reading: Reading, word: str, number: int) -> bool:
    message = _nvidia_errors.understand(word)
    if message is None:
        return False
    code = "tool_absent" if message.code == "tool_missing" else "tool_error"
    says = f"nvidia-smi did not answer: {message.code.replace('_', ' ')}"
    _plain.note(reading, code, says, line=number, verbatim=word)
    if message.path and message.code != "other":
        path = message.path if message.index is None else f"gpu:{message.index}"
        gpu = reading.added(path) or reading.add(Entity(path))
        gpu.ids.setdefault("pci", message.pci)
        gpu.values.setdefault("readable", False)
    return True


class _Tables:
    """The columns that the reading is in, and what was listed below them."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.node = Entity("", values={"row_count": 0})
        self.columns: list[str] = []
        self.listed: set[str] = set()  # identities, or places, of this sample
        self.paths: dict[str, str] = {}  # identity -> path, of all samples of these columns
        self.pids: dict[str, int] = {}
        self.full: list[str] = []  # the last row that was whole
        self.sample = self.samples = self.rows = 0
        self.bare = self.pages = self.processes = 0

    def header(self, columns: list[str]) -> None:
        """Begin a list: of other columns, or the same ones once more."""
        if columns == self.columns:
            self._again()
        else:
            self.sample, self.listed, self.paths = 0, set(), {}
        self.columns = columns
        if "pid" in columns:
            self.node.values.setdefault("process_count", 0)

    def _again(self) -> None:
        if self.listed:
            self.sample, self.listed = self.sample + 1, set()

    def is_row(self, cells: list[str]) -> bool:
        """Return whether these are cells of a row, and not words."""
        if self.rows >= _MAX_ROWS:
            return False
        if len(cells) == 1:
            known = len(self.columns) == 1 and not _is_other(cells[0])
            return _nvidia_rows.is_value(cells[0]) or known
        if any(_nvidia_rows.is_value(cell) for cell in cells):
            return True
        words = ", ".join(cells)
        return len(cells) == len(self.columns) and _nvidia_errors.understand(words) is None

    def row(self, cells: list[str], number: int, cut: bool) -> None:
        """Read one row; `cut` says that nothing, not even a line end, stands behind it."""
        self.rows += 1
        if not self.columns:
            _nvidia_rows.bare(self.reading, cells, [], f"row:{self.bare}", number)
            self.bare += 1
            return
        cells = self._fitting(cells, number, cut)
        found = dict(zip(self.columns, cells))
        driver = _nvidia_rows.text_of(found.get("driver_version", ""))
        if driver:
            self.node.values.setdefault("driver_version", driver)
            self.reading.tool_version = driver
        if re.match(r"^[0-9]{1,4}$", found.get("count", "")):
            self.node.values.setdefault("gpu_count", int(found["count"]))
        self._entity(found, cells, number)

    def _entity(self, found: dict[str, str], cells: list[str], number: int) -> None:
        if "pid" in found:
            pid = found["pid"]
            self.pids[pid] = self.pids.get(pid, 0) + 1
            self.processes += 1
            self.node.values["process_count"] = self.processes
            _nvidia_rows.process(self.reading, found, self.pids[pid], number)
        elif "retired_pages.address" in found:
            _nvidia_rows.retired_page(self.reading, found, self.pages, number)
            self.pages += 1
        elif "graphics" in self.columns:  # supported clocks
            _nvidia_rows.bare(self.reading, cells, self.columns, f"row:{self.bare}", number)
            self.bare += 1
        else:
            _nvidia_rows.gpu(self.reading, self._gpu(found, number), found, number)

    def _fitting(self, cells: list[str], number: int, cut: bool) -> list[str]:
        """Return as many cells as there are columns, where that can be told."""
        more = len(cells) - len(self.columns)
        name = next((one for one in ("process_name", "name") if one in self.columns), None)
        if more > 0 and name:  # a name may hold commas
            at = self.columns.index(name)
            return [*cells[:at], ", ".join(cells[at : at + more + 1]), *cells[at + more + 1 :]]
        if not more:
            self.full = cells
            return cells
        code = "truncated" if cut and more < 0 else "malformed"
        says = f"{len(cells)} cells where {len(self.columns)} were expected"
        _plain.note(self.reading, code, says, line=number, verbatim=", ".join(cells))
        if more < 0 and (cut or _nvidia_rows.lost_unit(self.full, cells)):
            return cells[:-1]  # who knows how many digits it lost
        return cells

    def _gpu(self, found: dict[str, str], number: int) -> Entity:
        """Return the GPU of a row; one that is listed again is one of a further sample."""
        ids = _nvidia_rows.ids_of(found)
        index = found.get("index", "")
        if re.match(r"^[0-9]{1,4}$", index):
            key = f"gpu:{int(index)}"
        else:
            key = ids["uuid"] or ids["pci"] or f"gpu:{len(self.listed)}"
        if key in self.listed:
            self._again()
        place = key if key.startswith("gpu:") else f"gpu:{len(self.paths)}"
        path = self.paths.setdefault(key, place)
        self.listed.add(key)
        self.samples = max(self.samples, self.sample + 1)
        first = self.reading.added(path)
        full = f"sample:{self.sample}/{path}" if self.sample else path
        entity = self.reading.added(full) or self.reading.add(Entity(full))
        for name, value in ids.items():
            if first and value and first.ids.get(name) not in (None, value):
                says = f"{path} has another {name} than before"
                _plain.note(self.reading, "inconsistent", says, line=number, entity=full)
            entity.ids[name] = entity.ids.get(name) or value
        return entity

    def finish(self) -> Reading:
        """Return the reading, with the counts of the node."""
        reading, codes = self.reading, {one.code for one in self.reading.problems}
        failed = bool(codes & {"tool_error", "tool_absent"})
        if not self.rows:
            if not self.columns or failed:
                _plain.nothing(reading, "a header of --query-gpu, or a row")
                if not reading.entities:
                    return reading
                reading.quality = ERROR
            elif "pid" not in self.columns and "retired_pages.address" not in self.columns:
                _plain.note(reading, "truncated", "there is no row below the header")
        self._widths()
        self.node.values["row_count"] = self.rows
        if self.samples:
            self.node.values["sample_count"] = self.samples
        told = self.node.values.get("gpu_count")
        gpus = sum(bool(re.match(r"^gpu:[0-9]+$", one.path)) for one in reading.entities)
        if isinstance(told, int) and (1 < gpus < told or gpus > told):
            says = f"the driver counts {told} GPUs, and {gpus} are listed"
            _plain.note(reading, "inconsistent", says)
        reading.entities.insert(0, self.node)
        return reading

    def _widths(self) -> None:
        """Say of rows without a header which are shorter than the longest."""
        cells = {one.path: one.values.get("cells") for one in self.reading.entities}
        widths = {path: len(row) for path, row in cells.items() if isinstance(row, list)}
        longest = max(widths.values(), default=0)
        for path, width in widths.items():
            if width < longest:
                says = f"{width} cells where other rows have {longest}"
                _plain.note(self.reading, "malformed", says, entity=path)
