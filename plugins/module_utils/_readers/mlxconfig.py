# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `mlxconfig query` and `set` (also mstconfig): settings that an adapter keeps.

Format: a block a device, `Device type:` and three more labels, then `Configurations:` with
the names of its columns (Default, Current, Next Boot, New) and a line a parameter, marked
`*` where the next value differs and `RO` where it cannot be set. Columns moved between
releases, so a line is split at blanks. JSON (-j) of 4.26 and newer has the same words.
Versions: mstflint 4.6 to 4.36, MFT 4.14 to 4.36. Source: Mellanox/mstflint,
mlxconfig/mlxcfg_ui.cpp.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._identity import pci_address
from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _json, _plain
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data, decode

KIND = "mlxconfig"
TITLE = "mlxconfig: settings that an adapter keeps"
VERSIONS = "mstflint 4.6 to 4.36"
SOURCES = ("https://github.com/Mellanox/mstflint mlxconfig/mlxcfg_ui.cpp",)
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
    "Device type": "device_type",
    "Name": "part_number",
    "Description": "description",
    "Device": "device",
}
_HEADER = re.compile(r"^Configurations:\s*(.*)$")
_ROW = re.compile(r"^(\*)?\s*(RO)?\s+([A-Z][A-Z0-9_]{2,80}(?:\[[0-9.]{1,12}\])?)\s+(\S.*)$")
_VALUE = re.compile(r"^(?:(.{0,60})\((-?[0-9]{1,20})\)|(-?[0-9]{1,20}))$")
_NOISE = re.compile(
    r"^(?:-{4,}|The '\*' shows|Apply new Configuration|Querying |Saving |Query output saved"
    r"|Reset configuration|(?:\S*[$#] )?(?:mlx|mst)config\b)"
)
_REBOOT = re.compile(r"^-I- Please (reboot|power cycle) machine to load new configurations")
_MAX_PARAMETERS = 5000


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    head = text[:20000]
    if re.search(r"(?m)^Configurations:\s", head) and re.search(r"(?m)^Device type:\s", head):
        return 97
    return 96 if '"tlv_configuration"' in head else 0


def read(data: Data) -> Reading:
    """Read one output; entities `nic:<pci address>`, or by the number of the device."""
    reading = Reading(KIND, tool_name="mlxconfig")
    if decode(data).lstrip().startswith("{"):
        _document(reading, data)
    else:
        _lines(reading, data)
    if not reading.entities:
        return _plain.nothing(reading, "`Device #1:` with `Configurations:`")
    for nic in reading.entities:
        _finish(reading, nic)
    return reading


def _new(index: int) -> Entity:
    nic = Entity(f"nic:{index}", values={"read_only": [], "pending": [], "unreadable": []})
    nic.values["applied"] = None
    return nic


def _lines(reading: Reading, data: Data) -> None:
    nic: Entity | None = None
    columns: list[str] = []
    for number, line in _plain.lines(data):
        word = line.strip()
        device, header, row = _DEVICE.match(word), _HEADER.match(word), _ROW.match(line)
        if device:
            nic, columns = reading.add(_new(int(device.group(1))), number), []
        elif word.startswith("-E-") or "doesn't support any configuration" in word:
            says = "the tool said an error"
            _plain.note(reading, "tool_error", says, line=number, verbatim=word)
        elif _NOISE.match(word):
            continue
        elif nic is None:
            _plain.malformed(reading, number, line, "a line below `Device #1:`")
        elif header:
            columns = [_COLUMNS[one] for one in _COLUMNS if one in header.group(1)]
        elif columns and row:
            _row(reading, nic, columns, row, number)
        elif not _about(nic, word):
            _plain.malformed(reading, number, line, "a parameter with its values")


def _about(nic: Entity, word: str) -> bool:
    """Read a line about the device or the end of a set; return whether it is one."""
    pair, reboot = _plain.label(word), _REBOOT.match(word)
    if reboot:
        nic.values["reset_needed"] = reboot.group(1).replace(" ", "_")
    elif word.startswith("Applying..."):
        nic.values["applied"] = "Done" in word
    elif pair and pair[0] in _LABELS:
        nic.values[_LABELS[pair[0]]] = pair[1] or None
    else:
        return False
    return True


def _row(
    reading: Reading, nic: Entity, columns: list[str], found: t.Match[str], number: int
) -> None:
    _star, read_only, name, rest = found.groups()
    words = _split(rest)
    if len(words) != len(columns):
        says = f"{name} has {len(words)} values for {len(columns)} columns"
        _plain.note(reading, "malformed", says, line=number, entity=nic.path, field=name)
        return
    for column, word in zip(columns, words):
        _set(nic, column, name, word)
    if read_only:
        _list(nic, "read_only", name)


def _split(rest: str) -> list[str]:
    """Split values at blanks; one in brackets may hold some: `Device default(0)`."""
    if re.search(r"\s{2,}", rest.strip()):
        return re.split(r"\s{2,}", rest.strip())
    return rest.split()


def _set(nic: Entity, column: str, name: str, word: t.Any) -> None:
    values = nic.values.setdefault(column, {})
    if isinstance(values, dict) and len(values) < _MAX_PARAMETERS:
        values[name] = _normal(word)
        if values[name] is None:
            _list(nic, "unreadable", name)


def _normal(word: t.Any) -> t.Any:
    """Return a number for `16` and `0x10`, `IB(1)` as it is, None for what was not told."""
    if isinstance(word, bool) or word is None:
        return word
    if isinstance(word, int):
        return word
    text = str(word).strip()
    if text in ("N/A", ""):
        return None
    found = _VALUE.match(text)
    return int(found.group(3)) if found and found.group(3) else text


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
    address = pci_address(str(values.get("device") or ""))
    nic.ids["pci"] = address
    if address and reading.entity(f"nic:{address}") is None:
        nic.path = f"nic:{address}"
    if not values["parameter_count"]:
        _plain.note(reading, "truncated", "no parameter is told of", entity=nic.path)


def _document(reading: Reading, data: Data) -> None:
    document = _json.as_dict(_json.load(data, reading))
    for title, body in document.items():
        found = _DEVICE.match(f"{title}:")
        if not found or not isinstance(body, dict):
            continue
        nic = reading.add(_new(int(found.group(1))))
        for key, name in (("device_type", "device_type"), ("name", "part_number"),
                          ("description", "description"), ("device", "device")):  # fmt: skip
            nic.values[name] = _json.text_of(body.get(key))
        for name, told in _json.as_dict(body.get("tlv_configuration")).items():
            row = _json.as_dict(told)
            for column in ("default", "current", "next"):
                if f"{column}_value" in row:
                    _set(nic, column, name, row[f"{column}_value"])
            if row.get("read_only") is True:
                _list(nic, "read_only", name)
