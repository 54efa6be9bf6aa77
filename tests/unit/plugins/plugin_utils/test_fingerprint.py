"""What a node is, where nodes differ, and what changed."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.trackbed.cluster.plugins.plugin_utils import _drift, _fingerprint
from ansible_collections.trackbed.cluster.plugins.plugin_utils._drift import Group
from ansible_collections.trackbed.cluster.plugins.plugin_utils._fingerprint import (
    FingerprintError,
    load,
    parse,
)
from ansible_collections.trackbed.cluster.plugins.plugin_utils._kinds import kinds

BASE = {"schema": 1, "quality": "ok", "problems": [], "raw": None}


def document(source: str, *entities: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {**BASE, "source": source, "entities": list(entities), **more}


def entity(path: str, notes: dict[str, str] | None = None, **values: Any) -> dict[str, Any]:
    return {"path": path, "ids": {}, "values": values, "notes": notes or {}}


def facts(**nodes: list[dict[str, Any]]) -> _fingerprint.Facts:
    return _fingerprint.facts(nodes, load())


def bios(node: str, version: str | None, **more: Any) -> dict[str, Any]:
    return document("dmidecode", entity(node, bios_version=version), **more)


class TestFacts:
    def test_a_value_of_the_node(self) -> None:
        found = facts(a=[bios("a", "1.6")], b=[bios("b", None)])
        assert found["dmidecode: bios_version"] == {"a": "1.6", "b": None}
        assert "dmidecode: bios_date" not in found

    def test_a_value_of_all_parts_is_one_fact(self) -> None:
        gpus = [entity(f"a/gpu:{i}", vbios_version="96.1" if i else "96.0") for i in range(8)]
        found = facts(a=[document("nvidia-smi-xml", *gpus)])
        value = found["nvidia-smi-xml: gpu vbios_version"]["a"]
        assert value == "96.1 (7 gpus), 96.0 (1 gpu)"

    def test_one_part_that_was_not_read_leaves_all_unknown(self) -> None:
        parts = [entity("a/gpu:0", vbios_version="96.1"), entity("a/gpu:1", vbios_version=None)]
        found = facts(a=[document("nvidia-smi-xml", *parts)])
        assert "nvidia-smi-xml: gpu vbios_version" not in found

    def test_what_the_device_has_not_is_a_value(self) -> None:
        lacks = entity("a/gpu:0", {"mig_mode": "not_supported"}, mig_mode=None)
        found = facts(a=[document("nvidia-smi-xml", lacks)])
        assert found["nvidia-smi-xml: gpu mig_mode"] == {"a": "absent"}

    @pytest.mark.parametrize(
        ("quality", "value"),
        [("absent", "absent"), ("not_applicable", "absent"), ("timeout", None), ("error", None)],
    )
    def test_a_source_that_gave_nothing(self, quality: str, value: str | None) -> None:
        driver = "proc-driver-nvidia-version"
        there = document(driver, entity("a", driver_version="580.1"))
        found = facts(a=[there], b=[document(driver, quality=quality)], c=[])
        assert found[f"{driver}: driver_version"] == {"a": "580.1", "b": value, "c": None}

    def test_what_was_cut_is_not_known(self) -> None:
        cut = [{"code": "truncated", "says": "it ends early"}]
        found = facts(a=[bios("a", "1.6")], b=[bios("b", "1.6", problems=cut, quality="partial")])
        assert found["dmidecode: bios_version"]["b"] is None

    def test_each_package_is_a_fact_and_not_to_have_it_a_value(self) -> None:
        def packages(node: str, *versions: tuple[str, str]) -> dict[str, Any]:
            return document(
                "dpkg-l", *(entity(f"{node}/package:{n}", version=v) for n, v in versions)
            )

        found = facts(
            a=[packages("a", ("rdma-core", "50"), ("nvidia-open", "580"))],
            b=[packages("b", ("rdma-core", "52"))],
            c=[],
        )
        assert found["dpkg-l: rdma-core"] == {"a": "50", "b": "52", "c": None}
        assert found["dpkg-l: nvidia-open"] == {"a": "580", "b": "absent", "c": None}


class TestDeclaration:
    def test_every_name_is_one_that_the_reader_gives(self) -> None:
        known, declared = kinds(), load()
        for source, sorts in declared.parts.items():
            for sort, names in sorts.items():
                assert set(names) <= set(known[source].fields[sort]), (source, sort)
        for source, sorts in declared.each.items():
            for sort, name in sorts.items():
                assert name in known[source].fields[sort], (source, sort)

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ("[", "not YAML"),
            ("parts: {}", "`parts` and `each`"),
            ("{parts: {os: {node: x}}, each: {}}", "parts: os: wanted part -> list"),
            ("{parts: {}, each: {os: {node: [x]}}}", "each: os: wanted part -> str"),
            ("{parts: {os: x}, each: {}}", "parts: os: wanted"),
        ],
    )
    def test_what_is_no_declaration(self, text: str, says: str) -> None:
        with pytest.raises(FingerprintError, match=says):
            parse(text)


NODES = ["n1", "n2", "n3", "n4"]


def made(*values: str | None, fact: str = "f") -> _fingerprint.Facts:
    return {fact: dict(zip(NODES, values, strict=False))}


class TestDifferences:
    def test_alike_nodes_differ_in_nothing(self) -> None:
        assert _drift.differences(made("1", "1", "1", None), NODES) == ()

    def test_the_minority_is_odd(self) -> None:
        (one,) = _drift.differences(made("1", "1", "2", "1"), NODES)
        assert (one.against, one.expected, one.odd) == ("majority", "1", ("n3",))
        assert one.groups == (Group("1", ("n1", "n2", "n4")), Group("2", ("n3",)))

    def test_below_sixty_percent_nobody_has_drifted(self) -> None:
        (one,) = _drift.differences(made("1", "1", "2", "2"), NODES)
        assert (one.against, one.expected) == ("split", None)
        assert set(one.odd) == set(NODES)

    def test_a_golden_node_is_right_against_all_others(self) -> None:
        (one,) = _drift.differences(made("1", "2", "2", "2"), NODES, golden="n1")
        assert (one.against, one.expected, one.odd) == ("golden", "1", ("n2", "n3", "n4"))
        assert one.groups[0].value == "1"

    def test_a_golden_node_that_was_not_read_leaves_the_majority(self) -> None:
        (one,) = _drift.differences(made(None, "2", "2", "1"), NODES, golden="n1")
        assert (one.against, one.expected, one.unread) == ("majority", "2", ("n1",))

    def test_facts_that_single_out_the_same_nodes_are_one_bundle(self) -> None:
        facts = {
            **made("1", "1", "2", "1", fact="bios"),
            **made("a", "a", "b", "a", fact="bmc"),
            **made("x", "y", "x", "x", fact="kernel"),
        }
        first, second = _drift.bundles(_drift.differences(facts, NODES))
        assert ([one.fact for one in first.differences], first.odd) == (["bios", "bmc"], ("n3",))
        assert ([one.fact for one in second.differences], second.odd) == (["kernel"], ("n2",))


def test_what_changed_is_told_once_for_all_nodes_that_changed_alike() -> None:
    before, after = made("1", "1", "1", None), made("2", "2", "1", "2")
    (one,) = _drift.changes(before, after, NODES)
    assert (one.fact, one.before, one.after, one.nodes) == ("f", "1", "2", ("n1", "n2"))
    assert _drift.changes(after, after, NODES) == ()
