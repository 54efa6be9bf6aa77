"""One state of a machine as XML and as text: equal values under equal names."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.trackbed.cluster.plugins.module_utils._readers import (
    nvidia_smi_q,
    nvidia_smi_xml,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._nvidia_gpu import (
    MIG_VALUES,
    PROCESS_VALUES,
    VALUES,
    Value,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._nvidia_labels import (
    MIG_PLACES,
    PLACES,
    PROCESS_PLACES,
)

DATA = Path(__file__).parents[2] / "data" / "readers"
PAIRS = ["v13-dead-gpu", "v13-grace-mig"]


@pytest.mark.parametrize("name", PAIRS)
def test_text_and_xml_of_one_state_read_alike(name: str) -> None:
    xml = nvidia_smi_xml.read((DATA / "nvidia-smi-xml" / f"{name}.xml").read_bytes())
    text = nvidia_smi_q.read((DATA / "nvidia-smi-q" / f"{name}.txt").read_bytes())
    assert [one.path for one in xml.entities] == [one.path for one in text.entities]
    for left, right in zip(xml.entities, text.entities, strict=True):
        assert left.ids == right.ids
        assert left.notes == right.notes
        values = {name: value for name, value in left.values.items() if name != "dtd_version"}
        assert values == right.values, left.path
    assert xml.quality == text.quality
    assert [one.code for one in xml.problems] == [one.code for one in text.problems]


def test_the_pairs_hold_nearly_every_value() -> None:
    text = nvidia_smi_q.read((DATA / "nvidia-smi-q" / "v13-grace-mig.txt").read_bytes())
    gpu = text.entity("gpu:0")
    assert gpu is not None
    # What a driver of 580 does not print: old counters, absolute limits, vGPU, base power.
    old = {value.name for value in VALUES} - set(gpu.values)
    assert len(old) <= 20, sorted(old)


@pytest.mark.parametrize(
    ("values", "places"),
    [(VALUES, PLACES), (MIG_VALUES, MIG_PLACES), (PROCESS_VALUES, PROCESS_PLACES)],
)
def test_every_value_of_the_xml_has_its_place_in_the_text(
    values: tuple[Value, ...], places: dict[str, tuple[str, ...]]
) -> None:
    assert {value.name for value in values} == set(places)
