# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `dcgmi discovery`: GPUs, switches, adapters and CPUs that DCGM sees.

Formats: of -l `8 GPUs found.` (4.7: `(Active)`), a table of `| id | label: value |` rows, and
the same for NvSwitches, ConnectX and CPUs; of -c a tree of GPUs and their MIG instances; of
-i the attributes of one GPU. Versions: DCGM 2.0 to 4.7. Source: NVIDIA/DCGM, dcgmi/Query.cpp.
"""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._identity import (
    pci_address,
    serial,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._readers import (
    _dcgm_text,
    _pasted,
    _plain,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    ERROR,
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data, absence

KIND = "dcgmi-discovery"
TITLE = "dcgmi discovery: GPUs that DCGM sees"
VERSIONS = "DCGM 2.0 to 4.7"
SOURCES = (
    "dcgmi(8), discovery",
    "https://github.com/NVIDIA/DCGM dcgmi/Query.cpp",
    "https://github.com/NVIDIA/DCGM/issues/314",
)
PROVEN = True
# Attributes of -i: our name, and how the value is read.
_ATTRIBUTES: dict[str, tuple[str, type, str]] = {
    "Device Name": ("name", str, "product name"),
    "InfoROM Version": ("inforom_version", str, "InfoROM image"),
    "VBIOS": ("vbios_version", str, "video BIOS"),
    "Current Power Limit (W)": ("power_limit_requested_w", float, "limit asked for"),
    "Default Power Limit (W)": ("power_limit_default_w", float, "limit from the factory"),
    "Max Power Limit (W)": ("power_limit_max_w", float, "largest limit that is accepted"),
    "Min Power Limit (W)": ("power_limit_min_w", float, "least limit that is accepted"),
    "Enforced Power Limit (W)": ("power_limit_w", float, "limit in force"),
    "Shutdown Temperature (C)": ("temperature_shutdown_c", float, "shuts down here"),
    "Slowdown Temperature (C)": ("temperature_slowdown_c", float, "slows down here"),
}
FIELDS = {
    "node": {
        "gpu_count": Field(int, "GPUs that DCGM says it found"),
        "nvswitch_count": Field(int, "switches that it says it found"),
        "connectx_count": Field(int, "ConnectX adapters that it says it found"),
        "cpu_count": Field(int, "processors that it says it found"),
    },
    "gpu": {
        **{name: Field(sort, says) for name, sort, says in _ATTRIBUTES.values()},
        "readable": Field(bool, "DCGM got an answer from it; false where it says an error"),
        "entity_id": Field(int, "DCGM's number of it; -c tells it beside the index"),
    },
    "mig": {"entity_id": Field(int, "DCGM's number of the GPU instance")},
    "ci": {"entity_id": Field(int, "DCGM's number of the compute instance")},
    "nvswitch": {"id": Field(int, "DCGM's number of the switch")},
    "connectx": {"id": Field(int, "DCGM's number of the adapter")},
    "cpu": {
        "name": Field(str, "product name"),
        "cores": Field(str, "its cores, as printed"),
    },
}
_FOUND = re.compile(
    r"^([0-9]{1,4}) (GPU|NvSwitch|CPU|ConnectX)(?:s|es)? found(?: \(([A-Za-z ]{1,20})\))?\.?$"
)
_SORTS = {"GPU": "gpu", "NvSwitch": "nvswitch", "CPU": "cpu", "ConnectX": "connectx"}
_TITLE = re.compile(r"^\|\s*(GPU|Switch|CPU|ConnectX)(?: ID)?\s*\|(?:\s*Device Information\s*\|)?$")
_ROW = re.compile(r"^\|\s*([0-9]{0,5})\s*\|\s*([^|]*?)\s*\|?$")
_ALONE = re.compile(r"^\|\s*([0-9]{1,5})\s*\|$")
_EMPTY = re.compile(r"^\|(?:\s*\|){1,2}$")
_ABOUT = re.compile(r"^\|\s*GPU ID: ([0-9]{1,4})\s*\|\s*Device Information\s*\|$")
_PAIR = re.compile(r"^\|\s*([A-Z][^|:]{1,40}?)\s*\|\s*([^|]*?)\s*\|$")
_TREE = re.compile(
    r"^\|\s*(?:-> )?(GPU|I|CI) ([0-9/]{1,20})\s*\|"
    r"\s*[^|]*?(GPU-[0-9a-f-]{36})?\s*\(EntityID: ([0-9]{1,6})\)\s*\|$"
)
_TREE_TITLE = re.compile(r"^\|\s*Instance Hierarchy\s*\|$")
_OWN = r"Cannot get (?:GPU|NvSwitch|ConnectX|CPU) list|hierarchy information|group info"


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    head = _dcgm_text.head(text)
    if re.search(
        r"(?m)^\s*[0-9]+ (?:GPUs?|NvSwitch(?:es)?) found(?: \([A-Z][a-z]+\))?\.?\s*$", head
    ):
        return 96
    shown = (
        r"(?m)^\s*\|\s*(?:GPU ID(?:: [0-9]+)?\s*\|\s*Device Information|Instance Hierarchy)\s*\|"
    )
    if re.search(shown, head):
        return 94
    return _dcgm_text.only_error(text, "discovery", _OWN, 55)


def read(data: Data) -> Reading:
    """Read one output. Entities: "", `gpu:N`, `gpu:N/mig:I`, `nvswitch:N`, `cpu:N`."""
    reading = Reading(KIND, tool_name="dcgmi")
    lists = _Lists(reading)
    for number, line in _dcgm_text.lines(data):
        word = line.strip()
        if _dcgm_text.is_rule(word) or _TREE_TITLE.match(word) or _EMPTY.match(word):
            continue
        if not _dcgm_text.error(reading, number, word) and not lists.line(word, number):
            _pasted.strange(reading, number, line, "a line of dcgmi discovery")
    if not lists.node.values and not reading.entities:
        return _plain.nothing(reading, "`<n> GPUs found.`")
    return _compare(reading, lists.node)


class _Lists:
    """Which list the reading is in, and the entity that the next row is of."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.node = Entity("")
        self.sort = "gpu"
        self.one: Entity | None = None

    def line(self, word: str, number: int) -> bool:
        """Read one line; return whether it is one of this format."""
        found, title = _FOUND.match(word), _TITLE.match(word)
        about, tree, row = _ABOUT.match(word), _TREE.match(word), _ROW.match(word)
        alone, pair = _ALONE.match(word), _PAIR.match(word)
        if found:
            self._count(found)
        elif title:
            self.sort = _SORTS.get(title.group(1), "nvswitch")
            self.one = None
        elif about:
            self.sort, self.one = "about", self._get(f"gpu:{int(about.group(1))}")
        elif tree:
            self._branch(tree)
        elif alone:
            self._start(alone.group(1), number)
        elif self.sort == "about" and pair:
            self._attribute(pair.group(1), pair.group(2), number)
        elif row:
            if row.group(1):
                self._start(row.group(1), number)
            self._pair(row.group(2), number)
        else:
            return False
        return True

    def _get(self, path: str) -> Entity:
        return self.reading.added(path) or self.reading.add(Entity(path))

    def _count(self, found: re.Match[str]) -> None:
        self.sort, self.one = _SORTS[found.group(2)], None
        name = f"{self.sort}_count"
        before = self.node.values.get(name) if found.group(3) else None
        counted = int(found.group(1)) + (before if isinstance(before, int) else 0)
        self.node.values[name] = counted

    def _start(self, index: str, number: int) -> None:
        self.one = self.reading.add(Entity(f"{self.sort}:{int(index)}"), number)
        if self.sort == "gpu":
            self.one.values.setdefault("readable", True)
        elif self.sort in ("nvswitch", "connectx"):
            self.one.values["id"] = int(index)

    def _pair(self, text: str, number: int) -> None:
        pair = _plain.label(text)
        if self.one is None or pair is None:
            return
        label, value = pair
        if label == "Name" and self.sort in ("gpu", "cpu"):
            self.one.values["name"] = value or None
        elif label == "PCI Bus ID":
            self.one.ids["pci"] = pci_address(value)
        elif label == "Device UUID":
            self.one.ids["uuid"] = value or None
        elif label.lower() in ("cores", "core ids", "cpu cores") and self.sort == "cpu":
            self.one.values["cores"] = value or None
        elif label in ("Error", "Return") and self.sort == "gpu":
            self.one.values["readable"] = False
            says = f"{self.one.path}: DCGM got no answer"
            where = {"line": number, "entity": self.one.path, "verbatim": text}
            _plain.note(self.reading, "unreadable_value", says, **where)

    def _attribute(self, label: str, value: str, number: int) -> None:
        one = self.one
        if one is None:
            return
        if label == "PCI Bus ID":
            one.ids["pci"] = pci_address(value)
        elif label == "UUID":
            one.ids["uuid"] = value or None
        elif label == "Serial Number":
            one.ids["serial"] = serial(value)
        elif label in _ATTRIBUTES:
            name, sort, _says = _ATTRIBUTES[label]
            gone = not value or absence(value) is not None
            reader = _plain.decimal if sort is float else _plain.text
            if gone:
                one.values[name], one.notes[name] = None, "not_supported"
            else:
                _plain.put(self.reading, one, name, value, reader, number)

    def _branch(self, found: re.Match[str]) -> None:
        """Read a row of the tree: `GPU 0`, `-> I 0/7`, `-> CI 0/7/0`."""
        indices = [int(one) for one in found.group(2).split("/") if one][:3]
        if not indices:
            return
        sorts = ("gpu", "mig", "ci")
        path = "/".join(f"{sort}:{index}" for sort, index in zip(sorts, indices))
        one = self._get(path)
        one.values["entity_id"] = int(found.group(4))
        if found.group(3):
            one.ids["uuid"] = found.group(3)


def _compare(reading: Reading, node: Entity) -> Reading:
    paths = [one.path for one in reading.entities]
    for sort in ("gpu", "nvswitch", "connectx", "cpu"):
        told = node.values.get(f"{sort}_count")
        listed = sum(path.startswith(f"{sort}:") and "/" not in path for path in paths)
        if isinstance(told, int) and told != listed:
            code = "truncated" if told > listed else "inconsistent"
            _plain.note(reading, code, f"it says {told} of {sort}, and {listed} are listed")
    reading.entities.insert(0, node)
    if not paths and any(one.code == "tool_error" for one in reading.problems):
        reading.quality = ERROR
    return reading
