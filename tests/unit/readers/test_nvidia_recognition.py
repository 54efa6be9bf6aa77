"""Which of nvidia-smi's texts is which, also in parts and pasted."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.trackbed.cluster.plugins.plugin_utils import _kinds

DATA = Path(__file__).parents[2] / "data" / "readers"
KINDS = (
    "nvidia-smi-q",
    "nvidia-smi-version",
    "nvidia-smi-pmon",
    "nvidia-smi-dmon",
    "proc-driver-nvidia-version",
)
# Errors that each command of nvidia-smi may print are a kind of their own.
ERRORS = {"nvidia-smi-q/no-devices.txt"}
CASES = [
    path
    for kind in KINDS
    for path in sorted((DATA / kind).glob("*.txt"))
    if f"{kind}/{path.name}" not in ERRORS
]


@pytest.mark.parametrize("path", CASES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_fixture_is_recognised(path: Path) -> None:
    claims = _kinds.recognise(path.read_bytes())
    assert claims, "no kind claims it"
    assert claims[0][0] == path.parent.name, claims[:3]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("C:\\> nvidia-smi dmon\nNot supported on the device(s)\n", "nvidia-smi-dmon"),
        ("    GPU Recovery Action      : Reset\n", "nvidia-smi-q"),
        ("Remapped Rows\n    Pending : Yes\n    Remapping Failure Occurred : No\n", "nvidia-smi-q"),
    ],
)
def test_a_part_is_recognised(text: str, kind: str) -> None:
    assert [name for name, _certainty in _kinds.recognise(text)][:1] == [kind]


@pytest.mark.parametrize(
    "text",
    [
        "The Persistence Mode : is described in the manual\n",
        "# gpu nodes of the second row\n",
        "we saw ECC Errors\non three nodes\n",
        "Serial Number: 12\nUUID: 3\nTotal : 4\n",
    ],
)
def test_prose_is_none_of_them(text: str) -> None:
    found = {name for name, certainty in _kinds.recognise(text) if certainty > 60}
    assert not found & set(KINDS)
