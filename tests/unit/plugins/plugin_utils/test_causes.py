from __future__ import annotations

import pytest
from ansible_collections.trackbed.cluster.plugins.plugin_utils import _causes
from ansible_collections.trackbed.cluster.plugins.plugin_utils._causes import CauseError

GOOD = """
places: ["*rack*"]
causes:
  one:
    metrics: ["*hbm*"]
    facts: ["*ecc*", "*bios*"]
    seconds: 40
    sources: [own judgement]
"""


def test_the_table_names_the_likeliest_fact_first() -> None:
    table = _causes.load()
    hbm = table.of("HBM_copy")
    assert hbm.name == "gpu_memory"
    assert _causes.rank("gpu.ECC_mode", hbm) < _causes.rank("dmi.bios_version", hbm)
    assert _causes.rank("hostname", hbm) == len(hbm.facts)


def test_every_entry_has_a_source_and_is_reached_by_its_own_name() -> None:
    table = _causes.load()
    reached = {table.of(one.metrics[0].strip("*")).name for one in table.causes}
    assert reached == {one.name for one in table.causes}
    assert all(one.sources for one in table.causes)


def test_a_metric_that_is_not_known_has_no_facts() -> None:
    none = _causes.load().of("brightness")
    assert (none.facts, none.seconds) == ((), 60)


def test_where_a_node_stands_cannot_be_set() -> None:
    table = _causes.load()
    assert table.is_place("rack")
    assert table.is_place("site.delivery_batch")
    assert not table.is_place("dmi.bios_version")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (GOOD, "a: [", "not YAML"),
        (GOOD, "[]", "must be a mapping"),
        (GOOD, "places: []\ncauses: {}", "places must be a list"),
        ("seconds: 40", "seconds: 0", "one.seconds is 0"),
        ("seconds: 40", "seconds: true", "one.seconds is True"),
        ("seconds: 40", "second: 40", "unknown key 'second'.*did you mean 'seconds'"),
        ("own judgement", "hearsay", "source 'hearsay'"),
        ('"*ecc*"', '"*ECC*"', "lower case"),
        ('"*ecc*"', "7", "one.facts must be a list of texts"),
        ("places:", "place: [a]\nplaces:", "unknown key 'place'"),
    ],
)
def test_a_wrong_table_is_refused_with_the_entry(old: str, new: str, says: str) -> None:
    with pytest.raises(CauseError, match=says):
        _causes.parse(GOOD.replace(old, new))


def test_an_entry_must_be_a_mapping() -> None:
    with pytest.raises(CauseError, match="one is list, not a mapping"):
        _causes.parse("places: [a]\ncauses: {one: []}")
