# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `flint query` and `mstflint query`: firmware of an NVIDIA adapter.

Format: `Label: value` lines; Rom Info goes on in lines of its own, and a heading
`Description: UID GuidsNumber` stands before the GUIDs although a line of the same label is
the product's. With `query full` there are more labels. Versions: mstflint 4.6 to 4.34, MFT
4.14 to 4.34. Source: mstflint(1).
"""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._identity import guid, mac
from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _plain
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data

KIND = "flint-query"
TITLE = "flint query: firmware of an adapter"
VERSIONS = "mstflint 4.6 to 4.34"
SOURCES = ("mstflint(1)",)
PROVEN = True
_TEXTS = {
    "Image type": "image_type",
    "FW Version": "firmware_version",
    "FW Version(Running)": "firmware_version_running",
    "FW Release Date": "firmware_date",
    "Part Number": "part_number",
    "Product Version": "product_version",
    "PSID": "board_id",
    "Orig PSID": "board_id_original",
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
        "description": Field(str, "product"),
        "guid_count": Field(int, "GUIDs that belong to it"),
        "mac_count": Field(int, "addresses that belong to it"),
        "rom_types": Field(list, "boot programs in the image, as printed"),
        "reset_pending": Field(bool, "the image on the board is not the one that runs"),
    }
}
_BASE = re.compile(r"^([0-9a-fA-Fx:]{12,40}|N/A)(?:\s+([0-9]{1,6}))?$")
_ROM = re.compile(r"^type=\S")
_NOISE = re.compile(
    r"^(?:Image VSD|Device VSD|VSD|Security Ver Program|Chip Revision|Rom Info|FW Reactivation|"
    r"Orig Base|Current GUIDs|New GUIDs|GUIDs|MACs|Querying device|(?:\S*[$#] )?(?:mst)?flint\b)"
)
_ERROR = re.compile(r"^-E- (.{1,300})$")


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    head = text[:8000]
    if re.search(r"(?m)^Image type:\s+FS[0-9]", head) and re.search(r"(?m)^FW Version:\s", head):
        return 97
    return 88 if re.search(r"(?m)^PSID:\s+\S", head) and "FW Version:" in head else 0


def read(data: Data) -> Reading:
    """Read one output; entity `nic:0`, for the output does not name its adapter."""
    reading = Reading(KIND, tool_name="flint")
    nic = Entity("nic:0")
    for number, line in _plain.lines(data):
        word = line.strip()
        error, pair = _ERROR.match(word), _plain.label(word)
        if error:
            _plain.note(reading, "tool_error", "flint said an error", line=number, verbatim=word)
        elif _ROM.match(word) or (pair and pair[0] == "Rom Info"):
            _rom(nic, pair[1] if pair and pair[0] == "Rom Info" else word)
        elif (not pair or not _pair(reading, nic, pair, number)) and not _NOISE.match(word):
            _plain.malformed(reading, number, line, "a label of flint query")
    if "firmware_version" not in nic.values:
        return _plain.nothing(reading, "`FW Version:`")
    running = nic.values.get("firmware_version_running")
    nic.values["reset_pending"] = running is not None and running != nic.values["firmware_version"]
    if "board_id" not in nic.values:
        where = {"entity": nic.path, "field": "board_id"}
        _plain.note(reading, "truncated", "it ends before `PSID:`", **where)
    reading.add(nic)
    return reading


def _rom(nic: Entity, word: str) -> None:
    listed = nic.values.setdefault("rom_types", [])
    if isinstance(listed, list) and len(listed) < 32 and _ROM.match(word):
        listed.append(word)


def _pair(reading: Reading, nic: Entity, pair: tuple[str, str], number: int) -> bool:
    label, value = pair
    if label in _TEXTS:
        _plain.put(reading, nic, _TEXTS[label], value, _plain.text, number)
    elif label == "Description":
        # The second one is the heading of the GUIDs.
        if not re.match(r"^UID\s+GuidsNumber", value):
            nic.values.setdefault("description", value or None)
    elif label in ("Base GUID", "Base MAC"):
        _base(reading, nic, label[5:].lower(), value, number)
    else:
        return False
    return True


def _base(reading: Reading, nic: Entity, name: str, value: str, number: int) -> None:
    found = _BASE.match(value)
    if found is None:
        where = {"line": number, "entity": nic.path, "verbatim": value}
        _plain.note(reading, "unknown_value", f"the base {name} is not one", **where)
        return
    nic.ids[name] = guid(found.group(1)) if name == "guid" else mac(found.group(1))
    nic.values[f"{name}_count"] = int(found.group(2)) if found.group(2) else None
