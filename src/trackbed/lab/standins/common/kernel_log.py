"""The node's kernel log: what its host says of the hardware, and what its own modules said.

/lab/hw/kernel.log is the host's, /lab/kmsg the node's own; docs/lab.md has their form.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass

from .places import place, text_of

HARDWARE, OWN, _BOOT = "/lab/hw/kernel.log", "/lab/kmsg", "/lab/boot_id"
ERROR, WARNING, NOTICE, INFO = 3, 4, 5, 6
# Where a line stands that is older than this boot: what is broken still is found by the drivers.
_FOUND_S = 20.0
_COMMAND_LINE = "@/proc/cmdline"
# What only the NVIDIA driver says is not said before it has been loaded.
_DRIVERS = {"NVRM: ": "/sys/module/nvidia/version"}


@dataclass(frozen=True, order=True)
class Entry:
    """One record: seconds since the boot, its level, its text."""

    seconds: float
    level: int
    text: str


def booted() -> float:
    """Return when the node booted, in seconds since 1970."""
    try:
        return place(_BOOT).stat().st_mtime
    except OSError:
        return time.time() - float((text_of("/proc/uptime") or "0").split()[0])


def write(level: int, text: str) -> None:
    """Add a line of the node's own; one that cannot be written is lost, as in a full ring."""
    with contextlib.suppress(OSError), place(OWN).open("a", encoding="utf-8") as file:
        file.write(f"{level}\t+{time.time() - booted():.6f}\t{text}\n")


def entries() -> list[Entry]:
    """Return the log of this boot, in the order of time."""
    since = booted()
    found = [entry for path in (HARDWARE, OWN) for entry in _of(path, since)]
    return sorted(found, key=lambda entry: entry.seconds)


def allowed() -> bool:
    """Say whether the caller may read the kernel's log: kernel.dmesg_restrict."""
    return os.geteuid() == 0 or text_of("/proc/sys/kernel/dmesg_restrict") != "1"


def stamp() -> str:
    """Return what changes when the log does."""
    seen = []
    for path in (HARDWARE, OWN, *_DRIVERS.values(), _BOOT):
        try:
            found = place(path).stat()
        except OSError:
            seen.append("-")
        else:
            seen.append(f"{found.st_mtime_ns}.{found.st_ino}.{found.st_size}")
    return " ".join(seen)


def _of(path: str, since: float) -> Iterator[Entry]:
    silent = tuple(said for said, sign in _DRIVERS.items() if text_of(sign) is None)
    early = 0.0
    for line in (text_of(path) or "").splitlines():
        level, when, text = line.split("\t", 2)
        if path == HARDWARE and text.startswith(silent):
            continue
        seconds = float(when[1:])
        if when.startswith("@"):
            seconds -= since
            if seconds < 0:
                seconds, early = _FOUND_S + early, early + 0.000131
        if text.endswith(_COMMAND_LINE):
            text = text.replace(_COMMAND_LINE, text_of("/proc/cmdline") or "")
        yield Entry(seconds, int(level), text)
