# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""/proc/mdstat and the table of members at the end of `mdadm --detail`.

Private to trackbed.cluster.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._reading import Entity

_HEAD = re.compile(r"^Personalities\s*:")
_ARRAY = re.compile(
    r"^(md[A-Za-z0-9_./-]{1,60})\s*:\s*(active|inactive|broken)"
    r"((?:\s+\((?:auto-)?read-only\))?)\s*(.{0,20000})$"
)
_MEMBER = re.compile(r"^([A-Za-z0-9_./!-]{1,100})\[([0-9]{1,5})\]((?:\([A-Z]\)){0,4})$")
_BLOCKS = re.compile(r"^([0-9]{1,20}) blocks\b(.{0,400})$")
_COUNTS = re.compile(r"\[([0-9]{1,5})/([0-9]{1,5})\](?:\s*\[([U_]{1,5000})\])?")
_SUPER = re.compile(r"\bsuper (\S{1,60})")
_SYNC = re.compile(r"\b(recovery|resync|reshape|check|repair)\s*=\s*([0-9]{1,3}(?:\.[0-9]{1,3})?)%")
_FINISH = re.compile(r"\bfinish=\s*([0-9]{1,9}(?:\.[0-9]{1,3})?)min")
_WAITING = re.compile(r"\b(recovery|resync|reshape|check)\s*=\s*(DELAYED|PENDING|REMOTE)")
_OTHER = re.compile(
    r"^(?:unused devices|bitmap\b|read_ahead |Event: |\([0-9]+/[0-9]+\) finish=|\[[=>.]{5,})"
)
_ROW = re.compile(
    r"^(?:-|[0-9]{1,5})\s+[0-9]{1,5}\s+[0-9]{1,5}\s+(?:-|[0-9]{1,5})\s+([a-z][A-Za-z :-]{2,40}?)"
    r"(?:\s+(/dev/\S{1,100}))?$"
)


def is_head(line: str) -> bool:
    """Return whether this line begins /proc/mdstat."""
    return bool(_HEAD.match(line))


def array_of(line: str) -> Entity | None:
    """Return the array of `md0 : active raid1 sda1[0] sdb1[1](F)`."""
    found = _ARRAY.match(line)
    if found is None:
        return None
    name, state, mode, rest = found.groups()
    entity = Entity(f"array:{name.replace('/', '_')}", values={"state": f"{state}{mode}"})
    lists: dict[str, list[str]] = {"members": [], "failed_members": [], "spare_members": []}
    for word in rest.split():
        member = _MEMBER.match(word)
        if member is None:
            entity.values["raid_level"] = word
            continue
        lists["members"].append(member.group(1))
        if "(F)" in member.group(3):
            lists["failed_members"].append(member.group(1))
        elif "(S)" in member.group(3):
            lists["spare_members"].append(member.group(1))
    for label, members in lists.items():
        entity.values[label] = list(members)
    return entity


def detail(array: Entity, line: str) -> bool:
    """Read a line below an array of /proc/mdstat; return whether it is one."""
    values = array.values
    blocks, sync, waiting = _BLOCKS.match(line), _SYNC.search(line), _WAITING.search(line)
    if blocks:
        version = _SUPER.search(line)
        values["size_b"] = int(blocks.group(1)) * 1024
        values["superblock_version"] = version.group(1) if version else None
    if blocks or line.startswith("["):
        _counts(array, line)
    if sync:
        values["sync_action"], values["resync_pct"] = sync.group(1), float(sync.group(2))
    if waiting:
        values["sync_action"] = f"{waiting.group(1)} {waiting.group(2).lower()}"
    finish = _FINISH.search(line)
    if finish:
        values["sync_finish_min"] = float(finish.group(1))
    return bool(blocks or sync or waiting or finish or _OTHER.match(line))


def member_row(array: Entity, line: str) -> bool:
    """Read a row of the table of members of `mdadm --detail`; return whether it is one."""
    found = _ROW.match(line)
    if found is None:
        return line.startswith("Number ") and "Major" in line
    state, device = found.groups()
    name = (device or "")[5:]
    for label, fits in (
        ("members", True),
        ("failed_members", "faulty" in state),
        ("spare_members", state.startswith("spare") and "rebuilding" not in state),
    ):
        listed = t.cast("list[str]", array.values.setdefault(label, []))
        if fits and name and len(listed) < 1000:
            listed.append(name)
    return True


def _counts(array: Entity, line: str) -> None:
    found = _COUNTS.search(line)
    if found is None:
        return
    wanted, active, letters = found.groups()
    array.values["raid_device_count"] = int(wanted)
    array.values["active_device_count"] = int(active)
    array.values["missing_device_count"] = max(int(wanted) - int(active), 0)
    if letters:
        array.values["member_map"] = letters
