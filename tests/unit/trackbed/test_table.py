from __future__ import annotations

from trackbed.table import columns, columns_that_fit, fields, plural, wrap


def test_columns_are_aligned_and_have_no_trailing_blanks() -> None:
    assert columns(["node", "a", "long"], [["gpu-[001-004]", "pass", "x"], ["n", "y", "pass"]]) == [
        "node           a     long",
        "gpu-[001-004]  pass  x",
        "n              y     pass",
    ]


def test_paint_does_not_disturb_the_columns() -> None:
    lines = columns(["n", "a", "b"], [["x", "FAIL", "ok"]], lambda word: f"<{word}>")
    assert lines == ["n  a     b", "x  <FAIL>  <ok>"]


def test_blocks_of_columns() -> None:
    names = ["aaaa", "bb", "cccccc"]
    assert columns_that_fit(4, names, 4, 100) == [names]
    assert columns_that_fit(4, names, 4, 16) == [["aaaa", "bb"], ["cccccc"]]
    assert columns_that_fit(40, names, 4, 10) == [["aaaa"], ["bb"], ["cccccc"]]
    assert columns_that_fit(4, [], 4, 10) == []


def test_fields_leave_out_what_is_empty_and_hang() -> None:
    text = "one two three four five six seven eight nine"
    assert fields([("what", text), ("empty", None), ("to do", "")], 40) == [
        "  what  one two three four five six",
        "        seven eight nine",
    ]
    assert fields([("a", None)], 40) == []


def test_wrap_keeps_long_words_and_empty_text() -> None:
    assert wrap("gpu-" + "x" * 60, 40) == ["gpu-" + "x" * 60]
    assert wrap("", 40, "lead  ") == ["lead"]


def test_plural() -> None:
    assert [plural(n, "node") for n in (0, 1, 2, 1000)] == [
        "0 nodes",
        "1 node",
        "2 nodes",
        "1,000 nodes",
    ]
