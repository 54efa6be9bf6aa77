"""Every file of the corpus is recognised without being told its kind, and read right.

The corpus is not part of the repository: TRACKBED_CORPUS names its place.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.trackbed.cluster.plugins.plugin_utils import _kinds

from support.expectations import checked_values, differences

CORPUS = os.environ.get("TRACKBED_CORPUS")
DATA = Path(__file__).parents[2] / "data" / "corpus"
CASES: list[tuple[str, str, dict[str, Any]]] = [
    (listing.stem, name, wanted)
    for listing in sorted(DATA.glob("*.yml"))
    for name, wanted in yaml.safe_load(listing.read_text()).items()
]
IDS = [f"{kind}/{name}" for kind, name, _ in CASES]

pytestmark = pytest.mark.skipif(not CORPUS, reason="TRACKBED_CORPUS is not set")


def _data(kind: str, name: str) -> bytes:
    return (Path(str(CORPUS)) / kind / name).read_bytes()


@pytest.mark.parametrize(("folder", "name", "wanted"), CASES, ids=IDS)
def test_corpus_file_is_read_right(folder: str, name: str, wanted: dict[str, Any]) -> None:
    kind = _kinds.kinds()[wanted.get("kind", folder)]
    expectation = {key: value for key, value in wanted.items() if key not in {"kind", "recognised"}}
    assert differences(kind.read(_data(folder, name)), expectation) == []


@pytest.mark.parametrize(("folder", "name", "wanted"), CASES, ids=IDS)
def test_corpus_file_is_recognised(folder: str, name: str, wanted: dict[str, Any]) -> None:
    claims = _kinds.recognise(_data(folder, name))
    if wanted.get("recognised") is False:  # its content does not say what it is
        return
    assert claims, "no kind claims it"
    assert claims[0][0] == wanted.get("kind", folder), claims[:3]
    assert len(claims) == 1 or claims[1][1] < claims[0][1], (
        f"two kinds claim it alike: {claims[:3]}"
    )


@pytest.mark.parametrize(("folder", "name", "wanted"), CASES, ids=IDS)
def test_at_least_five_readings_are_pinned(folder: str, name: str, wanted: dict[str, Any]) -> None:
    few = wanted.get("why")  # an empty or one-line file says why there are fewer
    pinned = checked_values({k: v for k, v in wanted.items() if k not in {"kind", "recognised"}})
    assert few or pinned >= 5
