# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes entities of the matrices of `nvidia-smi topo`. Private to trackbed.cluster."""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _plain
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._topo_affinity import (
    affinity,
    distrust,
    forget,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._topo_matrix import (
    P2P,
    PATHS,
    Found,
    Matrix,
    Row,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    UNREADABLE,
    Entity,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import absence

_MAX_DEVICES = 128
_NVLINKS = re.compile(r"^NV([0-9]{1,3})$")


def self_is_right(matrix: Matrix, row: Row) -> bool:
    """Tell whether the X of this row stands in the row's own column."""
    cells = matrix.cells(row)
    if row.name not in matrix.devices:
        return False
    place = matrix.devices.index(row.name)
    return place < len(cells) and cells[place] == "X"


class Build:
    """Makes entities of the matrices."""

    def __init__(self, reading: Reading, found: Found) -> None:
        self._reading = reading
        self._found = found
        self._first: dict[str, Matrix] = {}
        self._cells: dict[tuple[str, str, str], str] = {}

    def all(self, matrices: list[Matrix]) -> None:
        """Take the first matrix of each sort, and say of others that they are there."""
        node = self._reading.add(Entity(""))
        is_whole = not self._found.elided
        for matrix in matrices:
            sort = f"p2p_{matrix.capability or 'status'}" if matrix.is_p2p() else "path"
            if sort in self._first:
                self._again(matrix, self._first[sort])
                continue
            self._first[sort] = matrix
            if not matrix.has_header and not self._guess_header(matrix):
                is_whole = False
                continue
            is_whole = self._devices(matrix) and is_whole
            first_rows = {one.name: one for one in reversed(matrix.rows)}
            for row in reversed(list(first_rows.values())):
                self._row(matrix, row, sort)
        self._links()
        is_whole = is_whole and all(one.code != "truncated" for one in self._reading.problems)
        names = {one for matrix in self._first.values() for one in _all_devices(matrix)}
        nics = sum(not one.startswith("GPU") for one in names)
        node.values["gpu_count"] = len(names) - nics if is_whole else None
        node.values["nic_count"] = nics if is_whole and (nics or "path" in self._first) else None
        self._legend()
        if len(self._reading.entities) == 1:
            self._reading.quality = UNREADABLE

    def _again(self, matrix: Matrix, first: Matrix) -> None:
        rows = [(one.name, one.words) for one in matrix.rows]
        if rows != [(one.name, one.words) for one in first.rows]:
            says = "another matrix of the same sort, with other cells; the first is kept"
            _plain.note(self._reading, "inconsistent", says, line=matrix.line)

    def _guess_header(self, matrix: Matrix) -> bool:
        """Take the order of the rows for the missing header, if the X of each row agrees."""
        matrix.devices = [row.name for row in matrix.rows]
        right = all(self_is_right(matrix, row) for row in matrix.rows)
        gpus = [one for one in matrix.devices if one.startswith("GPU")]
        if right and gpus == [f"GPU{n}" for n in range(len(gpus))]:
            says = "the header is missing; the columns are taken to be in the order of the rows"
            self._reading.note("missing_value", says, line=matrix.line)
            matrix.columns = ["cpu_affinity", "numa_affinity", "gpu_numa_id"]
            width = max(len(row.words) for row in matrix.rows) - len(matrix.devices)
            del matrix.columns[max(0, min(width, 3)) :]
            return True
        says = "the header is missing, and the rows do not tell the order of the columns"
        self._reading.note("truncated", says, line=matrix.line)
        return False

    def _path(self, name: str) -> str:
        if name.startswith("GPU"):
            return f"gpu:{int(name[3:])}" if name[3:].isdigit() else f"nic:{name}"
        return f"nic:{self._found.nic_names.get(name, (name, None))[0]}"

    def _devices(self, matrix: Matrix) -> bool:
        """Add the devices; return whether each has a row, as it should."""
        every = _all_devices(matrix)
        if len(every) > _MAX_DEVICES:
            says = f"{len(every)} devices; {_MAX_DEVICES} are kept"
            self._reading.note("limited", says, line=matrix.line)
        for name in every[:_MAX_DEVICES]:
            path = self._path(name)
            if self._reading.entity(path) is None:
                values = {} if path.startswith("gpu:") else self._nic_values(name)
                self._reading.add(Entity(path, values=dict(values)))
        rows = {row.name for row in matrix.rows}
        missing = [one for one in matrix.devices if one not in rows]
        if missing:
            says = f"no row of {', '.join(missing[:6])}"
            is_end = missing == matrix.devices[-len(missing) :]
            code = "truncated" if is_end else "inconsistent"
            self._reading.note(code, says, line=matrix.rows[-1].line)
        if len(rows) < len(matrix.rows):
            says = "a device has two rows; the first of each is kept"
            self._reading.note("inconsistent", says, line=matrix.line)
        extra = [one for one in every if one not in matrix.devices]
        if extra and matrix.has_header:
            says = f"no column of {', '.join(extra[:6])}, though they have rows"
            self._reading.note("missing_value", says, line=matrix.line)
        return not missing

    def _nic_values(self, name: str) -> dict[str, str | None]:
        values: dict[str, str | None] = {"topo_name": name}
        more = self._found.nic_names.get(name, (name, None))[1]
        if more:
            values["description"] = more.strip()
        return values

    def _row(self, matrix: Matrix, row: Row, sort: str) -> None:
        matrix.drop_half_word(row)
        cells = matrix.cells(row)
        where = {"line": row.line, "entity": self._path(row.name)}
        is_own = row.name in matrix.devices
        reaches = is_own and len(cells) > matrix.devices.index(row.name)
        if reaches and not self_is_right(matrix, row):
            says = f"row {row.name}: no X in its own column, so its cells cannot be placed"
            _plain.note(self._reading, "malformed", says, **where)
            forget(self._reading.entity(self._path(row.name)), matrix.columns)
            return
        if matrix.has_more_cells(row):
            says = f"row {row.name} has more cells than there are columns of devices"
            _plain.note(self._reading, "inconsistent", says, **where)
            if not is_own:
                return
        if len(cells) < len(matrix.devices):
            is_last = row is matrix.rows[-1]
            gpus = sum(one.startswith("GPU") for one in matrix.devices)
            says = f"row {row.name} has {len(cells)} cells for {len(matrix.devices)} devices"
            code = "truncated" if is_last else "malformed"
            _plain.note(self._reading, code, says, **where)
            if not is_last and len(cells) != gpus:
                forget(self._reading.entity(self._path(row.name)), matrix.columns)
                return
        for name, cell in zip(matrix.devices, cells):
            if name != row.name:
                self._cells.setdefault((row.name, name, sort), cell)
        gpu = self._reading.entity(self._path(row.name))
        if gpu is not None and row.name.startswith("GPU") and matrix.columns:
            affinity(self._reading, gpu, matrix.behind(row), matrix.columns, row.line)

    def _links(self) -> None:
        done: set[tuple[str, str, str]] = set()
        for (one, other, sort), cell in self._cells.items():
            ends = sorted((self._path(one), self._path(other)))
            key = (ends[0], ends[1], sort)
            known = [self._reading.entity(end) is not None for end in ends]
            if key in done or not all(known) or ends[0] == ends[1]:
                continue
            done.add(key)
            path = f"link:{ends[0]}--{ends[1]}"
            link = self._reading.entity(path) or self._reading.add(Entity(path))
            back = self._cells.get((other, one, sort), cell)
            if back != cell:
                says = f"{one} says {cell} of {other}, and {other} says {back} of {one}"
                where = {"entity": path, "field": sort, "verbatim": f"{cell} {back}"}
                _plain.note(self._reading, "inconsistent", says, **where)
                link.values[sort], link.notes[sort] = None, "unreadable"
                continue
            self._value(link, sort, cell)
        distrust(self._reading)

    def _value(self, link: Entity, sort: str, cell: str) -> None:
        nvlinks = _NVLINKS.match(cell)
        if sort == "path":
            link.values["nvlink_count"] = int(nvlinks.group(1)) if nvlinks else None
        gone = absence(cell)
        known = PATHS if sort == "path" else P2P
        if gone:
            link.values[sort], link.notes[sort] = None, gone
        elif nvlinks:
            link.values[sort] = "nv"
        elif cell.lower() in known:
            link.values[sort] = cell.lower()
        else:
            link.values[sort], link.notes[sort] = cell, "verbatim"
            says = f"{link.path}: not a path or state that is known"
            where = {"entity": link.path, "field": sort, "verbatim": cell}
            _plain.note(self._reading, "unknown_value", says, **where)

    def _legend(self) -> None:
        names = [one for matrix in self._first.values() for one in _all_devices(matrix)]
        nameless = [
            one
            for one in dict.fromkeys(names)
            if re.match(r"^NIC[0-9]+$", one) and one not in self._found.nic_names
        ]
        if nameless:
            says = f"the legend does not name {', '.join(nameless[:6])}"
            self._reading.note("missing_value", says, field="topo_name")


def _all_devices(matrix: Matrix) -> list[str]:
    return list(dict.fromkeys([*matrix.devices, *(row.name for row in matrix.rows)]))
