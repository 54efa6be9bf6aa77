"""A full disk that takes nothing from the host: an upper layer of one MiB over /var, filled up."""

from __future__ import annotations

import errno
import os

from ..common.places import place
from .system import run

_TOP, _OVER = "/lab/full", "/var"
_BLOCK = 4096


def fill() -> str:
    """Put a full layer over /var."""
    top = place(_TOP)
    top.mkdir(exist_ok=True)
    run("mount", "-t", "tmpfs", "-o", "size=1m", "lab-full", str(top))
    for name in ("upper", "work"):
        (top / name).mkdir()
    where = f"lowerdir={_OVER},upperdir={top}/upper,workdir={top}/work"
    run("mount", "-t", "overlay", "-o", where, "lab-full", _OVER)
    _write_until_full(str(top / "content"))
    return ""


def empty(_kept: str) -> None:
    """Take the layer away; what was deleted meanwhile is there again."""
    for path in (_OVER, str(place(_TOP))):
        run("umount", "--lazy", path)


def _write_until_full(path: str) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        while True:
            os.write(file, bytes(_BLOCK))
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
    finally:
        os.close(file)
