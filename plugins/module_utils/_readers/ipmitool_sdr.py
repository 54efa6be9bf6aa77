# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of the BMC's sensors: `ipmitool sdr`, `sdr elist`, `sensor`, `-c`, `sensor get`.

Formats: three columns (name, reading, status), five (with number and entity), ten (with six
thresholds), the same with commas, blocks of `sensor get`, and FreeIPMI's `ipmi-sensors`.
A sensor with `ns` or `na` gives no reading: mostly its part is not there. A name may be given to
several sensors (`Temp`): the second is `sensor:Temp_2`.
Versions: ipmitool 1.8.11 to 1.8.19, FreeIPMI 1.4 to 1.6.
Source: ipmitool(1), lib/ipmi_sdr.c, lib/ipmi_sensor.c.
"""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import (
    _pasted,
    _plain,
    _sensor_row,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    ABSENT,
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data

KIND = "ipmitool-sdr"
TITLE = "Sensors of the BMC: ipmitool sdr, sdr elist, sensor; ipmi-sensors"
VERSIONS = "ipmitool 1.8.11 to 1.8.19, FreeIPMI 1.4 to 1.6"
SOURCES = ("https://github.com/ipmitool/ipmitool", "https://www.gnu.org/software/freeipmi/")
PROVEN = True
FIELDS = {
    "node": {
        "sensor_count": Field(int, "sensors listed"),
        "ok_count": Field(int, "sensors whose status is ok"),
        "no_reading_count": Field(int, "sensors that give no reading (ns, na)"),
        "alarm_count": Field(int, "sensors beyond a threshold of the BMC (nc, cr, nr)"),
        "alarm_sensors": Field(list, "their names"),
    },
    "sensor": {
        "name": Field(str, "name"),
        "reading": Field(float, "what it reads; null where it gives nothing", "as reading_units"),
        "reading_units": Field(str, "Cel, RPM, Percent, W, V, A; others as printed"),
        "text": Field(str, "reading or states, as printed"),
        "states": Field(list, "states of a discrete sensor, in ipmitool's words"),
        "state_bits": Field(str, "states of a discrete sensor as bits, hexadecimal"),
        "event_bits": Field(str, "the same by `ipmitool sensor`, low byte first"),
        "status": Field(
            str,
            "ok; ns, na no reading; nc, cr, nr beyond a non-critical, critical, non-recoverable "
            "threshold (l and u before them: lower, upper); us unspecified",
            values=_sensor_row.STATUSES,
        ),
        "sensor_number": Field(int, "number of the sensor"),
        "sensor_type": Field(str, "Temperature, Fan, Voltage ..."),
        "ipmi_entity": Field(str, "entity and instance that it belongs to, such as 7.1"),
        **{
            name: Field(float, "BMC's own threshold", "as reading_units")
            for name in _sensor_row.THRESHOLDS
        },
    },
}
MOST_SENSORS = 5000
_QUIET = frozenset({"ns", "na", "us"})
_ERROR = re.compile(
    r"^(?:Unable to |Could not open device|Error|Get (?:SDR|Device ID|Sensor)|Invalid|Failed to"
    r"|SDR (?:record|reserv)|Sensor data record|No data available|ipmi_(?:ctx|sdr|cmd))"
)
_SDR_ERROR = re.compile(r"^(?:Unable to open SDR|Get SDR |Error obtaining SDR)")
_NO_DEVICE = re.compile(r"^Could not open device at /dev/ipmi")
_HEADER = re.compile(r"^ID\s*\|\s*Name\s*\|")
_BLOCK = re.compile(r"^\s*Sensor ID\s+: (.{1,64}?) \(0x([0-9a-fA-F]{1,2})\)")
_LABELS = {
    "Lower Non-Recoverable": "lower_non_recoverable",
    "Lower Critical": "lower_critical",
    "Lower Non-Critical": "lower_caution",
    "Upper Non-Critical": "upper_caution",
    "Upper Critical": "upper_critical",
    "Upper Non-Recoverable": "upper_non_recoverable",
}


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    lines = [line for _number, line in _pasted.lines(text)[:300]]
    if any(_BLOCK.match(line) for line in lines):
        return 95
    if any(_HEADER.match(line) and "Reading" in line for line in lines):
        return 95
    rows = sum(_sensor_row.of_line(line) is not None for line in lines)
    if any(_SDR_ERROR.search(line) for line in lines[:5]):
        return 75
    piped = sum("|" in line for line in lines)
    if not rows or (not piped and rows < 2):
        return 0
    share = 92 if rows * 2 >= len(lines) else 70
    return share if piped else share - 20


def read(data: Data) -> Reading:
    """Read one output. Entities: "", `sensor:<name>`."""
    sensors = _Sensors()
    for number, line in _pasted.lines(data):
        sensors.take(number, line)
    return sensors.finish()


class _Sensors:
    """Collects sensors."""

    def __init__(self) -> None:
        self.reading = Reading(KIND, tool_name="ipmitool")
        self.node = Entity("")
        self.columns: list[str] = []
        self.block: Entity | None = None
        self.names: dict[str, int] = {}
        self.strange: list[tuple[int, str]] = []
        self.last = 0
        self.limited = False

    def take(self, number: int, line: str) -> None:
        """Take one line that holds something."""
        self.last = number
        sensor = _sensor_row.of_line(line, self.columns)
        block, pair = _BLOCK.match(line), _plain.label(line)
        word = line.strip()
        if _ERROR.match(word):
            self._error(number, word)
        elif block:
            self.block = Entity("", values={"name": block.group(1)})
            self.block.values["sensor_number"] = int(block.group(2), 16)
            self._add(self.block)
        elif sensor is not None:
            self._add(sensor)
        elif _HEADER.match(word):
            self.columns = [one.strip() for one in word.split("|")]
            self.reading.tool_name = "ipmi-sensors"
        elif self.block is not None and pair:
            _label(self.block, *pair)
        elif self.block is None and not _pasted.is_noise(line) and len(self.strange) < 60:
            self.strange.append((number, word))

    def _error(self, number: int, word: str) -> None:
        says = "ipmitool reported an error"
        _plain.note(self.reading, "tool_error", says, line=number, verbatim=word)
        if _NO_DEVICE.match(word):
            _plain.note(self.reading, "tool_absent", "no BMC device", line=number)

    def _add(self, sensor: Entity) -> None:
        name = str(sensor.values["name"]).replace("/", "_")
        self.names[name] = count = self.names.get(name, 0) + 1
        if len(self.names) > MOST_SENSORS or count > MOST_SENSORS:
            self.limited = True
            return
        sensor.path = f"sensor:{name}" if count == 1 else f"sensor:{name}_{count}"
        if sensor.notes.get("status") == "verbatim":
            where = {"entity": sensor.path, "field": "status", "verbatim": sensor.values["status"]}
            _plain.note(self.reading, "unknown_value", "a status that is not known", **where)
        self.reading.add(sensor)

    def finish(self) -> Reading:
        """Derive the counts and judge what was not understood."""
        reading = self.reading
        for number, word in self.strange:
            if number == self.last and reading.entities and ("|" in word or "," in word):
                says = "the last row ends early"
                _plain.note(reading, "truncated", says, line=number, verbatim=word)
            elif not re.match(r"^(?:Locating sensor record|SDR Version|Sensor Data Record)", word):
                _plain.malformed(reading, number, word, "a row of sensors")
        if self.limited:
            _plain.note(reading, "limited", f"more than {MOST_SENSORS} sensors")
        if not reading.entities:
            gone = "tool_absent" in {one.code for one in reading.problems}
            _plain.nothing(reading, "a row `name | reading | status`")
            reading.quality = ABSENT if gone else reading.quality
            return reading
        sensors = [one.values for one in reading.entities]
        words = [one.get("status") for one in sensors]
        alarms = [one for one, word in zip(sensors, words) if word and word not in _QUIET | {"ok"}]
        self.node.values.update(
            {
                "sensor_count": len(sensors),
                "ok_count": words.count("ok"),
                "no_reading_count": sum(one in ("ns", "na") for one in words),
                "alarm_count": len(alarms),
                "alarm_sensors": [one["name"] for one in alarms],
            }
        )
        reading.entities.insert(0, self.node)
        return reading


def _label(sensor: Entity, label: str, word: str) -> None:
    """Put a label of `sensor get`."""
    values = sensor.values
    if label == "Sensor Reading":
        _sensor_row.put_text(sensor, word)
    elif label in _LABELS:
        values[_LABELS[label]] = _sensor_row.number(word)
    elif label == "Status":
        values["status"] = word if word in _sensor_row.STATUSES else None
    elif label.startswith("Sensor Type"):
        values["sensor_type"] = word or None
    elif label == "Entity ID":
        values["ipmi_entity"] = word.partition(" ")[0] or None
    elif label == "States Asserted":
        values["states"] = [word] if word else []
