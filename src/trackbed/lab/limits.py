"""What this host lets its containers do, read once from /proc and /sys."""

from __future__ import annotations

import re
import resource
from dataclasses import dataclass
from pathlib import Path

_CAP_SYS_RESOURCE = 24  # linux/capability.h


@dataclass(frozen=True)
class HostLimits:
    """Limits that decide how containers must be started here."""

    may_raise: bool
    """Whether this user holds CAP_SYS_RESOURCE, so that rlimits can be raised."""
    memlock_unlimited: bool
    """Whether RLIMIT_MEMLOCK has no hard limit: without one nobody needs to raise it."""
    nofile: int
    """Hard limit of open files; -1 is none."""
    nproc: int
    """Hard limit of processes; -1 is none."""
    pids_controller: bool
    """Whether the cgroups can count processes."""

    @property
    def needs_wrapped_runtime(self) -> bool:
        """Whether the runtime's device rules would fail (see runtime.py)."""
        return not self.may_raise and not self.memlock_unlimited


def holds_sys_resource(status: str) -> bool:
    """Return whether /proc/self/status shows CAP_SYS_RESOURCE as effective."""
    found = re.search(r"(?m)^CapEff:\s*([0-9a-fA-F]+)$", status)
    return (
        bool(found) and bool(int(found.group(1), 16) >> _CAP_SYS_RESOURCE & 1) if found else False
    )


def read(controllers: str) -> HostLimits:
    """Return this host's limits; `controllers` is cgroup.controllers as the engine sees it."""
    memlock = resource.getrlimit(resource.RLIMIT_MEMLOCK)[1]
    return HostLimits(
        may_raise=holds_sys_resource(Path("/proc/self/status").read_text(encoding="ascii")),
        memlock_unlimited=memlock == resource.RLIM_INFINITY,
        nofile=resource.getrlimit(resource.RLIMIT_NOFILE)[1],
        nproc=resource.getrlimit(resource.RLIMIT_NPROC)[1],
        pids_controller="pids" in controllers.split(),
    )
