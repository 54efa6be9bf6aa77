# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A read-only view of evidence documents that no document can break. Private to trackbed.cluster.

Documents come from nodes, perhaps from another version of Trackbed. What does
not have the contract's shape is `unreadable`; it is never an exception in the
judge and never a pass.
"""

from __future__ import annotations

import dataclasses
import typing as t
from collections.abc import Mapping, Sequence

from ansible_collections.trackbed.cluster.plugins.module_utils._evidence import SCHEMA
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import QUALITIES, UNREADABLE


@dataclasses.dataclass(frozen=True)
class Trouble:
    """One problem of a document."""

    code: str
    says: str
    entity: str | None = None
    """Path relative to the node, as the reader gave it."""
    field: str | None = None
    """Name of the value that it belongs to."""


@dataclasses.dataclass(frozen=True)
class Thing:
    """One entity of a document, under its full path."""

    path: str
    ids: Mapping[str, t.Any]
    values: Mapping[str, t.Any]
    notes: Mapping[str, t.Any] = dataclasses.field(default_factory=dict)
    """Value name -> what the format did to it (ADR 2)."""

    @property
    def sort(self) -> str:
        """What it is: "" for a node, "gpu", "nic/port"."""
        return "/".join(part.split(":", 1)[0] for part in self.path.split("/")[1:])

    def integer(self, name: str) -> int | None:
        """Return a whole number, or None where it is missing or of another type."""
        value = self.values.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def text(self, name: str) -> str | None:
        """Return a text that is not empty, or None."""
        value = self.values.get(name)
        return value if isinstance(value, str) and value.strip() else None


@dataclasses.dataclass(frozen=True)
class Document:
    """One observation of one node."""

    source: str
    quality: str
    troubles: tuple[Trouble, ...]
    things: Mapping[str, Thing]
    sha256: str | None

    @property
    def evidence(self) -> tuple[str, ...]:
        """Hashes for a finding."""
        return (self.sha256,) if self.sha256 else ()

    @property
    def reason(self) -> str:
        """The first problem, for a person."""
        return self.troubles[0].says if self.troubles else "no reason was given"

    @property
    def cut(self) -> str | None:
        """What the reader said, where a part of the output is missing: cut, or an error instead."""
        whole = (one for one in self.troubles if one.entity in (None, ""))
        return next((one.says for one in whole if one.code in ("truncated", "tool_error")), None)

    def trouble_with(self, field: str) -> str | None:
        """Return what the reader said about this value of the node itself."""
        own = (one for one in self.troubles if one.entity in (None, ""))
        return next((one.says for one in own if one.field == field), None)

    def trouble_at(self, path: str, field: str) -> str | None:
        """Return what the reader said about a value of an entity (path relative to the node)."""
        about = [one for one in self.troubles if (one.entity or "") == path]
        exact = next((one.says for one in about if one.field == field), None)
        return exact or next((one.says for one in about if one.field is None), None)

    def trouble_of(self, path: str) -> str | None:
        """Return what the reader said about this entity (path relative to the node)."""
        return next((one.says for one in self.troubles if one.entity == path), None)


def view(raw: t.Any) -> Document | None:
    """Return the view of one document, or None where not even its source can be told."""
    if not isinstance(raw, Mapping) or not isinstance(raw.get("source"), str):
        return None
    source = raw["source"]
    if raw.get("schema") != SCHEMA:
        says = f"the evidence is of schema {raw.get('schema')!r}, this version reads {SCHEMA}"
        return _unreadable(source, says)
    if raw.get("quality") not in QUALITIES:
        return _unreadable(source, f"the evidence has the quality {raw.get('quality')!r}")
    things = [_thing(one) for one in _list(raw.get("entities"))]
    troubles = [_trouble(one) for one in _list(raw.get("problems"))]
    if None in things or None in troubles:
        return _unreadable(source, "an entity or problem does not have the evidence's shape")
    kept = {one.path: one for one in things if one}
    if len(kept) < len(things):
        return _unreadable(source, "two entities have the same path")
    return Document(
        source, raw["quality"], tuple(one for one in troubles if one), kept, _hash(raw.get("raw"))
    )


def documents(raw: Sequence[t.Any] | None) -> dict[str, Document]:
    """Return the last document of each source."""
    views = (view(one) for one in raw or ())
    return {one.source: one for one in views if one}


def _unreadable(source: str, says: str) -> Document:
    return Document(source, UNREADABLE, (Trouble("other_format", says),), {}, None)


def _list(value: t.Any) -> list[t.Any]:
    return value if isinstance(value, list) else [None]


def _thing(raw: t.Any) -> Thing | None:
    if not isinstance(raw, Mapping) or not isinstance(raw.get("path"), str):
        return None
    ids, values = raw.get("ids", {}), raw.get("values", {})
    notes = raw.get("notes", {})
    if not all(isinstance(one, Mapping) for one in (ids, values, notes)):
        return None
    return Thing(raw["path"], ids, values, notes)


def _trouble(raw: t.Any) -> Trouble | None:
    if not isinstance(raw, Mapping):
        return None
    code, says = raw.get("code"), raw.get("says")
    if not isinstance(code, str) or not isinstance(says, str):
        return None
    # Without the full stop: the words become part of a sentence.
    return Trouble(code, says.rstrip(". \n"), _string(raw, "entity"), _string(raw, "field"))


def _string(raw: Mapping[str, t.Any], key: str) -> str | None:
    value = raw.get(key)
    return value if isinstance(value, str) else None


def _hash(raw: t.Any) -> str | None:
    return _string(raw, "sha256") if isinstance(raw, Mapping) else None
