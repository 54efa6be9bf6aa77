"""Every fixture of every reader is recognised and read as its `.expected.yml` says.

Adding a case is adding two files: tests/data/readers/KIND/CASE.EXT and CASE.expected.yml.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from ansible_collections.trackbed.cluster.plugins.plugin_utils import _kinds

from support.expectations import differences

DATA = Path(__file__).parents[2] / "data" / "readers"
EXPECTED = sorted(DATA.glob("*/*.expected.yml"))


def _input_of(expected: Path) -> Path:
    stem = expected.name.removesuffix(".expected.yml")
    found = [one for one in expected.parent.glob(f"{stem}.*") if one.name != expected.name]
    assert len(found) == 1, f"{expected} needs exactly one input beside it"
    return found[0]


@pytest.mark.parametrize("expected", EXPECTED, ids=lambda p: f"{p.parent.name}/{p.name[:-13]}")
def test_fixture_is_read_right(expected: Path) -> None:
    data = _input_of(expected).read_bytes()
    kind = _kinds.kinds()[expected.parent.name]
    wanted = yaml.safe_load(expected.read_text())
    assert differences(kind.read(data), wanted) == []


# Kinds that hold nothing but a tool's errors: read well, their quality is `error`.
ONLY_ERRORS = {"nvidia-smi-error"}


@pytest.mark.parametrize("name", list(_kinds.kinds()))
def test_every_kind_has_a_good_and_a_bad_fixture(name: str) -> None:
    qualities = {
        yaml.safe_load(one.read_text())["quality"] for one in EXPECTED if one.parent.name == name
    }
    well = "error" if name in ONLY_ERRORS else "ok"
    assert well in qualities, "no fixture that reads well"
    assert qualities - {well}, "no fixture that is broken"
