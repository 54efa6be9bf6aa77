# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `mlxconfig query` and `set` (also mstconfig): settings that an adapter keeps.

Format: a block a device, `Device type:` and three more labels, then `Configurations:` with
the names of its columns (Default, Current, Next Boot, New) and a line a parameter, marked
`*` where the next value differs and `RO` where it cannot be set. Columns moved between
releases, so a line is split at blanks. JSON (-j) of 4.26 and newer has the same words. Several
outputs about one device, as a script makes them, are put together; the later one is right.
Versions: mstflint 4.6 to 4.36, MFT 4.14 to 4.36. Source: Mellanox/mstflint,
mlxconfig/mlxcfg_ui.cpp.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._identity import pci_address
from ansible_collections.trackbed.cluster.plugins.module_utils._readers import (
    _json,
    _json_docs,
    _mellanox,
    _mlxconfig_values,
    _pasted,
    _plain,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data

KIND = "mlxconfig"
TITLE = "mlxconfig: settings that an adapter keeps"
VERSIONS = "mstflint 4.6 to 4.36"
SOURCES = (
    "https://github.com/Mellanox/mstflint mlxconfig/mlxcfg_ui.cpp",
    "https://github.com/k8snetworkplumbingwg/sriov-network-operator/pull/358",
    "https://github.com/canonical/maas-commissioning-scripts/pull/2",
)
PROVEN = True
_COLUMNS = {"Default": "default", "Current": "current", "Next Boot": "next", "New": "new"}
FIELDS = {
    "nic": {
        "device_type": Field(str, "kind of adapter"),
        "part_number": Field(str, "part number and board revision, as printed"),
        "description": Field(str, "product"),
        "device": Field(str, "what it was asked by, as printed"),
        "default": Field(dict, "values from the factory"),
        "current": Field(dict, "values in force"),
        "next": Field(dict, "values after the next reset"),
        "new": Field(dict, "values that were just set"),
        "read_only": Field(list, "parameters that cannot be set"),
        "pending": Field(list, "parameters whose next value is not the current one"),
        "unreadable": Field(list, "parameters that the device did not tell"),
        "parameter_count": Field(int, "parameters told of"),
        "applied": Field(bool, "a set was carried out; null where none was asked for"),
        "reset_needed": Field(str, "what a set asks for", values=("power_cycle", "reboot")),
    }
}
_DEVICE = re.compile(r"^Device #([0-9]{1,3}):$")
_LABELS = {
    "device type": "device_type",
    "name": "part_number",
    "description": "description",
    "device": "device",
}
_HEADER = re.compile(r"^Configurations:\s*(.*)$")
_ROW = re.compile(
    r"^\s{0,80}(\*)?\s{0,80}(?:(RO)\s{1,80})?"
    # Some names have small letters, but never in front: EXP_ROM_UEFI_x86_ENABLE.
    r"([A-Z][A-Z0-9_]{2,80}[A-Za-z0-9_]{0,40}(?:\[[0-9.]{1,12}\])?)(?:\s+(\S.*))?$"
)
_NOISE = re.compile(
    r"^(?:-{4,}|The '\*' shows|Querying |Saving |Collecting |Query output saved"
    r"|Reset configuration|Configurations reset|Performing )"
)
_REBOOT = re.compile(r"^-I- Please (reboot|power cycle) (?:machine|device|the)")
_ANSWER = re.compile(r"^(?:Apply|Reset) .{0,60}\? ?\(y/n\) \[n\] :\s*(\S*)")
_TOOLS = "mlxconfig|mstconfig"
# What stands for the columns where the line that names them is lost.
_BY_COUNT = {1: ["next"], 2: ["next", "new"], 3: ["default", "current", "next"]}
_MAX_PARAMETERS = 5000
_MAX_DEVICES = 512


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    if '"tlv_configuration"' in text[:20000]:
        return 96
    head = _pasted.text_of(text[:20000])
    if re.search(r"(?m)^\s*Configurations:(?:\s|$)", head):
        return 97 if re.search(r"(?m)^\s*Device type:", head) else 92
    if re.search(r"(?m)^\s*Device type:\s", head) and re.search(r"(?m)^\s*Device #[0-9]+:$", head):
        return 60
    return 60 if _mellanox.asks(head, _TOOLS) else 0


def read(data: Data) -> Reading:
    """Read one output, or several; entities `nic:<pci address>`, or by their number."""
    reader = _Reader()
    documents, _others = _json_docs.split(data)
    if documents and any('"' in one.text for one in documents):
        for document in documents:
            reader.document(document)
    else:
        reader.lines(data)
    return reader.finish()


class _Reader:
    """Knows to which device and columns a line belongs."""

    def __init__(self) -> None:
        self.reading = Reading(KIND, tool_name="mlxconfig")
        self.nics: list[Entity] = []
        self.used: set[int] = set()
        self.nic: Entity | None = None
        self.columns: list[str] | None = None
        self.asked = ""
        self.first = 0

    def begin(self, index: int) -> Entity:
        """Begin the block of one more device."""
        index = index if index not in self.used else max(self.used) + 1
        self.used.add(index)
        nic = Entity(f"nic:{index}", values={"read_only": [], "pending": [], "unreadable": []})
        nic.values["applied"] = None
        if len(self.nics) < _MAX_DEVICES:
            self.nics.append(nic)
        else:
            self.used.discard(index)
        self.nic, self.columns = nic, None
        return nic

    def lines(self, data: Data) -> None:
        """Read a text."""
        number = 0
        for number, line in _pasted.lines(data):
            word = line.strip()
            if not self._frame(number, word):
                self._line(number, line, word)
        _mellanox.last_is_cut(self.reading, number)

    def _frame(self, number: int, word: str) -> bool:
        """Read a line that begins something; return whether it is one."""
        asked = _mellanox.command(word, _TOOLS)
        device, header = _DEVICE.match(word), _HEADER.match(word)
        if asked is not None:
            self.nic, self.asked = None, asked
        elif device:
            self.begin(int(device.group(1)))
        elif header:
            nic = self.nic or self.begin(1)
            nic.values.setdefault("device", self.asked or None)
            self.columns = [_COLUMNS[one] for one in _COLUMNS if one in header.group(1)]
        else:
            return False
        self.first = self.first or number
        return True

    def _line(self, number: int, line: str, word: str) -> None:
        row = _ROW.match(line)
        if "doesn't support any configuration" in word:
            says = "the device has no settings that can be changed"
            _plain.note(self.reading, "tool_error", says, line=number, verbatim=word)
        elif (
            (self.nic and _about(self.nic, word, self.columns is not None))
            or _NOISE.match(word)
            or _mellanox.is_message(self.reading, number, word)
        ):
            return
        elif row and (self.nic or row.group(4)) and self._row(row, number):
            self.first = self.first or number
        else:
            wanted = "a parameter with its values" if self.nic else "a line below `Device #1:`"
            _plain.malformed(self.reading, number, line, wanted)

    def _row(self, found: t.Match[str], number: int) -> bool:
        """Read one parameter; return whether it is one."""
        _star, read_only, name, rest = found.groups()
        nic = self.nic
        if nic is None or self.columns is None:
            words = _mlxconfig_values.split(rest or "", 0)
            if len(words) not in _BY_COUNT or not all(
                _mlxconfig_values.is_value(one) for one in words
            ):
                return False
            nic = nic or self.begin(1)
            says = "the line that names the columns is not there"
            _plain.note(self.reading, "missing_value", says, line=number, entity=nic.path)
            self.columns = []
        words = _mlxconfig_values.split(rest or "", len(self.columns or []))
        columns = self.columns or _BY_COUNT.get(len(words), [])
        if len(words) != len(columns) or not words:
            return False
        for column, word in zip(columns, words):
            _set(nic, column, name, word)
        if read_only:
            _list(nic, "read_only", name)
        return True

    def document(self, document: _json_docs.Document) -> None:
        """Read one JSON document."""
        body = _json.as_dict(_json.load(document.text, self.reading))
        for title, about in body.items():
            found = _DEVICE.match(f"{title}:")
            if not found or not isinstance(about, dict):
                continue
            nic = self.begin(int(found.group(1)))
            for key, name in _LABELS.items():
                nic.values[name] = _json.text_of(about.get(key.replace(" ", "_")))
            for name, told in _json.as_dict(about.get("tlv_configuration")).items():
                row = _json.as_dict(told)
                for column in ("default", "current", "next"):
                    if f"{column}_value" in row:
                        _set(nic, column, name, row[f"{column}_value"])
                if row.get("read_only") is True:
                    _list(nic, "read_only", name)

    def finish(self) -> Reading:
        """Name the devices, put outputs of one device together, and say what is missing."""
        for nic in self.nics:
            address = pci_address(str(nic.values.get("device") or ""))
            nic.ids["pci"] = address
            nic.path = f"nic:{address}" if address else nic.path
            known = self.reading.entity(nic.path)
            if known is None:
                self.reading.add(nic)
            else:
                _join(known, nic)
        if not self.nics:
            return _plain.nothing(self.reading, "`Device #1:` with `Configurations:`")
        for nic in self.reading.entities:
            _finish(self.reading, nic)
        _mellanox.forget_before(self.reading, self.first)
        return self.reading


def _join(known: Entity, later: Entity) -> None:
    """Put a later output of a device into the first; where both tell, the later is right."""
    for name, value in later.values.items():
        have = known.values.get(name)
        if isinstance(value, dict) and isinstance(have, dict):
            have.update(value)
        elif isinstance(value, list) and isinstance(have, list):
            have += [one for one in value if one not in have]
        elif value is not None:
            known.values[name] = value


def _about(nic: Entity, word: str, below: bool) -> bool:
    """Read a line about the device or the end of a set; return whether it is one."""
    pair, reboot, answer = _plain.label(word), _REBOOT.match(word), _ANSWER.match(word)
    if reboot:
        nic.values["reset_needed"] = reboot.group(1).replace(" ", "_")
    elif answer:
        if answer.group(1).lower().startswith("n"):
            nic.values["applied"] = False
    elif word.startswith("Applying..."):
        nic.values["applied"] = "Done" in word
    elif pair and pair[0].lower() in _LABELS and not below:
        told = pair[1] if pair[1] not in ("N/A", "") else None
        nic.values[_LABELS[pair[0].lower()]] = told
    else:
        return False
    return True


def _set(nic: Entity, column: str, name: str, word: t.Any) -> None:
    values = nic.values.setdefault(column, {})
    if isinstance(values, dict) and len(values) < _MAX_PARAMETERS:
        values[name] = _mlxconfig_values.normal(word)
        if values[name] is None:
            _list(nic, "unreadable", name)


def _list(nic: Entity, name: str, value: str) -> None:
    listed = nic.values[name]
    if isinstance(listed, list) and value not in listed and len(listed) < _MAX_PARAMETERS:
        listed.append(value)


def _finish(reading: Reading, nic: Entity) -> None:
    values = nic.values
    told = next((values[one] for one in ("next", "current", "new") if one in values), None)
    values["parameter_count"] = len(told) if isinstance(told, dict) else 0
    current, following = values.get("current"), values.get("next")
    if isinstance(current, dict) and isinstance(following, dict):
        for name, value in following.items():
            if name in current and current[name] != value:
                _list(nic, "pending", name)
    if not values["parameter_count"]:
        _plain.note(reading, "truncated", "no parameter is told of", entity=nic.path)
