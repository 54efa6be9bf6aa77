from __future__ import annotations

import numpy as np
import pytest
from ansible_collections.trackbed.cluster.plugins.plugin_utils import _causes
from ansible_collections.trackbed.cluster.plugins.plugin_utils._explain import (
    Explanation,
    Facts,
    bundles,
    experiment,
    explain,
    without_strays,
)
from ansible_collections.trackbed.cluster.plugins.plugin_utils._metric import Metric
from ansible_collections.trackbed.cluster.plugins.plugin_utils._outliers import outliers
from ansible_collections.trackbed.cluster.plugins.plugin_utils._populations import populations

HBM = Metric("hbm_copy", "GB/s")
TABLE = _causes.load()
NODES = [f"gpu-{number:03}" for number in range(64)]
SLOW = set(NODES[::2])


def of_each(value: dict[str, str | None] | None = None, **by: str) -> dict[str, str | None]:
    """Return a fact that half of the nodes have as `slow`, the others as `fast`."""
    made: dict[str, str | None] = {n: by["slow"] if n in SLOW else by["fast"] for n in NODES}
    return {**made, **(value or {})}


def world(nodes: list[str] = NODES) -> dict[str, dict[str, str | int | None]]:
    rng = np.random.default_rng(5)
    found: dict[str, dict[str, str | int | None]] = {
        "bios_version": dict(of_each(slow="1.4", fast="1.6")),
        "bmc_version": dict(of_each(slow="12.84", fast="13.02")),
        "delivery_batch": dict(of_each(slow="a", fast="b")),
        "nic_firmware": dict(of_each({NODES[0]: "x2", NODES[1]: "x1"}, slow="x1", fast="x2")),
        "kernel": dict.fromkeys(NODES, "6.1"),
        "serial": {node: number for number, node in enumerate(NODES)},
        "half_read": dict(of_each(dict.fromkeys(NODES[20:]), slow="p", fast="q")),
    }
    for number in range(40):
        found[f"drift{number}"] = {n: int(rng.random() < 0.3) for n in NODES}
    return {name: {n: column[n] for n in nodes} for name, column in found.items()}


def split(nodes: list[str] = NODES) -> dict[str, int]:
    return {node: 0 if node in SLOW else 1 for node in nodes}


def named(found: Explanation) -> list[tuple[str, ...]]:
    return [one.facts for one in found.candidates]


def test_the_bundle_of_the_cause_comes_first_and_the_likely_fact_first_in_it() -> None:
    found = explain(split(), world(), "hbm_copy", TABLE)
    assert found.verdict == "candidate cause"
    assert named(found)[:2] == [
        ("bios_version", "bmc_version", "delivery_batch"),
        ("nic_firmware",),
    ]
    first, second = found.candidates[:2]
    assert (first.score, first.word, first.known) == (pytest.approx(1), "splits exactly with", True)
    assert first.counts == ({"1.4": 32}, {"1.6": 32})
    assert second.word == "mostly follows"
    assert second.counts == ({"x1": 31, "x2": 1}, {"x2": 31, "x1": 1})


def test_a_fact_that_was_read_on_few_nodes_counts_for_less() -> None:
    facts = world()
    for name in ("bios_version", "bmc_version", "delivery_batch", "nic_firmware"):
        del facts[name]
    few = explain(split(), facts, "hbm_copy", TABLE)
    assert [(one.facts, one.word) for one in few.candidates] == [(("half_read",), "partly follows")]
    assert few.candidates[0].score == pytest.approx(20 / 64)
    assert few.candidates[0].counts[0] == {"unread": 22, "p": 10}


def test_of_few_nodes_there_are_only_candidates() -> None:
    assert explain(split(NODES[:16]), world(NODES[:16]), "hbm_copy", TABLE).verdict == "candidates"


def test_when_nothing_agrees_it_says_so() -> None:
    facts = {name: column for name, column in world().items() if name.startswith("drift")}
    found = explain(split(), facts, "hbm_copy", TABLE)
    assert (found.verdict, found.candidates) == ("no collected fact explains this split", ())


@pytest.mark.parametrize(
    "facts",
    [
        {},
        {"constant": dict.fromkeys(NODES, "a")},
        {"serial": {node: node for node in NODES}},
        {"unread": dict.fromkeys(NODES)},
        {"nowhere": {}},
    ],
)
def test_constants_serials_and_what_was_not_read_explain_nothing(facts: Facts) -> None:
    assert explain(split(), facts, "hbm_copy", TABLE).candidates == ()


def test_degenerate_splits_are_explained_by_nothing() -> None:
    for parts in ({}, {"gpu-000": 0}, {"gpu-000": 0, "gpu-001": 1}, dict.fromkeys(NODES, 0)):
        assert explain(parts, world(), "hbm_copy", TABLE).candidates == ()


def test_facts_that_split_alike_are_one_bundle() -> None:
    made = bundles(world(), NODES)
    assert made[0].facts == ("bios_version", "bmc_version", "delivery_batch")
    names = [name for one in made for name in one.facts]
    assert "kernel" not in names
    assert len(names) == len(set(names)) == 46
    assert bundles({}, NODES) == bundles(world(), []) == ()


def test_a_generation_of_forty_facts_is_one_bundle() -> None:
    rng = np.random.default_rng(6)
    facts: dict[str, dict[str, str | int | None]] = {
        f"gen{number}": {n: f"{number}-{n in SLOW}" for n in NODES} for number in range(40)
    }
    edited = set(rng.choice(NODES, 3, replace=False))
    facts.update({f"hand{number}": {n: n in edited for n in NODES} for number in range(6)})
    assert [len(one.facts) for one in bundles(facts, NODES)] == [40, 6]


def test_the_true_cause_is_first_beside_rivals_that_agree_in_95_of_100_nodes() -> None:
    first = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        facts: dict[str, dict[str, str | int | None]] = {"cause": dict(of_each(slow="a", fast="b"))}
        for number in range(4):
            other = rng.random(64) < 0.05
            facts[f"rival{number}"] = {
                n: int((n in SLOW) != bool(flip)) for n, flip in zip(NODES, other, strict=True)
            }
        first += explain(split(), facts, "hbm_copy", TABLE).candidates[0].facts == ("cause",)
    assert first >= 32


def test_the_experiment_names_node_values_and_what_would_decide() -> None:
    noises = np.random.default_rng(7).normal(0, 0.006, 64)
    values: dict[str, float | None] = {
        node: float((2600 if node in SLOW else 3300) * (1 + noise))
        for node, noise in zip(NODES, noises, strict=True)
    }
    values["gpu-000"] = 2000.0
    found = outliers(values, HBM)
    strays = [one.name for one in found.found]
    assert strays == ["gpu-000"]
    parts = without_strays(found.populations, strays)
    assert len(parts) == 63
    best = explain(parts, world(), "hbm_copy", TABLE).candidates[0]
    says = experiment(best, found.populations, TABLE, strays)
    assert says.startswith(
        "Set bios_version of gpu-002 from 1.4 to 1.6, nothing else, then measure"
    )
    assert "(about 40 s)" in says
    assert f"near {found.populations.parts[1].centre:.4g} GB/s" in says
    assert "it stays near 2" in says
    assert says.endswith("with bmc_version, delivery_batch, which split the nodes alike.")


def test_what_nobody_can_set_is_decided_by_an_exchange() -> None:
    heat = Metric("latency_us", "us", "less")
    found = populations({n: (12.0 if n in SLOW else 10.0) for n in NODES}, heat)
    facts = {"rack": dict(of_each(slow="r1", fast="r2"))}
    best = explain(found.part_of, facts, heat.name, TABLE).candidates[0]
    says = experiment(best, found, TABLE)
    assert says.startswith("rack cannot be set: exchange gpu-000 with a node of the other")
    assert "If it comes near 10 us, rack is the cause; if it stays near 12 us" in says
    assert not best.known
