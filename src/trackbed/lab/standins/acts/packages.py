"""An interrupted dpkg: one package whose state is half-configured."""

from __future__ import annotations

import re

from ..common.places import place
from .system import CannotError

_STATUS = "/var/lib/dpkg/status"
_WHOLE, _HALF = "install ok installed", "install ok half-configured"
# The one that fails in practice is the one that builds modules.
_NAMES = re.compile(r"nvidia-(kernel-(open-)?)?dkms(-open)?|nvidia-kernel-\S*dkms|less")


def interrupt() -> str:
    """Leave a package half configured; return its name."""
    whole = [
        name for name, state in _states().items() if state == _WHOLE and _NAMES.fullmatch(name)
    ]
    if not whole:
        raise CannotError("neither an NVIDIA kernel package nor less is installed")
    name = sorted(whole, key=lambda one: (one == "less", one))[0]
    _put(name, _WHOLE, _HALF)
    return name


def finish(kept: str) -> None:
    """Let the package be installed, where nobody has seen to that."""
    if _states().get(kept) == _HALF:
        _put(kept, _HALF, _WHOLE)


def _states() -> dict[str, str]:
    text = place(_STATUS).read_text(encoding="utf-8")
    return dict(re.findall(r"^Package: (.+)\nStatus: (.+)$", text, re.MULTILINE))


def _put(name: str, old: str, new: str) -> None:
    path = place(_STATUS)
    text = path.read_text(encoding="utf-8")
    head = f"Package: {name}\nStatus: "
    other = path.with_name("status-lab")
    other.write_text(text.replace(f"{head}{old}\n", f"{head}{new}\n", 1), encoding="utf-8")
    other.replace(path)
