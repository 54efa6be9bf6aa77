"""Which release of the firmware tools is installed: the vendor's MFT, or mstflint."""

from __future__ import annotations

import re

from .driver import numbers
from .places import text_of

_MFT = "/usr/share/mft/version"  # our package of MFT brings it
_DPKG = "/var/lib/dpkg/status"
_VERSION = r"^Package: {}\n(?:(?!\n).*\n)*?Version: ([0-9.]+)"
VERSION_FLAGS = frozenset({"-v", "--version"})
_BUILT = "Dec  1 2025, 00:00:00"  # the date of all files in the lab's packages


def of_package(name: str) -> str | None:
    """Return the upstream version of a package of the distribution."""
    found = re.search(_VERSION.format(name), f"{text_of(_DPKG) or ''}\n", re.MULTILINE)
    return found.group(1) if found else None


def installed(program: str) -> str | None:
    """Return the release that a program is of: "4.34.1-10" of MFT, "4.21.0" of mstflint."""
    return of_package("mstflint") if program.startswith("mst") else text_of(_MFT)


def version_line(program: str) -> str:
    """Return what a program says of itself when it is asked for its version."""
    family = "mstflint" if program.startswith("mst") else "mft"
    version = installed(program) or "unknown"
    return f"{program}, {family} {version}, built on {_BUILT}. Git SHA Hash: N/A"


def release(version: str | None) -> tuple[int, ...]:
    """Return a release as numbers, to be compared; () where it is not known."""
    return numbers((version or "").partition("-")[0])
