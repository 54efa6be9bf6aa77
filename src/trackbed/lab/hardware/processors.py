"""The processors and the memory of a node, as machine.json has them. Pure.

The node makes /proc/cpuinfo, /proc/meminfo and /sys/devices/system/{cpu,node} of it when it
boots (images/node/processors.py).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml

from trackbed.lab.hardware.model import Plan


@cache
def known() -> dict[str, Any]:
    """Return what the kernel says of each processor, by its name (processors.yaml)."""
    text = Path(__file__).with_name("processors.yaml").read_text(encoding="utf-8")
    found: dict[str, Any] = yaml.safe_load(text)
    return found


def processors(plan: Plan) -> dict[str, Any]:
    """Return `processors` of machine.json. Raises KeyError for a platform with an unknown one."""
    platform = plan.platform
    return {
        "name": platform.cpu,
        "sockets": platform.sockets,
        "cores": platform.cores,
        "mhz": platform.cpu_mhz,
        **known()[platform.cpu],
    }


def numa(plan: Plan) -> list[dict[str, Any]]:
    """Return `numa` of machine.json: the CPUs and the memory of each node.

    The slots come socket by socket; the nodes of a socket share its memory evenly.
    """
    sockets, slots = plan.platform.sockets, plan.platform.dimms
    slots_each, nodes_each = len(slots) // sockets, max(1, len(plan.numa_cpus) // sockets)
    found = []
    for number, cpus in enumerate(plan.numa_cpus):
        socket = min(number // nodes_each, sockets - 1)
        own = slots[socket * slots_each : (socket + 1) * slots_each]
        mib = sum(slot.size_gib for slot in own) * 1024 // nodes_each
        found.append({"node": number, "cpus": cpus, "memory_mib": mib})
    return found
