"""Run the unit tests with each other pair of Python and ansible-core that we support.

Each pair gets an environment of its own under .cache/, made again when pyproject.toml changes. A
pair whose Python is not at hand is named and left out; no pair at all is a failure.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pythons

ROOT = Path(__file__).resolve().parent.parent
# ansible-core 2.20 needs Python 3.12 on the controller, 2.21 too (their `requires-python`).
PAIRS = (((3, 12), "2.20"), ((3, 13), "2.20"), ((3, 13), "2.21"), ((3, 14), "2.21"))
# What the unit tests import; the static checks run once, with the main environment.
TOOLS = ["pytest", "pytest-xdist", "hypothesis", "distlib", "hatchling"]
_INSTALL_SECONDS = 900
_TEST_SECONDS = 1500


def environment(python: Path, core: str) -> Path:
    """Return the environment of this pair, made or taken from the last time."""
    made_from = (ROOT / "pyproject.toml").read_bytes() + f"{ROOT}\n{python}\n{TOOLS}".encode()
    stamp = hashlib.sha256(made_from).hexdigest()
    place = ROOT / ".cache" / "pythons" / f"{python.name}-core{core}"
    mark = place / "stamp"
    if mark.is_file() and mark.read_text(encoding="utf-8") == stamp:
        return place
    shutil.rmtree(place, ignore_errors=True)
    subprocess.run([str(python), "-m", "venv", str(place)], check=True, timeout=_INSTALL_SECONDS)
    install = [str(place / "bin/python"), "-m", "pip", "install", "--quiet"]
    subprocess.run(
        [*install, f"ansible-core=={core}.*", *TOOLS, "--editable", str(ROOT)],
        check=True,
        timeout=_INSTALL_SECONDS,
    )
    mark.write_text(stamp, encoding="utf-8")
    return place


def unit_tests(place: Path) -> bool:
    """Run the unit tests there and return whether they passed."""
    path = f"{place / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    done = subprocess.run(
        [str(place / "bin/pytest"), "-q", "-n", "2", "-m", "not slow and not lab", "tests/unit"],
        cwd=ROOT,
        env={**os.environ, "PATH": path},
        timeout=_TEST_SECONDS,
        check=False,
    )
    return done.returncode == 0


def main() -> int:
    """Return 1 where a pair fails or none could be tried."""
    found = pythons.find()
    tried: dict[str, bool] = {}
    for version, core in PAIRS:
        title = f"Python {version[0]}.{version[1]} with ansible-core {core}"
        if version not in found:
            _say(f"--- {title}: left out, this Python is not at hand")
            continue
        _say(f"--- {title}")
        try:
            tried[title] = unit_tests(environment(found[version], core))
        except (subprocess.SubprocessError, OSError) as error:
            _say(f"{title}: {error}")
            tried[title] = False
    for title, passed in tried.items():
        _say(f"{'passed' if passed else 'FAILED'}  {title}")
    if not tried:
        _say("no other Python is at hand; install python3.12 or python3.13")
    return 0 if tried and all(tried.values()) else 1


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
