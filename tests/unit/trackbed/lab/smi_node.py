"""A node's file system with an NVIDIA driver, and the stand-in nvidia-smi run in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from trackbed.lab import recipes
from trackbed.lab.hardware.machine import machine_of
from trackbed.lab.hardware.plan import plan_of
from trackbed.lab.state import NodeState

STANDINS = recipes.node("debian12").sources[1]
LIBRARIES = "usr/lib/x86_64-linux-gnu"


class SmiNode:
    """One node; `machine` is what the lab writes on the host."""

    def __init__(self, top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.top = top
        monkeypatch.setenv("LAB_ROOT", str(top))
        monkeypatch.syspath_prepend(str(STANDINS.parent))
        monkeypatch.setattr("os.geteuid", lambda: 0)
        (top / "proc").mkdir()

    def state(self, state: NodeState, keep: int | None = None) -> dict[str, Any]:
        """Write machine.json of a state, with the first GPUs only where `keep` says so."""
        document = machine_of(plan_of(state), state)
        document["gpus"] = document["gpus"][:keep]
        self.machine(document)
        return document

    def machine(self, document: Mapping[str, Any]) -> None:
        """Write machine.json."""
        self.write("lab/hw/machine.json", json.dumps(document))

    def driver(self, installed: str | None, loaded: str | None) -> None:
        """Put the driver's library and its module there."""
        for old in (self.top / LIBRARIES).glob("*"):
            old.unlink()
        if installed:
            self.write(f"{LIBRARIES}/libnvidia-ml.so.{installed}", "")
            link = self.top / LIBRARIES / "libnvidia-ml.so.1"
            link.symlink_to(f"libnvidia-ml.so.{installed}")
        version = self.top / "sys/module/nvidia/version"
        version.unlink(missing_ok=True)
        if loaded:
            self.write("sys/module/nvidia/version", f"{loaded}\n")

    def settings(self, document: Mapping[str, Any]) -> None:
        """Write what the running node has set."""
        self.write("lab/run/gpus.json", json.dumps(document))

    def write(self, path: str, text: str) -> None:
        """Write a file."""
        place = self.top / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")

    def run(self, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
        """Run nvidia-smi and return its exit code and what it printed."""
        from standins.nvidia_smi.main import main  # type: ignore[import-not-found]  # noqa: PLC0415

        capsys.readouterr()
        code: int = main(list(words))
        return code, capsys.readouterr().out
