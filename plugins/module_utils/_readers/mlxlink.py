# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `mlxlink` (also mstlink): state, errors and module of one port, text and JSON.

Format: sections of `label : value` lines below a title and a rule, values with colours on a
terminal; in JSON (`--json`) the same labels, numbers as texts, lists as `{"values": []}`.
`15E-255` is the tool's word for no error at all. Versions: MFT 4.15 to 4.36, mstflint 4.21
to 4.36. Source: Mellanox/mstflint, mlxlink; outputs of Quantum-2 and ConnectX-7 links in
public repositories.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _json, _plain
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    ERROR,
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data, decode

KIND = "mlxlink"
TITLE = "mlxlink: state, errors and module of a port"
VERSIONS = "MFT 4.15 to 4.36"
SOURCES = ("https://github.com/Mellanox/mstflint mlxlink",)
PROVEN = True
FIELDS = {
    "port": {
        "state": Field(str, "state, as printed: Active, Polling, Disable ..."),
        "physical_state": Field(str, "state of the PHY, as printed"),
        "speed": Field(str, "speed, as printed: IB-NDR, 400G; null where there is no link"),
        "width_lanes": Field(int, "lanes"),
        "fec": Field(str, "FEC in use, as printed"),
        "loopback": Field(str, "loopback mode, as printed"),
        "auto_negotiation": Field(bool, "speed is negotiated"),
        "enabled_speeds": Field(list, "speeds that the port may train at"),
        "cable_speeds": Field(list, "speeds that the cable can do"),
        "status_opcode": Field(int, "0 is good"),
        "recommendation": Field(str, "the tool's own advice"),
        "minutes_since_clear": Field(float, "age of the counters", "min"),
        "symbol_errors": Field(int, "symbols in error"),
        "symbol_ber": Field(float, "rate of them; 0 for 15E-255"),
        "effective_errors": Field(int, "errors after correction"),
        "effective_ber": Field(float, "rate of them; 0 for 15E-255"),
        "raw_ber": Field(float, "errors before correction, as a rate; 0 for 15E-255"),
        "raw_errors_per_lane": Field(list, "errors before correction, by lane"),
        "link_down_count": Field(int, "times the link went down"),
        "link_recovery_count": Field(int, "recoveries"),
    },
    "module": {
        "identifier": Field(str, "form: OSFP, QSFP112 ..."),
        "cable_technology": Field(str, "technology, as printed"),
        "cable_type": Field(str, "cable or module, as printed"),
        "vendor": Field(str, "vendor"),
        "part_number": Field(str, "part number"),
        "revision": Field(str, "revision"),
        "firmware_version": Field(str, "firmware"),
        "length_m": Field(float, "transfer distance", "m"),
        "temperature_c": Field(float, "temperature", "C"),
        "voltage_mv": Field(float, "supply", "mV"),
        "bias_current_ma": Field(list, "current of the lasers, by lane", "mA"),
        "rx_power_dbm": Field(list, "light received, by lane", "dBm"),
        "tx_power_dbm": Field(list, "light sent, by lane", "dBm"),
    },
}
_PORT = {
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
    "Recommendation": ("recommendation", "text"),
    "Time Since Last Clear [Min]": ("minutes_since_clear", "float"),
    "Symbol Errors": ("symbol_errors", "int"),
    "Symbol BER": ("symbol_ber", "rate"),
    "Effective Physical Errors": ("effective_errors", "int"),
    "Effective Physical BER": ("effective_ber", "rate"),
    "Raw Physical BER": ("raw_ber", "rate"),
    "Raw Physical Errors Per Lane": ("raw_errors_per_lane", "ints"),
    "Link Down Counter": ("link_down_count", "int"),
    "Link Error Recovery Counter": ("link_recovery_count", "int"),
}
_MODULE = {
    "Identifier": ("identifier", "text"),
    "Cable Technology": ("cable_technology", "text"),
    "Cable Type": ("cable_type", "text"),
    "Vendor Name": ("vendor", "text"),
    "Vendor Part Number": ("part_number", "text"),
    "Rev": ("revision", "text"),
    "FW Version": ("firmware_version", "text"),
    "Transfer Distance [m]": ("length_m", "float"),
    "Temperature [C]": ("temperature_c", "float"),
    "Voltage [mV]": ("voltage_mv", "float"),
    "Bias Current [mA]": ("bias_current_ma", "floats"),
    "Rx Power Current [dBm]": ("rx_power_dbm", "floats"),
    "Tx Power Current [dBm]": ("tx_power_dbm", "floats"),
}
_COLOUR = re.compile(r"\x1b\[[0-9;]{0,12}m")
_RANGE = re.compile(r"\s*\[[^\]]{0,60}\]$")
_NO_ERRORS = "15e-255"
_NOISE = re.compile(
    r"^(?:[A-Z][A-Za-z -]{3,50} Info$|-{5,}$|(?:\S*[$#] )?(?:sudo )?(?:mlx|mst)link\b)"
)
_SIGNATURE = re.compile(r"(?m)^Operational Info(?: .*)?\n-{5,}\s*$")


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    head = _COLOUR.sub("", text[:20000])
    if _SIGNATURE.search(head) or re.search(r"(?m)^Raw Physical Errors Per Lane\s+: ", head):
        return 97
    return 97 if re.search(r'"Operational Info"\s*:\s*\{', head) else 0


def read(data: Data) -> Reading:
    """Read one output; entities `port:0`, `module:0`, for it does not name its port."""
    reading = Reading(KIND, tool_name="mlxlink")
    text = _COLOUR.sub("", decode(data))
    port, module = Entity("port:0"), Entity("module:0")
    pairs = _document(reading, text) if text.lstrip().startswith("{") else _lines(reading, text)
    for label, value, number in pairs:
        _pair(reading, port, module, (label, value), number)
    if not port.values:
        return _plain.nothing(reading, "`Operational Info`")
    if "state" not in port.values:
        where = {"entity": port.path, "field": "state"}
        _plain.note(reading, "missing_value", "no `State`", **where)
    reading.add(port)
    if module.values:
        reading.add(module)
    return reading


_Pairs = t.List[t.Tuple[str, t.Any, t.Optional[int]]]


def _lines(reading: Reading, text: str) -> _Pairs:
    pairs: _Pairs = []
    for number, line in _plain.lines(text):
        word = line.strip()
        pair = _plain.label(word, " : ") or _plain.label(word)
        if word.startswith("-E-") or word.lower().startswith("error"):
            says = "mlxlink said an error"
            _plain.note(reading, "tool_error", says, line=number, verbatim=word)
        elif _NOISE.match(word):
            continue
        elif pair:
            pairs.append((pair[0], pair[1], number))
        else:
            _plain.malformed(reading, number, line, "`label : value`")
    return pairs


def _document(reading: Reading, text: str) -> _Pairs:
    document = _json.as_dict(_json.load(text, reading))
    status = _json.as_dict(document.get("status"))
    code = _json.integer_of(status.get("code"))
    if code:
        verbatim = _json.text_of(status.get("message"))
        _plain.note(reading, "tool_error", f"the tool ended with code {code}", verbatim=verbatim)
        reading.quality = ERROR
    output = _json.as_dict(_json.as_dict(document.get("result")).get("output"))
    pairs: _Pairs = []
    for section in output.values():
        for label, value in _json.as_dict(section).items():
            values = value.get("values") if isinstance(value, dict) else None
            pairs.append((label, values if isinstance(values, list) else value, None))
    return pairs


def _pair(
    reading: Reading, port: Entity, module: Entity, pair: tuple[str, t.Any], number: int | None
) -> None:
    label, value = pair
    label = re.sub(r" \(Ext\.\)$", "", label)
    if label == "Vendor Serial Number":
        module.ids["serial"] = _json.text_of(value)
    for entity, table in ((port, _PORT), (module, _MODULE)):
        if label not in table:
            continue
        name, sort = table[label]
        if name in entity.values:
            return  # of several outputs in one text the first
        found, known = _converted(value, sort)
        entity.values[name] = found
        if found is None and known:
            entity.notes[name] = "not_supported"
        elif found is None:
            where = {"line": number, "entity": entity.path, "field": name}
            says = f"{label} has a value that is not known"
            _plain.note(reading, "unknown_value", says, verbatim=str(value), **where)


def _converted(value: t.Any, sort: str) -> tuple[t.Any, bool]:
    """Return the value, and whether None is what the tool meant: N/A."""
    if sort in ("speeds", "ints", "floats"):
        return _several(value, sort)
    word = (_json.text_of(value) or "").strip()
    if word in ("N/A", ""):
        return None, True
    return _SORTS[sort](word), sort == "text"


def _flag(word: str) -> bool | None:
    return {"ON": True, "OFF": False}.get(word.upper().partition(" ")[0])


def _width(word: str) -> int | None:
    found = re.match(r"^([0-9]{1,2})x$", word)
    return int(found.group(1)) if found else None


def _whole(word: str) -> int | None:
    number = _number(word)
    return int(number) if number is not None and number == int(number) else None


def _number(word: str) -> float | None:
    """Return the number before a range in brackets; 15E-255 stands for none at all."""
    word = _RANGE.sub("", word).strip()
    if word.lower() == _NO_ERRORS:
        return 0.0
    if not re.match(r"^-?[0-9]{1,20}(?:\.[0-9]{1,20})?(?:[eE][+-]?[0-9]{1,3})?$", word):
        return None
    value = float(word)
    return value if value - value == 0 else None


def _several(value: t.Any, sort: str) -> tuple[t.Any, bool]:
    words = value if isinstance(value, list) else _words(_json.text_of(value) or "")
    texts = [str(one).strip() for one in words][:64]
    texts = [one for one in texts if one]
    if not texts or texts == ["N/A"]:
        return None, True
    if sort == "speeds":
        return texts, True
    numbers = [_number(one) for one in texts]
    if sort == "ints":
        return [None if one is None else int(one) for one in numbers], True
    return numbers, True


def _words(text: str) -> list[str]:
    """Return the words of `0x00000200 (100G_4X,50G_2X)` and of `1.886,1.989 [-10.41..6]`."""
    inner = re.search(r"\(([^()]{1,300})\)$", text)
    return re.split(r"[,\s]+", inner.group(1) if inner else _RANGE.sub("", text))


_SORTS: dict[str, t.Callable[[str], t.Any]] = {
    "text": _plain.text,
    "flag": _flag,
    "width": _width,
    "int": _whole,
    "float": _number,
    "rate": _number,
}
