"""Which Python interpreters are at hand, and truly run.

A name on PATH proves nothing: a version manager's shim answers "command not found" for a version
that is not selected, and ansible-test trips over it. So each candidate is run once.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

_NAME = re.compile(r"python3\.\d+\Z")
# What a first look at a cold disk may take, in seconds.
_LIMIT = 20
# Where version managers keep whole interpreters, beside what PATH shows.
_MANAGED = (
    (os.environ.get("PYENV_ROOT") or "~/.pyenv", "versions/3.*/bin"),
    (os.environ.get("UV_PYTHON_INSTALL_DIR") or "~/.local/share/uv/python", "cpython-3.*/bin"),
)

Version = tuple[int, int]


def runs(program: Path) -> bool:
    """Return whether this interpreter starts and is the version that its name says."""
    code = "import sys; print('python%d.%d' % sys.version_info[:2])"
    try:
        done = subprocess.run(
            [str(program), "-I", "-c", code],
            capture_output=True,
            text=True,
            timeout=_LIMIT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0 and done.stdout.strip() == program.name


def find(search: str | None = None) -> dict[Version, Path]:
    """Return the first working interpreter of each minor version: PATH first, then managers."""
    found: dict[Version, Path] = {}
    for place in _places(search):
        for program in sorted(_named(place)):
            version = (3, int(program.name.rpartition(".")[2]))
            if version not in found and runs(program):
                found[version] = program
    return dict(sorted(found.items()))


def clean_path(search: str | None = None) -> str:
    """Return PATH without the directories that hold an interpreter which does not run."""
    kept = [
        entry for entry in _entries(search) if all(runs(program) for program in _named(Path(entry)))
    ]
    return os.pathsep.join(kept)


def link(into: Path, search: str | None = None) -> None:
    """Fill a directory with one link per working interpreter, for tools that look on PATH."""
    into.mkdir(parents=True, exist_ok=True)
    for version, program in find(search).items():
        target = into / f"python{version[0]}.{version[1]}"
        target.unlink(missing_ok=True)
        target.symlink_to(program)


def _entries(search: str | None) -> list[str]:
    text = os.environ.get("PATH", os.defpath) if search is None else search
    return [entry for entry in text.split(os.pathsep) if entry]


def _places(search: str | None) -> list[Path]:
    places = [Path(entry) for entry in _entries(search)]
    for base, pattern in _MANAGED:
        places += sorted(Path(base).expanduser().glob(pattern), reverse=True)
    return places


def _named(place: Path) -> list[Path]:
    try:
        return [entry for entry in place.iterdir() if _NAME.match(entry.name)]
    except OSError:
        return []


def main(arguments: list[str]) -> int:
    """Print the interpreters, or `path DIRECTORY`: a PATH on which each of them is found."""
    if len(arguments) == 2 and arguments[0] == "path":
        directory = Path(arguments[1]).resolve()
        link(directory)
        sys.stdout.write(f"{clean_path()}{os.pathsep}{directory}\n")
        return 0
    if arguments:
        sys.stderr.write("usage: pythons.py [path DIRECTORY]\n")
        return 2
    for version, program in find().items():
        sys.stdout.write(f"{version[0]}.{version[1]} {program}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
