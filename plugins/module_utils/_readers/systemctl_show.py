# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `systemctl show`, with units or without: properties of units and of systemd.

Format: `Name=value` lines; a blank line parts one unit from the next. Without a unit the
properties are systemd's own. Versions: systemd 219 to 257. Source: systemctl(1),
org.freedesktop.systemd1(5).
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _pasted, _plain
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    ABSENT,
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data

KIND = "systemctl-show"
TITLE = "Properties of units by systemctl show"
VERSIONS = "systemd 219 to 257"
SOURCES = (
    "https://www.freedesktop.org/software/systemd/man/latest/org.freedesktop.systemd1.html",
    "https://github.com/systemd/systemd/pull/1447",
)
# The public outputs that were found show a few properties only; the names are those of the manual.
PROVEN = False
_NOT_SET = frozenset({"", "[not set]", "n/a", "18446744073709551615", "[no data]", "infinity"})


def _text(word: str) -> str | None:
    return word or None


def _integer(word: str) -> int | None:
    return int(word) if re.match(r"^-?[0-9]{1,20}$", word) else None


def _yes(word: str) -> bool | None:
    return {"yes": True, "no": False}.get(word)


def _seconds(word: str) -> float | None:
    value = _integer(word)
    return None if value is None else value / 1e9


# Property -> (value name, how to read it, type, what it says, unit)
_Row = t.Tuple[str, t.Callable[[str], t.Any], type, str, t.Optional[str]]
_UNIT: dict[str, _Row] = {
    "LoadState": ("load_state", _text, str, "loaded, not-found, masked, bad-setting, error", None),
    "UnitFileState": ("enabled", _text, str, "enabled, disabled, static, masked ...", None),
    "UnitFilePreset": ("enabled_preset", _text, str, "what the distribution presets", None),
    "ActiveState": ("active_state", _text, str, "active, inactive, failed, activating ...", None),
    "SubState": ("sub_state", _text, str, "running, exited, dead, auto-restart ...", None),
    "Description": ("description", _text, str, "description", None),
    "Result": ("result", _text, str, "success, exit-code, signal, timeout, watchdog ...", None),
    "NRestarts": ("restart_count", _integer, int, "restarts by itself since it was loaded", None),
    "ExecMainStatus": ("exit_code", _integer, int, "main process's status or signal", None),
    "ExecMainCode": ("exit_kind", _integer, int, "1 exited, 2 killed, 3 dumped; 0 none yet", None),
    "MainPID": ("main_pid", _integer, int, "main process; 0: none", None),
    "Type": ("service_type", _text, str, "simple, forking, oneshot, notify ...", None),
    "Restart": ("restart_policy", _text, str, "no, always, on-failure ...", None),
    "FragmentPath": ("unit_file", _text, str, "unit file", None),
    "DropInPaths": ("drop_ins", str.split, list, "files that change it", None),
    "NeedDaemonReload": ("reload_needed", _yes, bool, "files changed since it was read", None),
    "ConditionResult": ("condition_met", _yes, bool, "its conditions were met last time", None),
    "AssertResult": ("assertion_met", _yes, bool, "its assertions were met last time", None),
    "ActiveEnterTimestamp": ("active_since", _text, str, "when it became active", None),
    "InactiveEnterTimestamp": ("inactive_since", _text, str, "when it became inactive", None),
    "ExecMainStartTimestamp": ("started", _text, str, "when its process started", None),
    "MemoryCurrent": ("memory_b", _integer, int, "memory in use", "B"),
    "MemoryMax": ("memory_max_b", _integer, int, "limit; null: none", "B"),
    "TasksCurrent": ("task_count", _integer, int, "tasks in use", None),
    "CPUUsageNSec": ("cpu_time_s", _seconds, float, "processor time used", "s"),
    "LimitMEMLOCK": ("limit_memlock_b", _integer, int, "memory it may lock; null: no limit", "B"),
    "LimitNOFILE": ("limit_open_files", _integer, int, "files it may open; null: no limit", None),
    "User": ("user", _text, str, "user it runs as; null: root", None),
    "StatusText": ("status_text", _text, str, "its own word on its state", None),
}
_MANAGER: dict[str, _Row] = {
    "SystemState": ("system_state", _text, str, "running, degraded, starting ...", None),
    "NFailedUnits": ("failed_count", _integer, int, "units that have failed", None),
    "NJobs": ("job_count", _integer, int, "jobs that wait or run", None),
    "Virtualization": ("virtualization", _text, str, "kvm, container ...; null: none", None),
    "DefaultLimitMEMLOCK": ("limit_memlock_b", _integer, int, "default; null: no limit", "B"),
    "Tainted": ("tainted", _text, str, "why systemd calls itself tainted", None),
}
FIELDS = {
    "node": {name: Field(kind, says, unit) for name, _r, kind, says, unit in _MANAGER.values()},
    "unit": {
        **{name: Field(kind, says, unit) for name, _r, kind, says, unit in _UNIT.values()},
        "name": Field(str, "name of the unit; null where it was not asked for"),
    },
}
_LINE = re.compile(r"^([A-Z][A-Za-z0-9]{1,60})=(.*)$")
_NO_SYSTEMD = re.compile(r"^System has not been booted with systemd|^Failed to connect to bus")
_ERROR = re.compile(r"^(?:Failed to |Unit \S{1,200} could not be found|Invalid unit name)")
_MOST_UNITS = 5000
_KNOWN = re.compile(
    r"(?m)^\s*(Id|ActiveState|SubState|LoadState|UnitFileState|MainPID|NRestarts|ExecMainStatus|Names"
    r"|FragmentPath|ActiveEnterTimestamp|NFailedUnits|SystemState|UnitPath|Features)="
)


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    found = {one.group(1) for one in _KNOWN.finditer(_pasted.text_of(text))}
    if len(found) > 1:
        return 94
    return 80 if found & {"ActiveState", "SubState", "LoadState", "UnitFileState"} else 0


def read(data: Data) -> Reading:
    """Read one output. Entities: `unit:<name>`, "" for systemd's own properties."""
    reading = Reading(KIND, tool_name="systemctl")
    blocks: list[dict[str, str]] = []
    last, failed = 0, ""
    for number, line in _pasted.lines(data):
        found = _LINE.match(line.strip())
        if found:
            name, value = found.groups()
            # A blank line was dropped where the numbers leap.
            if not blocks or (blocks[-1] and (number > last + 1 or _repeats(blocks[-1], name))):
                blocks.append({})
            if len(blocks) <= _MOST_UNITS:
                blocks[-1].setdefault(name, value.strip())
            last = number
        elif _ERROR.match(line) or _NO_SYSTEMD.match(line):
            says = "systemctl reported an error"
            _plain.note(reading, "tool_error", says, line=number, verbatim=line.strip())
            failed = line if _NO_SYSTEMD.match(line) else failed
            last = number
        elif not _pasted.is_noise(line):
            _plain.malformed(reading, number, line, "`Name=value`")
    for block in blocks[:_MOST_UNITS]:
        _block(reading, block)
    if not reading.entities:
        _plain.nothing(reading, "`ActiveState=`")
        reading.quality = ABSENT if failed else reading.quality
    return reading


def _repeats(block: dict[str, str], name: str) -> bool:
    """Return whether the name can only be of another unit; some properties come several times."""
    return name in block and name in {"Id", "ActiveState", "LoadState", "SubState", "Names"}


def _block(reading: Reading, block: dict[str, str]) -> None:
    if not set(block) & {*_UNIT, "Id", "Names"} - {"Virtualization"} or "SystemState" in block:
        if not set(block) & set(_MANAGER):
            return
        manager = reading.entity("") or reading.add(Entity(""))
        reading.tool_version = block.get("Version") or reading.tool_version
        _values(reading, manager, block, _MANAGER)
        return
    name = block.get("Id") or block.get("Names", "").partition(" ")[0] or None
    unit = Entity(f"unit:{(name or str(len(reading.entities))).replace('/', '_')}")
    if reading.add(unit) is unit:
        unit.values["name"] = name
        _values(reading, unit, block, _UNIT)


def _values(reading: Reading, entity: Entity, block: dict[str, str], rows: dict[str, _Row]) -> None:
    for label, (name, reader, kind, _says, _unit) in rows.items():
        if label not in block:
            continue
        word = block[label]
        gone = kind is not list and word in _NOT_SET
        value = None if gone else reader(word)
        entity.values[name] = value
        if gone:
            entity.notes[name] = "not_supported"
        elif value is None:
            where = {"entity": entity.path, "field": name, "verbatim": word}
            _plain.note(reading, "unknown_value", f"{name} has a form that is not known", **where)
