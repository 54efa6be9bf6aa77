from __future__ import annotations

import copy
from typing import Any

import pytest
import yaml
from ansible_collections.trackbed.cluster.plugins.plugin_utils import _skus
from ansible_collections.trackbed.cluster.plugins.plugin_utils._skus import SkuError, load, parse

GOOD: dict[str, Any] = {
    "name": "A GPU",
    "gpu_vendor": "nvidia",
    "gpu_pci_ids": ["10de:0001"],
    "gpu_count": 8,
    "pcie_gen": 5,
    "pcie_width": 16,
    "link_kind": "nvlink",
    "link_gen": 4,
    "link_count": 18,
    "nvswitch_count": 4,
    "nvswitch_pci_ids": [],
    "nic_count": None,
    "absent": {"nic_count": "not fixed"},
    "sources": dict.fromkeys(
        (
            "gpu_pci_ids",
            "gpu_count",
            "pcie_gen",
            "pcie_width",
            "link_kind",
            "link_gen",
            "link_count",
            "nvswitch_count",
            "nvswitch_pci_ids",
        ),
        "data sheet",
    ),
}


def _table(**changes: Any) -> str:
    entry = copy.deepcopy(GOOD)
    for key, value in changes.items():
        if value == "DROP":
            del entry[key]
        else:
            entry[key] = value
    return yaml.safe_dump({"skus": {"x-1": entry}})


def test_the_delivered_table_is_complete() -> None:
    table = load()
    assert {"a100-sxm", "h100-sxm", "h200-sxm", "b200", "gb200", "mi300x"} <= set(table)
    h100 = table["h100-sxm"]
    assert (h100.gpu_count, h100.pcie_gen, h100.pcie_width, h100.nvswitch_count) == (8, 5, 16, 4)
    assert h100.group == "sku_h100_sxm"
    assert h100.source("gpu_pci_ids").startswith("h100-sxm.gpu_pci_ids: pci.ids")


def test_no_two_skus_share_a_gpu() -> None:
    ids = [one for sku in load().values() for one in sku.gpu_pci_ids]
    assert len(ids) == len(set(ids))


def test_the_table_is_read_once_and_cannot_be_changed() -> None:
    assert load() is load()
    with pytest.raises(TypeError):
        load()["x"] = load()["b200"]  # type: ignore[index]


def test_absent_is_optional_when_nothing_is_null() -> None:
    sources = {**GOOD["sources"], "nic_count": "data sheet"}
    table = parse(_table(nic_count=8, absent="DROP", sources=sources))
    assert table["x-1"].nic_count == 8


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"gpu_cuont": 8}, "unknown key 'gpu_cuont'; did you mean 'gpu_count'"),
        ({"gpu_count": "DROP"}, "gpu_count missing"),
        ({"name": " "}, "name: wanted words"),
        ({"gpu_vendor": "nvida"}, "gpu_vendor: 'nvida'; did you mean 'nvidia'"),
        ({"link_kind": None}, "link_kind: None"),
        ({"gpu_count": 17}, "gpu_count: wanted a whole number from 1 to 16, found 17"),
        ({"gpu_count": None}, "gpu_count: wanted a whole number"),
        ({"gpu_count": True}, "gpu_count: wanted a whole number"),
        ({"pcie_gen": 32}, "pcie_gen: wanted a whole number from 1 to 7"),
        ({"gpu_pci_ids": []}, "gpu_pci_ids: wanted a list"),
        ({"gpu_pci_ids": ["10DE:0001"]}, "'10DE:0001' is not vendor:device"),
        ({"gpu_pci_ids": [12]}, "12 is not vendor:device"),
        ({"sources": []}, "sources: wanted a mapping"),
        ({"absent": {"nic_cuont": "x"}}, "absent: unknown key 'nic_cuont'"),
        ({"absent": {"nic_count": ""}}, "absent.nic_count: wanted words"),
        ({"absent": {}}, "nic_count is null without a reason"),
        ({"sources": {}}, "gpu_count has no source"),
        (
            {"absent": {"nic_count": "x", "link_gen": "y"}},
            "link_gen is in `absent` but has a value",
        ),
    ],
)
def test_what_the_schema_refuses(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(SkuError, match=says):
        parse(_table(**changes))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("skus: [", "not YAML"),
        ("- 1", "one mapping, `skus`"),
        ("skus: {}\nmore: 1", "one mapping, `skus`"),
        ("skus: []", "one mapping, `skus`"),
        ("skus: {H100: {}}", "SKU name 'H100'"),
        ("skus: {1: {}}", "SKU name 1"),
        ("skus: {h100: []}", "SKU h100: wanted a mapping, found list"),
    ],
)
def test_what_is_not_a_table(text: str, says: str) -> None:
    with pytest.raises(SkuError, match=says):
        parse(text)


def test_every_bound_belongs_to_a_field() -> None:
    assert set(_skus._INTEGERS) <= set(_skus._FIELDS)
