from __future__ import annotations

import pytest
from ansible_collections.trackbed.cluster.plugins.plugin_utils._names import (
    fold,
    fold_short,
    meant,
    natural_key,
    nearest,
    unknown_keys,
)
from hypothesis import given
from hypothesis import strategies as st


def test_natural_order() -> None:
    names = ["gpu-10", "gpu-2", "b", "gpu-2a", "1"]
    assert sorted(names, key=natural_key) == ["1", "b", "gpu-2", "gpu-2a", "gpu-10"]


@pytest.mark.parametrize(
    ("names", "folded"),
    [
        ([], ""),
        (["gpu-002"], "gpu-002"),
        (["gpu-002", "gpu-001"], "gpu-[001-002]"),
        (["gpu-001", "gpu-002", "gpu-003", "gpu-007"], "gpu-[001-003,007]"),
        (["gpu-9", "gpu-10", "gpu-11"], "gpu-[9-11]"),
        (["gpu-099", "gpu-100"], "gpu-[099-100]"),
        (["gpu-09", "gpu-9"], "gpu-09,gpu-9"),
        (["head", "gpu-1"], "gpu-1,head"),
        (["head"], "head"),
        (["r1-n1", "r1-n2", "r2-n1"], "r1-n[1-2],r2-n1"),
        (["n1.a", "n2.a", "n3.b"], "n[1-2].a,n3.b"),
        (["gpu-1", "gpu-1"], "gpu-1"),
    ],
)
def test_fold(names: list[str], folded: str) -> None:
    assert fold(names) == folded


@pytest.mark.parametrize(
    ("names", "width", "short"),
    [
        (["gpu-001", "gpu-002"], 13, "gpu-[001-002]"),
        ([f"gpu-{n:03}" for n in range(0, 200, 2)], 40, "gpu-[000,002,004,006,008,…] (100 nodes)"),
        ([f"{c}{c}{c}" for c in "abcdefgh"], 20, "aaa,bbb,… (8 nodes)"),
        ([f"n{n}" for n in range(0, 20, 2)], 5, "n[0,…] (10 nodes)"),
    ],
)
def test_fold_short(names: list[str], width: int, short: str) -> None:
    assert fold_short(names, width) == short


def _unfold(text: str) -> set[str]:
    """Expand `fold`'s notation for names of the form head[numbers]."""
    names: set[str] = set()
    depth, start, parts = 0, 0, []
    for place, mark in enumerate(text + ","):
        depth += {"[": 1, "]": -1}.get(mark, 0)
        if mark == "," and depth == 0:
            parts.append((text + ",")[start:place])
            start = place + 1
    for part in parts:
        head, bracket, rest = part.partition("[")
        if not bracket:
            names.add(part)
            continue
        inside, _, tail = rest.partition("]")
        for run in inside.split(","):
            first, _, last = run.partition("-")
            for number in range(int(first), int(last or first) + 1):
                names.add(f"{head}{str(number).zfill(len(first))}{tail}")
    return names


@given(st.sets(st.from_regex(r"(gpu|n|r1-n)-?(0?[0-9]{1,3})(\.x)?", fullmatch=True), min_size=1))
def test_fold_loses_no_name_and_adds_none(names: set[str]) -> None:
    assert _unfold(fold(names)) == names


def test_meant_names_the_nearest_and_all_known() -> None:
    assert nearest("h100-sx", ["h100-sxm", "b200"]) == "h100-sxm"
    assert nearest("zzz", ["h100-sxm"]) is None
    assert meant("h100", ["h100-sxm", "b200"]) == "did you mean 'h100-sxm'? known: b200, h100-sxm"
    assert meant("zzz", ["b200"]) == "known: b200"


def test_unknown_keys_are_sorted_and_text() -> None:
    assert unknown_keys({"z": 1, "a": 2, "ok": 3}, ["ok"]) == ["a", "z"]
