# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What events of the kernel log mean: a catalogue in data. Private to trackbed.cluster.

The data, with its sources, is `events.yml` beside this file; `load()` is the only I/O. The row that
fired is part of what is said: a site that disagrees sees which one it was.
"""

from __future__ import annotations

import dataclasses
import functools
import typing as t
from collections.abc import Mapping
from pathlib import Path

import yaml
from ansible_collections.trackbed.cluster.plugins.plugin_utils._actions import ACTIONS
from ansible_collections.trackbed.cluster.plugins.plugin_utils._finding import FAIL, PASS, WARN

_FILE = Path(__file__).with_name("events.yml")
_PARTS = {"steps", "xids", "actions", "sxids", "kinds", "by_severity"}
_XID_ACTION = 154
_CORRECTED = ("corrected", "correctable", "ce", "deferred", "info", "recoverable")
_BAD = ("uncorrect", "fatal", "ue", "critical", "poison")


class EventsError(ValueError):
    """The catalogue is wrong: which row, what was found, what was wanted."""


@dataclasses.dataclass(frozen=True)
class Step:
    """What an event asks for."""

    name: str
    rank: int
    verdict: str
    action: str


@dataclasses.dataclass(frozen=True)
class Meaning:
    """What one event is: the row of the catalogue, in words, and the step."""

    row: str
    """`Xid 79`, `SXid 20034`, or the kind."""
    says: str
    step: Step


@dataclasses.dataclass(frozen=True)
class Catalogue:
    """The catalogue of events."""

    steps: Mapping[str, Step]
    xids: Mapping[int, tuple[str, Step]]
    actions: Mapping[str, Step]
    sxids: tuple[tuple[range, Step], ...]
    kinds: Mapping[str, tuple[str, Step]]
    severity_kinds: Mapping[str, str]
    by_severity: Mapping[str, Step]

    def meaning(self, event: Mapping[str, t.Any]) -> Meaning | None:
        """Return what an event means; None for what says nothing about hardware or driver."""
        kind, number = event.get("kind"), event.get("xid")
        if kind == "xid" and isinstance(number, int):
            return self._xid(number, event)
        switch = event.get("sxid")
        if kind == "sxid" and isinstance(switch, int):
            return self._sxid(switch, event)
        if kind in self.severity_kinds:
            return Meaning(str(kind), self.severity_kinds[str(kind)], self._severity(event))
        says, step = self.kinds.get(str(kind), (None, None))
        return Meaning(str(kind), says, step) if says and step else None

    def _xid(self, number: int, event: Mapping[str, t.Any]) -> Meaning:
        row = f"Xid {number}"
        says, step = self.xids.get(number, ("not in the catalogue", self.steps["unknown"]))
        to = event.get("action_to")
        if number == _XID_ACTION and isinstance(to, str):
            step = self.actions.get(to, self.steps["unknown"])
            says = f"recovery action now: {to.replace('_', ' ')}"
        return Meaning(row, says, step)

    def _sxid(self, number: int, event: Mapping[str, t.Any]) -> Meaning:
        step = next((step for span, step in self.sxids if number in span), self.steps["ignore"])
        reason = event.get("reason")
        says = reason if isinstance(reason, str) else "NVSwitch error"
        return Meaning(f"SXid {number}", says, step)

    def _severity(self, event: Mapping[str, t.Any]) -> Step:
        severity = str(event.get("severity") or "")
        if event.get("fatal") is True or "uncorrectable_fatal" in severity:
            return self.by_severity["fatal"]
        if severity in _CORRECTED:
            return self.by_severity["corrected"]
        if severity.startswith(_BAD):
            return self.by_severity["uncorrected"]
        return self.steps["unknown"]


@functools.cache
def load() -> Catalogue:
    """Return the catalogue that is delivered with the collection. Raises EventsError."""
    return parse_events(_FILE.read_text(encoding="utf-8"))


def parse_events(text: str) -> Catalogue:
    """Return the catalogue of a declaration. Raises EventsError for anything not allowed."""
    try:
        raw = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise EventsError(f"the events are not YAML: {error}") from error
    if not isinstance(raw, dict) or set(raw) != _PARTS:
        raise EventsError(f"the catalogue holds {', '.join(sorted(_PARTS))}, and nothing else")
    steps = {
        name: _step(name, rank, entry) for rank, (name, entry) in enumerate(raw["steps"].items())
    }

    def step(where: str, name: t.Any) -> Step:
        if name not in steps:
            raise EventsError(f"{where}: no step {name!r}; known: {', '.join(steps)}")
        return steps[name]

    def rows(part: str, key: type) -> dict[t.Any, tuple[str, Step]]:
        found = {}
        for name, entry in raw[part].items():
            if not isinstance(name, key) or not isinstance(entry, list) or len(entry) != 2:
                raise EventsError(f"{part}: {name!r}: wanted [what it is, step], found {entry!r}")
            found[name] = str(entry[0]), step(f"{part} {name}", entry[1])
        return found

    by_severity = dict(raw["by_severity"])
    severity_kinds = by_severity.pop("kinds")
    return Catalogue(
        steps,
        rows("xids", int),
        {name: step(f"actions {name}", one) for name, one in raw["actions"].items()},
        tuple((_span(one), step(f"sxids {one}", one["step"])) for one in raw["sxids"]),
        rows("kinds", str),
        severity_kinds,
        {name: step(f"by_severity {name}", one) for name, one in by_severity.items()},
    )


def _step(name: str, rank: int, raw: t.Any) -> Step:
    if not isinstance(raw, list) or len(raw) != 2 or raw[0] not in (PASS, WARN, FAIL):
        raise EventsError(f"step {name}: wanted [pass, warn or fail; action], found {raw!r}")
    verdict, action = raw
    if (verdict == PASS) != (not action) or (action and action not in ACTIONS):
        raise EventsError(f"step {name}: a verdict but pass needs a known action, found {action!r}")
    return Step(name, rank, verdict, action)


def _span(raw: t.Any) -> range:
    if not isinstance(raw, dict) or set(raw) != {"from", "to", "step"} or raw["from"] > raw["to"]:
        raise EventsError(f"sxids: wanted from <= to and step, found {raw!r}")
    return range(raw["from"], raw["to"] + 1)
