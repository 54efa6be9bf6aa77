"""A node's file system with network adapters, and the vendor's tools run in it."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

from trackbed.lab import recipes
from trackbed.lab.hardware.machine import machine_of
from trackbed.lab.hardware.plan import plan_of
from trackbed.lab.state import NodeState

STANDINS = recipes.node("debian12").sources[1]


class NicNode:
    """One node; `machine` is what the lab writes on the host."""

    def __init__(self, top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.top = top
        monkeypatch.setenv("LAB_ROOT", str(top))
        monkeypatch.syspath_prepend(str(STANDINS.parent))
        monkeypatch.setattr("os.geteuid", lambda: 0)

    def state(self, state: NodeState) -> dict[str, Any]:
        """Write machine.json of a state."""
        document = machine_of(plan_of(state), state)
        self.machine(document)
        return document

    def machine(self, document: dict[str, Any]) -> None:
        """Write machine.json."""
        self.write("lab/hw/machine.json", json.dumps(document))

    def write(self, path: str, text: str) -> None:
        """Write a file."""
        place = self.top / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")

    def boot(self) -> None:
        """Forget what is in memory."""
        for path in (self.top / "lab/run").glob("*"):
            path.unlink()

    def run(self, capsys: pytest.CaptureFixture[str], package: str, *words: str) -> tuple[int, str]:
        """Run a program (words[0] is its name); return its exit code and what it printed."""
        main = importlib.import_module(f"standins.{package}.main").main
        capsys.readouterr()
        code: int = main(list(words))
        out, err = capsys.readouterr()
        return code, out + err
