from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "bench"))

import fleets
import judge as bench
import judge_cells


def test_wilsons_interval_of_known_shares() -> None:
    # Newcombe, Statistics in Medicine 17 (1998), table I, method 3: 81 of 263, 0 of 20.
    assert bench.wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=1e-4)
    assert bench.wilson(0, 20) == pytest.approx((0.0, 0.1611), abs=1e-4)
    assert bench.wilson(0, 0) == (0.0, 1.0)


def test_a_fleet_is_what_was_asked_for_and_the_same_each_time() -> None:
    asked = fleets.Fleet(64, 0.001, (0.75, 0.25), gap=0.2, odd=0.05)
    one, again = (fleets.draw(asked, fleets.rng_of("cell")) for _time in range(2))
    assert (one.values == again.values).all()
    assert sorted(one.population.tolist()) == [0] * 48 + [1] * 16
    assert int(one.odd.sum()) == 3
    assert one.values[one.population == 1].max() < 0.81


def test_facts_have_the_cause_constants_and_unread_values() -> None:
    rng = fleets.rng_of("facts")
    world = fleets.World(rivals=0.9, unread=0.1)
    cause = fleets.cause_of(64, world, rng)
    facts = fleets.facts_of(cause, world, rng)
    assert int(cause.sum()) == 32
    assert {fleets.CAUSE, "rival3", "serial11", "constant149", "rack"} <= set(facts)
    unread = sum(value is None for column in facts.values() for value in column.values())
    assert 0.05 < unread / (len(facts) * 64) < 0.15


def test_every_cell_of_a_small_run_has_its_rows() -> None:
    chosen = {cell.section: cell for cell in judge_cells.cells() if "256" not in cell.what}
    assert set(chosen) == {
        *("healthy", "split", "smallest gap", "outliers", "small groups", "slots", "cause")
    }
    for cell in chosen.values():
        made = list(bench.rows(cell, bench.run(cell, 2)))
        assert [bench.key(line)[2] for line, _good in made] == [share for share, _ in cell.wanted]


def test_names_of_cells_are_seeds_and_so_differ() -> None:
    names = [cell.name for cell in judge_cells.cells()]
    assert len(names) == len(set(names))


def test_a_share_that_misses_what_is_wanted_is_not_good() -> None:
    cell = judge_cells.Cell("s", "w", judge_cells.Counter, (("right", 0.99), ("wrong", -0.03)))
    counts = judge_cells.Counter({"right": 90, "right of": 100, "wrong": 1, "wrong of": 100})
    (bad, is_bad), (good, is_good) = bench.rows(cell, counts)
    assert (is_bad, is_good) == (False, True)
    assert "90.00 %" in bad
    assert good.endswith("| ≤ 3 % |")


def test_a_partial_run_replaces_its_rows_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = list(judge_cells.cells())[:2]
    rows = [f"| {one.section} | {one.what} | {one.wanted[0][0]} | old |" for one in (second, first)]
    page = tmp_path / "judge.md"
    page.write_text(
        f"before\n{bench.MARKS[0]}\n" + "\n".join(rows) + f"\n{bench.MARKS[1]}\nafter\n"
    )
    monkeypatch.setattr(bench, "PAGE", page)
    bench.write("head", ["| Part |", "|---|", rows[0].replace("old", "new")])
    inside = page.read_text().split(bench.MARKS[0])[1]
    assert inside.splitlines()[1:] == [
        *("head", "", "| Part |", "|---|", rows[1], rows[0].replace("old", "new")),
        *(bench.MARKS[1], "after"),
    ]
