# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The source of facts about RDMA adapters. Private to trackbed.cluster."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.trackbed.cluster.plugins.module_utils import _collect
from ansible_collections.trackbed.cluster.plugins.module_utils._collect import (
    Collected,
    Tool,
    first_of,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._readers import (
    ibstat,
    sysfs_infiniband,
)

INFINIBAND = Path("/sys/class/infiniband")
# So many files of adapters are read; 16 adapters with two ports each have half of it.
_LIMIT = 4_000
# They take writes, or tell of the kernel's own affairs.
_MUTE = ("uevent", "lifespan")


def adapters(timeout_s: float) -> Collected:
    """Read the kernel's files of each RDMA adapter; where they do not answer, ask ibstat.

    They are read by grep, because a counter that the adapter's firmware must give
    can hang, and a process can be given up.
    """
    files = adapter_files()
    if not files:
        says = f"{INFINIBAND} holds no adapter; none is there, or its driver is not loaded"
        return _collect.not_applicable(sysfs_infiniband.KIND, says)
    kernel = Tool(
        ("grep", "-s", "-H", ".", *files),
        sysfs_infiniband.KIND,
        sysfs_infiniband.read,
        _collect.package("grep"),
        normal=frozenset({0, 1, 2}),  # 1 and 2: a file is empty or refuses to be read
    )
    tool = Tool(("ibstat",), ibstat.KIND, ibstat.read, _collect.package("infiniband-diags"))
    return first_of((kernel, tool), timeout_s)


def adapter_files() -> list[str]:
    """Return the files of all adapters that tell of state, identity and errors."""
    found: list[Path] = []
    for adapter in _collect.entries(INFINIBAND):
        found.extend(_files(adapter))
        for port in _collect.entries(adapter / "ports"):
            for where in (port, port / "counters", port / "hw_counters"):
                found.extend(_files(where))
            found.append(port / "gids" / "0")
    return [str(path) for path in found[:_LIMIT]]


def _files(where: Path) -> list[Path]:
    return [one for one in _collect.entries(where) if one.name not in _MUTE and one.is_file()]
