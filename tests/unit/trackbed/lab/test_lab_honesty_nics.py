"""The stand-ins for the tools of adapters and BMCs print what real ones have printed.

Documents as in test_lab_honesty_nvidia.py; `facts` are those of the first adapter, or of the node,
`files` are made (empty) before the program runs, `tools` is the release of MFT.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from honesty import even
from nic_node import NicNode

from trackbed.lab.state import NodeState

DOCUMENTS = Path(__file__).resolve().parents[3] / "data" / "lab" / "honesty"
CORPUS = os.environ.get("TRACKBED_CORPUS")
PACKAGES = {
    "flint-query": "flint",
    "ipmitool-mc": "ipmitool",
    "ipmitool-sdr": "ipmitool",
    "ipmitool-sel": "ipmitool",
    "mlnx_qos": "mlnx_qos",
    "mlxconfig": "mlxconfig",
    "mlxlink": "mlxlink",
}
FILES = sorted(path for kind in PACKAGES for path in DOCUMENTS.glob(f"{kind}/*.yml"))
KEYS = {"command", "sku", "nic", "facts", "node", "files", "tools", "volatile", "recording"}


def prepared(document: dict[str, Any], node: NicNode) -> None:
    overrides = {
        document.get("nic", "nic:0"): {"facts": document.get("facts", {})},
        "node": {"facts": document.get("node", {})},
    }
    node.state(NodeState("recorded", document["sku"], overrides=overrides))
    for path in document.get("files", []):
        node.write(path, "")
    node.write("usr/share/mft/version", document.get("tools", "4.34.1-10"))


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
    node = NicNode(tmp_path, monkeypatch)
    prepared(document, node)
    recorded = next(Path(str(CORPUS), path.parent.name).glob(f"{path.stem}.*"))
    text = recorded.read_text(encoding="utf-8")
    code, said = node.run(capsys, PACKAGES[path.parent.name], *document["command"].split())
    assert code == 0
    assert even(said, document) == even(text, document)


def test_every_tool_has_a_recording_and_every_difference_a_reason() -> None:
    assert {path.parent.name for path in FILES} == set(PACKAGES)
    for path in FILES:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
        for part in ("volatile", "recording"):
            for what, reason in document.get(part, {}).items():
                assert len(reason.split()) > 2, f"{path.name}: {what}"
