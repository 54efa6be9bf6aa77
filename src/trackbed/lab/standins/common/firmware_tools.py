"""Which release of the firmware tools is installed: the vendor's MFT, or mstflint."""

from __future__ import annotations

import re

from .driver import numbers
from .places import text_of

_MFT = "/usr/share/mft/version"  # our package of MFT brings it
_DPKG = "/var/lib/dpkg/status"
_MSTFLINT = re.compile(r"^Package: mstflint\n(?:(?!\n).*\n)*?Version: ([0-9.]+)", re.MULTILINE)


def installed(program: str) -> str | None:
    """Return the release that a program is of: "4.34.1-10" of MFT, "4.21.0" of mstflint."""
    if not program.startswith("mst"):
        return text_of(_MFT)
    found = _MSTFLINT.search(f"{text_of(_DPKG) or ''}\n")
    return found.group(1) if found else None


def release(version: str | None) -> tuple[int, ...]:
    """Return a release as numbers, to be compared; () where it is not known."""
    return numbers((version or "").partition("-")[0])
