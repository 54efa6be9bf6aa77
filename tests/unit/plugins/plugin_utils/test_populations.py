from __future__ import annotations

import math

import numpy as np
import pytest
from ansible_collections.trackbed.cluster.plugins.plugin_utils import _mixture
from ansible_collections.trackbed.cluster.plugins.plugin_utils._metric import Metric
from ansible_collections.trackbed.cluster.plugins.plugin_utils._populations import (
    Populations,
    populations,
)

HBM = Metric("hbm_copy", "GB/s")


def fleet(count: int, gap: float, noise: float, seed: int, share: float = 0.5) -> dict[str, float]:
    """Return a fleet whose first nodes are slower by `gap`."""
    noises = np.random.default_rng(seed).normal(0, noise, count)
    slow = round(share * count) if gap else 0
    return {f"n{i}": 3000 * (1 - gap * (i < slow) + noises[i]) for i in range(count)}


def right(count: int, gap: float, noise: float, fleets: int, wanted: int) -> float:
    """Return the share of fleets with so many populations."""
    found = [populations(fleet(count, gap, noise, seed), HBM) for seed in range(fleets)]
    return float(np.mean([len(one.parts) == wanted for one in found]))


@pytest.mark.parametrize("count", [8, 16, 64])
def test_a_half_that_is_slower_by_a_fifth_is_a_population(count: int) -> None:
    assert right(count, 0.2, 0.01, 40, 2) >= 0.97


@pytest.mark.parametrize("noise", [0.003, 0.01, 0.02])
@pytest.mark.parametrize("count", [8, 64])
def test_a_healthy_fleet_is_one_population(count: int, noise: float) -> None:
    assert right(count, 0.0, noise, 40, 1) >= 0.95


def test_three_populations_are_three() -> None:
    noises = np.random.default_rng(1).normal(0, 0.01, 48)
    found = populations({f"n{i}": 1 - 0.1 * (i % 3) + noises[i] for i in range(48)}, HBM)
    assert (found.word, [len(part.members) for part in found.parts]) == ("split(3)", [16] * 3)


def test_a_split_says_who_and_how_far_apart() -> None:
    found = populations(fleet(64, 0.2, 0.008, 7), HBM)
    low, high = found.parts
    assert (found.verdict, found.word) == ("split", "split(2)")
    assert set(low.members) == {f"n{i}" for i in range(32)}
    assert low.centre == pytest.approx(2400, rel=0.01)
    assert high.centre == pytest.approx(3000, rel=0.01)
    assert high.spread == pytest.approx(0.008, rel=0.4)
    assert found.gap == pytest.approx(-0.2, abs=0.01)
    assert found.part_of["n0"] == 0
    assert found.part_of["n63"] == 1


def test_differences_are_compared_in_their_unit() -> None:
    heat = Metric("temperature", "C", "less", "difference", 0.7, 5.0, 4.0)
    noises = np.random.default_rng(2).normal(0, 1.0, 32)
    found = populations({f"n{i}": 60 + 12 * (i < 16) + noises[i] for i in range(32)}, heat)
    assert found.word == "split(2)"
    assert found.gap == pytest.approx(-12, abs=1)


def test_few_strays_are_no_population() -> None:
    values = fleet(64, 0.1, 0.005, 3, share=0.03)
    found = populations(values, HBM)
    assert (found.word, len(found.parts[0].members)) == ("even", 64)


def test_what_a_noisy_fleet_could_have_shown_is_told() -> None:
    quiet, noisy = (populations(fleet(64, 0.0, noise, 4), HBM) for noise in (0.003, 0.02))
    assert quiet.smallest_gap is not None
    assert noisy.smallest_gap is not None
    assert quiet.smallest_gap == HBM.smallest_gap
    assert 0.07 < noisy.smallest_gap < 0.14


def test_nothing_measured_is_never_even() -> None:
    nothing = populations({}, HBM)
    missing = populations({"a": None, "b": math.nan}, HBM)
    assert (nothing.verdict, nothing.parts, nothing.gap) == ("not measured", (), None)
    assert (missing.verdict, missing.missing) == ("not measured", ("a", "b"))
    assert populations({"a": 0.0}, HBM).verdict == "too few"


@pytest.mark.parametrize("count", [1, 2, 7])
def test_too_few_nodes_are_one_part_and_no_verdict(count: int) -> None:
    found = populations(fleet(count, 0.4, 0.003, 1), HBM)
    assert (found.verdict, len(found.parts), found.smallest_gap) == ("too few", 1, None)
    assert len(found.parts[0].members) == count
    assert found.parts[0].spread == HBM.repeatability


@pytest.mark.parametrize("count", [8, 9, 100, 3000])
def test_equal_values_are_one_population(count: int) -> None:
    found = populations({f"n{i}": 42.0 for i in range(count)}, HBM)
    assert (found.verdict, found.parts[0].centre) == ("even", pytest.approx(42.0))
    assert found.parts[0].spread == HBM.repeatability


def test_values_all_far_apart_are_one_population_that_is_wide() -> None:
    found = populations({f"n{i}": 2.0**i for i in range(8)}, HBM)
    assert len(found.parts) == 1
    assert len(found.part_of) == 8


def test_what_is_left_out_changes_nothing() -> None:
    values: dict[str, float | None] = dict(fleet(16, 0.2, 0.01, 5))
    found = populations({**values, "x": None, "y": 0.0}, HBM)
    alone = populations(values, HBM)
    assert (found.missing, found.stopped) == (("x",), ("y",))
    assert isinstance(found, Populations)
    assert found.parts == alone.parts


def test_the_best_cuts_have_the_least_squared_error() -> None:
    order = np.array([1.0, 1.1, 1.2, 5.0, 5.1, 9.0, 9.2])
    assert _mixture.best_cuts(order, 3)[1:] == [[3], [3, 5]]
    assert _mixture.best_cuts(order[:1], 1) == [[]]


def test_a_great_fleet_is_represented_by_its_quantiles() -> None:
    found = populations(fleet(5000, 0.2, 0.01, 6), HBM)
    assert [len(part.members) for part in found.parts] == [2500, 2500]
