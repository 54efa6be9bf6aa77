# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the readers of NICs and InfiniBand ports share: states, rates, counters, error lines.

Private to trackbed.cluster. Sources: InfiniBand Architecture Specification, volume 1
(PortInfo, PortCounters); linux Documentation/ABI/stable/sysfs-class-infiniband;
rdma-core infiniband-diags; iproute2 rdma/link.c.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    ABSENT,
    ERROR,
    UNREADABLE,
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import absence

MAX_PROBLEMS = 64

PORT_STATES = {
    "active": "active",
    "active_defer": "active_defer",
    "activedefer": "active_defer",
    "armed": "armed",
    "down": "down",
    "init": "init",
    "initialize": "init",
    "initializing": "init",
    "nop": "nop",
}
PHYSICAL_STATES = {
    "disabled": "disabled",
    "linkerrorrecovery": "link_error_recovery",
    "linkup": "link_up",
    "nop": "nop",
    "phytest": "phy_test",
    "polling": "polling",
    "portconfigurationtraining": "training",
    "sleep": "sleep",
    "training": "training",
}
LINK_LAYERS = {"infiniband": "infiniband", "ib": "infiniband", "ethernet": "ethernet"}
# Signalling rate of one lane, in 10^9 bit/s, as infiniband-diags print it.
LANE_SPEEDS = {
    "sdr": 2.5,
    "ddr": 5.0,
    "qdr": 10.0,
    "fdr10": 10.3125,
    "fdr": 14.0625,
    "edr": 25.78125,
    "hdr": 53.125,
    "ndr": 106.25,
    "xdr": 212.5,
}
PORT_FIELDS = {
    "state": Field(str, "logical state", values=tuple(sorted(set(PORT_STATES.values())))),
    "physical_state": Field(
        str, "state of the PHY", values=tuple(sorted(set(PHYSICAL_STATES.values())))
    ),
    "link_layer": Field(str, "link layer", values=("ethernet", "infiniband")),
    "rate_gbit_per_s": Field(float, "rate as printed, also that of a port that is down", "Gbit/s"),
    "width_lanes": Field(int, "lanes in use"),
    "ib_speed": Field(str, "generation of the lanes' speed", values=tuple(LANE_SPEEDS)),
    "lid": Field(int, "local identifier; 0 where none is assigned, as on Ethernet"),
    "lmc": Field(int, "LID mask control"),
    "sm_lid": Field(int, "LID of the subnet manager; 0 where there is none"),
}
_RATE = re.compile(
    r"^([0-9]{1,5}(?:\.[0-9]{1,6})?)(?: Gb/sec)?"
    r"(?: \((?:([0-9]{1,2})X ?)?([A-Z]{3}[0-9]{0,3})?\))?$"
)
_NO_TOOL = re.compile(r"^\S.{0,200}: (?:command )?not found$")
_TROUBLE = re.compile(
    r"^(?:\S+: )?(?:ibpanic|iberror|ibwarn|umad_\w+|Failed to |Couldn't |can't )\b|^-E- "
)

T = t.TypeVar("T")


def note(reading: Reading, code: str, says: str, **where: t.Any) -> None:
    """Record a problem; the list of problems stays bounded."""
    if len(reading.problems) < MAX_PROBLEMS:
        reading.note(code, says, **where)
    elif len(reading.problems) == MAX_PROBLEMS:
        reading.note("limited", f"more than {MAX_PROBLEMS} problems; the rest is not kept")


def trouble(reading: Reading, line_number: int, line: str) -> bool:
    """Return whether the line is an error of the tool itself, and keep it as a problem."""
    word = line.strip()
    absent = _NO_TOOL.match(word)
    if absent:
        note(reading, "tool_absent", "the tool is not installed", line=line_number, verbatim=word)
    elif _TROUBLE.match(word):
        note(reading, "tool_error", "the tool reported an error", line=line_number, verbatim=word)
    else:
        return False
    return True


def active_count(ports: t.Iterable[Entity]) -> int | None:
    """Return how many ports are active; None where the state of one could not be read."""
    states = [port.values.get("state") for port in ports]
    return None if None in states else states.count("active")


def nothing_found(reading: Reading, wanted: str) -> Reading:
    """Return the reading of an input that has no entity at all, with the reason for it."""
    codes = {one.code for one in reading.problems}
    if "tool_absent" in codes:
        reading.quality = ABSENT
    elif "tool_error" in codes:
        reading.quality = ERROR
    else:
        reading.note("other_format" if codes else "empty", f"{wanted} was expected; none is there")
        reading.quality = UNREADABLE
    return reading


def integer(word: str) -> int | None:
    """Return the number in `12` or `0x0c`, of at most 20 digits."""
    found = re.match(r"^(?:0[xX]([0-9a-fA-F]{1,16})|(-?[0-9]{1,20}))$", word)
    if found is None:
        return None
    return int(found.group(1), 16) if found.group(1) else int(found.group(2))


def decimal(word: str) -> float | None:
    """Return the number in `12`, `-1.5`, `3E-8`; never one that is infinite."""
    if not re.match(r"^-?[0-9]{1,20}(?:\.[0-9]{1,20})?(?:[eE][+-]?[0-9]{1,3})?$", word):
        return None
    value = float(word)
    return value if value - value == 0 else None


def text(word: str) -> str | None:
    """Return the word; the reader of a value that is a text."""
    return word or None


def yes(word: str) -> bool | None:
    """Return the truth of `Yes`, `on`, `Enabled`, `True`, or None."""
    lower = word.lower()
    if lower in ("yes", "on", "enabled", "true", "1"):
        return True
    return False if lower in ("no", "off", "disabled", "false", "0") else None


def put(
    reading: Reading,
    entity: Entity,
    name: str,
    word: str,
    read: t.Callable[[str], t.Any],
    line: int | None = None,
) -> None:
    """Set a value from what stands there: missing, unreadable, or what `read` makes of it."""
    word = word.strip()
    why = absence(word) if word else None
    value = None if why or not word else read(word)
    entity.values[name] = value
    if value is None and word:
        entity.notes[name] = why or "unreadable"
        if why != "not_supported":
            note(
                reading,
                "unreadable_value",
                f"{name.replace('_', ' ')} cannot be read",
                line=line,
                entity=entity.path,
                field=name,
                verbatim=word,
            )


def put_name(
    reading: Reading,
    entity: Entity,
    name: str,
    word: str,
    known: t.Mapping[str, str],
    line: int | None = None,
) -> None:
    """Set a value of an enumeration; a word that is not in it is kept verbatim and marked."""
    word = word.strip()
    key = re.sub(r"[ _/-]", "", word.lower())
    value = known.get(word.lower()) or known.get(key)
    if value is None and word:
        entity.values[name] = word
        entity.notes[name] = "verbatim"
        note(
            reading,
            "unknown_value",
            f"{name.replace('_', ' ')} is not one of {', '.join(sorted(set(known.values())))}",
            line=line,
            entity=entity.path,
            field=name,
            verbatim=word,
        )
    else:
        entity.values[name] = value


def without_number(word: str) -> str:
    """Return `ACTIVE` for `4: ACTIVE` (sysfs) and for `PORT_ACTIVE (4)` (ibv_devinfo)."""
    word = re.sub(r"^[0-9]{1,3}: ?", "", word.strip())
    return re.sub(r" ?\([0-9]{1,3}\)$", "", word)


def put_rate(reading: Reading, entity: Entity, word: str, line: int | None = None) -> None:
    """Set rate, width and speed from `400 Gb/sec (4X NDR)` or `400`."""
    found = _RATE.match(word.strip())
    put(reading, entity, "rate_gbit_per_s", found.group(1) if found else word, decimal, line)
    if found and found.group(2):
        entity.values["width_lanes"] = int(found.group(2))
    if found and found.group(3):
        speeds = {name: name for name in LANE_SPEEDS}
        put_name(reading, entity, "ib_speed", found.group(3), speeds, line)


def speed_of_lane(gbit_per_s: float | None) -> str | None:
    """Return the generation whose lanes signal at this rate, or None."""
    return next((name for name, rate in LANE_SPEEDS.items() if rate == gbit_per_s), None)
