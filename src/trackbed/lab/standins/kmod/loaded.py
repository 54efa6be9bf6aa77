"""What is loaded: the list behind /proc/modules, and /sys/module.

/lab/modules is bound over /proc/modules, so it is rewritten in place. It ends with the boot, as
does the private layer over /sys. Who uses a module is told by /sys/module/NAME/holders.
"""

from __future__ import annotations

import shutil

from ..common.places import place
from .files import Module

_LIST = "/lab/modules"
# Out of tree and unsigned, as the kernel marks what DKMS builds (kernel/module/main.c).
_FOREIGN = " (OE)"


def names() -> list[str]:
    """Return what is loaded, the newest first."""
    return [line.split()[0] for line in lines()]


def lines() -> list[str]:
    """Return the lines of /proc/modules."""
    try:
        return [line for line in place(_LIST).read_text(encoding="ascii").splitlines() if line]
    except OSError:
        return []


def users(name: str) -> list[str]:
    """Return the loaded modules that use a module."""
    holders = place(f"/sys/module/{name}/holders")
    return sorted(path.name for path in holders.iterdir()) if holders.is_dir() else []


def uses(name: str) -> list[str]:
    """Return the loaded modules that a module uses."""
    return [other for other in names() if name in users(other)]


def is_builtin(name: str) -> bool:
    """Say whether the kernel has a module built in."""
    return place(f"/sys/module/{name}").is_dir() and name not in names()


def add(module: Module, parameters: dict[str, str]) -> None:
    """Note a module as loaded."""
    top = place(f"/sys/module/{module.name}")
    for part in ("parameters", "holders"):
        (top / part).mkdir(parents=True, exist_ok=True)
    _write(module.name, "initstate", "live")
    if module.version:
        _write(module.name, "version", module.version)
    for key, value in parameters.items():
        _write(module.name, f"parameters/{key}", value)
    for other in module.depends:
        holders = place(f"/sys/module/{other}/holders")
        if holders.is_dir():
            (holders / module.name).mkdir(exist_ok=True)
    foreign = _FOREIGN if module.path and "updates" in module.path.parts else ""
    _rewrite([f"{module.name} {module.size} 0 - Live 0x0000000000000000{foreign}", *lines()])


def remove(name: str) -> None:
    """Note a module as gone."""
    for other in uses(name):
        (place(f"/sys/module/{other}/holders") / name).rmdir()
    shutil.rmtree(place(f"/sys/module/{name}"), ignore_errors=True)
    _rewrite([line for line in lines() if line.split()[0] != name])


def _rewrite(listed: list[str]) -> None:
    text = ""
    for line in listed:
        name, size, _count, _by, *rest = line.split()
        using = users(name)
        _write(name, "refcnt", str(len(using)))
        by = "".join(f"{one}," for one in using) or "-"
        text += " ".join([name, size, str(len(using)), by, *rest]) + "\n"
    with place(_LIST).open("w", encoding="ascii") as file:
        file.write(text)


def _write(name: str, path: str, text: str) -> None:
    target = place(f"/sys/module/{name}") / path
    if target.parent.is_dir():
        target.write_text(f"{text}\n", encoding="ascii")
