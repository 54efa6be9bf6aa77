# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `ethtool -m`: what the module in a port says of itself, and its light.

Format: `Label : value` lines of the module's EEPROM (SFF-8472, SFF-8636, CMIS). Optical
values come in two units, `3.6119 mW / 5.58 dBm`; both are kept. Modules without digital
diagnostics, and copper cables, have no such lines at all: that is unknown, not a fault.
Versions: ethtool 3.16 to 6.15. Source: ethtool(8); SFF-8472, SFF-8636, OIF-CMIS-05.
"""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _plain
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data

KIND = "ethtool-m"
TITLE = "ethtool -m: the module in a port"
VERSIONS = "ethtool 3.16 to 6.15"
SOURCES = ("ethtool(8)", "SFF-8472", "SFF-8636", "OIF-CMIS-05")
PROVEN = True
_TEXTS = {
    "Vendor name": "vendor",
    "Vendor PN": "part_number",
    "Vendor rev": "revision",
    "Date code": "date_code",
    "Transceiver type": "transceiver_types",
    "Active Firmware Version": "firmware_version",
    "Module State": "module_state",
}
_LIGHT = {
    "Laser output power": "tx_power",
    "Transmit avg optical power": "tx_power",
    "Transmit average optical power": "tx_power",
    "Receiver signal average optical power": "rx_power",
    "Rcvr signal avg optical power": "rx_power",
}
_LANE_VALUES = {
    "tx_power_mw": Field(float, "light sent", "mW"),
    "tx_power_dbm": Field(float, "light sent", "dBm"),
    "rx_power_mw": Field(float, "light received", "mW"),
    "rx_power_dbm": Field(float, "light received", "dBm"),
    "bias_current_ma": Field(float, "current of the laser", "mA"),
}
FIELDS = {
    "module": {
        "identifier": Field(str, "form: SFP, QSFP28, QSFP-DD, OSFP ..."),
        "connector": Field(str, "connector, as printed"),
        "vendor": Field(str, "vendor"),
        "part_number": Field(str, "part number"),
        "revision": Field(str, "revision"),
        "date_code": Field(str, "when it was made, as printed"),
        "transceiver_types": Field(list, "what it is good for"),
        "firmware_version": Field(str, "firmware that runs"),
        "module_state": Field(str, "CMIS state, as printed"),
        "wavelength_nm": Field(float, "wave length", "nm"),
        "cable_length_m": Field(float, "length of a cable that is one with its modules", "m"),
        "temperature_c": Field(float, "temperature", "C"),
        "voltage_v": Field(float, "supply", "V"),
        "diagnostics": Field(bool, "it measures light, current and temperature"),
        "active_alarms": Field(list, "alarm and warning flags that are on"),
        "alarm_flag_count": Field(int, "flags that it tells; 0 where it has none"),
        **_LANE_VALUES,
    },
    "lane": _LANE_VALUES,
}
_PAIR = re.compile(r"^([^:]{2,80}?)\s*: (.*)$")
_POWER = re.compile(r"^(-?[0-9]{1,6}\.[0-9]{1,6}) mW / (-?[0-9]{1,6}\.[0-9]{1,6}|-inf) dBm$")
_NUMBER = r"^(-?[0-9]{1,8}(?:\.[0-9]{1,6})?)\s?"
_CHANNEL = re.compile(r"\s*\(?Channel ([0-9]{1,2})\)?\s*$")
_FLAG = re.compile(
    r"(?:alarm|warning)s?(?: flags)?(?:\s*\(?Channel [0-9]{1,2}\)?)?$", re.IGNORECASE
)
_ERROR = re.compile(r"^(?:netlink error: |Cannot get |ethtool: )")
_ZERO_LIGHT = -40.0


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    head = text[:20000]
    found = re.search(r"(?m)^\s*Identifier\s+: 0x[0-9a-f]{2} \(", head)
    return 97 if found and re.search(r"(?m)^\s*(?:Connector|Vendor name)\s+: ", head) else 0


def read(data: Data) -> Reading:
    """Read one output. Entities: `module:0`, `module:0/lane:<n>`."""
    reading = Reading(KIND, tool_name="ethtool")
    module = Entity("module:0", values={"active_alarms": [], "alarm_flag_count": 0})
    lanes: dict[int, Entity] = {}
    for number, line in _plain.lines(data):
        word = line.strip()
        pair = _PAIR.match(word)
        if _ERROR.match(word):
            _plain.note(reading, "tool_error", "ethtool said an error", line=number, verbatim=word)
        elif pair:
            _pair(reading, module, lanes, (pair.group(1).strip(), pair.group(2).strip()), number)
        else:
            _plain.malformed(reading, number, line, "`label : value`")
    if "identifier" not in module.values:
        return _plain.nothing(reading, "`Identifier : 0x..`")
    measured = {"temperature_c", "tx_power_dbm", "rx_power_dbm", "bias_current_ma"}
    seen = set(module.values) | {name for lane in lanes.values() for name in lane.values}
    module.values["diagnostics"] = bool(measured & seen)
    if "part_number" not in module.values:
        where = {"entity": module.path, "field": "part_number"}
        _plain.note(reading, "truncated", "it ends before `Vendor PN`", **where)
    reading.add(module)
    for lane in lanes.values():
        reading.add(lane)
    return reading


def _pair(
    reading: Reading,
    module: Entity,
    lanes: dict[int, Entity],
    pair: tuple[str, str],
    number: int,
) -> None:
    label, value = pair
    channel = _CHANNEL.search(label)
    name = label[: channel.start()].strip() if channel else label
    if "threshold" in label:
        return
    if _FLAG.search(label) and value in ("On", "Off", "Yes", "No", "None"):
        _flag(module, label, value)
        return
    owner = module
    if channel:
        index = int(channel.group(1))
        owner = lanes.setdefault(index, Entity(f"module:0/lane:{index}"))
    if name in _LIGHT:
        _light(reading, owner, _LIGHT[name], value, number)
    elif name in ("Laser bias current", "Laser tx bias current"):
        _measured(reading, owner, "bias_current_ma", value, "mA", number)
    elif owner is module:
        _of_module(reading, module, pair, number)


def _flag(module: Entity, label: str, value: str) -> None:
    if label.startswith("Alarm/warning flags"):
        return
    module.values["alarm_flag_count"] = int(str(module.values["alarm_flag_count"])) + 1
    listed = module.values["active_alarms"]
    if value in ("On", "Yes") and isinstance(listed, list) and len(listed) < 200:
        listed.append(label)


def _light(reading: Reading, owner: Entity, name: str, value: str, number: int) -> None:
    found = _POWER.match(value)
    if found is None:
        _plain.put(reading, owner, f"{name}_dbm", value, _plain.unknown, number)
        return
    owner.values[f"{name}_mw"] = float(found.group(1))
    if found.group(2) == "-inf" or float(found.group(2)) <= _ZERO_LIGHT:
        # No light at all: its logarithm says only that it is below what can be measured.
        owner.values[f"{name}_dbm"] = _ZERO_LIGHT
        owner.notes[f"{name}_dbm"] = "rounded"
    else:
        owner.values[f"{name}_dbm"] = float(found.group(2))


def _measured(
    reading: Reading, owner: Entity, name: str, value: str, unit: str, number: int
) -> None:
    found = re.match(_NUMBER + re.escape(unit), value)
    if found:
        owner.values[name] = float(found.group(1))
    else:
        _plain.put(reading, owner, name, value, _plain.unknown, number)


def _of_module(reading: Reading, module: Entity, pair: tuple[str, str], number: int) -> None:
    label, value = pair
    inner = re.search(r"\((.{1,100})\)$", value)
    if label == "Identifier":
        module.values["identifier"] = inner.group(1).partition(" (")[0] if inner else value
    elif label == "Connector":
        module.values["connector"] = inner.group(1) if inner else value
    elif label == "Vendor SN":
        module.ids["serial"] = value or None
    elif label == "Transceiver type":
        listed = module.values.setdefault("transceiver_types", [])
        if isinstance(listed, list) and len(listed) < 32:
            listed.append(value)
    elif label in _TEXTS:
        module.values[_TEXTS[label]] = value or None
    elif label in ("Module temperature", "Module voltage", "Laser wavelength"):
        name, unit = {
            "Module temperature": ("temperature_c", "degrees C"),
            "Module voltage": ("voltage_v", "V"),
            "Laser wavelength": ("wavelength_nm", "nm"),
        }[label]
        _measured(reading, module, name, value, unit, number)
    elif label in ("Length (Copper or Active cable)", "Cable assembly length", "Length (Copper)"):
        found = re.match(_NUMBER + "m$", value)
        if found and float(found.group(1)):
            module.values["cable_length_m"] = float(found.group(1))
