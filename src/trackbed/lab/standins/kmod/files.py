"""Which modules could be loaded, and what their files say of them."""

from __future__ import annotations

import gzip
import lzma
import re
from dataclasses import dataclass
from pathlib import Path

from ..common.places import place, release, text_of

_NAME = re.compile(r"(.+)\.ko(?:\.(?:xz|gz))?$")
_CONFIGS = ("/etc/modprobe.d", "/run/modprobe.d", "/usr/lib/modprobe.d", "/lib/modprobe.d")


@dataclass(frozen=True)
class Module:
    """A module that could be loaded."""

    name: str  # with underscores
    path: Path | None = None  # None: one that the distribution's kernel brings
    size: int = 16384
    depends: tuple[str, ...] = ()
    version: str = ""
    license: str = ""
    vermagic: str = ""


def normal(name: str) -> str:
    """Return a module's name as the kernel writes it."""
    return name.replace("-", "_")


def find(name: str) -> Module | None:
    """Return a module by name, or None where there is none for the running kernel."""
    wanted = normal(name)
    path = _path_of(wanted)
    if path is not None:
        return _read(wanted, path)
    listed = (text_of("/lab/hw/modules.available") or "").split()
    return Module(wanted) if wanted in map(normal, listed) else None


def _path_of(wanted: str) -> Path | None:
    """Return the module's file; what was added to a kernel wins over what came with it."""
    top = place(f"/lib/modules/{release()}")
    for part in ("updates", "extra", "kernel"):
        for path in sorted((top / part).rglob("*.ko*")):
            found = _NAME.match(path.name)
            if found and normal(found.group(1)) == wanted:
                return path
    return None


def _read(name: str, path: Path) -> Module:
    data = path.read_bytes()
    if path.suffix == ".xz":
        data = lzma.decompress(data)
    elif path.suffix == ".gz":
        data = gzip.decompress(data)
    told = _modinfo(data)
    depends = tuple(normal(one) for one in told.get("depends", "").split(",") if one)
    return Module(
        name,
        path,
        len(data),
        depends,
        told.get("version", ""),
        told.get("license", ""),
        told.get("vermagic", ""),
    )


def _modinfo(data: bytes) -> dict[str, str]:
    """Return the texts `key=value` of a module's .modinfo; the first of a key wins."""
    found: dict[str, str] = {}
    for key in ("name", "version", "license", "depends", "vermagic"):
        # Before the first text of the section may lie any byte of the code.
        match = re.search(rb"(?<![a-z_])" + key.encode() + rb"=([^\0]*)\0", data)
        if match:
            found[key] = match.group(1).decode("utf-8", "replace")
    return found


def settings() -> list[list[str]]:
    """Return the words of every line of modprobe's configuration; the first file of a name wins."""
    seen: dict[str, Path] = {}
    for directory in _CONFIGS:
        top = place(directory)
        for path in sorted(top.glob("*.conf")) if top.is_dir() else ():
            seen.setdefault(path.name, path)
    lines: list[list[str]] = []
    for name in sorted(seen):
        text = seen[name].read_text(encoding="utf-8", errors="replace")
        lines += [line.split() for line in text.splitlines() if line.split()]
    return lines


def is_blacklisted(name: str) -> bool:
    """Say whether the configuration keeps a module from being loaded by its alias or at boot."""
    return any(
        line[0] == "blacklist" and len(line) > 1 and normal(line[1]) == normal(name)
        for line in settings()
    )


def options(name: str) -> dict[str, str]:
    """Return the parameters that the configuration gives a module."""
    found: dict[str, str] = {}
    for line in settings():
        if line[0] == "options" and len(line) > 2 and normal(line[1]) == normal(name):
            for word in line[2:]:
                key, _, value = word.partition("=")
                found[key] = value
    return found
