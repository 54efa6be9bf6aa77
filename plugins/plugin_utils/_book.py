# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The book: the SKU table and the declared checks, read once. Private to trackbed.cluster.

The data is in `skus.yml` and in `checks/` beside this file; `load()` is the only I/O. A file of
checks is a mapping `checks`, from id to check, and `defaults` for all of them. A check says

reads      the source whose evidence document is needed, or several, best first
rule       a function of _rules.py; `params` are its own
severity   of a failure: critical, major, minor or info (a policy may change it)
action     what a failure asks for, a name of _actions.py
vendor, only_with, optional   where it says nothing: see Check

Unknown keys are refused. A check without samples in tests/data/judge/ that prove that it can fail,
pass and not know breaks the build.
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
from ansible_collections.trackbed.cluster.plugins.plugin_utils._rules import RULES, Known
from ansible_collections.trackbed.cluster.plugins.plugin_utils._skus import Sku

_DIRECTORY = Path(__file__).with_name("checks")
# In the order of reports.
_FILES = ("pci", "nvidia", "amd", "events", "tests", "rdma", "system")
_PARTS = {"checks", "defaults"}
_TEXTS = ("title", "explains")
_CHOICES: dict[str, tuple[str, ...]] = {
    "rule": tuple(RULES),
    "vendor": ("", *_skus.VENDORS),
    "severity": SEVERITIES,
    "action": tuple(ACTIONS),
}
_FIELDS = tuple(one.name for one in dataclasses.fields(Check) if one.name != "id")
# What a declaration need not say, and what is meant then.
_DEFAULTS: dict[str, t.Any] = {"params": {}, "vendor": "", "only_with": "", "optional": False}


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
    texts = ((_DIRECTORY / f"{name}.yml").read_text(encoding="utf-8") for name in _FILES)
    return Book(_skus.load(), tuple(check for text in texts for check in parse_checks(text)))


def parse_checks(text: str) -> tuple[Check, ...]:
    """Return the checks of a declaration. Raises BookError for anything not allowed."""
    try:
        raw = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise BookError(f"the checks are not YAML: {error}") from error
    parts = raw if isinstance(raw, dict) else {}
    checks, defaults = parts.get("checks"), parts.get("defaults", {})
    if not isinstance(checks, dict) or not isinstance(defaults, dict) or set(parts) - _PARTS:
        raise BookError("the declaration holds `checks`, from id to check, and their `defaults`")
    return tuple(_check(str(name), entry, defaults) for name, entry in checks.items())


def _check(name: str, raw: t.Any, defaults: Mapping[str, t.Any]) -> Check:
    if not isinstance(raw, dict):
        raise BookError(f"check {name}: wanted a mapping, found {type(raw).__name__}")
    raw = {**defaults, **raw}
    for key in unknown_keys(raw, _FIELDS):
        raise BookError(f"check {name}: unknown key {key!r}; {meant(key, _FIELDS)}")
    entry: dict[str, t.Any] = {**_DEFAULTS, **raw}
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
    if not isinstance(entry["optional"], bool):
        raise BookError(f"check {name}: optional: wanted true or false, found {entry['optional']}")
    _check_params(name, RULES[entry["rule"]], entry["params"])
    sources = _texts(name, "sources", entry["sources"])
    reads = entry["reads"]
    frozen = {
        "params": types.MappingProxyType(entry["params"]),
        "sources": sources,
        "reads": _texts(name, "reads", [reads] if isinstance(reads, str) else reads),
    }
    return Check(id=name, **{**entry, **frozen})


def _texts(name: str, field: str, raw: t.Any) -> tuple[str, ...]:
    """Return a list of texts; none of them is empty, and there is at least one."""
    if not isinstance(raw, list) or not all(isinstance(one, str) and one for one in raw):
        raise BookError(f"check {name}: {field}: wanted a list of texts, found {raw!r}")
    if not raw:
        raise BookError(f"check {name}: {field}: a check says at least one")
    return tuple(raw)


def _check_params(name: str, rule: Known, found: t.Any) -> None:
    every = {*rule.params, *rule.own}
    if not isinstance(found, dict) or not every - set(rule.optional) <= set(found) <= every:
        raise BookError(
            f"check {name}: params: wanted {sorted(every)}"
            + (f" ({', '.join(rule.optional)} may be left out)" if rule.optional else "")
            + f", found {found!r}"
        )
    texts = {key: found[key] for key in rule.params}
    if not all(isinstance(value, str) and value for value in texts.values()):
        raise BookError(f"check {name}: params: wanted texts, found {texts!r}")
    trouble = rule.wrong(found) if rule.wrong else None
    if trouble:
        raise BookError(f"check {name}: params: {trouble}")
