"""The program itself: signals, closed pipes, an unsound installation, the lab's verb."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from trackbed import cli, collection
from trackbed.lab import cli as lab


def test_python_dash_m() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "trackbed", "--version"],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (0, f"trackbed {collection.version()}\n")


def test_a_reader_that_has_gone_is_no_defect(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "trackbed", "config"],
        check=False,
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
        env={**os.environ, "TRACKBED_LAB_DIR": str(tmp_path)},
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, "")


def test_sigterm_is_an_interruption(monkeypatch: pytest.MonkeyPatch) -> None:
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(sys, "argv", ["trackbed", "runs"])
    monkeypatch.setattr(cli, "_main", lambda *_: os.kill(os.getpid(), signal.SIGTERM))
    try:
        with pytest.raises(SystemExit) as stop:
            cli.entry()
    finally:
        signal.signal(signal.SIGTERM, before)
    assert stop.value.code == 130


def test_another_copy_of_the_collection_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stale() -> None:
        raise collection.CollectionError("another copy in /home/x")

    monkeypatch.setattr(collection, "activate", stale)
    assert cli.main(["runs", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["found"] == "another copy in /home/x"


def test_the_lab_gets_its_words_and_its_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(
        args: Any,
        say: Callable[[str], None],
        emit: Callable[[Mapping[str, Any]], None],
        text: Callable[[str], None],
    ) -> int:
        say("working")
        text("for a person")
        emit({"action": args.action})
        return 4

    monkeypatch.setattr(lab, "run", run)
    assert cli.main(["lab", "status", "--json"]) == 4
    printed = capsys.readouterr()
    assert (json.loads(printed.out), printed.err) == ({"action": "status"}, "working\n")
