"""The checkout under test: what is tracked, and clean copies of it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
FARM = Path("collections/ansible_collections/trackbed/cluster")
# What every artefact and environment is called with, whatever the machine's own settings.
_CLEAN = ("ANSIBLE_", "TRACKBED_", "PYTHON", "VIRTUAL_ENV", "XDG_", "COV_")


def tracked(*under: str) -> list[str]:
    """Return the tracked files that exist, below these places; links among them."""
    done = subprocess.run(
        ["git", "ls-files", "-z", "--", *under],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    names = sorted(set(done.stdout.split("\0")) - {""})
    return [name for name in names if os.path.lexists(ROOT / name)]


def copy(into: Path) -> Path:
    """Copy the tracked files, links as links, into a new repository; return its place."""
    for name in tracked():
        target = into / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target, follow_symlinks=False)
    for arguments in (["init", "-q"], ["add", "-A"]):
        subprocess.run(["git", *arguments], cwd=into, timeout=60, check=True)
    return into


def galaxy() -> dict:
    """Return galaxy.yml."""
    return yaml.safe_load((ROOT / "galaxy.yml").read_text(encoding="utf-8"))


def clean_environment(home: Path, **more: str) -> dict[str, str]:
    """Return an environment that says nothing about this checkout or its .venv."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(_CLEAN)}
    return {**kept, "HOME": str(home), "PATH": "/usr/bin:/bin", **more}
