"""The stand-in nvidia-smi prints what real ones have printed.

Each document of tests/data/lab/honesty/KIND/ describes the state behind one recorded output, file
by file; with it the stand-in must print that output byte for byte, but for what the document lists
as volatile, and for what happened to the recording (`recording`), each with its reason.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from honesty import even
from smi_node import SmiNode

from trackbed.lab.state import NodeState

DOCUMENTS = Path(__file__).resolve().parents[3] / "data" / "lab" / "honesty"
CORPUS = os.environ.get("TRACKBED_CORPUS")
KINDS = ("L", "nvlink", "q", "query-csv", "table", "topo", "version", "xml")
FILES = sorted(path for kind in KINDS for path in DOCUMENTS.glob(f"nvidia-smi-{kind}/*.yml"))
KEYS = {
    "command", "driver", "sku", "gpus", "nics", "all", "each", "node", "settings", "fabric",
    "volatile", "recording",
}  # fmt: skip


def facts(document: dict[str, Any], count: int) -> dict[str, Any]:
    """Return the overrides of every GPU: `all` for each, `each` by its number."""
    overrides: dict[str, Any] = {}
    for number in range(count):
        own = {path: values[number] for path, values in document.get("each", {}).items()}
        overrides[f"gpu:{number}"] = {"facts": {**document.get("all", {}), **own}}
    overrides["node"] = {"facts": document.get("node", {})}
    return overrides


def prepared(document: dict[str, Any], node: SmiNode) -> None:
    count = document["gpus"]
    state = NodeState("recorded", document["sku"], overrides=facts(document, count))
    machine = node.state(state, count)
    machine["nics"] = machine["nics"][: document.get("nics", len(machine["nics"]))]
    node.machine(machine)
    node.driver(document["driver"], document["driver"])
    own = document.get("settings", {})
    gpus = {gpu["uuid"]: own for gpu in machine["gpus"]}
    node.settings({"fabric": {"state": document.get("fabric", "Completed")}, "gpus": gpus})


def fields_of(text: str) -> str:
    """Return the names in the header of recorded values, to be asked for in the same order."""
    heads = text.splitlines()[0].split(", ") if text else []
    return ",".join(head.split(" [")[0] for head in heads)


@pytest.mark.skipif(not CORPUS, reason="TRACKBED_CORPUS names no recorded outputs")
@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_it_prints_what_was_recorded(
    path: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert set(document) <= KEYS
    node = SmiNode(tmp_path, monkeypatch)
    prepared(document, node)
    recorded = next(Path(str(CORPUS), path.parent.name).glob(f"{path.stem}.*"))
    text = recorded.read_text(encoding="utf-8")
    command = document["command"].replace("{recorded}", fields_of(text))
    code, said = node.run(capsys, *command.split())
    assert code == 0
    assert even(said, document) == even(text, document)


def test_every_reason_is_given() -> None:
    assert len(FILES) > 10
    for path in FILES:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
        for part in ("volatile", "recording"):
            for what, reason in document.get(part, {}).items():
                assert len(reason.split()) > 2, f"{path.name}: {what}"
