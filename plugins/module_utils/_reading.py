# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a reader returns: entities with values, the quality of the reading, and its problems.

Private to trackbed.cluster. A *reader* is a pure function, text or bytes in, one
`Reading` out. It never raises for any input: what it cannot read becomes a
`Problem`, and the quality says how far the rest can be trusted. Missing is
None, never 0 and never "".
"""

from __future__ import annotations

import dataclasses
import typing as t

# The one enumeration of observation quality (evidence contract).
OK = "ok"
PARTIAL = "partial"  # some entities or values could not be read; problems say which
ABSENT = "absent"  # the tool or the device is not there
NOT_APPLICABLE = "not_applicable"  # this SKU has no such thing
UNREADABLE = "unreadable"  # it answered in a form that we do not know
TIMEOUT = "timeout"
ERROR = "error"  # it answered with an error of its own
QUALITIES = (OK, PARTIAL, ABSENT, NOT_APPLICABLE, UNREADABLE, TIMEOUT, ERROR)

# A value that a reader may put into an entity. Units are in the name (`_w`, `_mib`).
Value = t.Union[None, bool, int, float, str, t.List[t.Any], t.Dict[str, t.Any]]


@dataclasses.dataclass(frozen=True)
class Problem:
    """One thing that could not be read, or not be trusted."""

    code: str
    """snake_case name from `PROBLEM_CODES`."""
    says: str
    """For a person: what was found and what was expected."""
    line: int | None = None
    """1-based line of the input, where there is one."""
    entity: str | None = None
    """Path of the entity it belongs to."""
    field: str | None = None
    """Name of the value it belongs to."""
    verbatim: str | None = None
    """The text that was found, cut to 200 characters."""


PROBLEM_CODES = {
    "empty": "the input holds nothing",
    "truncated": "the input ends before the format says it should",
    "malformed": "a line or element does not have the shape of this format",
    "missing_value": "an element that this format always carries is not there",
    "unreadable_value": "the tool itself said that it could not read the value",
    "unknown_value": "the value is not one that we know; it is kept verbatim",
    "inconsistent": "two parts of the input contradict each other",
    "tool_error": "the tool printed an error instead of, or beside, its output",
    "no_access": "the tool could not see everything for want of privileges",
    "tool_absent": "the tool is not installed",
    "timed_out": "the tool did not answer in time",
    "other_format": "the input is of another kind or of an unknown version",
    "limited": "more was found than is kept",
    "fallback": "a better source did not answer; this one was asked in its place",
    "no_device": "there is no device of this sort",
}


@dataclasses.dataclass
class Entity:
    """One thing that was observed: the node (`path` ""), a GPU, a NIC, a link, a fan."""

    path: str
    """Relative to the node: "", "gpu:3", "nic:0000:0c:00.0", "link:gpu:0--gpu:1"."""
    ids: dict[str, str | None] = dataclasses.field(default_factory=dict)
    """Identities, normalised: serial, uuid, pci, guid, mac."""
    values: dict[str, Value] = dataclasses.field(default_factory=dict)
    notes: dict[str, str] = dataclasses.field(default_factory=dict)
    """Value name -> what the format did to it: one of `NOTES`."""


NOTES = {
    "not_supported": "the device or driver has no such value (N/A, Not Supported)",
    "unreadable": "the tool could not read it ([Unknown Error], GPU is lost)",
    "verbatim": "not a value that we know; kept as printed",
    "rounded": "the tool prints fewer digits than it has",
    "at_least": "a counter that has reached its limit",
    "downgraded": "the tool itself marks it as below the device's capability",
}


@dataclasses.dataclass
class Reading:
    """The whole answer of one reader for one input."""

    kind: str
    quality: str = OK
    problems: list[Problem] = dataclasses.field(default_factory=list)
    entities: list[Entity] = dataclasses.field(default_factory=list)
    tool_name: str | None = None
    tool_version: str | None = None
    _by_path: dict[str, Entity] = dataclasses.field(default_factory=dict, repr=False)

    def note(self, code: str, says: str, **where: t.Any) -> None:
        """Record a problem and lower the quality from ok to partial."""
        verbatim = where.get("verbatim")
        if verbatim is not None:
            where["verbatim"] = str(verbatim)[:200]
        self.problems.append(Problem(code, says, **where))
        if self.quality == OK:
            self.quality = PARTIAL

    def remark(self, code: str, says: str, **where: t.Any) -> None:
        """Record what a person should know and what takes nothing from the quality."""
        self.problems.append(Problem(code, says, **where))

    def add(self, entity: Entity, line: int | None = None) -> Entity:
        """Keep the entity and return it; a second one with the same path is a problem, not kept.

        The one that was there first is returned in that case.
        """
        known = self._by_path.get(entity.path)
        if known is None:
            self.entities.append(entity)
            self._by_path[entity.path] = entity
            return entity
        self.note(
            "inconsistent",
            f"{entity.path or 'the node'} appears twice; the first is kept",
            line=line,
            entity=entity.path,
        )
        return known

    def entity(self, path: str) -> Entity | None:
        """Return the entity with this path, or None."""
        return next((one for one in self.entities if one.path == path), None)

    def added(self, path: str) -> Entity | None:
        """Return the entity that was added with this path, or None; the same time for any count.

        Unlike `entity` it knows nothing of paths that were changed afterwards.
        """
        return self._by_path.get(path)

    def as_dict(self) -> dict[str, t.Any]:
        """Return plain JSON types."""
        return {
            name: value for name, value in dataclasses.asdict(self).items() if name != "_by_path"
        }


@dataclasses.dataclass(frozen=True)
class Field:
    """Documents one value of a reader: `FIELDS = {"gpu": {"pcie_gen": Field(int, "...")}}`."""

    type: type
    says: str
    unit: str | None = None
    values: tuple[str, ...] | None = None
    """The field's own names, where the value is an enumeration."""


def failed(kind: str, quality: str, code: str, says: str, **where: t.Any) -> Reading:
    """Return a reading that holds nothing but the reason why."""
    reading = Reading(kind, quality)
    reading.note(code, says, **where)
    return reading
