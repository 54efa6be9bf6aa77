"""Faults of the driver, the clock and the way in."""

from __future__ import annotations

import contextlib
import subprocess

from ..common.places import place, text_of

_SECONDS = 60.0
_LOADED, _PROC = "/sys/module/nvidia/version", "/proc/driver/nvidia/version"
_PRELOAD, _SKEW = "/etc/ld.so.preload", "/usr/lib/trackbed-lab/skew.so"
_SSH = ("ssh.service", "ssh.socket")
_PERSON = "ops"


class CannotError(Exception):
    """The node has not what is to be broken."""


def run(*argv: str, check: bool = True) -> None:
    """Run a program of the node."""
    subprocess.run(argv, check=check, timeout=_SECONDS, stdout=subprocess.DEVNULL)


def earlier(version: str) -> str:
    """Return the release before this one: its last number, less one (or 99, of the one before)."""
    parts = version.split(".")
    for at in range(len(parts) - 1, -1, -1):
        number = int(parts[at])
        if number:
            parts[at] = str(number - 1).zfill(len(parts[at]))
            return ".".join(parts)
        parts[at] = "99"
    return version


def other_driver() -> str:
    """Let another version be loaded; return what was, and what is."""
    version = text_of(_LOADED)
    if not version:
        raise CannotError("no NVIDIA driver is loaded; install one and load it first")
    other = earlier(version)
    _rename(version, other)
    return f"{version} {other}"


def own_driver(kept: str) -> None:
    """Let the version be loaded that was, where nobody has loaded the module anew."""
    version, _, other = kept.partition(" ")
    if text_of(_LOADED) == other:
        _rename(other, version)


def _rename(old: str, new: str) -> None:
    for path in (_LOADED, _PROC):
        found = place(path)
        with contextlib.suppress(FileNotFoundError):
            found.write_text(found.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")


def skewed() -> str:
    """Give every program that starts a clock that is ahead."""
    before = text_of(_PRELOAD)
    place(_PRELOAD).write_text(f"{_SKEW}\n", encoding="ascii")
    return before or ""


def straight(kept: str) -> None:
    """Give programs the host's clock again."""
    if kept:
        place(_PRELOAD).write_text(f"{kept}\n", encoding="ascii")
    else:
        place(_PRELOAD).unlink(missing_ok=True)


def no_ssh() -> str:
    """Stop sshd, keep it from being started, and end what it has let in."""
    run("systemctl", "--quiet", "mask", "--runtime", "--now", *_SSH)
    run("loginctl", "terminate-user", _PERSON, check=False)  # nobody may be logged in
    return ""


def ssh(_kept: str) -> None:
    """Start sshd again."""
    run("systemctl", "--quiet", "unmask", "--runtime", *_SSH)
    run("systemctl", "start", _SSH[0])
