# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The book: the SKU table and the declared checks, read once. Private to trackbed.cluster.

The data is in `skus.yml` and `checks.yml` beside this file; `load()` is the only I/O.
"""

from __future__ import annotations

import dataclasses
import functools
import types
import typing as t
from collections.abc import Mapping
from pathlib import Path

import yaml
from ansible_collections.trackbed.cluster.plugins.plugin_utils import _skus
from ansible_collections.trackbed.cluster.plugins.plugin_utils._actions import ACTIONS
from ansible_collections.trackbed.cluster.plugins.plugin_utils._check import Check
from ansible_collections.trackbed.cluster.plugins.plugin_utils._finding import SEVERITIES
from ansible_collections.trackbed.cluster.plugins.plugin_utils._names import meant, unknown_keys
from ansible_collections.trackbed.cluster.plugins.plugin_utils._rules import RULES
from ansible_collections.trackbed.cluster.plugins.plugin_utils._skus import Sku

_FILE = Path(__file__).with_name("checks.yml")
_TEXTS = ("title", "reads", "explains")
_CHOICES: dict[str, tuple[str, ...]] = {
    "rule": tuple(RULES),
    "severity": SEVERITIES,
    "action": tuple(ACTIONS),
}
_FIELDS = tuple(one.name for one in dataclasses.fields(Check) if one.name != "id")


class BookError(ValueError):
    """The declaration of the checks is wrong: which one, what was found, what was wanted."""


@dataclasses.dataclass(frozen=True)
class Book:
    """What the judge knows: expectations by SKU, and the checks."""

    skus: Mapping[str, Sku]
    checks: tuple[Check, ...]


@functools.cache
def load() -> Book:
    """Return the book that is delivered with the collection. Raises BookError or SkuError."""
    return Book(_skus.load(), parse_checks(_FILE.read_text(encoding="utf-8")))


def parse_checks(text: str) -> tuple[Check, ...]:
    """Return the checks of a declaration. Raises BookError for anything not allowed."""
    try:
        raw = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise BookError(f"the checks are not YAML: {error}") from error
    if not isinstance(raw, dict) or set(raw) != {"checks"} or not isinstance(raw["checks"], dict):
        raise BookError("the declaration holds one mapping, `checks`, from id to check")
    return tuple(_check(str(name), entry) for name, entry in raw["checks"].items())


def _check(name: str, raw: t.Any) -> Check:
    if not isinstance(raw, dict):
        raise BookError(f"check {name}: wanted a mapping, found {type(raw).__name__}")
    for key in unknown_keys(raw, _FIELDS):
        raise BookError(f"check {name}: unknown key {key!r}; {meant(key, _FIELDS)}")
    entry: dict[str, t.Any] = {"params": {}, **raw}
    missing = [field for field in _FIELDS if field not in entry]
    if missing:
        raise BookError(f"check {name}: {', '.join(missing)} missing")
    for field in _TEXTS:
        if not isinstance(entry[field], str) or not entry[field].strip():
            raise BookError(f"check {name}: {field}: wanted words, found {entry[field]!r}")
    for field, allowed in _CHOICES.items():
        if entry[field] not in allowed:
            raise BookError(
                f"check {name}: {field}: {entry[field]!r}; {meant(str(entry[field]), allowed)}"
            )
    _check_params(name, RULES[entry["rule"]].params, entry["params"])
    sources = entry["sources"]
    if not isinstance(sources, list) or not all(isinstance(one, str) and one for one in sources):
        raise BookError(f"check {name}: sources: wanted a list of texts, found {sources!r}")
    if not sources:
        raise BookError(f"check {name}: sources: a check says where its expectation comes from")
    frozen = {"params": types.MappingProxyType(entry["params"]), "sources": tuple(sources)}
    return Check(id=name, **{**entry, **frozen})


def _check_params(name: str, wanted: tuple[str, ...], found: t.Any) -> None:
    good = isinstance(found, dict) and set(found) == set(wanted)
    if not good or not all(isinstance(value, str) and value for value in found.values()):
        raise BookError(f"check {name}: params: wanted texts for {list(wanted)}, found {found!r}")
