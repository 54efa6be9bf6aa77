"""Brings the node to what /lab/hw/acts says: one kind of fault a line.

Run when the lab changes the file, and at boot. What was done is kept in /usr/lib/trackbed-lab/acts,
a file for each kind, with what is needed to undo it; the first line is the boot in which it was
done, since most of it ends with the boot.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..common.places import place, text_of
from . import disk, packages, system

_WANTED, _DONE, _BOOT = "/lab/hw/acts", "/usr/lib/trackbed-lab/acts", "/lab/boot_id"


@dataclass(frozen=True)
class Act:
    """How a fault is made, and undone with what making it returned."""

    on: Callable[[], str]
    off: Callable[[str], None]
    ends_with_boot: bool = True


ACTS = {
    "driver_mismatch": Act(system.other_driver, system.own_driver),
    "time_skew": Act(system.skewed, system.straight, ends_with_boot=False),
    "ssh_down": Act(system.no_ssh, system.ssh),
    "disk_full": Act(disk.fill, disk.empty),
    "dpkg_half_configured": Act(packages.interrupt, packages.finish, ends_with_boot=False),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Do what is missing and undo what is too much; return 1 where something failed."""
    del argv
    failed = 0
    wanted = (text_of(_WANTED) or "").split()
    for kind, act in ACTS.items():
        try:
            _bring(kind, act, kind in wanted)
        except (OSError, system.CannotError, subprocess.SubprocessError) as error:
            sys.stderr.write(f"{kind}: {error}\n")
            failed = 1
    return failed


def _bring(kind: str, act: Act, wanted: bool) -> None:
    marker = place(f"{_DONE}/{kind}")
    before = text_of(f"{_DONE}/{kind}")
    boot = text_of(_BOOT) or ""
    was, _, kept = (before or "").partition("\n")
    lasts = before is not None and (was == boot or not act.ends_with_boot)
    if wanted and not lasts:
        kept = act.on()
        marker.parent.mkdir(parents=True, exist_ok=True)
        marker.write_text(f"{boot}\n{kept}", encoding="utf-8")
    elif before is not None and not wanted:
        if lasts:
            act.off(kept)
        marker.unlink()
