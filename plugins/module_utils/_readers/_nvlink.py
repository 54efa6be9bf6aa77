# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Takes the lines that `nvidia-smi nvlink` prints for one link, by option.

Private to trackbed.cluster.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._identity import pci_address
from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _plain
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._nvlink_fields import (
    ABILITIES,
    COUNTERS,
    RATES,
    TRAFFIC,
    snake,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    Entity,
    Reading,
    Value,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import absence, number

_FEC = re.compile(r"^fec errors ?- ?([0-9]{1,2})$")
_REMOTE = re.compile(
    r"^(?:Remote Device ?:? ?)?([0-9A-Fa-f]{4,8}:\S{4,12}?)(?:: ?Link ([0-9]{1,3}))?$"
)
_LABEL = re.compile(r"^([A-Za-z][\w /().-]{0,60}?): ?(\S.{0,80})$", re.ASCII)
_BUCKETS = 16


class Links:
    """Keeps the links of all GPUs and what was said of them."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._of: dict[str, dict[int, Entity]] = {}
        self._section = ""
        self._conflicts: set[str] = set()

    def start(self, gpu: Entity) -> None:
        """Begin with the lines of a GPU."""
        self._of.setdefault(gpu.path, {})
        self._section = ""

    def take(self, gpu: Entity, line: int, index: int, rest: str) -> None:
        """Take one line of one link: what stands behind `Link <n>`."""
        path = f"{gpu.path}/nvlink:{index}"
        kept = self._reading.entity(gpu.path) is gpu
        link = self._of[gpu.path].get(index) if kept else None
        if link is None:
            link = Entity(path)
            if kept:
                self._reading.add(link, line)
                self._of[gpu.path][index] = link
        found = _parse(rest)
        if found is None:
            says = f"{path}: not a speed, a counter, an ability, a far end or a traffic"
            where = {"line": line, "entity": path, "verbatim": rest}
            _plain.note(self._reading, "malformed", says, **where)
            return
        for name, (value, note) in found.items():
            self._put(link, name, value, note, line, rest)

    def _put(
        self, link: Entity, name: str, value: Value, note: str | None, line: int, rest: str
    ) -> None:
        if name == "fec_errors" and isinstance(value, dict):
            buckets = t.cast("list[t.Any]", link.values.setdefault(name, [None] * _BUCKETS))
            for place, count in value.items():
                buckets[int(place)] = count
            return
        if name == "other" and isinstance(value, dict):
            kept = t.cast("dict[str, t.Any]", link.values.setdefault(name, {}))
            kept.update(value)
            return
        if name in link.values and link.values[name] != value:
            if link.path not in self._conflicts and len(self._conflicts) < 20:
                self._conflicts.add(link.path)
                says = f"{link.path}: {name} appears with two values; the first is kept"
                where = {"line": line, "entity": link.path, "field": name}
                _plain.note(self._reading, "inconsistent", says, verbatim=rest, **where)
            return
        link.values[name] = value
        if note:
            link.notes[name] = note
        if note == "unreadable":
            says = f"{link.path}: {name} could not be read"
            where = {"line": line, "entity": link.path, "field": name}
            _plain.note(self._reading, "unreadable_value", says, verbatim=rest, **where)

    def of_gpu(self, gpu: Entity, word: str) -> bool:
        """Take a line of -info that belongs to the GPU; return whether it is one."""
        found = re.match(r"^(NVLE|NVLink Encryption): ?(\S{1,20})$", word)
        if found:
            gpu.values["nvlink_encryption"] = found.group(2).lower()
            return True
        found = re.match(r"^NV[Ll]ink Version: ?(\S{1,20})$", word)
        if found:
            gpu.values["nvlink_version"] = found.group(1)
            return True
        if re.match(r"^Firmware Version:?$", word):
            self._section = "firmware"
            return True
        found = re.match(r"^([A-Z][\w ]{1,30}): ?([0-9][\w:.-]{0,40}|N/A)$", word)
        if found and self._section == "firmware":
            known = t.cast("dict[str, t.Any]", gpu.values.setdefault("nvlink_firmware", {}))
            version = found.group(2)
            known[snake(found.group(1).lower())] = None if version == "N/A" else version
            return True
        return False

    def sum_up(self, gpus: list[Entity]) -> None:
        """Count the links of each GPU, and look for such as are missing in a list of states."""
        for gpu in gpus:
            links = self._of.get(gpu.path, {})
            status = gpu.values.get("nvlink_status")
            if links and status is None:
                status = gpu.values["nvlink_status"] = "listed"
            stated = {n: one for n, one in links.items() if "state" in one.values}
            known = status == "listed"
            gpu.values["nvlink_count"] = len(links) if known else None
            if status in ("not_supported", "mig_mode", "unreadable"):
                note = "not_supported" if status == "not_supported" else "unreadable"
                gpu.notes["nvlink_count"] = note
            active = [one for one in stated.values() if one.values["state"] == "active"]
            unread = [one for one in stated.values() if one.values["state"] is None]
            if stated and not unread:
                gpu.values["nvlink_active_count"] = len(active)
                speeds = [one.values.get("speed_gb_per_s") for one in active]
                total = sum(one for one in speeds if isinstance(one, float))
                gpu.values["nvlink_total_gb_per_s"] = round(total, 3)
            else:
                gpu.values.setdefault("nvlink_active_count", None)
            self._gaps(gpu, sorted(stated))
            if status is None and "nvlink_encryption" not in gpu.values:
                says = f"nothing is said of the links of {gpu.path}"
                where = {"entity": gpu.path, "field": "nvlink_count"}
                _plain.note(self._reading, "missing_value", says, **where)
        self._unlike(gpus)

    def _unlike(self, gpus: list[Entity]) -> None:
        """Say where GPUs of one model list different numbers of links: some were cut off."""
        of_name: dict[str, set[int]] = {}
        for gpu in gpus:
            count = gpu.values.get("nvlink_count")
            if isinstance(count, int) and "nvlink_total_gb_per_s" in gpu.values:
                of_name.setdefault(str(gpu.values.get("name")), set()).add(count)
        for name, counts in of_name.items():
            if len(counts) > 1:
                some = " and ".join(str(one) for one in sorted(counts)[:4])
                says = f"GPUs of one model, {name}, list {some} links; all list as many"
                _plain.note(self._reading, "inconsistent", says, field="nvlink_count")

    def _gaps(self, gpu: Entity, listed: list[int]) -> None:
        missing = sorted(set(range(listed[-1])) - set(listed)) if len(listed) > 1 else []
        if missing:
            some = ", ".join(str(one) for one in missing[:6])
            says = f"{gpu.path}: links {some} are not listed, though link {listed[-1]} is"
            _plain.note(self._reading, "inconsistent", says, entity=gpu.path)

    def counts(self, gpus: list[Entity], elided: bool) -> dict[str, Value]:
        """Return the node's values; null where not all of it is known."""
        found: dict[str, Value] = {"gpu_count": None if elided else len(gpus)}
        for name in ("nvlink_count", "nvlink_active_count"):
            each = [one.values.get(name) for one in gpus if not _without(one)]
            known = [one for one in each if isinstance(one, int)]
            is_known = each and len(known) == len(each) and not elided
            found[name] = sum(known) if is_known else None
        return found


def _without(gpu: Entity) -> bool:
    return gpu.values.get("nvlink_status") == "not_supported"


_Found = t.Dict[str, t.Tuple[Value, t.Union[str, None]]]


def _parse(rest: str) -> _Found | None:
    """Return name -> (value, note) of what stands behind `Link <n>`; None where it is nothing."""
    lower = rest.lower()
    if lower.strip("<>[] ") in ("inactive", "in-active"):
        return {"state": ("inactive", None), "speed_gb_per_s": (None, None)}
    gone = absence(rest.strip("<>"))
    if gone:
        return {"state": (None, gone), "speed_gb_per_s": (None, gone)}
    speed = number(rest, ("gb/s",))
    if speed is not None:
        digits = rest.split(maxsplit=1)[0].partition(".")[2]
        note = "rounded" if len(digits) >= 3 else None
        state = "active" if speed > 0 else "inactive"
        return {"state": (state, None), "speed_gb_per_s": (float(speed), note)}
    remote = _REMOTE.match(rest)
    if remote:
        address = pci_address(remote.group(1))
        found: _Found = {"remote_pci": (address, None if address else "unreadable")}
        if remote.group(2):
            found["remote_link"] = (int(remote.group(2)), None)
        return found
    pairs = [_LABEL.match(one.strip()) for one in rest.split(",")]
    if not all(pairs):
        return None
    made: _Found = {}
    for pair in pairs:
        if pair:
            made.update(_labelled(pair.group(1).strip(), pair.group(2).strip()))
    return made


def _labelled(label: str, word: str) -> _Found:
    key = re.sub(r"[()]", "", label.lower())
    gone = absence(word)
    fec = _FEC.match(key)
    if key in ABILITIES:
        known = {"true": True, "yes": True, "false": False, "no": False}.get(word.lower())
        return {ABILITIES[key]: (known, gone or (None if known is not None else "unreadable"))}
    if fec and int(fec.group(1)) < _BUCKETS:
        return {"fec_errors": ({fec.group(1): _whole(word)}, None)}
    if key in TRAFFIC:
        return _traffic(TRAFFIC[key], word, gone)
    if key not in COUNTERS and key not in RATES:
        return {"other": ({label: None if gone else word}, None)}
    value = _whole(word) if key in COUNTERS else _rate(word)
    return {snake(key): (value, gone or (None if value is not None else "unreadable"))}


def _rate(word: str) -> float | None:
    value = number(word)
    return None if value is None else float(value)


def _traffic(name: str, word: str, gone: str | None) -> _Found:
    units = {"kib": 1, "kb": 1, "kbytes": 1, "mib": 1024, "gib": 1024**2}  # KBytes of 1024
    if name.endswith("_b"):
        units = {"bytes": 1, "b": 1, "": 1, "kib": 1024, "mib": 1024**2}
    for unit, factor in units.items():
        value = number(word, (unit,))
        if value is not None and not gone:
            return {name: (int(value * factor), None)}
    return {name: (None, gone or "unreadable")}


def _whole(word: str) -> int | None:
    return int(word) if re.match(r"^[0-9]{1,20}$", word) else None
