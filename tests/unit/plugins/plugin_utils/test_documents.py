from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.trackbed.cluster.plugins.plugin_utils._documents import documents, view
from hypothesis import given
from hypothesis import strategies as st

GOOD: dict[str, Any] = {
    "schema": 1,
    "source": "lspci",
    "quality": "partial",
    "problems": [
        {"code": "missing_value", "says": "No link state.", "entity": "gpu:0", "field": "pcie_gen"},
        {"code": "missing_value", "says": "no release", "field": "kernel_release"},
    ],
    "raw": {"sha256": "ab"},
    "entities": [{"path": "n", "ids": {}, "values": {"gpu_count": 8, "os": " ", "flag": True}}],
}


def test_a_good_document() -> None:
    document = view(GOOD)
    assert document is not None
    assert (document.source, document.quality, document.evidence) == ("lspci", "partial", ("ab",))
    assert document.reason == "No link state"
    assert document.trouble_of("gpu:0") == "No link state"
    assert document.trouble_of("gpu:1") is None
    assert document.trouble_with("kernel_release") == "no release"
    assert document.trouble_with("pcie_gen") is None
    thing = document.things["n"]
    assert thing.integer("gpu_count") == 8
    assert thing.integer("flag") is None
    assert thing.integer("nowhere") is None
    assert thing.text("os") is None
    assert thing.text("gpu_count") is None


@pytest.mark.parametrize("raw", [None, [], {}, {"source": 7}])
def test_what_has_no_source_is_no_document(raw: Any) -> None:
    assert view(raw) is None


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"schema": 2}, "the evidence is of schema 2, this version reads 1"),
        ({"quality": "fine"}, "the evidence has the quality 'fine'"),
        ({"entities": None}, "does not have the evidence's shape"),
        ({"entities": [{}]}, "does not have the evidence's shape"),
        ({"entities": [{"path": "n", "values": []}]}, "does not have the evidence's shape"),
        ({"problems": [{"code": "x"}]}, "does not have the evidence's shape"),
        ({"problems": ["x"]}, "does not have the evidence's shape"),
        ({"entities": [{"path": "n"}, {"path": "n"}]}, "two entities have the same path"),
    ],
)
def test_what_is_not_in_the_contracts_shape_is_unreadable(change: Any, says: str) -> None:
    document = view({**GOOD, **change})
    assert document is not None
    assert document.quality == "unreadable"
    assert says in document.reason
    assert not document.things


def test_a_document_without_hash_or_problems() -> None:
    document = view({**GOOD, "raw": None, "problems": []})
    assert document is not None
    assert document.evidence == ()
    assert document.reason == "no reason was given"
    other = view(
        {**GOOD, "raw": {"sha256": 7}, "problems": [{"code": "a", "says": "b", "entity": 3}]}
    )
    assert other is not None
    assert other.evidence == ()
    assert other.troubles[0].entity is None


def test_the_last_document_of_a_source_counts() -> None:
    found = documents([GOOD, "junk", {**GOOD, "quality": "ok"}, {**GOOD, "source": "os"}])
    assert {name: one.quality for name, one in found.items()} == {"lspci": "ok", "os": "partial"}
    assert documents(None) == {}


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["schema", "source", "quality", "entities", "path", "values", "says"]),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)


@given(_JSON, st.sampled_from(list(GOOD)))
def test_no_document_is_an_exception(junk: Any, key: str) -> None:
    view(junk)
    view({**GOOD, key: junk})
