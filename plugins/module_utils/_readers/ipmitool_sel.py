# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of the BMC's event log: `ipmitool sel list`, `elist`, `-c`, `-v`, `get`, `info`.

Formats: columns with `|` (or `,` with -c); OEM records; `Pre-Init` in place of a
date; `Label : value` blocks of -v and `sel get`; FreeIPMI's `ipmi-sel` with its head.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _plain
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    ABSENT,
    Entity,
    Field,
    Reading,
    Value,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data

KIND = "ipmitool-sel"
TITLE = "Event log of the BMC: ipmitool sel list, elist, get, info; ipmi-sel"
VERSIONS = "list, FreeIPMI seen; elist, -v, -c, info written without a sample"
SOURCES = (
    "https://github.com/open-power/op-build/issues/607",
    "https://github.com/thomas-krenn/check_ipmi_sensor_v3/issues/26",
)
PROVEN = True
DIRECTIONS = ("asserted", "deasserted")
FIELDS = {
    "node": {
        "entry_count": Field(int, "entries that are kept"),
        "asserted_count": Field(int, "entries that say asserted"),
        "deasserted_count": Field(int, "entries that say deasserted"),
        "oem_count": Field(int, "entries whose meaning is the maker's own"),
        "log_entry_count": Field(int, "entries in the log by `sel info`"),
        "used_pct": Field(int, "how full the log is", "%"),
        "overflow": Field(bool, "events were lost because the log was full"),
        "last_added": Field(str, "when the last entry was added, as printed"),
    },
    "event": {
        "record_id": Field(int, "number of the record (ipmitool prints it hexadecimal)"),
        "time": Field(str, "date and time by the BMC's clock, as printed; null before it was set"),
        "pre_init": Field(bool, "the BMC's clock had not been set"),
        "sensor_type": Field(str, "type of sensor, in the words of IPMI"),
        "sensor_number": Field(int, "number of the sensor"),
        "sensor_name": Field(str, "name of the sensor, where it is printed (elist)"),
        "text": Field(str, "what happened"),
        "direction": Field(str, "whether it came or went", values=DIRECTIONS),
        "state": Field(str, "state by FreeIPMI: nominal, warning, critical"),
        "reading": Field(float, "reading that crossed a threshold, in its sensor's unit"),
        "threshold": Field(float, "the threshold"),
        "unit": Field(str, "unit of both"),
        "oem_record_type": Field(str, "type of an OEM record, hexadecimal"),
        "oem_data": Field(str, "its bytes, hexadecimal"),
    },
}
MOST_EVENTS = 20_000
# Types of sensor in the words of ipmitool; not checked against its source.
_TYPES = (
    "Physical Security|Platform Security|Power Supply|Power Unit|Cooling Device|Temperature"
    "|Voltage|Current|Fan|Processor|Memory|Drive Slot / Bay|Drive Slot|POST Memory Resize"
    "|System Firmwares|System Firmware Progress|System Firmware Error|System Firmware"
    "|Event Logging Disabled|Watchdog 1|Watchdog 2|Watchdog1|Watchdog2|System Event"
    "|Critical Interrupt|Button|Module / Board|Microcontroller|Add-in Card|Chassis|Chip Set"
    "|Other FRU|Cable / Interconnect|Terminator|System Boot Initiated|Boot Error|OS Boot"
    "|OS Critical Stop|OS Stop / Shutdown|Slot / Connector|System ACPI Power State"
    "|Platform Alert|Entity Presence|Monitor ASIC|LAN|Management Subsystem Health"
    "|Management Subsys Health|Battery|Session Audit|Version Change|FRU State|Unknown|Other"
)
_SENSOR = re.compile(rf"^({_TYPES})(?: +(.{{1,80}}))?$")
_NUMBERED = re.compile(r"^(.{1,60}?) ?#0x([0-9a-fA-F]{1,2})$")
_ANSI = re.compile(r"\x1b\[[0-9;?]{0,16}[A-Za-z]")
# A row may stand behind what grep or a log shipper wrote; fences, prompts and ssh are noise.
_ROW = re.compile(r"(?:^|[\s:>`])([0-9a-fA-F]{1,4} {0,8}\|.*)$")
_NOISE = re.compile(
    r"^(?:`{3}|\S{0,80}[#$](?:\s|$)|\$ |Warning: Permanently added |SEL Information)"
)
_ID = re.compile(r"^[0-9a-fA-F]{1,4}$")
_DATE = re.compile(
    r"^(?:[0-9]{1,4}[/.-][0-9]{1,2}[/.-][0-9]{1,4}|[A-Z][a-z]{2}-[0-9]{2}-[0-9]{4}|Unknown"
    r"|Pre-?Init.{0,20}|PostInit|Invalid.{0,12})$"
)
_READING = re.compile(
    r"^Reading (-?[0-9]{1,9}(?:\.[0-9]{1,6})?) [<>=]{1,2} Threshold (-?[0-9]{1,9}(?:\.[0-9]{1,6})?)"
    r"(?: (.{1,40}))?$"
)
_OEM = re.compile(r"^OEM record ([0-9a-fA-F]{2})$")
_ERROR = re.compile(
    r"^(?:Could not open|Unable to establish|Error|Get SEL|Invalid|SEL .{0,40}failed)"
)
_NO_DEVICE = re.compile(r"^Could not open device at /dev/ipmi")
_VERBOSE = re.compile(r"(?m)^[ \t]{0,16}SEL Record ID[ \t]{1,40}: ([0-9a-fA-F]{1,4})")
_SAYINGS = ("SEL Information\n", "SEL has no entries")
_LABELS = {
    "Sensor Type": "sensor_type",
    "Sensor Number": "sensor_number",
    "Sensor Name": "sensor_name",
    "Description": "text",
    "Timestamp": "time",
    "Event Direction": "direction",
}
_INFO = {
    "Entries": "log_entry_count",
    "Percent Used": "used_pct",
    "Overflow": "overflow",
    "Last Add Time": "last_added",
}


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    if _VERBOSE.search(text) or any(one in text for one in _SAYINGS):
        return 96
    lines = [_ANSI.sub("", line) for line in text.split("\n")[:200] if line.strip()]
    rows = sum(_columns(line) is not None for line in lines)
    return (95 if rows * 2 >= len(lines) else 70) if rows else 0


def read(data: Data) -> Reading:
    """Read one output. Entities: "" and `event:N`, N from 0 in the order of the output."""
    log = _Log()
    number = 0
    for number, line in _plain.lines(data):
        log.take(number, line)
    return log.finish(number)


def _columns(line: str) -> list[str] | None:
    """Return the columns of a row, the time in one of them; None where it is no row."""
    mark = "|" if "|" in line else ","
    row = _ROW.search(line)
    cells = [one.strip() for one in (row.group(1) if row else line).split(mark)]
    if len(cells) < 3 or not _ID.match(cells[0]):
        return None
    if _OEM.match(cells[1]) and len(cells) >= 3:
        return [cells[0], "", *cells[1:]]
    if not _DATE.match(cells[1]):
        return None
    return [cells[0], f"{cells[1]} {cells[2]}".strip(), *cells[3:]]


class _Log:
    """Collects rows and blocks."""

    def __init__(self) -> None:
        self.reading = Reading(KIND, tool_name="ipmitool")
        self.node = self.reading.add(Entity(""))
        self.events: list[Entity] = []
        self.block: Entity | None = None
        self.free = False
        self.empty = self.limited = 0
        self.strange: list[tuple[int, str]] = []
        self.latest: tuple[int, str, Entity] | None = None

    def take(self, number: int, line: str) -> None:
        """Take one line that holds something."""
        line = _ANSI.sub("", line)
        row, verbose, pair = _columns(line), _VERBOSE.match(line), _plain.label(line)
        if row is not None:
            self._row(number, line, row)
        elif verbose:
            self.block = self._event(verbose.group(1), 16)
        elif line.strip() == "SEL has no entries":
            self.empty += 1
        elif re.match(r"^ID +\| Date ", line):
            self.free = True
        elif _ERROR.match(line.strip()):
            self._error(number, line.strip())
        elif pair and self.block is not None:
            self._label(self.block, *pair)
        elif pair and pair[0] in _INFO:
            self._info(*pair)
        elif "|" in line or not (pair or _NOISE.match(line.strip())):
            self.strange.append((number, line.strip()))
            del self.strange[64:]

    def _error(self, number: int, line: str) -> None:
        _plain.note(self.reading, "tool_error", line[:200], line=number)
        if _NO_DEVICE.match(line):
            _plain.note(self.reading, "tool_absent", "no BMC device", line=number)

    def _event(self, word: str, base: int) -> Entity:
        digits = word if base == 16 or word.isdigit() else ""
        event = Entity("", values={"record_id": int(digits, base) if digits else None})
        if len(self.events) < MOST_EVENTS:
            event.path = f"event:{len(self.events)}"
            self.events.append(event)
        else:
            self.limited += 1
        return event

    def _row(self, number: int, line: str, row: list[str]) -> None:
        event = self._event(row[0], 10 if self.free else 16)
        self.block = None
        values = event.values
        _put_time(values, row[1])
        oem = _OEM.match(row[2]) if len(row) > 2 else None
        if oem:
            values["oem_record_type"] = oem.group(1).lower()
            values["oem_data"] = " ".join(row[3:])[:200] or None
        elif self.free and len(row) >= 6:
            values["sensor_name"], values["sensor_type"] = row[2] or None, row[3] or None
            values["state"], values["text"] = row[4].lower() or None, row[5] or None
        elif len(row) < 4 or not row[2] or not row[3]:
            values.update(_sensor(row[2]) if len(row) > 2 else {})
            self.strange.append((number, line.strip()))
        else:
            values.update(_sensor(row[2]))
            values["text"] = row[3][:300]
            _put_rest(values, row[4:])
            self.latest = (number, line.strip(), event)

    def _label(self, event: Entity, name: str, word: str) -> None:
        key = _LABELS.get(name)
        if key is None or not word:
            return
        if key == "time":
            _put_time(event.values, word)
        elif key == "direction":
            event.values[key] = "deasserted" if word.lower().startswith("de") else "asserted"
        elif key == "sensor_number":
            event.values[key] = int(word, 16) if re.match(r"^[0-9a-fA-F]{1,2}$", word) else None
        else:
            event.values[key] = word[:300]

    def _info(self, name: str, word: str) -> None:
        key = _INFO[name]
        if key == "overflow":
            self.node.values[key] = {"true": True, "false": False}.get(word.lower())
        elif key == "last_added":
            self.node.values[key] = None if "Not Available" in word else word[:40] or None
        else:
            self.node.values[key] = _plain.integer(word.rstrip("%"))

    def finish(self, last: int) -> Reading:
        """Return the reading; `last` is the number of the last line."""
        if self.latest is not None and self.latest[0] == last:
            number, line, event = self.latest
            others = [one.values.get("direction") for one in self.events if one is not event]
            if "direction" not in event.values and any(others):
                self.strange.append((number, line))
        for number, line in self.strange:
            if number == last and self.events and "|" in line:
                _plain.note(self.reading, "truncated", "a row is cut", line=number, verbatim=line)
            else:
                _plain.malformed(self.reading, number, line, "an entry of the event log")
        for event in self.events:
            self.reading.add(event)
        if self.limited:
            self.reading.note("limited", f"{self.limited} further entries are not kept")
        found = [one.values for one in self.events]
        has_info = "log_entry_count" in self.node.values
        self.node.values.update(
            {
                "entry_count": len(found),
                "asserted_count": sum(one.get("direction") == "asserted" for one in found),
                "deasserted_count": sum(one.get("direction") == "deasserted" for one in found),
                "oem_count": sum("oem_record_type" in one for one in found),
            }
        )
        if found or self.empty or has_info:
            return self.reading
        reading = _plain.nothing(self.reading, "an entry of the event log")
        if any(_NO_DEVICE.match(one.says) for one in reading.problems):
            reading.quality = ABSENT
        return reading


def _put_time(values: dict[str, Value], word: str) -> None:
    early = re.match(r"^(?:Pre-?Init|PostInit|Unknown|Invalid)", word)
    values.update(time=None if early or not word else word[:60], pre_init=bool(early))


def _sensor(cell: str) -> dict[str, Value]:
    numbered, named = _NUMBERED.match(cell), _SENSOR.match(cell)
    if numbered:
        return {"sensor_type": numbered.group(1), "sensor_number": int(numbered.group(2), 16)}
    if named:
        return {"sensor_type": named.group(1), "sensor_name": named.group(2)}
    return {"sensor_name": cell[:100] or None}


def _put_rest(values: dict[str, Value], cells: t.Sequence[str]) -> None:
    for cell in cells:
        reading = _READING.match(cell)
        if cell.lower() in DIRECTIONS:
            values["direction"] = cell.lower()
        elif reading:
            values["reading"], values["threshold"] = (
                float(reading.group(1)),
                float(reading.group(2)),
            )
            values["unit"] = reading.group(3)
