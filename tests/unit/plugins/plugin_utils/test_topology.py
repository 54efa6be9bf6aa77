from __future__ import annotations

from ansible_collections.trackbed.cluster.plugins.plugin_utils._topology import Node, Topology


def test_nodes_are_in_natural_order_with_their_sku() -> None:
    topology = Topology.from_hostvars(
        {"n10": {"trackbed_sku": "b200"}, "n2": {"trackbed_sku": "h100-sxm"}, "n1": {}}
    )
    assert topology.nodes == (Node("n1"), Node("n2", "h100-sxm"), Node("n10", "b200"))
    assert topology.names == ("n1", "n2", "n10")


def test_text_that_ansible_wrapped_as_unsafe_is_read_and_other_types_are_not() -> None:
    wrapped = {"trackbed_sku": {"__ansible_unsafe": "b200"}}
    topology = Topology.from_hostvars(
        {"a": wrapped, "b": {"trackbed_sku": 7}, "c": {"trackbed_sku": ""}}
    )
    assert [node.sku for node in topology.nodes] == ["b200", None, None]


def test_names_choose_the_nodes_even_those_without_variables() -> None:
    hostvars = {"a": {"trackbed_sku": "b200"}, "b": {"trackbed_sku": "b200"}}
    topology = Topology.from_hostvars(hostvars, ["c", "a", "a"])
    assert topology.nodes == (Node("a", "b200"), Node("c"))
    assert Topology.from_hostvars(hostvars, []).nodes == ()


def test_groups_that_should_be_alike() -> None:
    topology = Topology.from_hostvars(
        {"a": {"trackbed_sku": "x"}, "b": {}, "c": {"trackbed_sku": "x"}}
    )
    assert {sku: [n.name for n in nodes] for sku, nodes in topology.by_sku.items()} == {
        "x": ["a", "c"],
        None: ["b"],
    }
