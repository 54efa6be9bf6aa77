"""`trackbed journal`: to another controller and back, with nothing half done."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ansible_collections.trackbed.cluster.plugins.plugin_utils._journal import Journal
from ansible_collections.trackbed.cluster.plugins.plugin_utils._journal_rows import RunInfo

from trackbed.cli import main


@pytest.fixture
def place(tmp_path: Path) -> Path:
    journal = tmp_path / "a b" / "journal.sqlite"
    with Journal.open(journal) as opened:
        opened.end_run(opened.begin_run(RunInfo("site", "x")), 0, "done")
    return journal


def _call(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, dict[str, object]]:
    code = main(["journal", *argv, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_a_journal_moves(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy, target = tmp_path / "copy?.sqlite", tmp_path / "other" / "journal.sqlite"
    code, told = _call(capsys, "export", str(copy), "--journal", str(place))
    assert code == 0
    digest = str(told["sha256"])
    code, told = _call(capsys, "import", str(copy), "--sha256", digest, "--journal", str(target))
    assert (code, told["journal"]) == (0, str(target))
    with Journal.open(target, read_only=True) as moved:
        assert [run.info.verb for run in moved.runs()] == ["site"]


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (("export", "{dir}"), "exists"),
        (("import", "{dir}/none"), "cannot be used"),
        (("import", "{place}", "--sha256", "00"), "not the file that was exported"),
    ],
)
def test_what_cannot_be_moved_leaves_nothing(
    argv: tuple[str, ...],
    says: str,
    place: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = [one.format(dir=tmp_path, place=place) for one in argv]
    target = place if argv[0] == "export" else tmp_path / "new.sqlite"
    code, told = _call(capsys, *words, "--journal", str(target))
    assert code == 2
    assert says in str(told["error"])
    assert not (tmp_path / "new.sqlite").exists()
