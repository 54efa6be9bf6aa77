# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of the table of `dcgmi diag`: results of DCGM's diagnostics.

Format: rows `| test | result |` below rows that name a category. A result may name GPUs
(`Fail - GPUs: 0, 3`), further results of the same test stand below it without its name, rows
`Warning`, `Info` and `Error` belong to the test above them, and texts are cut every 45
characters, inside of words, too. DCGM 4 puts a row a GPU below the test (`GPU0: Fail`). With
--iterations there is a table a run. Versions: DCGM 2.0 to 4.7. Source: NVIDIA/DCGM,
dcgmi/Diag.cpp.
"""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import (
    _dcgm_diag,
    _dcgm_text,
    _pasted,
    _plain,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import Entity, Reading
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data

KIND = "dcgmi-diag-text"
TITLE = "dcgmi diag, table: DCGM's diagnostics"
VERSIONS = "DCGM 2.0 to 4.7"
SOURCES = (
    "https://github.com/NVIDIA/DCGM dcgmi/Diag.cpp",
    "https://github.com/NVIDIA/DCGM/issues/253",
    "https://github.com/NVIDIA/DCGM/issues/282",
)
PROVEN = True
FIELDS = _dcgm_diag.FIELDS
_CATEGORY = re.compile(r"^[|+]-{3,}\s+([A-Za-z]\S{0,20}(?: \S{1,20})?)\s+-{2,}[|+]?-*[|+]?$")
_ROW = re.compile(r"^\|\s*([^|]{0,60}?)\s*\|(.*?)\|?$")
_STATUS = re.compile(
    r"^(Pass|Fail|Warn|Warning|Skip|Skipped|Not Run)(?:\s+-\s+(All|GPUs?:\s*(.{0,200})))?\s*$",
    re.IGNORECASE,
)
# One word or two where a result stands: a status that is not known.
_WORD = re.compile(r"^[A-Z][A-Za-z]{2,15}(?: [A-Za-z]{2,15})?$")
_ENTITY = re.compile(r"^(GPU|CPU)\s?([0-9]{1,4}):\s*(.*)$")
_SAYS = re.compile(r"^(Warning|Info|Error)(?:: (GPU|CPU)\s?([0-9]{1,4}))?$")
_METADATA = {
    "dcgm version": "dcgm_version",
    "driver version detected": "driver_version",
    "runtime error": "runtime_error",
    "eud test version": "eud_version",
}
_IDS = re.compile(r"^GPU (?:PCI )?Device IDs(?: Detected)?$")
_OTHERS = re.compile(r"^(?:.* Device IDs Detected|GPU Device Serials.*|Number of .*|.* Version)$")
_SAID = re.compile(
    r"^(?:Successfully ran diagnostic|Passed all |Running iteration |Executing in )", re.IGNORECASE
)
_ERROR = re.compile(r"^(?:Error\b|Err: |Unable to |Aborting the iterative runs)")
_OWN = r"complete diagnostic|Diagnostic c(?:ould|an) |launched diagnostic|homogeneous group of GPUs"
# The last test of level 1: a table that ends with it has all, though its line was left out.
_LAST = frozenset({"inforom", "fabric manager"})
# Texts are cut to this length; what is shorter ended at a blank, or at its end.
_FULL = 45


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    head = _dcgm_text.head(text)
    if re.search(r"(?m)^\s*\|\s*Diagnostic\s*\|\s*Result\s*\|", head):
        return 97
    if "Successfully ran diagnostic for group" in head or re.search(
        r"(?m)^\s*[|+]-{3,}\s+(?:Metadata|Deployment|Integration|Hardware|Stress)\s+-{2,}", head
    ):
        return 85
    return _dcgm_text.only_error(text, "diag", _OWN, 50)


class _Table:
    """Where in the table the reading is."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.node = Entity("", values={"runtime_error": None})
        self.runs = 0
        self.category: str | None = None
        self.name: str | None = None
        self.text: tuple[Entity, str] | None = None  # what a wrapped line goes on with
        self.last = ""
        self.closed = True  # a line is drawn below the last row

    def row(self, label: str, value: str, number: int) -> bool:
        """Read one row; return whether it is one of this table."""
        word = value.strip()
        said = _SAYS.match(label)
        status = _STATUS.match(word)
        if label == "Diagnostic" and word == "Result":
            self.runs, self.category = self.runs + 1, None
        elif not label:
            self._goes_on(word, value.startswith("  "), number)
        elif said:
            self._said(said, word)
        elif self.category == "Metadata" or label.lower() in _METADATA or _OTHERS.match(label):
            self._about(label, word)
        elif status or not word or _WORD.match(word):
            self._result(label, word, status, number)
        else:
            return False
        self.last, self.closed = word, False
        return True

    def _about(self, label: str, word: str) -> None:
        self.text = None
        if label.lower() in _METADATA:
            self.node.values[_METADATA[label.lower()]] = word or None
        elif _IDS.match(label):
            self.node.values["gpu_device_ids"] = list(_dcgm_diag.device_ids(word))

    def _result(self, name: str, word: str, found: re.Match[str] | None, number: int) -> None:
        self.name, self.text = name, None
        whole = _dcgm_diag.test(self.reading, name, self.category)
        _dcgm_diag.put_status(self.reading, whole, found.group(1) if found else word, number)
        for index in re.findall(r"[0-9]{1,4}", (found.group(3) if found else "") or "")[:256]:
            self._one(f"gpu:{int(index)}", found.group(1) if found else word, number)

    def _one(self, path: str, word: str, number: int) -> None:
        """Put the result of one GPU, or CPU."""
        entity = _dcgm_diag.test(self.reading, self.name or "", self.category, path)
        _dcgm_diag.put_status(self.reading, entity, word, number)

    def _said(self, found: re.Match[str], word: str) -> None:
        if self.name is None:
            return
        path = f"{found.group(2).lower()}:{int(found.group(3))}" if found.group(2) else ""
        owner = _dcgm_diag.test(self.reading, self.name, self.category, path)
        field = "info" if found.group(1) == "Info" else "warnings"
        _dcgm_diag.extend(owner, field, [word])
        self.text = (owner, field)

    def _goes_on(self, word: str, blank: bool, number: int) -> None:
        """Read a row without label: a further result of the test, or more of a text."""
        one, status = _ENTITY.match(word), _STATUS.match(word)
        if self.name is None:
            return
        if one and (not one.group(3) or _WORD.match(one.group(3))):
            self.text = None
            self._one(f"{one.group(1).lower()}:{int(one.group(2))}", one.group(3), number)
        elif status and status.group(3):
            self._result(self.name, word, status, number)
        elif self.text is None:
            if word.startswith(("Error: ", "Warning: ", "Info: ")):
                label, _mark, rest = word.partition(": ")
                said = _SAYS.match(label)
                if said:
                    self._said(said, rest)
        else:
            listed = self.text[0].values[self.text[1]]
            if isinstance(listed, list) and listed and len(str(listed[-1])) < 4000:
                glue = " " if blank or len(self.last) < _FULL else ""
                listed[-1] = f"{listed[-1]}{glue}{word}"


def read(data: Data) -> Reading:
    """Read one table, or one a run. Entities: "", `test:<name>`, `gpu:N/test:<name>`."""
    reading = Reading(KIND, tool_name="dcgmi")
    table = _Table(reading)
    for number, line in _dcgm_text.lines(data):
        word = line.strip()
        category, row = _CATEGORY.match(word), _ROW.match(word)
        if category:
            table.category, table.name, table.text = category.group(1), None, None
            table.closed = False
        elif _ERROR.match(word):
            if table.node.values["runtime_error"] is None:
                table.node.values["runtime_error"] = word[:1000]
        elif word.startswith("+-"):
            table.closed = True
        elif _dcgm_text.is_rule(word) or _SAID.match(word):
            continue
        elif not row or not table.row(row.group(1), row.group(2), number):
            _pasted.strange(reading, number, line, "a row of the table of dcgmi diag")
    if not reading.entities and table.node.values["runtime_error"] is None:
        return _plain.nothing(reading, "a row `| test | result |`")
    table.node.values["run_count"] = max(table.runs, 1) if reading.entities else 0
    if not table.closed and (table.name or "").lower() not in _LAST:
        _plain.note(reading, "truncated", "no line is drawn below the last row of the table")
    _dcgm_diag.finish(reading, table.node)
    return reading
