# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `ibswinfo`: an unmanaged InfiniBand switch, its supplies and fans.

Format: a title, the node description, between double rules; `label | value` lines in blocks;
the lines of a power supply are indented below its status. `-o inventory`, `status` and
`vitals` print `label : value` lines of their own names. What the switch does not tell is
blank, or its line is left out: a supply without power or a managed switch's fans. Versions:
0.1 to 0.8. Source: https://github.com/stanford-rc/ibswinfo (ibswinfo.sh, README);
treydock/infiniband_exporter, collectors/fixtures/ibswinfo.
"""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._identity import guid
from ansible_collections.trackbed.cluster.plugins.module_utils._readers import (
    _ibswinfo_fields,
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

KIND = "ibswinfo"
TITLE = "ibswinfo: an unmanaged InfiniBand switch"
VERSIONS = "ibswinfo 0.1 to 0.8"
SOURCES = (
    "https://github.com/stanford-rc/ibswinfo",
    "https://github.com/treydock/infiniband_exporter collectors/fixtures/ibswinfo",
)
PROVEN = True
FIELDS = {
    "switch": {
        "model": Field(str, "family, as the title names it; null where it was renamed"),
        "cpld_version": Field(str, "firmware of the CPLD"),
        "part_number": Field(str, "part number"),
        "product": Field(str, "product name"),
        "revision": Field(str, "revision"),
        "port_count": Field(int, "ports"),
        "psid": Field(str, "board id"),
        "firmware_version": Field(str, "firmware"),
        "uptime_s": Field(int, "since the last start", "s"),
        "temperature_c": Field(int, "now", "C"),
        "temperature_max_c": Field(int, "highest since the start", "C"),
        "temperature_threshold_low_c": Field(int, "warning, low", "C"),
        "temperature_threshold_high_c": Field(int, "warning, high", "C"),
        "fan_state": _ibswinfo_fields.STATE,
        "node_description": Field(str, "name of the switch in the fabric"),
    },
    "psu": {
        "state": _ibswinfo_fields.STATE,
        "part_number": Field(str, "part number"),
        "dc_power_state": _ibswinfo_fields.STATE,
        "fan_state": _ibswinfo_fields.STATE,
        "power_w": Field(int, "power", "W"),
    },
    "fan": {"speed_rpm": Field(int, "speed", "rpm")},
    "module": {"temperature_c": Field(int, "of the module in the cage of this number", "C")},
}
_RULE = re.compile(r"^(?:={10,}|-{10,})$")
_TITLE = re.compile(r"^(\S.{0,60}?) Mellanox Technologies$")
_SUPPLY = re.compile(r"^psu([0-9]{1,2})(?: (status)|\.(.{2,20}))$")
_FAN = re.compile(r"^fan#([0-9]{1,3})(?:\.speed)? \(rpm\)$")
_CAGE = re.compile(r"^qsfp#([0-9]{1,3})(?:\.temp)? ?\(c\)$")
_ERROR = re.compile(r"^(?:ERR|error|-E-|ibswinfo(?:\.sh)?: )", re.IGNORECASE)
_WARNING = re.compile(r"^(?:WARN|warning|Not tested with MFT)", re.IGNORECASE)
_WHOLE = ("part_number", "firmware_version", "temperature_c", "fan_state")
_MOST = 512


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    head = _pasted.text_of(text[:6000])
    if re.search(r"(?m)^\s*PSID\s*\|", head) and re.search(r"(?m)^\s*part number\s*\|", head):
        return 97
    if re.search(r"(?m)^\s*PSU[0-9] status\s*\|", head):
        return 90
    if re.search(r"(?m)^\s*fan#[0-9]+(?: \(rpm\)\s*\||\.speed \(rpm\)\s*:)", head):
        return 90
    if re.search(r"(?m)^\s*psu[0-9]\.(?:status|part_number|power \(W\))\s*:", head):
        return 90
    return 60 if _mellanox.asks(head, r"ibswinfo(?:\.sh)?") else 0


def read(data: Data) -> Reading:
    """Read one output, or several. Entities: `switch:<guid or n>`, `psu:`, `fan:`, `module:<n>`.

    With more than one switch the parts are below theirs: `switch:<guid>/psu:0`.
    """
    reader = _Reader()
    number = 0
    for number, line in _pasted.lines(data):
        reader.take(number, line)
    _mellanox.last_is_cut(reader.reading, number)
    return reader.finish()


class _Reader:
    """Knows of which switch and power supply a line is."""

    def __init__(self) -> None:
        self.reading = Reading(KIND, tool_name="ibswinfo")
        self.switches: list[tuple[Entity, dict[str, Entity]]] = []
        self.supply: Entity | None = None
        self.after_rule = False
        self.tables: set[int] = set()
        self.first = 0
        self.begin()

    def begin(self) -> None:
        """Begin one more switch."""
        used = not self.switches or self.switch.values or self.switch.ids or self.parts
        if used and len(self.switches) < _MOST:
            self.switches.append((Entity(f"switch:{len(self.switches)}"), {}))
        self.supply = None

    @property
    def switch(self) -> Entity:
        """The switch that is being read."""
        return self.switches[-1][0]

    @property
    def parts(self) -> dict[str, Entity]:
        """Its parts, by their path."""
        return self.switches[-1][1]

    def take(self, number: int, line: str) -> None:
        """Take one line."""
        word = line.strip()
        plain = word.replace("\t", " ") + " "
        pair = _plain.label(plain, "|") or _plain.label(plain, " : ")
        asked = _mellanox.command(word, r"ibswinfo(?:\.sh)?")
        after_rule, self.after_rule = self.after_rule, bool(re.match(r"^={10,}$", word))
        if _RULE.match(word):
            self.supply = None
        elif asked is not None:
            self.begin()
        elif pair and self.pair(pair[0].lower().replace("_", " "), pair[1], number):
            self.first = self.first or number
            if "|" in word:
                self.tables.add(len(self.switches))
        elif after_rule or _TITLE.match(word):
            self._title(word)
        elif _ERROR.match(word):
            says = "an error of the tool"
            _plain.note(self.reading, "tool_error", says, line=number, verbatim=word)
        elif (
            not pair
            and not _WARNING.match(word)
            and not _mellanox.is_message(self.reading, number, word)
        ):
            _plain.malformed(self.reading, number, line, "`label | value`")

    def _title(self, word: str) -> None:
        if self.switch.values or self.parts:
            self.begin()
        title = _TITLE.match(word)
        self.switch.values["model"] = title.group(1) if title else None
        self.switch.values["node_description"] = word or None

    def finish(self) -> Reading:
        """Name the switches and their parts, and say what is missing."""
        reading = self.reading
        told = [
            (index, switch, parts)
            for index, (switch, parts) in enumerate(self.switches, 1)
            if switch.values or switch.ids or parts
        ]
        for index, switch, parts in told:
            if switch.ids.get("guid"):
                switch.path = f"switch:{switch.ids['guid']}"
            if reading.add(switch) is not switch:
                continue
            _check(reading, switch, _WHOLE if index in self.tables else ())
            for part in parts.values():
                part.path = f"{switch.path}/{part.path}" if len(told) > 1 else part.path
                reading.add(part)
                is_whole = index in self.tables and "psu:" in part.path
                _check(reading, part, ("power_w",) if is_whole else ())
        if not reading.entities:
            return _plain.nothing(reading, "`part number | ...`")
        _mellanox.forget_before(reading, self.first)
        return reading

    def pair(self, name: str, value: str, line: int) -> bool:
        """Put one pair where it belongs; return whether the label is one of the tool's."""
        supply, fan, cage = _SUPPLY.match(name), _FAN.match(name), _CAGE.match(name)
        if supply:
            self.supply = self._part("psu", supply.group(1))
            return self._of_supply(supply.group(2) or supply.group(3), value, line)
        if fan or cage:
            found = fan or cage
            one = self._part("fan" if fan else "module", found.group(1) if found else "")
            what = "speed_rpm" if fan else "temperature_c"
            _ibswinfo_fields.put(self.reading, one, what, value, _plain.integer, line)
            return True
        if self.supply is not None and name in _ibswinfo_fields.OF_PSU:
            return self._of_supply(name, value, line)
        return self._of_switch(name, value, line)

    def _part(self, kind: str, number: str) -> Entity:
        path = f"{kind}:{int(number)}"
        return self.parts.setdefault(path, Entity(path))

    def _of_supply(self, name: str, value: str, line: int) -> bool:
        if self.supply is None:
            return False
        if name in _ibswinfo_fields.PSU_STATES:
            _ibswinfo_fields.put_state(
                self.reading, self.supply, _ibswinfo_fields.PSU_STATES[name], value, line
            )
        elif name in _ibswinfo_fields.SERIALS:
            self.supply.ids["serial"] = value or None
        elif name in _ibswinfo_fields.PSU:
            what, reader = _ibswinfo_fields.PSU[name]
            _ibswinfo_fields.put(self.reading, self.supply, what, value, reader, line)
        else:
            return False
        return True

    def _of_switch(self, name: str, value: str, line: int) -> bool:
        switch, reading = self.switch, self.reading
        if (
            name in ("part number", "node desription")
            and _ibswinfo_fields.WORDS[name][0] in switch.values
        ):
            self.begin()
            switch = self.switch
        if name in _ibswinfo_fields.SERIALS:
            switch.ids["serial"] = value or None
        elif name == "guid":
            switch.ids["guid"] = guid(value)
        elif name in ("fan status", "fans"):
            _ibswinfo_fields.put_state(reading, switch, "fan_state", value, line)
        elif name in _ibswinfo_fields.WORDS:
            what, reader = _ibswinfo_fields.WORDS[name]
            _ibswinfo_fields.put(reading, switch, what, value, reader, line)
        elif name.startswith("uptime"):
            _ibswinfo_fields.put(reading, switch, "uptime_s", value, _ibswinfo_fields.seconds, line)
        elif name.startswith("warn threshold"):
            switch.values.update(_ibswinfo_fields.limits(value))
        else:
            return False
        return True


def _check(reading: Reading, entity: Entity, names: tuple[str, ...]) -> None:
    for name in names:
        if name not in entity.values:
            where = {"entity": entity.path, "field": name}
            _plain.note(reading, "missing_value", f"{name.replace('_', ' ')} is not told", **where)
