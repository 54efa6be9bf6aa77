# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `mlxlink` (also mstlink): state, errors and module of ports, text and JSON.

Format: sections of `label : value` lines below a title and a rule, values with colours on a
terminal; in JSON (`--json`) the same labels, numbers as texts, lists as `{"values": []}`.
`15E-255` is the tool's word for no error at all. With `--port_type PCIE` it tells of the
link to the host. An output does not name its port; the command before it may. Versions:
MFT 4.15 to 4.36, mstflint 4.21 to 4.36. Source: Mellanox/mstflint, mlxlink; outputs of
Quantum-2, BlueField-3 and ConnectX-7 links in public repositories.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import (
    _json,
    _json_docs,
    _mellanox,
    _mlxlink_fields,
    _pasted,
    _plain,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    ERROR,
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data

KIND = "mlxlink"
TITLE = "mlxlink: state, errors and module of a port"
VERSIONS = "MFT 4.15 to 4.36"
SOURCES = (
    "https://github.com/Mellanox/mstflint mlxlink",
    "https://github.com/MrBr-github/lshca/issues/11",
)
PROVEN = True
_DEVICE = Field(str, "what the tool was asked about, where the command is told")
FIELDS = {
    "port": dict(
        _mlxlink_fields.fields_of(_mlxlink_fields.PORT),
        device=_DEVICE,
        fec_capabilities=Field(dict, "FEC that can be used, by speed, as printed"),
    ),
    "module": dict(_mlxlink_fields.fields_of(_mlxlink_fields.MODULE), device=_DEVICE),
    "pcie": dict(
        _mlxlink_fields.fields_of(_mlxlink_fields.PCIE),
        device=_DEVICE,
        pcie_gen=Field(int, "generation in use"),
        pcie_max_gen=Field(int, "generation that is enabled"),
        pcie_width=Field(int, "lanes in use"),
        pcie_max_width=Field(int, "lanes that are enabled"),
    ),
}
_TOOLS = "mlxlink|mstlink"
_RULE = re.compile(r"^-{3,}$")
_BEGINS = re.compile(r"^(?:PCIe )?Operational (?:\(Enabled\) )?Info$")
_TITLE = re.compile(r"^[A-Z][A-Za-z -]{3,50} (?:Info|Information)(?: \(PCIe\))?$")
_JSON_TITLE = re.compile(r'"(?:PCIe )?Operational (?:\(Enabled\) )?Info"\s*:\s*\{')
_FIRST = ("State", "Depth, pcie index, node")
_SPEED_OF_FEC = re.compile(r"^FEC Capability (\S{2,20}(?: \S{1,20})?)$")
_MOST = 512


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    if _JSON_TITLE.search(text[:20000]):
        return 97
    head = _pasted.text_of(text[:20000])
    if re.search(
        r"(?m)^\s*(?:PCIe )?Operational (?:\(Enabled\) )?Info\s*\n\s*(?:-{5,}|State )", head
    ):
        return 97
    if re.search(r"(?m)^\s*(?:Raw Physical Errors Per Lane|Effective Physical BER)\s*: ", head):
        return 97
    if re.search(r'"status"\s*:\s*\{\s*"code"', head) and re.search(r'"result"\s*:', head):
        return 55
    return 60 if _mellanox.asks(head, _TOOLS) else 0


def read(data: Data) -> Reading:
    """Read one output, or several. Entities: `port:<n>`, `module:<n>`, `pcie:<n>`."""
    reader = _Reader()
    documents, _others = _json_docs.split(data)
    if documents and any('"' in one.text for one in documents):
        for document in documents:
            reader.document(document)
    else:
        reader.lines(data)
    return reader.finish()


class _Reader:
    """Knows of which output, section and device a line is."""

    def __init__(self) -> None:
        self.reading = Reading(KIND, tool_name="mlxlink")
        self.groups: list[dict[str, Entity]] = []
        self.device = ""
        self.title = ""
        self.first = 0
        self.ended: list[bool] = []

    def begin(self) -> dict[str, Entity]:
        """Begin the output of one more port."""
        if self.groups and not any(one.values or one.ids for one in self.groups[-1].values()):
            return self.groups[-1]
        index = len(self.groups)
        group = {name: Entity(f"{name}:{index}") for name in FIELDS}
        if index < _MOST:
            self.groups.append(group)
        return group

    def lines(self, data: Data) -> None:
        """Read a text."""
        found = _pasted.lines(data)
        for index, (number, line) in enumerate(found):
            below = found[index + 1][1].strip() if index + 1 < len(found) else ""
            self._line(number, line.strip(), bool(_RULE.match(below)))
        _mellanox.last_is_cut(self.reading, found[-1][0] if found else 0)

    def _line(self, number: int, word: str, is_title: bool) -> None:
        asked = _mellanox.command(word, _TOOLS)
        if asked is not None:
            self.device, self.title = asked, "command"
            if self.groups:
                self.begin()
        elif is_title or _TITLE.match(word):
            if _BEGINS.match(word):
                self.begin()
            self.title = word
            self.first = self.first or number
        elif self.title == "Errors" and not _RULE.match(word):
            says = "the tool said an error"
            _plain.note(self.reading, "tool_error", says, line=number, verbatim=word)
        elif _mellanox.is_message(self.reading, number, word) or self.title == "Warnings":
            return
        else:
            pair = _plain.label(word, " : ") or _plain.label(word)
            if pair is None:
                _plain.malformed(self.reading, number, word, "`label : value`")
            elif self.pair(pair[0], pair[1], number):
                self.first = self.first or number

    def document(self, document: _json_docs.Document) -> None:
        """Read one JSON document."""
        reading = self.reading
        self.device = _mellanox.command(document.before.strip(), _TOOLS) or ""
        body = _json.as_dict(_json.load(document.text, reading))
        status = _json.as_dict(body.get("status"))
        code = _json.integer_of(status.get("code"))
        self.ended.append(not code)
        if code:
            says, message = f"the tool ended with code {code}", _json.text_of(status.get("message"))
            _plain.note(reading, "tool_error", says, line=document.line, verbatim=message)
        output = _json.as_dict(_json.as_dict(body.get("result")).get("output"))
        if output:
            self.begin()
        for section in output.values():
            for label, value in _json.as_dict(section).items():
                values = value.get("values") if isinstance(value, dict) else None
                self.pair(label, values if isinstance(values, list) else value, None)

    def pair(self, label: str, value: t.Any, number: int | None) -> bool:
        """Put a value where it belongs; return whether the label is one of the tool's."""
        label = re.sub(r" \(Ext\.\)$", "", label)
        group = self.groups[-1] if self.groups else self.begin()
        if label in _FIRST and (group["port"].values or group["pcie"].values):
            table = _mlxlink_fields.PORT if label == "State" else _mlxlink_fields.PCIE
            seen = group["port" if label == "State" else "pcie"].values
            if table[label][0] in seen:
                group = self.begin()
        if self.device:
            for entity in group.values():
                entity.values.setdefault("device", self.device)
        for kind, table in (
            ("port", _mlxlink_fields.PORT),
            ("module", _mlxlink_fields.MODULE),
            ("pcie", _mlxlink_fields.PCIE),
        ):
            if label in table:
                self._put(group[kind], table[label], (label, value), number)
                return True
        return self._other(group, label, value)

    def _other(self, group: dict[str, Entity], label: str, value: t.Any) -> bool:
        text = _json.text_of(value) or ""
        pcie, speed = group["pcie"].values, _SPEED_OF_FEC.match(label)
        if label == "Vendor Serial Number":
            group["module"].ids["serial"] = None if text == "N/A" else text or None
        elif label == "Link Speed Active (Enabled)":
            pcie["pcie_gen"], pcie["pcie_max_gen"] = _mlxlink_fields.pcie_pair(text, "Gen")
        elif label == "Link Width Active (Enabled)":
            pcie["pcie_width"], pcie["pcie_max_width"] = _mlxlink_fields.pcie_pair(text, "X")
        elif label == "MFT Version":
            self.reading.tool_version = re.sub(r"^mft ", "", text) or None
        elif speed:
            listed = group["port"].values.setdefault("fec_capabilities", {})
            if isinstance(listed, dict) and len(listed) < 64:
                listed[speed.group(1)] = text or None
        else:
            return False
        return True

    def _put(
        self, entity: Entity, how: tuple[str, str], pair: tuple[str, t.Any], number: int | None
    ) -> None:
        (name, sort), (label, value) = how, pair
        found, known = _mlxlink_fields.convert(value, sort)
        where = {"line": number, "entity": entity.path, "field": name, "verbatim": str(value)}
        if name in entity.values:
            if entity.values[name] != found:
                says = f"{label} appears twice, with two values; the first is kept"
                _plain.note(self.reading, "inconsistent", says, **where)
            return
        entity.values[name] = found
        if found is None and known:
            entity.notes[name] = "not_supported"
        elif found is None:
            says = f"{label} has a value that is not known"
            _plain.note(self.reading, "unknown_value", says, **where)

    def finish(self) -> Reading:
        """Keep what holds anything, and say what is missing."""
        reading = self.reading
        for group in self.groups:
            told = {
                name: one for name, one in group.items() if set(one.values) - {"device"} or one.ids
            }
            if "port" in told and "state" not in told["port"].values:
                where = {"entity": told["port"].path, "field": "state"}
                _plain.note(reading, "missing_value", "no `State`", **where)
            for entity in told.values():
                reading.add(entity)
        if not reading.entities:
            return _plain.nothing(reading, "`Operational Info`")
        _mellanox.forget_before(reading, self.first)
        if self.ended and not any(self.ended):  # every document says that the tool failed
            reading.quality = ERROR
        return reading
