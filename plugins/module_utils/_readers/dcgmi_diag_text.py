# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of the table of `dcgmi diag`: results of DCGM's diagnostics.

Format: rows `| test | result |` below rows that name a category. A result may name GPUs
(`Fail - GPUs: 0, 3`), rows `Warning` and `Info` belong to the test above them, and texts are
wrapped at a fixed width, inside of words, too. DCGM 4 puts a row a GPU below the test
(`GPU0: Fail`). Versions: DCGM 2.0 to 4.7. Source: NVIDIA/DCGM, dcgmi/Diag.cpp.
"""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import (
    _dcgm_diag,
    _plain,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import Entity, Reading
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data

KIND = "dcgmi-diag-text"
TITLE = "dcgmi diag, table: DCGM's diagnostics"
VERSIONS = "DCGM 2.0 to 4.7"
SOURCES = ("https://github.com/NVIDIA/DCGM dcgmi/Diag.cpp",)
PROVEN = True
FIELDS = _dcgm_diag.FIELDS
_CATEGORY = re.compile(r"^[|+]-{3,}\s+(\S.{0,40}?)\s+-{2,}[|+]-*[|+]?$")
_RULE = re.compile(r"^\+[-=+]*\+?$")
_ROW = re.compile(r"^\|\s(.{1,40}?)\s*\|\s(.*?)\|?$")
_STATUS = re.compile(
    r"^(Pass|Fail|Warn|Warning|Skip|Skipped|Not Run)(?:\s+-\s+(All|GPUs?:\s*(.{0,200})))?\s*$",
    re.IGNORECASE,
)
_GPU = re.compile(r"^GPU\s?([0-9]{1,4}): (\S.*)$")
_GPU_OF = re.compile(r"^(?:Warning|Info|Error): GPU\s?([0-9]{1,4})$")
_METADATA = {
    "dcgm version": "dcgm_version",
    "driver version detected": "driver_version",
    "runtime error": "runtime_error",
}
_SAID = re.compile(r"^(?:Successfully ran diagnostic|Error: |Unable to|\$ |dcgmi )")
_ERROR = re.compile(r"^(?:Error: |Unable to )")
# A wrapped text fills its column; where it is shorter, it ended at a blank.
_FILLS = 2


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    head = text[:20000]
    if re.search(r"(?m)^\|\s*Diagnostic\s*\|\s*Result\s*\|", head):
        return 97
    return 85 if "Successfully ran diagnostic for group" in head else 0


class _Table:
    """Where in the table the reading is."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.node = Entity("", values={"runtime_error": None})
        self.category: str | None = None
        self.name: str | None = None
        self.text: tuple[Entity, str] | None = None  # what a wrapped line goes on with
        self.glue = ""

    def row(self, label: str, value: str, number: int) -> bool:
        """Read one row; return whether it is one of this table."""
        word, pad = value.rstrip(), len(value) - len(value.rstrip())
        status = _STATUS.match(word)
        if label.lower() in _METADATA:
            self.node.values[_METADATA[label.lower()]] = word or None
        elif not label:
            self._goes_on(word, number)
        elif re.match(r"^(?:Warning|Info|Error)\b", label):
            self._said(label, word)
        elif status:
            self._result(label, status, number)
        elif label in ("Diagnostic", "GPU Device IDs Detected", "GPU Device Serials"):
            self.text = None
        else:
            return False
        self.glue = "" if pad <= _FILLS else " "
        return True

    def _result(self, name: str, found: re.Match[str], number: int) -> None:
        self.name, self.text = name, None
        whole = _dcgm_diag.test(self.reading, name, self.category)
        _dcgm_diag.put_status(self.reading, whole, found.group(1), number)
        for index in re.findall(r"[0-9]{1,4}", found.group(3) or "")[:256]:
            one = _dcgm_diag.test(self.reading, name, self.category, f"gpu:{int(index)}")
            _dcgm_diag.put_status(self.reading, one, found.group(1), number)

    def _said(self, label: str, word: str) -> None:
        if self.name is None:
            return
        gpu = _GPU_OF.match(label)
        path = f"gpu:{int(gpu.group(1))}" if gpu else ""
        owner = _dcgm_diag.test(self.reading, self.name, self.category, path)
        field = "info" if label.startswith("Info") else "warnings"
        _dcgm_diag.extend(owner, field, [word])
        self.text = (owner, field)

    def _goes_on(self, word: str, number: int) -> None:
        gpu = _GPU.match(word)
        status = _STATUS.match(gpu.group(2)) if gpu else None
        if gpu and status and self.name:
            path = f"gpu:{int(gpu.group(1))}"
            one = _dcgm_diag.test(self.reading, self.name, self.category, path)
            _dcgm_diag.put_status(self.reading, one, status.group(1), number)
        elif self.text is not None:
            listed = self.text[0].values[self.text[1]]
            if isinstance(listed, list) and listed and len(str(listed[-1])) < 4000:
                listed[-1] = f"{listed[-1]}{self.glue}{word}"


def read(data: Data) -> Reading:
    """Read one table. Entities: "", `test:<name>`, `gpu:N/test:<name>`."""
    reading = Reading(KIND, tool_name="dcgmi")
    table = _Table(reading)
    ends = False
    for number, line in _plain.lines(data):
        word = line.strip()
        category, row = _CATEGORY.match(word), _ROW.match(word)
        ends = bool(_RULE.match(word))
        if category:
            table.category = category.group(1)
        elif _ERROR.match(word):
            table.node.values["runtime_error"] = word
        elif ends or _SAID.match(word):
            continue
        elif not row or not table.row(row.group(1).strip(), row.group(2), number):
            _plain.malformed(reading, number, line, "a row of the table of dcgmi diag")
    if not reading.entities and table.node.values["runtime_error"] is None:
        return _plain.nothing(reading, "a row `| test | result |`")
    _dcgm_diag.finish(reading, table.node)
    return reading
