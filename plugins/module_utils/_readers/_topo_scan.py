# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds the matrices of `nvidia-smi topo` in a text.

Private to trackbed.cluster. A matrix is a header with names of devices (and columns of
affinity), and a row for each device. People post it with tabs made blanks, wrapped,
with rows or the header cut off.
"""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _nvidia_text
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._topo_matrix import (
    CELL,
    Found,
    Matrix,
    Row,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data

_DEVICE = re.compile(r"^(?=[A-Za-z][A-Za-z_.-]*[0-9])[A-Za-z][A-Za-z0-9_.-]{1,31}$")
_FIRST = re.compile(r"(?:^|(?<=[\s|>]))(?:GPU|NIC)[0-9]{1,3}(?=[\s|]|$)")
_NVLINKS = re.compile(r"^NV[0-9]{1,3}$")
_COLUMNS = (
    ("cpu_affinity", re.compile(r"\bCPU +Affinity(?=[\s|]|$)", re.IGNORECASE)),
    ("gpu_numa_id", re.compile(r"\bGPU +NUMA +ID(?=[\s|]|$)", re.IGNORECASE)),
    ("numa_affinity", re.compile(r"\bNUMA +Affinity(?=[\s|]|$)", re.IGNORECASE)),
)
# Words by which a header may be cut; no device and no cell.
_REST_OF_HEADER = frozenset({"CPU", "NUMA", "GPU", "AFFINITY", "ID"})
_MARK = re.compile(r"^<([a-z_]+)>$")
_CAPABILITY = re.compile(
    r"topo\s+(?:\S+\s+)?(?:-p2p|--p2p_status)[ =]+([a-z]{1,4})\b|\bp2p\W{1,3}"
    r"(?:\w{2,5}\W{1,3})?(read|write|nvlink|atomics?|pcie|prop)",
    re.IGNORECASE,
)
_NIC_NAME = re.compile(r"(?:^|[\s>])(NIC[0-9]{1,3}):\s*(\S{1,64})\s*(\S.{0,80})?$")
_NIC_NAMES = re.compile(r"\b(NIC[0-9]{1,3}): *([A-Za-z][A-Za-z0-9_.-]{1,31})(?=[\s,]|$)")
_LEGEND = re.compile(r"(?:^|[\s>])(?:(?:NIC )?Legend:?$|[A-Z][A-Z0-9#]{0,6}\s{1,6}= \S)")
_HEADING = re.compile(
    r"^\W{0,4}[\w ,/'-]{0,40}(?:topology|matrix|connectivity)[\w ()-]{0,30}:?$", re.I
)
P2P_WORDS = {
    "r": "read",
    "w": "write",
    "rw": "read_write",
    "n": "nvlink",
    "a": "atomics",
    "p": "pcie",
    "prop": "pcie",
    "atomic": "atomics",
}


def find(data: Data) -> Found:
    """Return the matrices, the names of the NICs and the lines that are nothing of this."""
    scan = _Scan()
    number, line = 0, ""
    for number, line in _nvidia_text.clean_lines(data):
        scan.take(number, line)
    rows = [row for matrix in scan.found.matrices for row in matrix.rows]
    if line and rows:
        rows[-1].is_last_line = rows[-1].line == number
    return scan.found


class _Scan:
    """Goes through the lines once."""

    def __init__(self) -> None:
        self.found = Found()
        self._matrix: Matrix | None = None
        self._capability: str | None = None
        self._previous = ""
        self._in_legend = False
        self._header_text = ""

    def take(self, number: int, line: str) -> None:
        if not line.strip(" \t|>"):
            self._in_legend = False
            if self._matrix is not None and self._matrix.rows:
                self._previous = ""  # nothing is wrapped across an empty line
            return
        capability = _CAPABILITY.search(line)
        if capability and not self._row(number, line):
            word = (capability.group(1) or capability.group(2)).lower()
            self._capability = P2P_WORDS.get(word, word)
            self._previous = ""
        elif capability or self._matrix_line(number, line):
            self._in_legend = False
        else:
            self._other(number, line)

    def _matrix_line(self, number: int, line: str) -> bool:
        if self._previous == "header" and self._header_goes_on(line):
            return True
        if self._header(number, line):
            self._previous = "header"
        elif self._row(number, line):
            self._previous = "row"
        elif not self._row_goes_on(line):
            self._previous = ""
            return False
        return True

    def _other(self, number: int, line: str) -> None:
        name, several = _NIC_NAME.search(line), _NIC_NAMES.findall(line)
        word = line.strip()
        if len(several) > 1:
            for nic, called in several:
                self.found.nic_names.setdefault(nic, (called, None))
        elif name:
            self.found.nic_names.setdefault(name.group(1), (name.group(2), name.group(3)))
        elif _LEGEND.search(word):
            self.found.has_legend = self._in_legend = True
        elif _nvidia_text.is_elision(word):
            self.found.elided = self.found.elided or number
        elif not (self._in_legend or _nvidia_text.is_frame(word) or _HEADING.match(word)):
            self.found.strange.append((number, word[:200]))
            del self.found.strange[50:]

    def _header(self, number: int, line: str) -> bool:
        devices, columns = _header_parts(line)
        if not devices:
            return False
        self._matrix = Matrix(number, capability=self._capability)
        self._name_columns(line, devices, columns)
        self._capability = None
        self.found.matrices.append(self._matrix)
        return True

    def _name_columns(self, line: str, devices: list[str], columns: list[str]) -> None:
        places = {}
        for name, pattern in _COLUMNS:
            found = pattern.search(line.expandtabs())
            if found and name in columns:
                places[name] = found.start()
        if self._matrix is not None:
            self._matrix.devices, self._matrix.columns = devices, columns
            self._matrix.places = places
        self._header_text = line

    def _header_goes_on(self, line: str) -> bool:
        """Take the rest of a header that a terminal broke; return whether it is one."""
        matrix = self._matrix
        if matrix is None or matrix.rows:
            return False
        devices, columns = _header_parts(f"{self._header_text} {line.strip()}")
        if len(devices) + len(columns) <= len(matrix.devices) + len(matrix.columns):
            return False
        self._name_columns(f"{self._header_text} {line.strip()}", devices, columns)
        matrix.places = {}
        return True

    def _row(self, number: int, line: str) -> bool:
        start = self._begin_of_row(line)
        if start is None:
            return False
        spread = line.expandtabs()
        found = [(one.group(0), one.start()) for one in re.finditer(r"[^\s|]+", spread)]
        before = len(_words(line[:start]))
        words = [word for word, _place in found[before:]]
        if len(words) < 2 or not _DEVICE.match(words[0]) or not _is_cell(words[1]):
            return False
        if self._matrix is None:
            self._matrix = Matrix(number, has_header=False, capability=self._capability)
            self.found.matrices.append(self._matrix)
        tabbed = line[start:].split("\t")[1:] if "\t" in line else None
        places = [place for _word, place in found[before + 1 :]]
        self._matrix.rows.append(Row(words[0], number, words[1:], tabbed, places))
        return True

    def _begin_of_row(self, line: str) -> int | None:
        """Return where the name of the device begins; before it may stand a time."""
        start = _FIRST.search(line)
        if start:
            return start.start()
        known = self._matrix.devices if self._matrix else []
        for one in list(re.finditer(r"[^\s|]+", line))[:6]:
            if one.group(0) in known:
                return one.start()
        return None

    def _row_goes_on(self, line: str) -> bool:
        """Take the rest of a row that a terminal broke; return whether it is one."""
        matrix, words = self._matrix, _words(line)
        if matrix is None or not matrix.rows or self._previous != "row":
            return False
        wanted = len(matrix.devices) + len(matrix.columns)
        last = matrix.rows[-1]
        is_rest = all(_is_cell(one) or _is_affinity(one) for one in words)
        if not is_rest or len(last.words) + len(words) > wanted:
            return False
        last.words += words
        last.tabbed, last.places = None, []
        return True


def _words(line: str) -> list[str]:
    return line.replace("|", " ").split()


def _is_cell(word: str) -> bool:
    return (bool(CELL.match(word)) and not _DEVICE.match(word)) or bool(_NVLINKS.match(word))


def _is_affinity(word: str) -> bool:
    return bool(re.match(r"^-?[0-9][0-9,-]{0,200}$", word)) or word == "N/A"


def _names_in(line: str) -> tuple[list[str] | None, list[str]]:
    """Return devices and columns of a line that holds nothing else; None where it does."""
    text, places = line, []
    for name, pattern in _COLUMNS:
        found = pattern.search(text)
        if found:
            places.append((found.start(), name))
            blank = " " * (len(found.group(0)) - len(name) - 2)
            text = text[: found.start()] + f"<{name}>" + blank + text[found.end() :]
    devices, columns = [], []
    for word in _words(text):
        mark = _MARK.match(word)
        if mark:
            columns.append(mark.group(1))
        elif word.upper() in _REST_OF_HEADER:
            continue
        elif _DEVICE.match(word) and not _NVLINKS.match(word) and not columns:
            devices.append(word)
        else:
            return None, []
    return devices, columns


def _header_parts(line: str) -> tuple[list[str], list[str]]:
    start = _FIRST.search(line)
    if start is None:
        return [], []
    devices, columns = _names_in(line[start.start() :])
    if not devices or len(set(devices)) != len(devices):
        return [], []
    return devices, columns
