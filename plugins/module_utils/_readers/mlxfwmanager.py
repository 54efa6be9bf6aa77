# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `mlxfwmanager --query` and `mlxup`: firmware that is there and that could be.

Format: a block `Device #<n>:` an adapter, indented `label: value` lines, a table of versions
with the columns Current and Available, and a status. `--query-format XML` has the same as
attributes. An image that was burnt and waits for a reset shows as `FW (Running)`. Versions:
MFT 4.4 to 4.36, mlxup 4.20 to 4.36. Source: outputs that people published with the addresses
below; Mellanox/mstflint mlxfwupdate.
"""

from __future__ import annotations

import re
import typing as t

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

KIND = "mlxfwmanager"
TITLE = "mlxfwmanager --query, mlxup: firmware of adapters, and what is newer"
VERSIONS = "MFT 4.4 to 4.36"
SOURCES = (
    "https://github.com/Mellanox/mstflint mlxfwupdate",
    "https://github.com/mwrnd/innova2_flex_xcku15p_notes/issues/5",
    "https://github.com/sonic-net/sonic-buildimage/pull/18929",
)
PROVEN = True
_STATES = {
    "up to date": "up_to_date",
    "update required": "update_required",
    "no matching image found": "no_matching_image",
    "failed to open device": "failed_to_open",
    "forced update required": "forced_update_required",
}
FIELDS = {
    "node": {"device_count": Field(int, "adapters that the tool told of")},
    "nic": {
        "device_type": Field(str, "kind of adapter"),
        "part_number": Field(str, "part number and board revision, as printed"),
        "description": Field(str, "product"),
        "psid": Field(str, "board identity"),
        "device": Field(str, "what it was asked by, as printed"),
        "status": Field(str, "the tool's verdict", values=tuple(sorted(set(_STATES.values())))),
        "firmware_version": Field(str, "firmware on the board"),
        "firmware_version_available": Field(str, "firmware that could be put there"),
        "firmware_version_running": Field(str, "firmware that runs, where it is another one"),
        "versions": Field(dict, "every image: current and available version by its name"),
        "reset_pending": Field(bool, "the firmware on the board is not the one that runs"),
    },
}
_DEVICE = re.compile(r"^Device #([0-9]{1,3}):$")
_LABELS = {
    "device type": "device_type",
    "part number": "part_number",
    "description": "description",
    "psid": "psid",
    "pci device name": "device",
}
_ADDRESSES = {"base guid": "guid", "base mac": "mac", "port1 mac": "mac", "port1 guid": "guid"}
_VERSION = re.compile(
    r"^(FW(?: \(Running\))?|[A-Z][A-Za-z]{1,20}(?: \([A-Za-z]{1,12}\))?) +"
    r"([0-9][\w.-]{0,30}|N/A|--)(?: +([0-9][\w.-]{0,30}|N/A|--))?$"
)
_XML = re.compile(
    r"<(/?)(\w{1,20})((?:\s{1,20}\w{1,30}=\"[^\"<]{0,400}\"){0,12})\s{0,20}(/?)>([^<]{0,500})"
)
_ATTRIBUTE = re.compile(r"(\w{1,30})=\"([^\"<]{0,400})\"")
_XML_LABELS = {
    "type": "device_type",
    "partNumber": "part_number",
    "psid": "psid",
    "pciName": "device",
}
_NOISE = re.compile(
    r"^(?:Querying |-{3,}|Found [0-9]+ device|Perform FW update|Restart needed|Log File|"
    r"Attempting to perform|Initializing|Release notes|Update complete|Please (?:reboot|restart))"
)
_TOOLS = "mlxfwmanager|mstfwmanager|mlxup"
_MOST = 512


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    head = _pasted.text_of(text[:16000])
    if re.search(r"(?m)^\s*Versions:\s+Current", head) and re.search(r"(?m)^\s*PSID:\s", head):
        return 97
    if re.search(r"<Device [^>]{0,400}psid=\"", head) and "pciName=" in head:
        return 97
    if re.search(r"(?m)^\s*PCI Device Name:\s", head):
        return 90
    if re.search(r"(?m)^\s*Querying Mellanox devices firmware", head):
        return 94
    return 60 if _mellanox.asks(head, _TOOLS) else 0


def read(data: Data) -> Reading:
    """Read one output, or several. Entities: "", `nic:<pci address>` or `nic:<n>`."""
    reader = _Reader()
    found = _pasted.lines(data)
    text = "\n".join(line for _number, line in found)
    if "<Device " in text:
        reader.document(text)
    else:
        for number, line in found:
            reader.take(number, line.strip().replace("\t", " "))
        _mellanox.last_is_cut(reader.reading, found[-1][0] if found else 0)
    return reader.finish()


class _Reader:
    """Knows of which adapter a line is."""

    def __init__(self) -> None:
        self.reading = Reading(KIND, tool_name="mlxfwmanager")
        self.nics: list[Entity] = []
        self.first = 0

    def begin(self) -> Entity:
        """Begin one more adapter."""
        nic = Entity(f"nic:{len(self.nics) + 1}", values={"versions": {}})
        if len(self.nics) < _MOST:
            self.nics.append(nic)
        return nic

    def take(self, number: int, word: str) -> None:
        """Take one line of text."""
        pair, version = _plain.label(word), _VERSION.match(word)
        if _DEVICE.match(word):
            self.begin()
        elif (
            _mellanox.command(word, _TOOLS) is not None
            or _NOISE.match(word)
            or _mellanox.is_message(self.reading, number, word)
        ):
            return
        elif self.nics and version:
            _put_version(self.nics[-1], version.group(1), version.group(2), version.group(3))
        elif not (self.nics and pair and self.pair(pair[0], pair[1], number)):
            wanted = "a line below `Device #1:`"
            _plain.malformed(self.reading, number, word, wanted)
            return
        self.first = self.first or number

    def pair(self, label: str, value: str, number: int | None) -> bool:
        """Read a label with its value; return whether it is one of the tool's."""
        nic, key = self.nics[-1], label.lower()
        told = None if value in ("N/A", "--", "") else value
        if key in _LABELS:
            nic.values[_LABELS[key]] = told
        elif key in _ADDRESSES:
            kind = _ADDRESSES[key]
            nic.ids.setdefault(kind, guid(told) if kind == "guid" else mac(told))
        elif key == "status":
            self.status(nic, value, number)
        else:
            return key == "versions" or bool(re.match(r"^port[0-9] (?:mac|guid)$", key))
        return True

    def status(self, nic: Entity, word: str, number: int | None) -> None:
        """Put the verdict; one that is not known is kept as it is printed."""
        state = _STATES.get(word.lower())
        nic.values["status"] = state or word or None
        if state is None and word:
            nic.notes["status"] = "verbatim"
            where = {"line": number, "entity": nic.path, "field": "status", "verbatim": word}
            _plain.note(self.reading, "unknown_value", "a status that is not known", **where)

    def document(self, text: str) -> None:
        """Read the elements of XML one by one, so that what is whole in a cut one is kept."""
        ended = False
        for found in _XML.finditer(text):
            closes, name, attributes, _alone, inner = found.groups()
            pairs = dict(_ATTRIBUTE.findall(attributes))
            inner = inner if text.startswith(f"</{name}>", found.end()) else ""
            ended = ended or (name == "Devices" and bool(closes))
            if closes:
                continue
            if name == "Device":
                nic = self.begin()
                for key, value in _XML_LABELS.items():
                    nic.values[value] = pairs.get(key) or None
            elif self.nics and ("current" in pairs or "available" in pairs):
                current, available = pairs.get("current", ""), pairs.get("available")
                _put_version(self.nics[-1], name, current, available)
            elif self.nics and name in ("MACs", "GUIDs"):
                _address(self.nics[-1], name, pairs)
            elif self.nics and name in ("Status", "Description") and inner.strip():
                self.pair(name, inner.strip(), None)
        if not ended:
            _plain.note(self.reading, "truncated", "the XML ends before `</Devices>`")

    def finish(self) -> Reading:
        """Name the adapters, and say what is missing."""
        reading = self.reading
        for nic in self.nics:
            address = pci_address(str(nic.values.get("device") or ""))
            if address:
                nic.ids["pci"], nic.path = address, f"nic:{address}"
            if reading.add(nic) is nic:
                _check(reading, nic)
        if not reading.entities:
            return _plain.nothing(reading, "`Device #1:` with `Versions:`")
        node = Entity("", values={"device_count": len(reading.entities)})
        reading.entities.insert(0, node)
        _mellanox.forget_before(reading, self.first)
        return reading


def _put_version(nic: Entity, name: str, current: str, available: str | None) -> None:
    now, then = (None if one in (None, "", "N/A", "--") else one for one in (current, available))
    key = re.sub(r"\s+", " ", name)
    if key in ("FW (Running)", "FWRunning", "FW_Running", "RunningFW"):
        nic.values["firmware_version_running"] = now
    elif key == "FW":
        nic.values["firmware_version"] = now
        nic.values["firmware_version_available"] = then
    versions = nic.values["versions"]
    if isinstance(versions, dict) and len(versions) < 32:
        versions.setdefault(key, {"current": now, "available": then})


def _address(nic: Entity, name: str, pairs: dict[str, t.Any]) -> None:
    reader, kind = (mac, "mac") if name == "MACs" else (guid, "guid")
    found = next((one for one in (reader(value) for value in pairs.values()) if one), None)
    nic.ids.setdefault(kind, found)


def _check(reading: Reading, nic: Entity) -> None:
    values = nic.values
    image, running = values.get("firmware_version"), values.get("firmware_version_running")
    values["reset_pending"] = None if image is None else running not in (None, image)
    if values.get("status") == "failed_to_open":
        return
    for name, code in (("firmware_version", "missing_value"), ("status", "truncated")):
        if name not in values:
            where = {"entity": nic.path, "field": name}
            _plain.note(reading, code, f"no {name.replace('_', ' ')} is told", **where)
