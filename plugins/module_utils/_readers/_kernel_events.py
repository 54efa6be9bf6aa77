# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Groups messages of the kernel log into bursts. Private to trackbed.cluster.

A run of the same event on the same device is one burst until it has been silent
for 3 minutes. NVIDIA Fleet Intelligence takes Xids of a node together by this
rule; here it is used for every kind. Nothing but bursts, counts and facts is kept,
and bursts are bounded.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._readers._kernel_amd import AMD
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._kernel_found import (
    Found,
    gather,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._kernel_lines import Line
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._kernel_memory import MEMORY
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._kernel_network import (
    NETWORK,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._kernel_nvidia import NVIDIA
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._kernel_pcie import PCIE
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._kernel_process import (
    PROCESS,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._kernel_row import Row
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._kernel_storage import (
    STORAGE,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    Entity,
    Reading,
    Value,
)

ROWS = (*NVIDIA, *PCIE, *MEMORY, *NETWORK, *STORAGE, *AMD, *PROCESS)
KINDS = tuple(dict.fromkeys(row.kind for row in ROWS if not row.kind.startswith("@")))
SILENCE_S = 180.0
# Per kind, so that a storm of one does not push out the single line of another.
MOST_PER_KIND = 300
MOST = 4000
MOST_GPUS = 1024
MOST_PROBLEMS = 64
# How many lines behind its event a detail may stand (AER prints up to 12 bits).
NEAR_LINES = 16
MOST_TEXTS = 8


_Place = t.Tuple[int, Row]


def _by_hint() -> tuple[tuple[str, list[_Place]], ...]:
    table: dict[str, list[_Place]] = {}
    for place in enumerate(ROWS):
        table.setdefault(place[1].hint, []).append(place)
    return tuple(table.items())


_TABLE = _by_hint()


def find(message: str) -> tuple[Row, t.Match[str]] | None:
    """Return the first row, in the order of the tables, that this message is in, and its match."""
    places: list[_Place] = []
    for hint, rows in _TABLE:
        if hint in message:
            places += rows
    for _index, row in sorted(places, key=lambda place: place[0]):
        match = row.pattern.search(message)
        if match:
            return row, match
    return None


@dataclasses.dataclass
class Burst:
    """One event while it grows."""

    key: tuple[Value, ...]
    entity: Entity
    last_s: float | None
    dated: bool
    at: int
    """Number of its latest line."""
    dropped: bool = False


class Bursts:
    """Takes messages; keeps bursts, counts by kind, and the GPUs that were named."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.counts: dict[str, int] = {}
        self.kept: dict[str, int] = {}
        self.limited = 0
        self.gpus: dict[str, Entity] = {}
        self.bursts: list[Burst] = []
        self._open: dict[tuple[Value, ...], Burst] = {}
        self._recent: dict[tuple[str, Value], Burst] = {}

    def take(self, row: Row, match: t.Match[str], number: int, line: Line) -> None:
        """Take one message that is in a row (whose kind is no fact)."""
        found = Found(row, match)
        for name, text in found.strange.items():
            says = f"{name}: not a value that we know"
            self.problem("unknown_value", says, line=number, field=name, verbatim=text)
        target = self._followed(row, found, number) if row.follows else None
        if target is not None:
            self._detail(target, row, found, number)
            return
        if row.follows and not row.alone:
            return
        self.counts[row.kind] = self.counts.get(row.kind, 0) + 1
        self._gpu(row, found)
        key = self._key(row, found.values, line.host)
        burst = self._open.get(key)
        if burst is not None and _near(burst, line):
            _again(burst, found, number, line)
        else:
            burst = self._new(row, found, key, number, line)
        if burst is not None:
            device = found.values.get("device")
            self._recent[row.kind, device] = self._recent[row.kind, None] = burst

    def problem(self, code: str, says: str, **where: t.Any) -> None:
        """Note a problem, unless there are many already."""
        if len(self.reading.problems) < MOST_PROBLEMS:
            self.reading.note(code, says, **where)

    @staticmethod
    def _key(row: Row, values: dict[str, Value], host: str | None) -> tuple[Value, ...]:
        return (row.kind, host, values.get("device"), *(values.get(one) for one in row.key))

    def _new(
        self, row: Row, found: Found, key: tuple[Value, ...], number: int, line: Line
    ) -> Burst | None:
        kept = self.kept.get(row.kind, 0)
        if kept >= MOST_PER_KIND or len(self.bursts) >= MOST:
            self.limited += 1
            return None
        self.kept[row.kind] = kept + 1
        text = line.message.strip()[:300] or None
        values: dict[str, Value] = {"kind": row.kind, "count": 1, "line": number, "text": text}
        values.update({"first_time": line.stamp, "last_time": line.stamp})
        values.update({"first_s": line.public_s, "last_s": line.public_s})
        values.update({"host": line.host, "level": line.level})
        values.update(found.values)
        entity = Entity("", values=values)
        entity.notes.update(dict.fromkeys(found.strange, "verbatim"))
        if found.pci:
            entity.ids["pci"] = found.pci
        gather(values, found)
        burst = Burst(key, entity, line.time_s, line.dated, number)
        self.bursts.append(burst)
        self._open[key] = burst
        return burst

    def _followed(self, row: Row, found: Found, number: int) -> Burst | None:
        """Return the event that has just been seen and that this line belongs to."""
        device = found.values.get("device")
        for kind in row.follows:
            burst = self._recent.get((kind, device))
            if burst is None or burst.dropped or number - burst.at > NEAR_LINES:
                continue
            have = burst.entity.values
            others = [one for one in row.key if None not in (have.get(one), found.values.get(one))]
            if all(have[one] == found.values[one] for one in others):
                return burst
        return None

    def _detail(self, burst: Burst, row: Row, found: Found, number: int) -> None:
        """Add to an event what a further line about it says."""
        values = burst.entity.values
        tells_apart = [one for one in row.key if values.get(one) is None]
        for name, value in found.values.items():
            if values.get(name) is None:
                values[name] = value
        gather(values, found)
        burst.at = number
        if tells_apart:
            self._rename(burst, self._key(row, values, t.cast("t.Optional[str]", values["host"])))

    def _rename(self, burst: Burst, key: tuple[Value, ...]) -> None:
        """Give the burst the key that it has now; join it with the one that has it already."""
        if self._open.get(burst.key) is burst:
            del self._open[burst.key]
        other = self._open.get(key)
        values = burst.entity.values
        line = Line("", time_s=burst.last_s, dated=burst.dated)
        if other is None or other is burst or not _near(other, line):
            burst.key = key
            self._open[key] = burst
            return
        have = other.entity.values
        have["count"] = t.cast("int", have["count"]) + t.cast("int", values["count"])
        have["last_time"], have["last_s"] = values["last_time"], values["last_s"]
        other.last_s, other.at = burst.last_s, burst.at
        burst.dropped = True
        self.kept[str(values["kind"])] -= 1

    def _gpu(self, row: Row, found: Found) -> None:
        if row.kind != "xid" or found.pci is None:
            return
        gpu = self.gpu(found.pci)
        if gpu is None:
            return
        xids = t.cast("list[t.Any]", gpu.values.setdefault("xids", []))
        if found.values["xid"] not in xids and len(xids) < 100:
            xids.append(found.values["xid"])
        gpu.values["xid_count"] = t.cast("int", gpu.values.get("xid_count", 0)) + 1
        if found.values.get("gpu_number") is not None:
            gpu.values.setdefault("gpu_number", found.values["gpu_number"])

    def gpu(self, address: str) -> Entity | None:
        """Return the GPU with this PCI address; None where there are too many."""
        known = self.gpus.get(address)
        if known is None and len(self.gpus) < MOST_GPUS:
            known = Entity(f"gpu:{address}", ids={"pci": address})
            self.gpus[address] = known
        return known


def _near(burst: Burst, line: Line) -> bool:
    """Tell whether this line still belongs to the burst.

    A time that cannot be read is no reason to begin a new one. A clock that goes
    backwards by more than the silence is another boot.
    """
    if burst.last_s is None or line.time_s is None:
        return True
    return burst.dated == line.dated and abs(line.time_s - burst.last_s) <= SILENCE_S


def _again(burst: Burst, found: Found, number: int, line: Line) -> None:
    values = burst.entity.values
    values["count"] = t.cast("int", values["count"]) + 1
    if line.stamp is not None:
        values["last_time"], values["last_s"] = line.stamp, line.public_s
        burst.last_s, burst.dated = line.time_s, line.dated
    burst.at = number
    for name, value in found.values.items():
        if values.get(name) is None:
            values[name] = value
    gather(values, found)
    text = line.message.strip()[:300]
    if text and text != values["text"]:
        others = t.cast("list[t.Any]", values.setdefault("other_texts", []))
        if text not in others and len(others) < MOST_TEXTS - 1:
            others.append(text)
