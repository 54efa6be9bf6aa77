"""One state of a machine as XML and as text: equal values under equal names."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import (
    nvidia_smi_q,
    nvidia_smi_xml,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._nvidia_gpu import VALUES
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._nvidia_labels import PLACES

DATA = Path(__file__).parents[2] / "data" / "readers"


def test_text_and_xml_of_one_state_read_alike() -> None:
    xml = nvidia_smi_xml.read((DATA / "nvidia-smi-xml" / "v13-dead-gpu.xml").read_bytes())
    text = nvidia_smi_q.read((DATA / "nvidia-smi-q" / "v13-dead-gpu.txt").read_bytes())
    assert [one.path for one in xml.entities] == [one.path for one in text.entities]
    for left, right in zip(xml.entities, text.entities, strict=True):
        assert left.ids == right.ids
        assert left.notes == right.notes
        values = {name: value for name, value in left.values.items() if name != "dtd_version"}
        assert values == right.values, left.path
    assert xml.quality == text.quality
    assert [one.code for one in xml.problems] == [one.code for one in text.problems]


def test_every_value_of_the_xml_has_its_place_in_the_text() -> None:
    assert {value.name for value in VALUES} == set(PLACES)
