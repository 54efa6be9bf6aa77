"""What a package puts on the disk: its payload with every placeholder filled. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath

from trackbed.lab.packages.model import Package, filled

_PAYLOAD = Path(__file__).resolve().parent / "payload"
_PROGRAMS = frozenset({"bin", "sbin"})
# The first driver of each branch that knows the call which kernel 6.12.117 changed (nv-pci.c).
_KNOWS_RESIZE = (580, 126)
# The first kernel that declares it with one argument more.
_CHANGED_RESIZE = (6, 12, 117)
# The vendor's OFED number that belongs to a DOCA version (NVIDIA DOCA release notes).
_OFED = {"3.2.1": "25.10-2.4.1", "3.3.0": "26.01-1.0.0"}


@dataclass(frozen=True)
class Entry:
    """A file or a link below the root."""

    content: bytes = b""
    mode: int = 0o644
    link: str = ""  # the target, where it is a link


Tree = Mapping[PurePosixPath, Entry]


def tree_of(package: Package, multiarch: str) -> Tree:
    """Return every file of a package; `multiarch` is Debian's triplet, as x86_64-linux-gnu.

    Libraries are links here: what they lead to is compiled where packages are built.
    """
    words = {**package.words, **_more_words(package), "MULTIARCH": multiarch}
    found: dict[PurePosixPath, Entry] = {}
    for name in package.payload:
        for path, content in _payload(name).items():
            place = PurePosixPath(filled(path, words))
            text = filled(content, words)
            mode = 0o755 if _PROGRAMS & set(place.parts) else 0o644
            found[place] = Entry(text.encode(), mode)
    for soname, file in package.libraries.items():
        found[library_dir(package, multiarch) / soname] = Entry(link=file)
    for path, target in package.links.items():
        found[PurePosixPath(path)] = Entry(link=target)
    return found


def library_dir(package: Package, multiarch: str) -> PurePosixPath:
    """Return where a package's libraries lie."""
    words = {"MULTIARCH": multiarch}
    return PurePosixPath("usr") / filled(package.words["LIBDIR"], words)


def _more_words(package: Package) -> dict[str, str]:
    numbers = tuple(int(part) for part in re.findall("[0-9]+", package.version)[:3])
    return {
        "KNOWS_RESIZE": str(int(numbers[:2] >= _KNOWS_RESIZE)),
        "EXCLUDES": ", int exclude_bars" if numbers >= _CHANGED_RESIZE else "",
        "OFED": _OFED.get(package.version, package.version),
    }


@cache
def _payload(name: str) -> Mapping[str, str]:
    top = _PAYLOAD / name
    if not top.is_dir():
        raise ValueError(f"there is no payload {name!r}")
    return {
        path.relative_to(top).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(top.rglob("*"))
        if path.is_file()
    }
