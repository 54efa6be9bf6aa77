"""A node's file system with a driver, in which programs of packages run as processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from smi_node import STANDINS, SmiNode

from trackbed.lab.state import NodeState

PAYLOAD = STANDINS.parent / "packages/payload"
VERSION = "580.126.09"


class DaemonNode(SmiNode):
    """A node whose /proc is the host's, so that it is seen who holds a device."""

    def up(self, sku: str, loaded: str | None = VERSION) -> dict[str, Any]:
        """Make the node, with its driver loaded and its device files there."""
        document = self.state(NodeState("gpu-001", sku))
        self.driver(VERSION, loaded)
        for name in ["nvidiactl", *[f"nvidia{gpu['minor']}" for gpu in document["gpus"]]]:
            self.write(f"dev/{name}", "")
        (self.top / "proc").rmdir()
        (self.top / "proc").symlink_to("/proc")
        return document

    def payload(self, path: str, into: str) -> None:
        """Put a file of a package there."""
        self.write(into, (PAYLOAD / path).read_text(encoding="utf-8"))

    def call(self, function: str, *words: str, version: str = VERSION) -> Any:
        """Run an entry, as module:function, to its end or until it is in the background."""
        module, _, name = function.partition(":")
        code = f"import sys; sys.path.insert(0, {str(STANDINS.parent)!r}); "
        code += f"from standins.{module} import {name} as main; sys.exit(main({version!r}))"
        return subprocess.run(
            [sys.executable, "-I", "-c", code, *words],
            env={**os.environ, "LAB_ROOT": str(self.top)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def settings_now(self) -> dict[str, Any]:
        """Return what the node has set."""
        path = self.top / "lab/run/gpus.json"
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}

    def pid(self, path: str) -> int:
        """Return the number in a pid file."""
        return int((self.top / path).read_text(encoding="ascii"))

    def stop(self) -> None:
        """End whatever has left a pid file, and wait until it has taken that away."""
        for path in (self.top / "run").rglob("*.pid"):
            os.kill(int(path.read_text(encoding="ascii")), signal.SIGTERM)
            gone(path)


def gone(path: Path) -> bool:
    """Wait until a file has gone."""
    for _ in range(200):
        if not path.exists():
            return True
        time.sleep(0.05)
    return False
