# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `flint query` and `mstflint query`: firmware of an NVIDIA adapter.

Format: `Label: value` lines; Rom Info goes on in lines of its own, and a heading
`Description: UID GuidsNumber` (FS2: `Node Port1 ...`) stands before the GUIDs although a line
of the same label is the product's. FS3 of 2014 has a column Step and numbers the bases; FS2
lists GUIDs and MACs. With `query full` there are more labels; those that are not kept are
passed over. The adapter is the one that the command before it names. Versions: mstflint 4.0
to 4.36, MFT 4.0 to 4.36. Source: mstflint(1); Mellanox/mstflint flint/subcommands.cpp.
"""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._identity import (
    guid,
    mac,
    pci_address,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._readers import (
    _mellanox,
    _pasted,
    _plain,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data

KIND = "flint-query"
TITLE = "flint query: firmware of an adapter"
VERSIONS = "mstflint 4.0 to 4.36"
SOURCES = (
    "mstflint(1)",
    "https://github.com/Mellanox/mstflint flint/subcommands.cpp",
    "https://github.com/Mellanox/mstflint/issues/590",
)
PROVEN = True
_TEXTS = {
    "Image type": "image_type",
    "FW Version": "firmware_version",
    "FW Version(Running)": "firmware_version_running",
    "FW Release Date": "firmware_date",
    "Part Number": "part_number",
    "Product Version": "product_version",
    "PSID": "psid",
    "Orig PSID": "psid_original",
    "Security Attributes": "security_attributes",
    "Default Update Method": "update_method",
    "Life cycle": "life_cycle",
    "Secure Boot Capable": "secure_boot",
    "MIC Version": "mic_version",
    "Device ID": "device_id",
    "EFUSE Security Ver": "efuse_security_version",
    "Image Security Ver": "image_security_version",
}
FIELDS = {
    "nic": {
        **{name: Field(str, f"{label}, as printed") for label, name in _TEXTS.items()},
        "device": Field(str, "what the tool was asked about, where the command is told"),
        "description": Field(str, "product"),
        "guid_count": Field(int, "GUIDs that belong to it"),
        "mac_count": Field(int, "addresses that belong to it"),
        "rom_types": Field(list, "boot programs in the image, as printed"),
        "reset_pending": Field(bool, "the image on the board is not the one that runs"),
    }
}
_BASE = re.compile(
    r"^([0-9a-fA-F]{12,16}|0x[0-9a-fA-F]{1,16}|N/A)(?:\s+([0-9]{1,6}))?(?:\s+[0-9]{1,6})?$"
)
_BASE_LABEL = re.compile(r"^Base (GUID|MAC)(1?)$")
_LISTED = re.compile(r"^[0-9a-fA-F]{12,16}(?:\s+[0-9a-fA-F]{12,16}){0,7}$")
_HEADING = re.compile(r"^(?:UID\s+GuidsNumber|Node\s+(?:Port|Sys))")
_ROM = re.compile(r"^type=\S")
_LABEL = re.compile(r"^[A-Z][A-Za-z0-9()/ ._-]{1,40}$")
_NOISE = re.compile(r"^(?:Querying device|FW image verification|Loading |Initializing )")
_TOOLS = "mstflint|flint"
_MOST = 512


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    head = _pasted.text_of(text[:16000])
    version = re.search(r"(?m)^\s*FW Version:\s", head)
    if version and re.search(r"(?m)^\s*Image type:\s+F(?:S|w)[0-9]?", head):
        return 97
    if version and re.search(r"(?m)^\s*(?:PSID|Product Version|Rom Info|Base GUID1?):", head):
        return 88
    if re.search(r"(?m)^\s*Description:\s+UID\s+GuidsNumber", head):
        return 88
    if _mellanox.asks(head, _TOOLS):
        return 60
    return 50 if re.search(r"(?m)^\s*-E- Cannot open Device: ", head) else 0


def read(data: Data) -> Reading:
    """Read one output, or several; entities `nic:<pci address>`, or `nic:<n>`."""
    reader = _Reader()
    number = 0
    for number, line in _pasted.lines(data):
        reader.take(number, line.strip())
    _mellanox.last_is_cut(reader.reading, number)
    return reader.finish()


class _Reader:
    """Knows of which adapter a line is."""

    def __init__(self) -> None:
        self.reading = Reading(KIND, tool_name="flint")
        self.nics: list[Entity] = []
        self.nic: Entity | None = None
        self.asked = ""
        self.first = 0

    def take(self, number: int, word: str) -> None:
        """Take one line."""
        asked, pair = _mellanox.command(word, _TOOLS), _plain.label(word)
        if asked is not None:
            self.nic, self.asked = None, asked
        elif _mellanox.is_message(self.reading, number, word) or _NOISE.match(word):
            return
        elif _ROM.match(word):
            _rom(self._nic(), word)
        elif pair and _LABEL.match(pair[0]):
            if self._pair(pair[0], pair[1], number):
                self.first = self.first or number
            elif not self.first:  # another program's line above ours
                _plain.malformed(self.reading, number, word, "a label of flint query")
        else:
            _plain.malformed(self.reading, number, word, "a label of flint query")

    def _nic(self) -> Entity:
        if self.nic is None:
            self.nic = Entity(f"nic:{len(self.nics)}")
            if self.asked:
                self.nic.values["device"] = self.asked
            if len(self.nics) < _MOST:
                self.nics.append(self.nic)
        return self.nic

    def _pair(self, label: str, value: str, number: int) -> bool:
        """Read a label with its value; return whether it is one that is kept."""
        base = _BASE_LABEL.match(label)
        begins = label in ("Image type", "FW Version")
        if begins and self.nic and _TEXTS[label] in self.nic.values:
            self.nic, self.asked = None, ""
        if label in _TEXTS:
            _plain.put(self.reading, self._nic(), _TEXTS[label], value, _plain.text, number)
        elif label == "Description" and not _HEADING.match(value):
            self._nic().values.setdefault("description", value or None)
        elif label == "Rom Info":
            _rom(self._nic(), value)
        elif base:
            self._base(base.group(1).lower(), value, number)
        elif label in ("GUIDs", "MACs") and _LISTED.match(value):
            _listed(self._nic(), label, value.split())
        else:
            return label == "Description"
        return True

    def _base(self, name: str, value: str, number: int) -> None:
        nic, found = self._nic(), _BASE.match(value)
        if found is None:
            where = {"line": number, "entity": nic.path, "verbatim": value}
            _plain.note(self.reading, "unknown_value", f"the base {name} is not one", **where)
            return
        nic.ids[name] = guid(found.group(1)) if name == "guid" else mac(found.group(1))
        nic.values[f"{name}_count"] = int(found.group(2)) if found.group(2) else None

    def finish(self) -> Reading:
        """Name the adapters, and say what is missing."""
        reading = self.reading
        for nic in self.nics:
            address = pci_address(str(nic.values.get("device") or ""))
            if address:
                nic.ids["pci"], nic.path = address, f"nic:{address}"
            reading.add(nic)
        if not reading.entities:
            return _plain.nothing(reading, "`FW Version:`")
        for nic in reading.entities:
            running, image = (
                nic.values.get(one) for one in ("firmware_version_running", "firmware_version")
            )
            nic.values["reset_pending"] = None if image is None else running not in (None, image)
            for name, code in (("firmware_version", "missing_value"), ("psid", "truncated")):
                if name not in nic.values:
                    where = {"entity": nic.path, "field": name}
                    _plain.note(reading, code, f"no {name.replace('_', ' ')} is told", **where)
        _mellanox.forget_before(reading, self.first)
        return reading


def _rom(nic: Entity, word: str) -> None:
    listed = nic.values.setdefault("rom_types", [])
    if isinstance(listed, list) and len(listed) < 32 and _ROM.match(word):
        listed.append(word)


def _listed(nic: Entity, label: str, words: list[str]) -> None:
    """Keep the first identity of FS2's list: that of the node, or of port 1."""
    reader, name = (guid, "guid") if label == "GUIDs" else (mac, "mac")
    nic.ids[name] = next((one for one in (reader(word) for word in words) if one), None)
    nic.values[f"{name}_count"] = len(words)
