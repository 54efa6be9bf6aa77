"""Where a stand-in finds things: below the root, which tests move by LAB_ROOT."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


def root() -> Path:
    """Return the root of the file system."""
    return Path(os.environ.get("LAB_ROOT") or "/")


def place(path: str) -> Path:
    """Return the place of an absolute path."""
    return root() / path.lstrip("/")


def text_of(path: str) -> str | None:
    """Return a file's text without the blanks around it, or None where it cannot be read."""
    try:
        return place(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def machine() -> dict[str, Any]:
    """Return the node's hardware as the lab describes it."""
    found: dict[str, Any] = json.loads(place("/lab/hw/machine.json").read_text(encoding="utf-8"))
    return found


def release() -> str:
    """Return the running kernel's release."""
    return text_of("/proc/sys/kernel/osrelease") or "unknown"


def holders(prefix: str) -> dict[int, str]:
    """Return the processes that have a file of this beginning open: their commands by number."""
    wanted = str(place(prefix))
    found: dict[int, str] = {}
    for entry in place("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            opened = [str(link.readlink()) for link in (entry / "fd").iterdir()]
            command = (entry / "comm").read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            continue  # it has ended, or is not ours to see
        if any(path.startswith(wanted) for path in opened):
            found[int(entry.name)] = command
    return found
