# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of the table that nvidia-smi prints without any option.

Format: versions, then two or three rows a GPU (the third, with the MIG mode, not with
driver 440), MIG devices where there are any, and the processes. 79 columns wide in old
drivers, 89 and more in new ones; names are cut to fit and then end in `...`. Driver 610 calls the
versions KMD and CUDA UMD. A card that does not answer shows `ERR!`, perhaps even for its
name. Watts, degrees and MiB are whole numbers. Versions: drivers 410 to 616.
Source: nvidia-smi(1).
"""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import (
    _nvidia_text,
    _plain,
    _smi_rows,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._smi_fields import FIELDS
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    Entity,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data, absence, decode

KIND = "nvidia-smi-table"
TITLE = "nvidia-smi: the table of GPUs and processes"
VERSIONS = "drivers 410 to 616"
SOURCES = ("nvidia-smi(1)", "https://github.com/utkuozdemir/nvidia_gpu_exporter")
PROVEN = True
__all__ = ["FIELDS", "KIND", "PROVEN", "SOURCES", "TITLE", "VERSIONS", "read", "recognise"]
_HEAD = re.compile(
    r"NVIDIA-SMI\s+([0-9][0-9.]{2,20}|N/A)\s+(?:Driver|KMD) Version:\s*([^\s|]{1,20})"
    r"(?:\s+CUDA(?: UMD)? Version:\s*([^\s|]{1,20}))?"
)
_TITLES = re.compile(
    r"\bBus-Id|Pwr:\s?Usage|MIG M\.|GPU Memory|Process name|Memory-Usage|BAR1-Usage"
    r"|\bID\s+ID\b|\|[\s|]*(?:ECC|Usage)[\s|]*$"
)
_BORDER = re.compile(r"[|+][-=+|]{20,}[|+]?\s*$")
_DATE = re.compile(r"\b[0-9]{1,2}:[0-9]{2}:[0-9]{2}\b")
_MAX_ENTITIES = 20_000


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    if "|" not in text:
        return 0
    if _HEAD.search(text) or re.search(r"Fan\s+Temp\s+Perf\s+Pwr:\s?Usage/Cap", text):
        return 96
    previous: list[str] | None = None
    for _number, line in _nvidia_text.clean_lines(text):
        cells = _smi_rows.cells_of(line)
        if cells and previous and _smi_rows.second_row(cells) and _smi_rows.first_row(previous):
            return 92
        previous = cells
    return 0


def read(data: Data) -> Reading:
    """Read the first table. Entities: "", `gpu:N`, `gpu:N/mig:M`, `gpu:N/process:<pid>`."""
    scan = _Scan()
    text = decode(data)
    last = text.count("\n") + 1
    for number, line in _nvidia_text.clean_lines(text):
        if number == last and "|" in line and not line.endswith(("|", "+")):
            scan.ends_whole = False  # the text ends within a cell: half a word is no value
        elif line.strip() and not scan.take(number, line):
            break
    return scan.finish(text)


class _Scan:
    """Goes through the lines once."""

    def __init__(self) -> None:
        self.reading = Reading(KIND, tool_name="nvidia-smi")
        self.node = self.reading.add(Entity(""))
        self.section = "gpus"
        self.has_head = self.has_mig_row = self.is_cut = self.ends_whole = False
        self._gpu: Entity | None = None
        self._mig: Entity | None = None
        self._lines: dict[str, int] = {}
        self._bad: dict[str, list[tuple[str, str]]] = {}
        self._no_processes: set[str] = set()
        self._odd_sections: set[str] = set()

    def take(self, number: int, line: str) -> bool:
        """Take one line that holds something; return False where the next table begins."""
        head = _HEAD.search(line)
        if head and self._lines:
            says = "more tables follow; the first one is read"
            self.reading.note("limited", says, line=number)
            return False
        cells = _smi_rows.cells_of(line)
        if head:
            self._head(number, head)
        elif _BORDER.search(line):
            # One of `=` stands below titles: rows follow.
            self.ends_whole = line.rstrip().endswith(("+", "|")) and "=" not in line
            self._mig = None
        elif re.search(r"\|\s*MIG devices:", line):
            self.section, self.ends_whole = "migs", False
        elif re.search(r"\|\s*(?:Compute )?[Pp]rocesses:", line):
            self.section, self.ends_whole = "processes", False
        elif cells is None:
            self._outside(number, line)
        elif _TITLES.search(line):
            self.has_mig_row = self.has_mig_row or "MIG M." in line
        else:
            self.ends_whole = False
            self._row(number, line, cells)
        return True

    def _head(self, number: int, head: re.Match[str]) -> None:
        self.has_head = True
        self.reading.tool_version = None if head.group(1) == "N/A" else head.group(1)
        for name, word in (("driver_version", head.group(2)), ("cuda_version", head.group(3))):
            gone = absence(word) if word else None
            self.node.values[name] = None if gone else word
            if gone:
                self.node.notes[name] = gone
            if gone == "unreadable":
                _nvidia_text.unreadable(self.reading, "", [(name, word)], number)

    def _outside(self, number: int, line: str) -> None:
        if _nvidia_text.error_of_tool(self.reading, number, line):
            address = _nvidia_text.pci_in(line)
            for gpu in self.reading.entities:
                same = address is not None and gpu.ids.get("pci") == address
                if same and "ROM is corrupted" in line:
                    gpu.values["inforom_corrupted"] = True
        elif _nvidia_text.is_elision(line):
            self.is_cut = True
            self.reading.note("truncated", "lines were left out here", line=number)
        elif not (_nvidia_text.is_frame(line) or _DATE.search(line) or not line.strip(" +-=>")):
            _plain.malformed(self.reading, number, line, "a line of the table")

    def _row(self, number: int, line: str, cells: list[str]) -> None:
        text = "|".join(cells).strip()
        if not text.strip("| "):
            return
        if _nvidia_text.is_elision(text):
            self.is_cut = True
            self.reading.note("truncated", "rows were left out here", line=number)
        elif len(self.reading.entities) >= _MAX_ENTITIES:
            _plain.note(self.reading, "limited", f"more than {_MAX_ENTITIES} rows", line=number)
        elif not (self._gpu_row(number, cells) or self._other_row(number, cells, text)):
            self._odd_sections.add(self.section)
            _plain.malformed(self.reading, number, line, "a row of a GPU or a process")

    def _gpu_row(self, number: int, cells: list[str]) -> bool:
        first = _smi_rows.first_row(cells)
        if first and self.section != "processes":
            _index, entity, values = first
            self.section = "gpus"
            known = self.reading.add(entity, number)
            self._gpu = entity  # rows of a second one with this number go to nobody
            if known is entity:
                self._lines[entity.path] = number
            self._put(entity, values)
            return True
        values_of = _smi_rows.second_row(cells) or _smi_rows.third_row(cells)
        if values_of is None or self.section != "gpus":
            return False
        name = "mig_mode" if "mig_mode" in values_of else "temperature_c"
        if self._gpu is None or name in self._gpu.values:
            return False
        self._put(self._gpu, values_of)
        return True

    def _other_row(self, number: int, cells: list[str], text: str) -> bool:
        mig = _smi_rows.mig_row(cells) if self.section == "migs" else None
        process = None if mig else _smi_rows.process_row(text)
        if mig:
            self._mig = Entity(mig[0])
            self.reading.add(self._mig, number)
            self._put(self._mig, mig[1])
        elif process:
            self.section = "processes"
            entity = Entity(f"{process[0]}/process:{process[1]}")
            if self.reading.entity(entity.path) is None:  # one with two MIG devices comes twice
                self.reading.add(entity, number)
            self._put(entity, process[2], quiet=True)
        elif self._mig is not None and len(cells) > 1 and not cells[0]:
            self._put(self._mig, _smi_rows.mig_memory(cells[1], "bar1"))
        elif _smi_rows.no_processes(text):
            self._no_processes.add(str(_smi_rows.no_processes(text)))
        else:
            return bool(re.search(r"running processes found|No MIG devices found", text))
        return True

    def _put(self, entity: Entity, values: _smi_rows.Cells, quiet: bool = False) -> None:
        for name, (value, note) in values.items():
            entity.values[name] = value
            if not note:
                continue
            entity.notes[name] = note
            if note == "unreadable" and not quiet:
                self._bad.setdefault(entity.path, []).append((name, "ERR!"))
            elif note == "verbatim":
                says = f"{entity.path}: not a value that is known"
                where = {"entity": entity.path, "field": name, "verbatim": str(value)}
                _plain.note(self.reading, "unknown_value", says, **where)

    def finish(self, text: str) -> Reading:
        """Sum up."""
        if not self._lines and not self.has_head:
            self.reading.entities.clear()
            return _nvidia_text.nothing(self.reading, "the table of GPUs", text)
        for path, found in self._bad.items():
            _nvidia_text.unreadable(self.reading, path, found, self._lines.get(path, 1))
        self._check()
        self._count()
        return self.reading

    def _count(self) -> None:
        """Count what is sure to be complete: the sections come in order, the processes last."""
        whole = not self.is_cut and self.has_head
        ended = whole and self.section == "processes"
        listed = ended and "processes" not in self._odd_sections
        paths = [one.path for one in self.reading.entities]
        for path in self._lines:
            gpu = self.reading.entity(path)
            if gpu is not None:
                mine = sum(one.startswith(f"{path}/process:") for one in paths)
                known = listed and path not in self._no_processes
                gpu.values["process_count"] = mine if known else None
                gpu.values.setdefault("inforom_corrupted", None)
        values = self.node.values
        values.setdefault("driver_version", None)
        is_known = whole and "gpus" not in self._odd_sections
        values["gpu_count"] = len(self._lines) if is_known else None
        is_known = ended and "migs" not in self._odd_sections
        values["mig_device_count"] = sum("/mig:" in one for one in paths) if is_known else None
        processes = sum("/process:" in one for one in paths)
        values["process_count"] = processes if listed and not self._no_processes else None

    def _check(self) -> None:
        """Say what is missing: rows of a GPU, the head, the end."""
        if not self._lines:
            self.is_cut = True
            self.reading.note("truncated", "only the head of the table is there; no GPU follows")
            return
        if not self.ends_whole:
            self.is_cut = True
            self.reading.note("truncated", "the table has no last line")
        elif self.section != "processes":
            says = "the list of processes, with which every table ends, is missing"
            self.reading.note("missing_value", says, field="process_count")
        if not self.has_head:
            says = "the line with the versions is missing"
            self.reading.note("missing_value", says, field="driver_version")
        for path, number in self._lines.items():
            gpu = self.reading.entity(path)
            have = gpu.values if gpu else {}
            lost = "temperature_c" if "temperature_c" not in have else "mig_mode"
            if lost not in have and (lost != "mig_mode" or self.has_mig_row):
                says = f"{path} lacks the row with {lost}"
                where = {"line": number, "entity": path, "field": lost}
                _plain.note(self.reading, "missing_value", says, **where)
        self._check_strangers()

    def _check_strangers(self) -> None:
        for one in self.reading.entities:
            gpu = one.path.partition("/")[0]
            if "/" in one.path and gpu not in self._lines:
                says = f"{one.path}: the table has no such GPU"
                _plain.note(self.reading, "inconsistent", says, entity=one.path)
