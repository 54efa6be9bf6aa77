"""Which NVIDIA driver is installed and which one is loaded.

Installed is what the library says to which libnvidia-ml.so.1 points; loaded is what the kernel
module says. They differ after an upgrade until the module is loaded anew.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache

from .places import place, text_of

_LIBRARIES = ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib")
_NAME = "libnvidia-ml.so"
# The CUDA version of each branch's libcuda: release notes of the branches.
_CUDA = (
    (620, "13.5"), (615, "13.4"), (610, "13.3"), (595, "13.2"), (590, "13.1"), (580, "13.0"),
    (575, "12.9"), (570, "12.8"), (565, "12.7"), (560, "12.6"), (555, "12.5"), (550, "12.4"),
    (545, "12.3"), (535, "12.2"),
)  # fmt: skip


def numbers(version: str) -> tuple[int, ...]:
    """Return a version as numbers, to be compared."""
    return tuple(int(part) for part in version.split(".") if part.isdigit())


@dataclass(frozen=True)
class Driver:
    """The driver of a node; None where there is no library, or no module."""

    installed: str | None  # 580.126.09
    loaded: str | None

    @property
    def nvml(self) -> str:
        """Return the version of NVML: without the last part, where there are three."""
        return ".".join((self.installed or "").split(".")[:2])

    @property
    def cuda(self) -> str:
        """Return the newest CUDA version that the driver serves."""
        return next((c for branch, c in _CUDA if numbers(self.installed or "0")[0] >= branch), "")

    def within(self, ranges: str) -> bool:
        """Say whether the installed version is in one of the ranges: "580-", "-569", "550-569"."""
        return _within(self.installed or "0", ranges)


@cache
def _within(version: str, ranges: str) -> bool:
    found = numbers(version)
    for one in filter(None, (part.strip() for part in ranges.split(","))):
        low, dash, high = one.partition("-")
        last = numbers(high) if dash else numbers(low)
        if numbers(low) <= found and (not last or found[: len(last)] <= last):
            return True
    return not ranges.strip()


def find() -> Driver:
    """Look for the driver of this node."""
    loaded = text_of("/sys/module/nvidia/version")
    return Driver(_installed(), loaded or None)


def _installed() -> str | None:
    for directory in _LIBRARIES:
        link = place(f"{directory}/{_NAME}.1")
        if os.path.lexists(link):
            target = str(link.readlink()) if link.is_symlink() else link.name
            version = target.rpartition(f"{_NAME}.")[2]
            if "." in version and (link.parent / target).exists():
                return version
    return None
