from __future__ import annotations

import math

import numpy as np
import pytest
from ansible_collections.trackbed.cluster.plugins.plugin_utils import _metric, _numpy
from ansible_collections.trackbed.cluster.plugins.plugin_utils._metric import Metric

HBM = Metric("hbm_copy", "GB/s")
HEAT = Metric("gpu_temperature", "C", "less", "difference", 0.7, 5.0, 4.0)


def test_what_was_not_measured_is_missing_and_zero_has_stopped() -> None:
    group = _metric.scaled(
        {"a": 3.0, "b": None, "c": math.nan, "d": 0.0, "e": math.inf, "f": -1.0}, HBM
    )
    assert (group.names, group.missing, group.stopped) == (("a",), ("b", "c", "e"), ("d", "f"))
    assert group.x[0] == pytest.approx(math.log(3))


def test_a_difference_may_be_zero_or_less() -> None:
    group = _metric.scaled({"a": 0.0, "b": -4.0}, HEAT)
    assert (group.names, list(group.x), group.stopped) == (("a", "b"), [0.0, -4.0], ())


def test_the_scale_goes_there_and_back() -> None:
    assert _metric.unscaled(math.log(7.0), HBM) == pytest.approx(7.0)
    assert _metric.step(math.log(0.8), HBM) == pytest.approx(-0.2)
    assert (_metric.unscaled(7.0, HEAT), _metric.step(-2.0, HEAT)) == (7.0, -2.0)


@pytest.mark.parametrize(
    ("better", "distance", "bad"),
    [
        ("more", -0.1, True),
        ("more", 0.1, False),
        ("less", 0.1, True),
        ("less", -0.1, False),
        ("equal", 0.1, True),
        ("equal", 0.0, False),
    ],
)
def test_which_direction_is_bad(better: str, distance: float, bad: bool) -> None:
    assert _metric.worse(distance, Metric("m", better=better)) is bad


@pytest.mark.parametrize(
    "wrong",
    [
        {"better": "bigger"},
        {"scale": "percent"},
        {"repeatability": 0.0},
        {"tolerance": -1.0},
        {"smallest_gap": math.nan},
    ],
)
def test_a_metric_that_cannot_be_meant_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=rf"m\.{next(iter(wrong))} is .*; it must be"):
        Metric("m", **wrong)  # type: ignore[arg-type]


def test_the_spread_is_robust_and_that_of_nothing_is_zero() -> None:
    assert _metric.spread(np.array([])) == 0
    assert _metric.spread(np.array([1.0, 2.0, 3.0, 4.0, 900.0])) == pytest.approx(1.4826)


def test_among_many_values_more_is_allowed() -> None:
    assert [_metric.sigmas_allowed(n) for n in (8, 199, 200, 2000)] == [4.0, 4.0, 4.3, 4.8]


def test_without_numpy_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    _numpy.need_numpy()
    monkeypatch.setattr(_numpy, "_TROUBLE", "No module named 'numpy'")
    with pytest.raises(_numpy.NoNumpyError, match=r"needs numpy 1\.26 .* pip install numpy"):
        _numpy.need_numpy()
