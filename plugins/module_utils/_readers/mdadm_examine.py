# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `mdadm --examine`, `mdadm --detail` and /proc/mdstat: software RAID.

Format: the device, and indented `Label : value` lines. The state of a superblock is what
that member knew last: a member may say `clean` while `Array State` shows others missing.
Versions: superblock 0.90 to 1.2, mdadm 3.2 to 4.4. Source: mdadm(8).
"""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import (
    _mdstat,
    _pasted,
    _plain,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data

KIND = "mdadm-examine"
TITLE = "Software RAID by mdadm --examine, --detail and /proc/mdstat"
VERSIONS = "mdadm 3.2 to 4.4"
SOURCES = (
    "mdadm(8)",
    "https://github.com/netdata/netdata/pull/2195",
    "https://github.com/prometheus/procfs/pull/676",
    "https://github.com/md-raid-utilities/mdadm/issues/181",
    "https://github.com/007revad/Synology_HDD_db/issues/149",
)
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
    "resync_pct": Field(float, "progress of a rebuild", "%"),
    "sync_action": Field(str, "recovery, resync, reshape, check ... (/proc/mdstat)"),
    "sync_finish_min": Field(float, "time that it will take yet", "min"),
    "size_b": Field(int, "size (/proc/mdstat)", "B"),
    "member_map": Field(str, "a letter a member: U up, _ missing (/proc/mdstat)"),
    "members": Field(list, "devices, failed ones and spares too"),
    "failed_members": Field(list, "devices marked as failed"),
    "spare_members": Field(list, "devices that wait to be used"),
}
FIELDS = {
    "node": {"array_count": Field(int, "arrays; told where there are none")},
    "member": _FIELDS,
    "array": _FIELDS,
}
# What an array alone tells; the number of active ones is derived for a member, too.
_COUNTS = {*_NUMBERS.values()} - {"raid_device_count", "event_count", "active_device_count"}
_DEVICE = re.compile(r"^(/dev/[A-Za-z0-9_/.:-]{1,100}):$")
_STATE = re.compile(r"^([A.R]{1,384})(?:\s|$)")
_PERCENT = re.compile(r"^([0-9]{1,3})% complete")


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    head = _pasted.text_of(text[:8000])
    if re.search(r"(?m)^/dev/\S+:$", head) and re.search(r"(?m)^\s+Raid Level : ", head):
        return 97
    array = re.search(r"(?m)^md[A-Za-z0-9_./-]{1,60} *: *(?:active|inactive|broken)\b", head)
    if array or re.search(r"(?m)^Personalities *:", head):
        return 97
    return 92 if re.search(r"(?m)^mdadm: ", head) else 0


def read(data: Data) -> Reading:
    """Read one output. Entities: `member:<device>` of --examine, `array:<device>` of --detail."""
    reading = Reading(KIND, tool_name="mdadm")
    found: list[Entity] = []
    head = False
    for number, line in _pasted.lines(data):
        word = line.strip()
        device, array = _DEVICE.match(word), _mdstat.array_of(word)
        head = head or _mdstat.is_head(word)
        if device:
            found.append(Entity(f"member:{device.group(1)[5:].replace('/', '_')}"))
        elif array is not None:
            found.append(array)
        elif word.startswith("mdadm: "):
            says = "mdadm reported an error"
            _plain.note(reading, "tool_error", says, line=number, verbatim=word)
        elif _mdstat.is_head(word) or (head and word.startswith("unused devices")):
            continue
        elif not (found and _line(reading, found[-1], word, number)):
            _pasted.strange(reading, number, line, "a line of mdadm")
    for entity in found:
        _finish(reading, entity)
    if head and not found:
        reading.add(Entity("", values={"array_count": 0}))
    return reading if reading.entities else _plain.nothing(reading, "`/dev/...:`")


def _line(reading: Reading, entity: Entity, word: str, number: int) -> bool:
    """Read a line below a device or an array; return whether it is one."""
    if entity.path.startswith("array:"):
        return _mdstat.detail(entity, word)
    pair = _plain.label(word, " : ")
    if pair:
        _pair(reading, entity, pair, number)
    return bool(pair) or _mdstat.member_row(entity, word)


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
        values["resync_pct"] = float(done.group(1)) if done else None


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
    if reading.add(entity) is not entity:
        return
    failed, letters = values.get("failed_members"), values.get("member_map")
    if isinstance(letters, str) and letters.count("U") != values.get("active_device_count"):
        says = f"{values.get('active_device_count')} members are active, the map is {letters}"
        _plain.note(reading, "inconsistent", says, entity=entity.path)
    # An array without redundancy, or one that is not running, does not tell it.
    quiet = any(one in str(values.get("raid_level")) for one in ("raid0", "linear", "container"))
    quiet = quiet or str(values.get("state")).startswith(("inactive", "broken"))
    if values["degraded"] is None and not quiet:
        says = "it ends before the state of the array is told"
        _plain.note(reading, "truncated", says, entity=entity.path, field="degraded")
    elif failed and values["degraded"] is None:
        values["degraded"] = True
