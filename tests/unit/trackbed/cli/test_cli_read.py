"""`trackbed read`: what a person and a script get, and every exit code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from trackbed.cli import main

DATA = Path(__file__).parents[3] / "data"
GOOD = DATA / "readers" / "nvidia-smi-L" / "2xh100.txt"
ODD = DATA / "readers" / "nvidia-smi-L" / "mig-and-empty-name.txt"
GEN4 = DATA / "readers" / "lspci" / "gpu-gen4.txt"


def _json(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, dict[str, Any]]:
    code = main(["read", "--json", *argv])
    return code, json.loads(capsys.readouterr().out)


def test_a_good_file_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["read", str(GOOD)]) == 0
    assert "gpu:0-1: name=NVIDIA H100 80GB HBM3" in capsys.readouterr().out


def test_json_holds_readings(capsys: pytest.CaptureFixture[str]) -> None:
    code, document = _json(capsys, str(ODD))
    assert (code, document["exit_code"], document["verb"]) == (4, 4, "read")
    (file,) = document["files"]
    assert file["reading"]["kind"] == "nvidia-smi-L"
    assert file["reading"]["problems"][0]["code"] == "unreadable_value"


def test_what_was_read_is_judged(capsys: pytest.CaptureFixture[str]) -> None:
    code, document = _json(capsys, str(GEN4), "--sku", "h100-sxm", "--node", "gpu-017")
    assert code == 3
    failed = [one for one in document["findings"] if one["verdict"] == "fail"]
    assert failed
    assert failed[0]["entity"].startswith("gpu-017/gpu:")
    assert "Gen4" in failed[0]["actual"]


def test_a_file_that_nobody_knows(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    strange = tmp_path / "strange.txt"
    strange.write_text("lorem ipsum\n")
    assert main(["read", str(strange)]) == 4
    assert "strange.txt: not recognised" in capsys.readouterr().out


def test_unknown_files_of_a_directory_are_only_counted(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_bytes(GOOD.read_bytes())
    (tmp_path / "b.txt").write_text("lorem ipsum\n")
    assert main(["read", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "1 more files were not recognised" in out
    assert "b.txt" not in out


def test_kinds_and_schema(capsys: pytest.CaptureFixture[str]) -> None:
    code, document = _json(capsys, "--kinds")
    assert code == 0
    assert "lspci" in [one["kind"] for one in document["kinds"]]
    assert main(["read", "--schema", "lspci"]) == 0
    assert json.loads(capsys.readouterr().out)["properties"]["kind"] == {"const": "lspci"}


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        ([], "no file was named"),
        (["/no/such/file"], "no such file"),
        ([str(GOOD), "--kind", "lspcy"], "did you mean 'lspci'"),
        ([str(GEN4), "--sku", "h100"], "h100-sxm"),
        (["--schema", "nothing"], "unknown kind"),
    ],
)
def test_wrong_arguments(argv: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["read", *argv]) == 2
    assert says in capsys.readouterr().err
