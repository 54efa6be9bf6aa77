from __future__ import annotations

import numpy as np
import pytest
from ansible_collections.trackbed.cluster.plugins.plugin_utils._metric import Metric
from ansible_collections.trackbed.cluster.plugins.plugin_utils._slots import polish, slots

HBM = Metric("hbm_copy", "GB/s")
HEAT = Metric("gpu_temperature", "C", "less", "difference", 0.7, 4.0, 3.0)
# What the air has taken up on its way to each of eight slots, in kelvin.
AIR = (0.0, 1.0, 3.0, 4.0, 8.0, 9.0, 11.0, 12.0)


def temperatures(nodes: int, seed: int = 1) -> dict[str, dict[str, float | None]]:
    rng = np.random.default_rng(seed)
    own = rng.normal(0, 0.5, nodes)
    return {
        f"n{n}": {f"gpu{g}": float(60 + own[n] + AIR[g] + rng.normal(0, 0.6)) for g in range(8)}
        for n in range(nodes)
    }


def test_a_hot_slot_that_all_nodes_share_is_design_and_no_fault() -> None:
    found = slots(temperatures(16), HEAT)
    assert (found.verdict, found.parts) == ("even", ())
    effects = {one.name: one.effect for one in found.slots}
    assert effects["gpu7"] - effects["gpu0"] == pytest.approx(12, abs=1)
    assert [one.name for one in found.slots if one.design] == [
        "gpu0",
        "gpu1",
        "gpu5",
        "gpu6",
        "gpu7",
    ]


def test_a_hot_gpu_at_a_cool_place_is_named_as_that_gpu() -> None:
    values = temperatures(16)
    values["n3"]["gpu1"] = (values["n3"]["gpu1"] or 0) + 8
    (one,) = slots(values, HEAT).parts
    assert (one.node, one.slot, one.worse) == ("n3", "gpu1", True)
    assert one.off == pytest.approx(8, abs=1.5)


def test_a_hot_node_is_the_node_and_none_of_its_gpus() -> None:
    values = temperatures(16)
    values["n5"] = {slot: (value or 0) + 9 for slot, value in values["n5"].items()}
    found = slots(values, HEAT)
    assert found.parts == ()
    usual = float(np.median(list(found.nodes.values())))
    assert found.nodes["n5"] - usual == pytest.approx(9, abs=1.5)


def test_bandwidths_are_compared_by_ratio() -> None:
    rng = np.random.default_rng(4)
    values: dict[str, dict[str, float | None]] = {
        f"n{n}": {str(g): float(3000 * (1 + rng.normal(0, 0.004))) for g in range(8)}
        for n in range(8)
    }
    values["n2"]["4"] = 2700.0
    values["n6"]["1"] = 0.0
    values["n7"]["0"] = None
    found = slots(values, HBM)
    assert [(one.node, one.slot) for one in found.parts] == [("n2", "4")]
    assert found.parts[0].off == pytest.approx(-0.1, abs=0.01)
    assert (found.stopped, found.missing) == ((("n6", "1"),), (("n7", "0"),))
    assert found.nodes["n2"] == pytest.approx(3000, rel=0.01)


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ({}, "not measured"),
        ({"a": {}}, "not measured"),
        ({"a": {"0": None}}, "not measured"),
        ({"a": {"0": 0.0}}, "too few"),
        ({"a": {"0": 1.0, "1": 2.0}, "b": {"0": 1.0}}, "too few"),
        ({str(n): {"0": 1.0} for n in range(9)}, "too few"),
        ({str(n): {"0": 1.0, "1": 1.0} for n in range(4)}, "even"),
    ],
)
def test_degenerate_tables(values: dict[str, dict[str, float | None]], verdict: str) -> None:
    found = slots(values, HBM)
    assert (found.verdict, found.parts) == (verdict, ())


def test_too_few_nodes_still_have_their_medians() -> None:
    found = slots({"a": {"0": 1.0, "1": 3.0, "2": 2.0}}, HBM)
    assert found.nodes == {"a": pytest.approx(2.0)}


def test_the_polish_takes_rows_and_columns_apart() -> None:
    rows, columns = np.array([0.0, 1.0, -1.0]), np.array([0.0, 5.0, -5.0, 2.0, -2.0])
    table = 10 + rows[:, None] + columns[None, :]
    table[0, 0] = np.nan
    table[1, 1] += 3
    centre, of_row, of_column, rest = polish(table)
    assert centre == pytest.approx(10)
    assert of_row == pytest.approx(rows)
    assert of_column == pytest.approx(columns)
    assert rest[1, 1] == pytest.approx(3)
    assert np.nansum(np.abs(rest)) == pytest.approx(3)
