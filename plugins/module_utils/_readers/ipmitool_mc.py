# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `ipmitool mc info` (also `bmc info`): the management controller.

Format: `Label : value` lines, and two lists of indented lines. Versions: ipmitool
1.8.11 to 1.8.19. Source: ipmitool(1); IPMI specification 2.0, section 20.1.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _pasted, _plain
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data

KIND = "ipmitool-mc"
TITLE = "ipmitool mc info: the management controller"
VERSIONS = "ipmitool 1.8.11 to 1.8.19"
SOURCES = ("ipmitool(1)",)
PROVEN = True
FIELDS = {
    "bmc": {
        "device_id": Field(int, "number that its maker gave the kind of device"),
        "device_revision": Field(int, "revision"),
        "firmware_version": Field(str, "major.minor"),
        "ipmi_version": Field(str, "version of IPMI"),
        "manufacturer_id": Field(int, "IANA enterprise number"),
        "manufacturer": Field(str, "name of it; null where the tool does not know it"),
        "product_id": Field(int, "product"),
        "product": Field(str, "name of it; null where the tool does not know it"),
        "available": Field(bool, "no firmware update or initialisation is in progress"),
        "provides_sdrs": Field(bool, "it has sensor data records of its own"),
        "supports": Field(list, "kinds of devices that it stands for"),
        "auxiliary_firmware": Field(list, "four bytes whose meaning is the maker's, as printed"),
    }
}
_LABELS = {
    "Device ID": ("device_id", _plain.integer),
    "Device Revision": ("device_revision", _plain.integer),
    "Firmware Revision": ("firmware_version", _plain.text),
    "IPMI Version": ("ipmi_version", _plain.text),
    "Manufacturer ID": ("manufacturer_id", _plain.integer),
    "Manufacturer Name": ("manufacturer", _plain.text),
    "Product ID": ("product_id", _plain.integer),
    "Product Name": ("product", _plain.text),
    "Device Available": ("available", _plain.yes),
    "Provides Device SDRs": ("provides_sdrs", _plain.yes),
}
_LISTS = {
    "Additional Device Support": "supports",
    "Aux Firmware Rev Info": "auxiliary_firmware",
}
_ERROR = re.compile(
    r"^(?:Could not open device|Error|Get Device ID command failed|Unable to|Invalid)"
)


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    head = _pasted.text_of(text[:4000])
    labels = ("Device ID", "Firmware Revision", "IPMI Version")
    found = [re.search(rf"(?m)^\s*{label}\s+: ", head) for label in labels]
    return 97 if all(found) else 0


def read(data: Data) -> Reading:
    """Read one output; entity `bmc:0`."""
    reading = Reading(KIND, tool_name="ipmitool")
    bmc = Entity("bmc:0")
    listed = ""
    for number, line in _pasted.lines(data):
        pair = _plain.label(line)
        if pair and pair[0] in _LABELS:
            listed = ""
            name, reader = _LABELS[pair[0]]
            _named(reading, bmc, name, pair[1], reader, number)
        elif pair and pair[0] in _LISTS:
            listed = _LISTS[pair[0]]
            bmc.values[listed] = []
        elif listed and line.startswith((" ", "\t")):
            values = bmc.values[listed]
            if isinstance(values, list) and len(values) < 32:
                values.append(line.strip())
        elif _ERROR.match(line.strip()):
            says = "ipmitool reported an error"
            _plain.note(reading, "tool_error", says, line=number, verbatim=line.strip())
        else:
            _pasted.strange(reading, number, line, "a label of ipmitool mc info")
    if not bmc.values:
        return _plain.nothing(reading, "`Device ID :`")
    if "auxiliary_firmware" not in bmc.values and "provides_sdrs" not in bmc.values:
        _plain.note(reading, "truncated", "it ends before `Provides Device SDRs`")
    reading.add(bmc)
    return reading


def _named(
    reading: Reading,
    bmc: Entity,
    name: str,
    word: str,
    reader: t.Callable[[str], t.Any],
    number: int,
) -> None:
    """Put a value; `Unknown (0x100)` is the tool's word for a name that it has not."""
    if name in ("manufacturer", "product") and word.startswith("Unknown"):
        bmc.values[name] = None
        bmc.notes[name] = "not_supported"
    else:
        _plain.put(reading, bmc, name, word, reader, number)
