"""Lay packages out for `dpkg-deb` and `rpmbuild`, which run in the image of the lab's head.

Below the destination::

    deb/<web path>/<name_version>/DEBIAN/...   one tree a package, as dpkg-deb takes it
    rpm/<web path>/<name-version>/             one tree a package, and beside it its spec:
    rpm/<web path>/<name-version>.spec
    rpm/<web path>/modules.yaml                where the repository has module streams
    libraries.tsv                              shared objects to compile: path, TAB, soname
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from trackbed.lab.packages import deb, rpm
from trackbed.lab.packages.catalogue import packages
from trackbed.lab.packages.model import DEBIAN, RPM, UBUNTU, Package, filled
from trackbed.lab.packages.tree import Tree, library_dir, tree_of

# The distributions that each family's packages are served for, by the vendor's directory names.
DISTRIBUTIONS = {DEBIAN: ("debian12", "debian13"), UBUNTU: ("ubuntu2404",), RPM: ("rhel9",)}
# The paths of the vendors' servers, so that a role's URL differs in its host alone.
_WEB = {
    "cuda": "compute/cuda/repos/@DISTRO@/@MACHINE@",
    "libnvidia-container": "libnvidia-container/stable/@FORMAT@/@ARCH@",
    "doca": "public/repo/doca/@VERSION@/@DISTRO@/@MACHINE@",
    "kernel": "kernel/@DISTRO@/@MACHINE@",
}
# A build's files carry one date, so that equal packages are equal bytes.
_EPOCH = 1764547200  # 2025-12-01


@dataclass(frozen=True)
class Machine:
    """How the families call the processor."""

    uname: str  # x86_64
    deb: str  # amd64
    multiarch: str  # x86_64-linux-gnu
    directory: str  # x86_64, sbsa


MACHINES: Mapping[str, Machine] = {
    "x86_64": Machine("x86_64", "amd64", "x86_64-linux-gnu", "x86_64"),
    "aarch64": Machine("aarch64", "arm64", "aarch64-linux-gnu", "sbsa"),
}


def web_path(package: Package, distribution: str, machine: Machine) -> str:
    """Return where a package is served, below the head's web root."""
    rpms = package.family == RPM
    words = {
        "DISTRO": distribution,
        "MACHINE": machine.directory,
        "FORMAT": "rpm" if rpms else "deb",
        "ARCH": machine.uname if rpms else machine.deb,
        "VERSION": package.words["VERSION"],  # of the whole set
    }
    return filled(_WEB[package.repository], words)


def write(families: Iterable[str], machine: Machine, dest: Path) -> int:
    """Write every package of these families; return how many that were.

    A package that several distributions share is laid out once, for the first of them, and
    `also.tsv` says where else it is served: path, TAB, the other path.
    """
    done: set[Path] = set()
    libraries: list[str] = []
    also: set[str] = set()
    for family in families:
        first, *others = DISTRIBUTIONS[family]
        for package in packages(family):
            path = web_path(package, first, machine)
            also |= {
                f"{path}\t{other}"
                for other in (web_path(package, name, machine) for name in others)
                if other != path
            }
            top = dest / ("rpm" if family == RPM else "deb") / path / package.file_stem
            # Repositories that are the same for all of Debian's relatives come up twice.
            if top not in done:
                libraries += _write_one(package, path, machine, top, dest)
            done.add(top)
    if RPM in families:
        _write_streams(machine, dest)
    _put(dest / "libraries.tsv", "".join(f"{line}\n" for line in libraries).encode())
    _put(dest / "also.tsv", "".join(f"{line}\n" for line in sorted(also)).encode())
    return len(done)


def _write_one(package: Package, path: str, machine: Machine, top: Path, dest: Path) -> list[str]:
    """Write one package below `top`; return the lines of its libraries."""
    tree = tree_of(package, machine.multiarch)
    _write_tree(tree, top)
    if package.family != RPM:
        _put(top / "DEBIAN" / "control", deb.control(package, machine.deb).encode())
        for name, text in deb.scripts(package, tree).items():
            mode = 0o755 if name in ("postinst", "prerm") else 0o644
            _put(top / "DEBIAN" / name, text.encode(), mode)
    else:
        stage = f"/stage/rpm/{path}/{package.file_stem}"
        text = rpm.spec(package, tree, machine.uname, stage)
        _put(top.with_name(f"{package.file_stem}.spec"), text.encode())
    place = top.relative_to(dest) / library_dir(package, machine.multiarch)
    return [f"{place / file}\t{soname}" for soname, file in package.libraries.items()]


def _write_tree(tree: Tree, top: Path) -> None:
    top.mkdir(parents=True, exist_ok=True)
    for path, entry in tree.items():
        place = top / path
        if entry.link:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(entry.link)
        else:
            _put(place, entry.content, entry.mode)


def _write_streams(machine: Machine, dest: Path) -> None:
    first = DISTRIBUTIONS[RPM][0]
    listed = packages(RPM)
    documents = rpm.streams(listed, machine.uname)
    path = web_path(next(one for one in listed if one.repository == "cuda"), first, machine)
    text = yaml.safe_dump_all(documents, explicit_start=True, sort_keys=False)
    _put(dest / "rpm" / path / "modules.yaml", text.encode())


def _put(path: Path, content: bytes, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(mode)
    os.utime(path, (_EPOCH, _EPOCH))
