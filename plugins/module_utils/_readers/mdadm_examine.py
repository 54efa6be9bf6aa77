# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `mdadm --examine` and `mdadm --detail`: what an array's member or the array says.

Format: the device, and indented `Label : value` lines. The state of a superblock is what
that member knew last: a member may say `clean` while `Array State` shows others missing.
Versions: superblock 0.90 to 1.2, mdadm 3.2 to 4.4. Source: mdadm(8).
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

KIND = "mdadm-examine"
TITLE = "mdadm: members of software RAID arrays, and arrays"
VERSIONS = "mdadm 3.2 to 4.4"
SOURCES = ("mdadm(8)",)
PROVEN = True
_TEXTS = {
    "Raid Level": "raid_level",
    "Version": "superblock_version",
    "Device Role": "role",
    "State": "state",
    "Update Time": "updated",
    "Creation Time": "created",
}
_NUMBERS = {
    "Raid Devices": "raid_device_count",
    "Total Devices": "total_device_count",
    "Active Devices": "active_device_count",
    "Working Devices": "working_device_count",
    "Failed Devices": "failed_device_count",
    "Spare Devices": "spare_device_count",
    "Events": "event_count",
}
_FIELDS = {
    "raid_level": Field(str, "raid0, raid1, raid10 ..."),
    "superblock_version": Field(str, "format of the superblock"),
    "state": Field(str, "clean, active, degraded ..., as printed"),
    "updated": Field(str, "when it was written last, as printed"),
    "created": Field(str, "when the array was made, as printed"),
    "raid_device_count": Field(int, "members that the array has by design"),
    "event_count": Field(int, "grows with every change; members of one array agree"),
    "array_name": Field(str, "name of the array"),
    "active_device_count": Field(int, "members that are active"),
    "missing_device_count": Field(int, "members that are missing"),
    "degraded": Field(bool, "members are missing"),
    "role": Field(str, "this member's part, as printed"),
    "array_state": Field(str, "a letter a member: A active, . missing, R replacing"),
    "replacing_device_count": Field(int, "members that are replaced"),
    "checksum_correct": Field(bool, "the superblock's checksum"),
    "bad_block_log": Field(bool, "it keeps a log of bad blocks"),
    "total_device_count": Field(int, "members and spares"),
    "working_device_count": Field(int, "members and spares that work"),
    "failed_device_count": Field(int, "members that failed"),
    "spare_device_count": Field(int, "spares"),
    "resync_pct": Field(int, "progress of a rebuild", "%"),
}
FIELDS = {"member": _FIELDS, "array": _FIELDS}
# What an array alone tells; the number of active ones is derived for a member, too.
_COUNTS = {*_NUMBERS.values()} - {"raid_device_count", "event_count", "active_device_count"}
_DEVICE = re.compile(r"^(/dev/[A-Za-z0-9_/.:-]{1,100}):$")
_STATE = re.compile(r"^([A.R]{1,384})(?:\s|$)")
_NONE = re.compile(r"^mdadm: (?:No md superblock detected|cannot open|no such)", re.IGNORECASE)
_PERCENT = re.compile(r"^([0-9]{1,3})% complete")


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    head = text[:8000]
    if re.search(r"(?m)^/dev/\S+:$", head) and re.search(r"(?m)^\s+Raid Level : ", head):
        return 97
    return 92 if re.search(r"(?m)^mdadm: ", head) else 0


def read(data: Data) -> Reading:
    """Read one output. Entities: `member:<device>` of --examine, `array:<device>` of --detail."""
    reading = Reading(KIND, tool_name="mdadm")
    found: list[Entity] = []
    for number, line in _plain.lines(data):
        word = line.strip()
        device = _DEVICE.match(word)
        pair = _plain.label(word, " : ")
        if device:
            found.append(Entity(f"member:{device.group(1)[5:].replace('/', '_')}"))
        elif _NONE.match(word) or word.startswith("mdadm: "):
            _plain.note(
                reading, "tool_error", "mdadm reported an error", line=number, verbatim=word
            )
        elif found and pair:
            _pair(reading, found[-1], pair, number)
        elif found and re.match(r"^(?:Number\s+Major|[-0-9]+\s+[0-9]+\s)", word):
            continue  # the table of members at the end of --detail
        else:
            _plain.malformed(reading, number, line, "a line of mdadm")
    for entity in found:
        _finish(reading, entity)
    return reading if reading.entities else _plain.nothing(reading, "`/dev/...:`")


def _pair(reading: Reading, entity: Entity, pair: tuple[str, str], number: int) -> None:
    label, value = pair
    values = entity.values
    if label in _TEXTS:
        values[_TEXTS[label]] = value or None
    elif label in _NUMBERS:
        _plain.put(reading, entity, _NUMBERS[label], value, _plain.integer, number)
    elif label in ("Array UUID", "UUID", "Device UUID"):
        entity.ids["device_uuid" if label == "Device UUID" else "array_uuid"] = value or None
    elif label == "Name":
        values["array_name"] = value.partition("  ")[0] or None
    elif label == "Checksum":
        values["checksum_correct"] = value.endswith("correct") and "expected" not in value
    elif label == "Bad Block Log":
        values["bad_block_log"] = True
    elif label == "Array State":
        _array_state(reading, entity, value, number)
    elif label in ("Rebuild Status", "Resync Status", "Reshape Status"):
        done = _PERCENT.match(value)
        values["resync_pct"] = int(done.group(1)) if done else None


def _array_state(reading: Reading, entity: Entity, value: str, number: int) -> None:
    found = _STATE.match(value)
    if found is None:
        says = "the array's state is not one of A, . and R"
        where = {"line": number, "entity": entity.path, "verbatim": value}
        _plain.note(reading, "unknown_value", says, **where)
        return
    letters = found.group(1)
    entity.values["array_state"] = letters
    entity.values["active_device_count"] = letters.count("A")
    entity.values["missing_device_count"] = letters.count(".")
    entity.values["replacing_device_count"] = letters.count("R")


def _finish(reading: Reading, entity: Entity) -> None:
    """Say what is derived, and keep the entity as what it is."""
    values = entity.values
    if _COUNTS & set(values) and "array_state" not in values:
        entity.path = entity.path.replace("member:", "array:", 1)
        wanted, active = values.get("raid_device_count"), values.get("active_device_count")
        if isinstance(wanted, int) and isinstance(active, int):
            values["missing_device_count"] = max(wanted - active, 0)
    missing = values.get("missing_device_count")
    values["degraded"] = missing > 0 if isinstance(missing, int) else None
    if reading.add(entity) is entity and values["degraded"] is None:
        where = {"entity": entity.path, "field": "degraded"}
        says = "it ends before the state of the array is told"
        if "raid0" not in str(values.get("raid_level")):
            _plain.note(reading, "truncated", says, **where)
