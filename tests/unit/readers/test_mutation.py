"""No reader raises, hangs or breaks its own catalogue, whatever it is given."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from ansible_collections.trackbed.cluster.plugins.module_utils import _reading
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import Reading
from ansible_collections.trackbed.cluster.plugins.plugin_utils import _kinds
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.expectations import entity_type

DATA = Path(__file__).parents[2] / "data" / "readers"
MUTATIONS = 25  # per fixture; seeded, so that a failure can be repeated


def _inputs(kind: str) -> list[Path]:
    return [
        one for one in sorted((DATA / kind).glob("*")) if not one.name.endswith(".expected.yml")
    ]


def _mutants(data: bytes, seed: str) -> list[bytes]:
    """Cut, drop lines, repeat lines, flip bytes, shuffle: what a log on its way can suffer."""
    rng = random.Random(seed)
    found = [data[: len(data) // 2], data[len(data) // 3 :], b"", data + data, data.upper()]
    for _ in range(MUTATIONS):
        lines = data.split(b"\n")
        choice = rng.randrange(4)
        if choice == 0:
            del lines[rng.randrange(len(lines))]
        elif choice == 1:
            lines.insert(rng.randrange(len(lines)), rng.choice(lines))
        elif choice == 2:
            rng.shuffle(lines)
        mutant = bytearray(b"\n".join(lines))
        for _ in range(rng.randrange(1, 8)):
            if mutant:
                mutant[rng.randrange(len(mutant))] = rng.randrange(256)
        found.append(bytes(mutant))
    return found


def check_shape(kind: _kinds.Kind, reading: Reading) -> None:
    """Assert what every reading must keep to, good input or not."""
    assert reading.kind == kind.name
    assert reading.quality in _reading.QUALITIES
    assert reading.quality == _reading.OK or reading.problems, "a lowered quality must say why"
    assert {one.code for one in reading.problems} <= set(_reading.PROBLEM_CODES)
    json.dumps(reading.as_dict(), allow_nan=False)
    paths = [one.path for one in reading.entities]
    assert len(paths) == len(set(paths)), "two entities with one path"
    for entity in reading.entities:
        _check_entity(kind, entity)


def _check_entity(kind: _kinds.Kind, entity: _reading.Entity) -> None:
    fields = kind.fields.get(entity_type(entity.path))
    assert fields is not None, f"{entity.path!r} is of a type that FIELDS does not name"
    assert set(entity.notes.values()) <= set(_reading.NOTES)
    assert all(one is None or (isinstance(one, str) and one) for one in entity.ids.values())
    for name, value in entity.values.items():
        assert name in fields, f"{entity.path!r}: {name} is not in FIELDS"
        if value is None or entity.notes.get(name) == "verbatim":
            continue
        wanted = fields[name].type
        assert not isinstance(value, bool) or wanted is bool, (name, value)
        assert isinstance(value, (int, float) if wanted is float else wanted), (name, value)
        assert value != "", f"{name}: missing is null, never an empty string"


@pytest.mark.parametrize("name", list(_kinds.kinds()))
def test_mutants_of_fixtures(name: str) -> None:
    kind = _kinds.kinds()[name]
    for path in _inputs(name):
        data = path.read_bytes()
        check_shape(kind, kind.read(data))
        for number, mutant in enumerate(_mutants(data, f"{name}/{path.name}")):
            check_shape(kind, kind.read(mutant)), number


@pytest.mark.parametrize("name", list(_kinds.kinds()))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.one_of(st.binary(max_size=300), st.text(max_size=300)))
def test_any_input(name: str, data: bytes | str) -> None:
    kind = _kinds.kinds()[name]
    check_shape(kind, kind.read(data))
    text = data if isinstance(data, str) else data.decode("utf-8", "replace")
    assert 0 <= kind.recognise(text) <= 100
