# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node is: the facts that alike nodes share. Private to trackbed.cluster.

Which values those are is data, `fingerprint.yml` beside this file; `load()` is the only I/O. A
value that a source gives for many parts (the VBIOS of eight GPUs) is one fact. That a tool or
device is not there is a value, too; what could not be read is None, and never a difference.
"""

from __future__ import annotations

import dataclasses
import functools
import typing as t
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml
from ansible_collections.trackbed.cluster.plugins.module_utils import _reading
from ansible_collections.trackbed.cluster.plugins.plugin_utils._documents import (
    Document,
    documents,
)
from ansible_collections.trackbed.cluster.plugins.plugin_utils._names import (
    counted,
    natural_key,
    shown,
)

Facts = Mapping[str, Mapping[str, str | None]]
"""Fact -> node -> value, for a person. None is what could not be read."""

ABSENT = "absent"
_FILE = Path(__file__).with_name("fingerprint.yml")
_MISSING = {_reading.ABSENT: ABSENT, _reading.NOT_APPLICABLE: ABSENT}
_READ = (_reading.OK, _reading.PARTIAL)
_Parts = Mapping[str, Mapping[str, t.Any]]


class FingerprintError(ValueError):
    """The declaration is wrong: what was found, what was wanted."""


@dataclasses.dataclass(frozen=True)
class Fingerprint:
    """Which values are facts."""

    parts: _Parts
    """Source -> part -> values."""
    each: _Parts
    """Source -> part -> value."""


@functools.cache
def load() -> Fingerprint:
    """Return the declaration that is delivered with the collection. Raises FingerprintError."""
    return parse(_FILE.read_text(encoding="utf-8"))


def parse(text: str) -> Fingerprint:
    """Return a declaration. Raises FingerprintError for anything not allowed."""
    try:
        raw = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise FingerprintError(f"the fingerprint is not YAML: {error}") from error
    if not isinstance(raw, dict) or set(raw) != {"parts", "each"}:
        raise FingerprintError("the fingerprint holds `parts` and `each`, and nothing else")
    for name, kind in (("parts", list), ("each", str)):
        for source, sorts in raw[name].items():
            if not isinstance(sorts, dict) or not all(isinstance(v, kind) for v in sorts.values()):
                raise FingerprintError(f"{name}: {source}: wanted part -> {kind.__name__}")
    return Fingerprint(raw["parts"], raw["each"])


def facts(evidence: Mapping[str, Sequence[t.Any]], fingerprint: Fingerprint) -> Facts:
    """Return the facts of these nodes: node -> evidence documents -> fact -> node -> value."""
    found: dict[str, dict[str, str | None]] = {}
    views = {node: documents(raw) for node, raw in evidence.items()}
    for source, sorts in fingerprint.parts.items():
        for sort, names in sorts.items():
            for name in names:
                fact = f"{source}: {name}" if sort == "node" else f"{source}: {sort} {name}"
                found[fact] = {
                    node: _whole(view.get(source), sort, name) for node, view in views.items()
                }
    for source, sorts in fingerprint.each.items():
        for sort, name in sorts.items():
            found.update(_each(source, sort, name, views))
    return {fact: values for fact, values in found.items() if set(values.values()) - {None}}


def _whole(document: Document | None, sort: str, name: str) -> str | None:
    """Return the value over all parts of a node; None where one of them could not be read."""
    if document is None or document.quality not in _READ:
        return _MISSING.get(document.quality) if document else None
    if document.cut:
        return None
    wanted = "" if sort == "node" else sort
    parts = [one for one in document.things.values() if one.sort.rpartition("/")[2] == wanted]
    values = [one.values.get(name) for one in parts]
    lacks = [one.notes.get(name) == "not_supported" for one in parts]
    if any(value is None and not lack for value, lack in zip(values, lacks, strict=True)):
        return None
    return counted([ABSENT if value is None else shown(value) for value in values], sort) or ABSENT


def _each(
    source: str, sort: str, name: str, views: Mapping[str, Mapping[str, Document]]
) -> dict[str, dict[str, str | None]]:
    """Return a fact for every part that some node has."""
    read: dict[str, dict[str, str]] = {}
    for node, view in views.items():
        document = view.get(source)
        if document is None or document.quality not in (*_READ, *_MISSING) or document.cut:
            continue
        read[node] = {
            one.path.partition("/")[2].partition(":")[2]: shown(one.values.get(name) or "there")
            for one in document.things.values()
            if one.sort == sort
        }
    parts = sorted({part for own in read.values() for part in own}, key=natural_key)
    return {
        f"{source}: {part}": {
            node: read[node].get(part, ABSENT) if node in read else None for node in views
        }
        for part in parts
    }
