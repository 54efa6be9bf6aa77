# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The SKU table: what a node of each kind is built of. Private to trackbed.cluster.

The data is in `skus.yml` beside this file; `load()` is the only I/O.
"""

from __future__ import annotations

import dataclasses
import functools
import re
import types
import typing as t
from collections.abc import Mapping
from pathlib import Path

import yaml
from ansible_collections.trackbed.cluster.plugins.plugin_utils._names import meant, unknown_keys

VENDORS = ("amd", "nvidia")
LINK_KINDS = ("nvlink", "xgmi")

_FILE = Path(__file__).with_name("skus.yml")
_PCI_ID = re.compile(r"[0-9a-f]{4}:[0-9a-f]{4}")
_SKU_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


class SkuError(ValueError):
    """The SKU table itself is wrong: which entry, what was found, what was wanted."""


@dataclasses.dataclass(frozen=True)
class Sku:
    """What one node is built of. None means "not fixed for this SKU"; `absent` says why."""

    sku: str
    name: str
    gpu_vendor: str
    gpu_pci_ids: tuple[str, ...]
    gpu_count: int
    pcie_gen: int | None
    pcie_width: int | None
    link_kind: str
    link_gen: int | None
    link_count: int
    nvswitch_count: int
    nvswitch_pci_ids: tuple[str, ...]
    nic_count: int | None
    absent: Mapping[str, str]
    sources: Mapping[str, str]

    @property
    def group(self) -> str:
        """Name of the inventory group: `sku_h100_sxm`."""
        return "sku_" + self.sku.replace("-", "_")

    def source(self, field: str) -> str:
        """Return where the value of `field` was published, for the basis of a finding."""
        return f"{self.sku}.{field}: {self.sources[field]}"


# The largest value that can be true: what is above is a slip of the hand.
# 16 GPUs: HGX-2 of two baseboards; PCIe 7 and x16 are the specification's last;
# 72 links: one GPU's links in any announced NVLink generation stay below.
_INTEGERS: dict[str, tuple[int, int]] = {
    "gpu_count": (1, 16),
    "pcie_gen": (1, 7),
    "pcie_width": (1, 16),
    "link_gen": (1, 9),
    "link_count": (1, 72),
    "nvswitch_count": (0, 18),
    "nic_count": (1, 32),
}
_NULLABLE = ("pcie_gen", "pcie_width", "link_gen", "nic_count")
_LISTS = ("gpu_pci_ids", "nvswitch_pci_ids")
_CHOICES = {"gpu_vendor": VENDORS, "link_kind": LINK_KINDS}
_SOURCED = (*_INTEGERS, *_LISTS, "link_kind")
_FIELDS = tuple(one.name for one in dataclasses.fields(Sku) if one.name != "sku")


@functools.cache
def load() -> Mapping[str, Sku]:
    """Return the table that is delivered with the collection. Raises SkuError where it is wrong."""
    return types.MappingProxyType(parse(_FILE.read_text(encoding="utf-8")))


def parse(text: str) -> dict[str, Sku]:
    """Return the SKUs of a table. Raises SkuError for anything that the schema does not allow."""
    try:
        raw = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise SkuError(f"the SKU table is not YAML: {error}") from error
    if not isinstance(raw, dict) or set(raw) != {"skus"} or not isinstance(raw["skus"], dict):
        raise SkuError("the SKU table holds one mapping, `skus`, from name to description")
    return {name: _sku(name, entry) for name, entry in raw["skus"].items()}


def _sku(name: t.Any, raw: t.Any) -> Sku:
    if not isinstance(name, str) or not _SKU_NAME.fullmatch(name):
        raise SkuError(f"SKU name {name!r}: wanted lower-case letters, digits and single hyphens")
    if not isinstance(raw, dict):
        raise SkuError(f"SKU {name}: wanted a mapping, found {type(raw).__name__}")
    for key in unknown_keys(raw, _FIELDS):
        raise SkuError(f"SKU {name}: unknown key {key!r}; {meant(key, _FIELDS)}")
    entry = {"absent": {}, **raw}
    missing = [field for field in _FIELDS if field not in entry]
    if missing:
        raise SkuError(f"SKU {name}: {', '.join(missing)} missing")
    problem = _first_problem(entry)
    if problem:
        raise SkuError(f"SKU {name}: {problem}")
    frozen = {
        **entry,
        **{field: tuple(entry[field]) for field in _LISTS},
        **{field: types.MappingProxyType(dict(entry[field])) for field in ("absent", "sources")},
    }
    return Sku(sku=name, **frozen)


def _first_problem(entry: dict[str, t.Any]) -> str | None:
    checks = [
        *(_text_problem("name", entry["name"]),),
        *(_choice_problem(field, entry[field]) for field in _CHOICES),
        *(_integer_problem(field, entry[field]) for field in _INTEGERS),
        *(_ids_problem(field, entry[field]) for field in _LISTS),
        *(_words_problem(field, entry[field]) for field in ("absent", "sources")),
    ]
    return next((one for one in checks if one), None) or _reasons_problem(entry)


def _text_problem(field: str, value: t.Any) -> str | None:
    good = isinstance(value, str) and value.strip()
    return None if good else f"{field}: wanted words, found {value!r}"


def _choice_problem(field: str, value: t.Any) -> str | None:
    allowed = _CHOICES[field]
    return None if value in allowed else f"{field}: {value!r}; {meant(str(value), allowed)}"


def _integer_problem(field: str, value: t.Any) -> str | None:
    if value is None and field in _NULLABLE:
        return None
    low, high = _INTEGERS[field]
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        return f"{field}: wanted a whole number from {low} to {high}, found {value!r}"
    return None


def _ids_problem(field: str, value: t.Any) -> str | None:
    if not isinstance(value, list) or (field == "gpu_pci_ids" and not value):
        return f"{field}: wanted a list of PCI ids, found {value!r}"
    wrong = [one for one in value if not (isinstance(one, str) and _PCI_ID.fullmatch(one))]
    return (
        f"{field}: {wrong[0]!r} is not vendor:device in lower-case hexadecimal" if wrong else None
    )


def _words_problem(field: str, value: t.Any) -> str | None:
    if not isinstance(value, dict):
        return f"{field}: wanted a mapping, found {type(value).__name__}"
    for key in unknown_keys(value, _SOURCED):
        return f"{field}: unknown key {key!r}; {meant(key, _SOURCED)}"
    return next((p for key in value if (p := _text_problem(f"{field}.{key}", value[key]))), None)


def _reasons_problem(entry: dict[str, t.Any]) -> str | None:
    """Say which value has no source, and which null has no reason."""
    for field in _SOURCED:
        is_null = entry[field] is None
        if is_null and field not in entry["absent"]:
            return f"{field} is null without a reason in `absent`"
        if not is_null and field not in entry["sources"]:
            return f"{field} has no source in `sources`"
        if field in entry["absent"] and not is_null:
            return f"{field} is in `absent` but has a value"
    return None
