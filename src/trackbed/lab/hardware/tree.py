"""Write the files of a node's hardware, so that running nodes see every change at once.

The destination is mounted in a running node, so files keep their inode: they are rewritten in
place, never replaced by a rename (but for machine.json, kernel.log and acts, which are read as a
whole). Only bytes that differ are touched.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path, PurePosixPath

from trackbed.lab.hardware.kernel_log import kernel_log
from trackbed.lab.hardware.machine import machine_json, machine_of
from trackbed.lab.hardware.model import Plan
from trackbed.lab.hardware.plan import plan_of
from trackbed.lab.hardware.sysfs import Tree, tree_of
from trackbed.lab.state import NodeState

_MACHINE, _LOG, _ACTS = "machine.json", "kernel.log", "acts"
_OWNED = ("pci", "class", "firmware")  # below these, what the plan does not have is removed


def write_tree(state: NodeState, dest: Path) -> None:
    """Make `dest` show the hardware of `state` as after a cold boot.

    Writes dest/pci (for /sys/bus/pci), dest/class and dest/firmware (for /sys/class and
    /sys/firmware), dest/osrelease (for /proc/sys/kernel/osrelease), dest/modules.available
    (names, one a line), dest/machine.json, dest/kernel.log and dest/acts (for the stand-ins). What
    programs in the node had written to config space is lost, as it is in a boot; use `change_tree`
    for a fault in a running node.
    """
    plan = plan_of(state)
    wanted = tree_of(plan)
    _remove_others(wanted, dest)
    for path, content in wanted.items():
        _put(dest / path, content)
    _documents(plan, state, dest)


def change_tree(before: NodeState, after: NodeState, dest: Path) -> None:
    """Change what differs between two states and nothing else.

    Registers that a program in the node has set (setpci) keep their values, unless the new
    state says something else about these very bytes.
    """
    plan = plan_of(after)
    old, new = tree_of(plan_of(before)), tree_of(plan)
    _remove_others(new, dest)
    for path, content in new.items():
        was = old.get(path)
        if path not in old or not isinstance(content, bytes) or not isinstance(was, bytes):
            _put(dest / path, content)
        elif content != was and len(content) == len(was):
            _patch(dest / path, was, content)
        elif content != was:
            _put(dest / path, content)
    _documents(plan, after, dest)


def _documents(plan: Plan, state: NodeState, dest: Path) -> None:
    """Write what the stand-ins read."""
    machine = machine_of(plan, state)
    _exchange(dest / _MACHINE, machine_json(machine))
    _exchange(dest / _LOG, kernel_log(plan, state, machine))
    _exchange(dest / _ACTS, "".join(f"{kind}\n" for kind in plan.acts).encode())


def _remove_others(wanted: Tree, dest: Path) -> None:
    keep = {*wanted, *(parent for path in wanted for parent in path.parents)}
    for owned in _OWNED:
        for root, directories, files in os.walk(dest / owned, topdown=True):
            here = PurePosixPath(Path(root).relative_to(dest).as_posix())
            for name in [*directories, *files]:
                if here / name in keep:
                    continue
                path = Path(root, name)
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                    directories.remove(name)
                else:
                    path.unlink()


def _put(path: Path, content: bytes | PurePosixPath | None) -> None:
    if content is None:
        path.mkdir(parents=True, exist_ok=True)
    elif isinstance(content, PurePosixPath):
        _link(path, str(content))
    elif not path.is_file() or path.read_bytes() != content:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)  # truncates and writes the same inode


def _exchange(path: Path, content: bytes) -> None:
    """Replace a file as a whole: programs may be reading it, and nothing is mounted over it."""
    if path.is_file() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    other = path.with_name(f"{path.name}.new")
    other.write_bytes(content)
    other.replace(path)


def _link(path: Path, target: str) -> None:
    if path.is_symlink() and os.readlink(path) == target:  # noqa: PTH115 - text, not a Path
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.symlink_to(target)


def _patch(path: Path, was: bytes, content: bytes) -> None:
    """Write only the bytes that differ between two renderings."""
    with path.open("r+b") as file:
        for offset, (old, new) in enumerate(zip(was, content, strict=True)):
            if old != new:
                file.seek(offset)
                file.write(bytes((new,)))
