from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from ansible_collections.trackbed.cluster.plugins.plugin_utils import _information
from ansible_collections.trackbed.cluster.plugins.plugin_utils._information import (
    agreement,
    codes,
    luck,
)


def test_values_are_numbered_by_first_appearance() -> None:
    assert codes(["b", "a", None, "b"]).tolist() == [0, 1, -1, 0]
    assert codes([]).tolist() == []


def test_the_same_partition_agrees_fully_whatever_its_names() -> None:
    assert agreement(codes("aabbcc" * 3), codes("xxyyzz" * 3)) == pytest.approx(1.0)


def test_independent_partitions_agree_by_nothing() -> None:
    rng = np.random.default_rng(1)
    found = [agreement(rng.integers(0, 2, 64), rng.integers(0, 4, 64)) for _draw in range(200)]
    assert abs(float(np.mean(found))) < 0.01


def test_it_is_symmetric() -> None:
    one, other = codes("aabbaabbccab"), codes("xyxyxxyyxyxy")
    assert agreement(one, other) == pytest.approx(agreement(other, one))


def test_the_chance_term_is_the_mean_over_all_shuffles() -> None:
    rows, columns = [3, 3], [2, 2, 2]
    one, other = np.repeat(np.arange(2), rows), np.repeat(np.arange(3), columns)
    informations = [
        _information._information(_information._table(one, other[list(order)]), 6)
        for order in itertools.permutations(range(6))
    ]
    chance = _information._chance(np.array(rows), np.array(columns))
    assert chance == pytest.approx(float(np.mean(informations)))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("", ""),
        ("a", "b"),
        ("ab", "cd"),
        ("aaaa", "abab"),
        ("abab", "aaaa"),
        ("aabbaabb", "abcdefgh"),
    ],
)
def test_constants_identities_and_too_few_nodes_say_nothing(one: str, other: str) -> None:
    assert agreement(codes(one), codes(other)) == 0


def test_what_was_not_read_is_left_out() -> None:
    one = codes("aaaabbbb")
    assert agreement(one, codes(["x", None, "x", "x", "y", "y", None, "y"])) == pytest.approx(1.0)
    assert agreement(one, codes([None] * 8)) == 0


def test_a_serial_number_explains_nothing_and_a_rival_less_than_the_cause() -> None:
    cause = codes([0] * 32 + [1] * 32)
    rival = codes([0] * 29 + [1] * 3 + [0] * 3 + [1] * 29)
    assert agreement(cause, codes(range(64))) == 0
    assert 0.4 < agreement(cause, rival) < 0.7


def test_luck_falls_with_the_number_of_nodes() -> None:
    rng = np.random.default_rng(2)
    found = [
        luck(
            (rng.permutation(n) < n // 2).astype(np.int64),
            [rng.integers(0, 2 + number % 3, n) for number in range(60)],
        )
        for n in (16, 32, 64)
    ]
    assert found[0] > found[1] > found[2] == pytest.approx(10 / 64)
    assert 0.3 < found[0] < 0.7


def test_luck_is_the_same_each_time_and_shuffled_scores_are_right() -> None:
    rng = np.random.default_rng(3)
    labels, facts = codes("aabbabab" * 2), [rng.integers(0, 2, 16) for _fact in range(5)]
    assert luck(labels, facts) == luck(labels, facts)
    again = np.random.default_rng(_information._SEED)
    orders = [again.permutation(labels) for _shuffle in range(_information._SHUFFLES)]
    wanted = [max(agreement(order, fact) for fact in facts) for order in orders]
    assert luck(labels, facts) == pytest.approx(max(0.0, float(np.quantile(wanted, 0.95))))


def test_luck_of_nothing_is_nothing() -> None:
    labels = codes("aabb" * 4)
    assert luck(labels, []) == 0
    assert luck(labels, [codes("a" * 16), codes(range(16))]) == 0
    assert luck(codes("a" * 16), [codes("ab" * 8)]) == 0


def test_the_entropy_of_two_halves_is_one_bit() -> None:
    assert _information._entropy(np.array([8, 8])) == pytest.approx(math.log(2))
