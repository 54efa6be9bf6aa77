"""The stand-in dcgmi prints what real ones have printed. See test_lab_honesty_nvidia."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml
from honesty import even
from smi_node import SmiNode
from test_lab_honesty_nvidia import DOCUMENTS, KEYS, prepared

CORPUS = os.environ.get("TRACKBED_CORPUS")
FILES = sorted(DOCUMENTS.glob("dcgmi-*/*.yml"))


@pytest.mark.skipif(not CORPUS, reason="TRACKBED_CORPUS names no recorded outputs")
@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_it_prints_what_was_recorded(
    path: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert set(document) <= {*KEYS, "dcgm"}
    node = SmiNode(tmp_path, monkeypatch)
    prepared(document, node)
    node.write("run/nvhostengine.pid", f"{os.getpid()}\n")
    from standins.dcgmi.main import main  # type: ignore[import-not-found]  # noqa: PLC0415

    capsys.readouterr()
    assert main(str(document["dcgm"]), document["command"].split()) == 0
    said = capsys.readouterr().out
    recorded = next(
        one for one in Path(str(CORPUS), path.parent.name).iterdir() if one.stem == path.stem
    )
    text = recorded.read_text(encoding="utf-8")
    assert even(said, document) == even(text, document)


def test_every_reason_is_given_and_every_tool_is_held() -> None:
    kinds = {path.parent.name for path in FILES}
    assert len(kinds) == len({"diag-json", "diag-text", "discovery", "nvlink", "version"})
    for path in FILES:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
        for part in ("volatile", "recording"):
            for what, reason in document.get(part, {}).items():
                assert len(reason.split()) > 2, f"{path.name}: {what}"
