# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What mlxlink tells of a port: labels, names of the values, and how a value is read.

Private to trackbed.cluster. Source of the labels: Mellanox/mstflint,
mlxlink/modules/mlxlink_enums.h and mlxlink_commander.cpp.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _json
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import Field

# Label -> (name, sort of value)
PORT = {
    "State": ("state", "text"),
    "Physical state": ("physical_state", "text"),
    "Speed": ("speed", "text"),
    "Width": ("width_lanes", "width"),
    "FEC": ("fec", "text"),
    "Loopback Mode": ("loopback", "text"),
    "Auto Negotiation": ("auto_negotiation", "flag"),
    "Enabled Link Speed": ("enabled_speeds", "speeds"),
    "Supported Cable Speed": ("cable_speeds", "speeds"),
    "Status Opcode": ("status_opcode", "int"),
    "Group Opcode": ("status_group", "text"),
    "Recommendation": ("recommendation", "text"),
    "Firmware Version": ("firmware_version", "text"),
    "Time Since Last Clear [Min]": ("minutes_since_clear", "float"),
    "Symbol Errors": ("symbol_errors", "int"),
    "Symbol BER": ("symbol_ber", "float"),
    "Effective Physical Errors": ("effective_errors", "int"),
    "Effective Physical BER": ("effective_ber", "float"),
    "Raw Physical BER": ("raw_ber", "float"),
    "Raw Physical BER Per Lane": ("raw_ber_per_lane", "floats"),
    "Raw Physical Errors Per Lane": ("raw_errors_per_lane", "ints"),
    "Link Down Counter": ("link_down_count", "int"),
    "Link Error Recovery Counter": ("link_recovery_count", "int"),
}
MODULE = {
    "Identifier": ("identifier", "text"),
    "Compliance": ("compliance", "text"),
    "Cable Technology": ("cable_technology", "text"),
    "Cable Type": ("cable_type", "text"),
    "Vendor Name": ("vendor", "text"),
    "Vendor Part Number": ("part_number", "text"),
    "Rev": ("revision", "text"),
    "FW Version": ("firmware_version", "text"),
    "Manufacturing Date": ("manufactured", "text"),
    "Wavelength [nm]": ("wavelength_nm", "float"),
    "Transfer Distance [m]": ("length_m", "float"),
    "Temperature [C]": ("temperature_c", "float"),
    "Voltage [mV]": ("voltage_mv", "float"),
    "Bias Current [mA]": ("bias_current_ma", "floats"),
    "Rx Power Current [dBm]": ("rx_power_dbm", "floats"),
    "Tx Power Current [dBm]": ("tx_power_dbm", "floats"),
    "SNR Media Lanes [dB]": ("snr_media_db", "floats"),
    "SNR Host Lanes [dB]": ("snr_host_db", "floats"),
    "Module State": ("module_state", "text"),
    "Module FW Fault": ("firmware_fault", "int"),
    "Tx Fault [per lane]": ("tx_fault_lanes", "ints"),
    "Tx LOS [per lane]": ("tx_los_lanes", "ints"),
    "Rx LOS [per lane]": ("rx_los_lanes", "ints"),
}
PCIE = {
    "Depth, pcie index, node": ("node", "text"),
    "Device Status": ("device_status", "text"),
    "dl down": ("link_down_count", "int"),
    "RX Errors": ("rx_errors", "int"),
    "TX Errors": ("tx_errors", "int"),
    "CRC Error dllp": ("crc_error_dllp_count", "int"),
    "CRC Error tlp": ("crc_error_tlp_count", "int"),
}
_SAYS = {
    "state": "state, as printed: Active, Polling, Disable ...",
    "physical_state": "state of the PHY, as printed",
    "speed": "speed, as printed: IB-NDR, 400G; null where there is no link",
    "fec": "FEC in use, as printed",
    "enabled_speeds": "speeds that the port may train at",
    "cable_speeds": "speeds that the cable can do",
    "status_opcode": "0 is good",
    "recommendation": "the tool's own advice",
    "symbol_ber": "rate of symbols in error; 0 for 15E-255",
    "effective_errors": "errors after correction",
    "effective_ber": "rate of errors after correction; 0 for 15E-255",
    "raw_ber": "errors before correction, as a rate; 0 for 15E-255",
    "node": "place in the device: depth, index, node",
}
_TYPES: dict[str, type] = {
    "text": str, "int": int, "width": int, "flag": bool, "float": float,
    "speeds": list, "ints": list, "floats": list,
}  # fmt: skip
_UNITS = {"_c": "C", "_mv": "mV", "_ma": "mA", "_dbm": "dBm", "_db": "dB", "_nm": "nm", "_m": "m"}
_NO_ERRORS = "15e-255"
_RANGE = re.compile(r"\s*\[[^\]]{0,60}\]$")
_DIGITS = re.compile(r"^[0-9]{1,20}$")
_DECIMAL = re.compile(r"^-?[0-9]{1,20}(?:\.[0-9]{1,20})?(?:[eE][+-]?[0-9]{1,3})?$")


def fields_of(table: dict[str, tuple[str, str]]) -> dict[str, Field]:
    """Return the catalogue of these values."""
    found = {}
    for label, (name, sort) in table.items():
        unit = next((one for end, one in _UNITS.items() if name.endswith(end)), None)
        found[name] = Field(_TYPES[sort], _SAYS.get(name, f"{label}, as the tool has it"), unit)
    return found


def convert(value: t.Any, sort: str) -> tuple[t.Any, bool]:
    """Return the value, and whether None is what the tool meant: N/A."""
    if sort in ("speeds", "ints", "floats"):
        return _several(value, sort)
    word = (_json.text_of(value) or "").strip()
    if word.upper() in ("N/A", "", "NA"):
        return None, True
    return _SORTS[sort](word if sort == "text" else word[:200]), False


def pcie_pair(text: str, mark: str) -> tuple[int | None, int | None]:
    """Return active and enabled of `16G-Gen 4 (16G-Gen 4)` or `16X (16X)`."""
    pattern = r"Gen ?([0-9])" if mark == "Gen" else r"([0-9]{1,2})X"
    found = [int(one) for one in re.findall(pattern, text[:100])]
    return (found[0], found[1] if len(found) > 1 else None) if found else (None, None)


def _flag(word: str) -> bool | None:
    return {"ON": True, "OFF": False, "FORCE": False}.get(re.split(r"[\s-]", word.upper())[0])


def _width(word: str) -> int | None:
    found = re.match(r"^([0-9]{1,2})[xX]$", word)
    return int(found.group(1)) if found else None


def _whole(word: str) -> int | None:
    word = re.sub(r"\s+\(.{0,60}\)$", "", _RANGE.sub("", word)).strip()
    if _DIGITS.match(word):
        return int(word)
    number = _number(word)
    return int(number) if number is not None and number == int(number) else None


def _number(word: str) -> float | None:
    """Return the number before a range in brackets; 15E-255 stands for none at all."""
    word = _RANGE.sub("", word).strip()
    if word.lower() == _NO_ERRORS:
        return 0.0
    if not _DECIMAL.match(word):
        return None
    value = float(word)
    return value if value - value == 0 else None


def _several(value: t.Any, sort: str) -> tuple[t.Any, bool]:
    words = value if isinstance(value, list) else _words(_json.text_of(value) or "")
    texts = [one for one in (str(one).strip() for one in words[:64]) if one]
    if not texts or all(one.upper() == "N/A" for one in texts):
        return None, True
    if sort == "speeds":
        return [one for one in texts if not one.startswith("0x")], True
    reader = _whole if sort == "ints" else _number
    numbers = [reader(one) for one in texts]
    strange = [one for one, number in zip(texts, numbers) if number is None and one != "N/A"]
    return (None if strange else numbers), not strange


def _words(text: str) -> list[str]:
    """Return the words of `0x00000200 (100G_4X,50G_2X)` and of `1.886,1.989 [-10.41..6]`."""
    text = text[:4000]
    inner = re.search(r"\(([^()]{0,600})\)$", text)
    return re.split(r"[,\s]+", inner.group(1) if inner else _RANGE.sub("", text))


_SORTS: dict[str, t.Callable[[str], t.Any]] = {
    "text": str,
    "flag": _flag,
    "width": _width,
    "int": _whole,
    "float": _number,
}
