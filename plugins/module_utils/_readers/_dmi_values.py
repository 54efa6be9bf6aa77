# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values and identities of dmidecode's structures, and what follows from them.

Private to trackbed.cluster.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._identity import pci_address, serial
from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _plain
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._dmi_fields import NO_VALUE
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import Entity, Reading

# Label -> (value, line)
Labels = t.Dict[str, t.Tuple[str, int]]
_UUID = re.compile(r"^[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$")
_BAD_VALUE = re.compile(r"^<(?:BAD INDEX|OUT OF SPEC)>")


def put(
    reading: Reading,
    entity: Entity,
    name: str,
    word: str,
    reader: t.Callable[[str], t.Any],
    number: int,
) -> None:
    """Put a value; what firmware writes for none is None with a note."""
    if entity.values.get(name) is not None:
        return  # two labels of one meaning, or a second structure of the node
    where = {"line": number, "entity": entity.path, "field": name, "verbatim": word}
    if _BAD_VALUE.match(word):
        entity.values[name], entity.notes[name] = None, "unreadable"
        _plain.note(reading, "unreadable_value", "the firmware's own value is broken", **where)
        return
    gone = not word or word.lower() in NO_VALUE
    value = None if gone else reader(word)
    entity.values[name] = value
    if gone:
        entity.notes[name] = "not_supported"
    elif value is None:
        _plain.note(reading, "unknown_value", f"{name} has a form that is not known", **where)
    else:
        entity.notes.pop(name, None)


def identify(entity: Entity, name: str, word: str) -> None:
    """Put an identity in its normal form; None where the firmware wrote none."""
    if name == "pci":
        found = pci_address(word)
        entity.ids[name] = None if found in ("0000:00:00.0", "0000:ff:1f.7") else found
    elif name == "uuid":
        entity.ids[name] = word.lower() if _UUID.match(word) and len(set(word)) > 3 else None
    else:
        entity.ids[name] = serial(word)


def _dimm(entity: Entity, labels: Labels) -> None:
    size = labels.get("Size", ("", 0))[0].lower()
    known = isinstance(entity.values.get("capacity_mib"), int)
    entity.values["populated"] = True if known else False if size.startswith("no ") else None


def _cpu(entity: Entity, labels: Labels) -> None:
    state, _comma, rest = labels.get("Status", ("", 0))[0].lower().partition(",")
    entity.values["populated"] = {"populated": True, "unpopulated": False}.get(state.strip())
    if entity.values["populated"]:
        word = rest.split()[0] if rest.split() else ""
        entity.values["enabled"] = {"enabled": True, "idle": True, "disabled": False}.get(word)


def _slot(entity: Entity, labels: Labels) -> None:
    usage = labels.get("Current Usage", ("", 0))[0].lower()
    entity.values["in_use"] = {"in use": True, "available": False}.get(usage)


# Type of entity -> what else follows from its labels.
DERIVED: dict[str, t.Callable[[Entity, Labels], None]] = {"dimm": _dimm, "cpu": _cpu, "slot": _slot}


def count_memory(values: dict[str, t.Any], dimms: list[Entity]) -> None:
    """Say how the memory slots are filled; whether that is as it should be is not ours."""
    there = [one for one in dimms if one.values.get("populated")]
    values["dimm_slot_count"] = len(dimms)
    values["dimm_count"] = len(there)
    sizes = [one.values["capacity_mib"] for one in there]
    values["memory_total_mib"] = sum(one for one in sizes if isinstance(one, int))
    values["empty_dimm_slots"] = [
        one.path[5:] for one in dimms if one.values.get("populated") is False
    ]
    for name, source in (
        ("dimm_capacities_mib", "capacity_mib"),
        ("dimm_part_numbers", "part_number"),
        ("dimm_speeds_mt_s", "configured_speed_mt_s"),
    ):
        found: set[t.Any] = {one.values.get(source) for one in there}
        values[name] = sorted(one for one in found if one is not None)
