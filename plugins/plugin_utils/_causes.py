# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The causal table: which facts can move which metric. Private to trackbed.cluster.

The data is in `causes.yml` beside this file; `load()` is the only I/O. Unknown keys are refused.
"""

from __future__ import annotations

import dataclasses
import fnmatch
import functools
import typing as t
from pathlib import Path

import yaml
from ansible_collections.trackbed.cluster.plugins.plugin_utils._names import meant, unknown_keys

_FILE = Path(__file__).with_name("causes.yml")
OWN = "own judgement"
_LISTS = ("metrics", "facts", "sources")
# Of a metric that the table does not know.
_SECONDS = 60


class CauseError(ValueError):
    """The causal table itself is wrong: which entry, what was found, what was wanted."""


@dataclasses.dataclass(frozen=True)
class Cause:
    """Facts that can move a family of metrics, likeliest first."""

    name: str
    metrics: tuple[str, ...]
    facts: tuple[str, ...]
    seconds: int
    """What one measurement takes, about."""
    sources: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Causes:
    """The table."""

    causes: tuple[Cause, ...]
    places: tuple[str, ...]

    def of(self, metric: str) -> Cause:
        """Return the first entry for this metric; an empty one where there is none."""
        for cause in self.causes:
            if _rank(metric, cause.metrics) < len(cause.metrics):
                return cause
        return Cause("", (), (), _SECONDS, ())

    def is_place(self, fact: str) -> bool:
        """Tell whether nobody can set this fact: where the node stands, when it was delivered."""
        return _rank(fact, self.places) < len(self.places)


def rank(fact: str, cause: Cause) -> int:
    """Return how likely the fact moves the metric: 0 first; the length of the list: not known."""
    return _rank(fact, cause.facts)


def _rank(name: str, patterns: t.Sequence[str]) -> int:
    low = name.lower()
    found = (number for number, one in enumerate(patterns) if fnmatch.fnmatchcase(low, one))
    return next(found, len(patterns))


@functools.cache
def load() -> Causes:
    """Return the table of this collection. Raises CauseError."""
    return parse(_FILE.read_text(encoding="utf-8"))


def parse(text: str) -> Causes:
    """Return the table that is written in YAML. Raises CauseError."""
    try:
        raw = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise CauseError(f"causes: not YAML: {error}") from error
    if not isinstance(raw, dict) or not isinstance(raw.get("causes"), dict):
        raise CauseError("causes: the file must be a mapping with `causes` and `places`")
    _no_others("the file", raw, ("causes", "places"))
    places = _strings("places", raw.get("places"))
    return Causes(tuple(_cause(str(name), one) for name, one in raw["causes"].items()), places)


def _cause(name: str, raw: t.Any) -> Cause:
    if not isinstance(raw, dict):
        raise CauseError(f"causes: {name} is {type(raw).__name__}, not a mapping")
    _no_others(name, raw, (*_LISTS, "seconds"))
    metrics, facts, sources = (_strings(f"{name}.{field}", raw.get(field)) for field in _LISTS)
    seconds = raw.get("seconds")
    if isinstance(seconds, bool) or not isinstance(seconds, int) or not 0 < seconds <= 3600:
        raise CauseError(f"causes: {name}.seconds is {seconds!r}; it must be 1 to 3600")
    for source in sources:
        if source != OWN and not source.startswith("https://"):
            raise CauseError(
                f"causes: {name} has the source {source!r}; it must be an address or {OWN!r}"
            )
    return Cause(name, metrics, facts, seconds, sources)


def _strings(field: str, raw: t.Any) -> tuple[str, ...]:
    if not isinstance(raw, list) or not raw or not all(isinstance(one, str) for one in raw):
        raise CauseError(f"causes: {field} must be a list of texts, and not empty")
    upper = [one for one in raw if not field.endswith("sources") and one != one.lower()]
    if upper:
        raise CauseError(f"causes: {field} has {upper[0]!r}; patterns are in lower case")
    return tuple(raw)


def _no_others(where: str, raw: dict[t.Any, t.Any], allowed: t.Sequence[str]) -> None:
    unknown = unknown_keys(raw, allowed)
    if unknown:
        raise CauseError(
            f"causes: {where} has the unknown key {unknown[0]!r}; {meant(unknown[0], allowed)}"
        )
