"""The sanity script tests our files and not an empty tree: it finds a defect that was planted."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from support.checkout import ROOT, copy

DEFECT = "plugins/module_utils/_planted.py"
HEADER = "from __future__ import annotations\n"


def _sanity(tree: Path) -> subprocess.CompletedProcess[str]:
    # One quick test of the many: whether files are seen at all is the same for each.
    return subprocess.run(
        ["bash", str(ROOT / "scripts/sanity.sh"), "--test", "compile", "--python", "default"],
        env={**os.environ, "TRACKBED_SANITY_TREE": str(tree)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return copy(tmp_path / "a tree")


def test_a_planted_defect_is_found(tree: Path) -> None:
    (tree / DEFECT).write_text(HEADER + "def broken(:\n", encoding="utf-8")
    subprocess.run(["git", "add", DEFECT], cwd=tree, timeout=60, check=True)
    done = _sanity(tree)
    assert done.returncode != 0
    assert DEFECT in done.stdout + done.stderr


def test_files_that_are_not_tracked_are_not_tested(tree: Path) -> None:
    (tree / DEFECT).write_text(HEADER + "def broken(:\n", encoding="utf-8")
    done = _sanity(tree)
    assert done.returncode == 0, done.stdout + done.stderr
