from __future__ import annotations

import pytest
from ansible_collections.trackbed.cluster.plugins.plugin_utils._agreement import (
    Agreement,
    agreements,
    alike,
)


def parts(word: str) -> dict[str, int]:
    return {f"n{number}": int(part) for number, part in enumerate(word)}


HALVES = parts("0" * 16 + "1" * 16)
NEARLY = parts("0" * 16 + "1" * 15 + "0")
ACROSS = parts("01" * 16)


def test_metrics_that_split_alike_are_one() -> None:
    found = agreements({"hbm": HALVES, "fio": ACROSS, "gemm": NEARLY, "even": parts("0" * 32)})
    assert [one.metrics for one in found] == [("hbm", "gemm"), ("fio",)]
    assert 0.8 < found[0].least < 1
    assert found[1] == Agreement(("fio",), 1.0)


def test_a_third_metric_joins_two_groups() -> None:
    nearly_too = parts("1" + "0" * 15 + "1" * 16)
    found = agreements({"a": NEARLY, "b": nearly_too, "c": HALVES})
    assert [one.metrics for one in found] == [("a", "b", "c")]


def test_the_names_of_populations_do_not_matter() -> None:
    assert alike(HALVES, {node: 1 - part for node, part in HALVES.items()}) == pytest.approx(1)


def test_only_nodes_that_both_know_count_and_few_say_nothing() -> None:
    some = {node: HALVES[node] for node in list(HALVES)[8:24]}
    assert alike(HALVES, some) == pytest.approx(1)
    assert alike(HALVES, parts("0011")) == 0
    assert alike({}, {}) == 0


def test_nothing_agrees_with_nothing() -> None:
    assert agreements({}) == ()
    assert agreements({"a": {}, "b": parts("0")}) == ()
