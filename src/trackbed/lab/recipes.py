"""What the lab's images are made of: the build context of each, and the hash it is named by."""

from __future__ import annotations

import hashlib
import platform
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from trackbed.errors import UsageError
from trackbed.lab.packages import stage
from trackbed.lab.packages.model import DEBIAN

_HERE = Path(__file__).parent
_IMAGES = _HERE / "images"
_STANDINS = _HERE / "standins"
_PACKAGES = _HERE / "packages"
# The system of the head, whatever the nodes run: its tools know the newest repository formats.
HEAD_SYSTEM = "debian13"


@dataclass(frozen=True)
class Recipe:
    """One image: its kind is a directory of images/, `sources` is all that goes into it."""

    kind: str
    system: str
    sources: tuple[Path, ...]
    families: tuple[str, ...] = ()  # whose packages it serves

    @property
    def name(self) -> str:
        """Return the image's name: another one for every byte of its sources."""
        digest = hashlib.sha256("\0".join([self.system, *self.families]).encode())
        for source in self.sources:
            for path in _files(source):
                digest.update(f"\0{path.relative_to(source)}\0".encode())
                digest.update(path.read_bytes())
        return f"localhost/trackbed-lab-{self.kind}:{self.system}-{digest.hexdigest()[:12]}"

    def write(self, dest: Path) -> None:
        """Write the build context."""
        for path in _files(self.sources[0]):
            shutil.copy(path, dest / path.name)
        if self.families:
            stage.write(self.families, _machine(), dest / "stage")
        elif len(self.sources) > 1:
            ignore = shutil.ignore_patterns("__pycache__")
            shutil.copytree(self.sources[1], dest / "standins", ignore=ignore)


def node(system: str) -> Recipe:
    """Return the recipe of the nodes' image."""
    return Recipe("node", system, (_IMAGES / "node", _STANDINS))


def head(families: Iterable[str] = (DEBIAN,)) -> Recipe:
    """Return the recipe of the head's image, with the packages for these families."""
    return Recipe("head", HEAD_SYSTEM, (_IMAGES / "head", _PACKAGES), tuple(families))


def _files(top: Path) -> Iterator[Path]:
    for path in sorted(top.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path


def _machine() -> stage.Machine:
    found = stage.MACHINES.get(platform.machine())
    if found is None:
        raise UsageError(
            f"this host is a {platform.machine()}",
            wanted=f"one of {', '.join(stage.MACHINES)}, which the lab has packages for",
            remedy="make the lab without its head: trackbed lab up --no-head",
        )
    return found
