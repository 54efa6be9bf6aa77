"""Readings as text, schema and page."""

from __future__ import annotations

from ansible_collections.trackbed.cluster.plugins.plugin_utils import _kinds

from trackbed.reading import render, schema
from trackbed.reading.intake import Item
from trackbed.reading.result import outcome

LINE = "GPU {}: {} (UUID: GPU-1b2c3d4e-000{}-4a5b-8c6d-0123456789ab)\n"
LIST = "".join(LINE.format(n, "NVIDIA H100 80GB HBM3", n) for n in range(3))
BROKEN = LIST + LINE.format(3, "", 3) + "GPU is on fire\n"


def _text(data: str, kind: str | None = None) -> str:
    return render.outcome_text(outcome(Item("a.txt", data.encode(), True), kind), 100)


def test_entities_that_are_alike_share_a_line() -> None:
    assert _text(LIST) == (
        "a.txt: nvidia-smi-L, ok\n"
        "  node: mig_device_count=0, gpu_count=3\n"
        "  gpu:0-2: name=NVIDIA H100 80GB HBM3"
    )


def test_problems_come_first_and_name_the_line() -> None:
    lines = _text(BROKEN).splitlines()
    assert lines[0] == "a.txt: nvidia-smi-L, partial"
    assert lines[1] == "  ! line 4: the GPU has an empty name (unreadable_value)"
    assert "line 5:" in lines[2]
    assert "[GPU is on fire] (malformed)" in lines[2]
    assert lines[-1] == "  gpu:3: name=null (unreadable)"


def test_many_problems_are_cut() -> None:
    text = _text(LIST + "nonsense\n" * 50)
    assert text.count("(malformed)") == render.MAX_PROBLEMS
    assert "… and 30 more problems" in text


def test_what_no_kind_claims_is_not_recognised() -> None:
    assert _text("hello world\n") == "a.txt: not recognised"
    assert _text("") == "a.txt: empty"


def test_a_forced_kind_is_obeyed() -> None:
    assert "nvidia-smi-L, unreadable" in _text("hello world\n", "nvidia-smi-L")


def test_ranges() -> None:
    assert render._ranges([0, 1, 2, 3, 5]) == "0-3,5"


def test_schema_knows_every_value_of_a_reading() -> None:
    kind = _kinds.kinds()["nvidia-smi-L"]
    made = schema.schema(kind)
    assert made["properties"]["kind"] == {"const": "nvidia-smi-L"}
    reading = kind.read(BROKEN)
    gpu = reading.entity("gpu:0")
    assert gpu is not None
    assert set(gpu.values) <= set(made["$defs"]["gpu"]["properties"])
    assert made["$defs"]["node"]["properties"]["gpu_count"]["type"] == ["integer", "null"]


def test_the_page_has_a_row_and_a_section_for_every_kind() -> None:
    text = schema.page(_kinds.kinds())
    for name in _kinds.kinds():
        assert f"\n## {name}\n" in text
        assert f"| [`{name}`]" in text
