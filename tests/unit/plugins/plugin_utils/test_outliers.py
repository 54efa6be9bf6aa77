from __future__ import annotations

import math

import numpy as np
import pytest
from ansible_collections.trackbed.cluster.plugins.plugin_utils._metric import Metric
from ansible_collections.trackbed.cluster.plugins.plugin_utils._outliers import outliers

HBM = Metric("hbm_copy", "GB/s")


def healthy(count: int, noise: float = 0.004, seed: int = 1) -> dict[str, float | None]:
    noises = np.random.default_rng(seed).normal(0, noise, count)
    return {f"n{i}": float(3000 * (1 + noises[i])) for i in range(count)}


def names(values: dict[str, float | None], metric: Metric = HBM) -> list[str]:
    return [one.name for one in outliers(values, metric).found]


def test_a_slow_node_is_named_with_how_far_it_is_off() -> None:
    found = outliers({**healthy(32), "n5": 2700.0}, HBM)
    (one,) = found.found
    assert (found.word, one.name, one.part, one.worse) == ("outliers(1)", "n5", 0, True)
    assert one.off == pytest.approx(-0.1, abs=0.005)
    assert one.sigmas > 10
    assert not one.between


def test_recall_and_precision_at_64_nodes() -> None:
    hits = false = missed = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        noises, slow = rng.normal(0, 0.01, 64), set(rng.choice(64, 3, replace=False).tolist())
        drops = rng.uniform(0.05, 0.30, 64)
        values = {str(i): float((1 + noises[i]) * (1 - drops[i] * (i in slow))) for i in range(64)}
        flagged = {int(one.name) for one in outliers(values, HBM).found if one.worse}
        hits += len(flagged & slow)
        false += len(flagged - slow)
        missed += len(slow - flagged)
    assert hits / (hits + missed) >= 0.97
    assert hits / (hits + false) >= 0.97


def test_a_slow_node_of_the_slow_half_is_found_inside_it() -> None:
    values = healthy(32)
    values.update({f"n{i}": (values[f"n{i}"] or 0) * 0.8 for i in range(16)})
    values["n3"] = 2400.0 * 0.9
    values["n20"] = 3000.0 * 0.92
    found = outliers(values, HBM)
    assert found.populations.word == "split(2)"
    assert {one.name: (one.part, one.between) for one in found.found} == {
        "n3": (0, False),
        "n20": (1, True),
    }


def test_better_than_all_others_is_odd_but_not_bad() -> None:
    found = outliers({**healthy(32), "n1": 3500.0, "n2": 2800.0}, HBM)
    assert [(one.name, one.worse) for one in found.found] == [("n2", True), ("n1", False)]


def test_zero_is_off_and_stays_out_of_the_populations() -> None:
    found = outliers({**healthy(16), "n1": 0.0}, HBM)
    assert [(one.name, one.off, one.part) for one in found.found] == [("n1", -1.0, None)]
    assert "n1" not in found.populations.part_of
    assert outliers({"a": 0.0}, HBM).word == "outliers(1)"


@pytest.mark.parametrize("count", [3, 4, 7])
def test_a_small_group_is_held_against_the_known_repeatability(count: int) -> None:
    values = {**healthy(count, 0.001), "n0": 3000.0 * 0.95}
    assert names(values) == ["n0"]
    assert not names(values, Metric("m", repeatability=0.02))


def test_of_two_nodes_only_the_difference_is_told() -> None:
    found = outliers({"a": 3000.0, "b": 2700.0}, HBM)
    assert (found.verdict, found.found) == ("too few", ())
    assert found.pair is not None
    assert (found.pair.name, found.pair.worse) == ("b", True)
    assert found.pair.off == pytest.approx(-0.1)
    assert found.pair.sigmas == pytest.approx(abs(math.log(0.9)) / (0.003 * 2**0.5))


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ({}, "not measured"),
        ({"a": None, "b": math.nan}, "not measured"),
        ({"a": 1.0}, "too few"),
        ({"a": 1.0, "b": 1.0}, "too few"),
        ({"a": 1.0, "b": 1.0, "c": 1.0}, "even"),
        ({str(i): 5.0 for i in range(40)}, "even"),
    ],
)
def test_degenerate_groups(values: dict[str, float | None], word: str) -> None:
    found = outliers(values, HBM)
    assert (found.word, found.found, found.minorities) == (word, (), ())


def test_three_strays_that_are_alike_are_a_minority() -> None:
    values = healthy(64)
    values.update({"n1": 2700.0, "n2": 2705.0, "n3": 2695.0, "n9": 1500.0})
    found = outliers(values, HBM)
    assert found.word == "outliers(4)"
    assert [set(group) for group in found.minorities] == [{"n1", "n2", "n3"}]
