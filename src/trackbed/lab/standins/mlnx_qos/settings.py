"""What a port is set to: as the driver sets it up, and what the running node has changed.

/lab/run/qos.json holds {INTERFACE: {NAME: value}}, and is gone with the boot, as on a real
machine: the driver keeps nothing. How settings depend on each other is what mlx5 does
(Linux, drivers/net/ethernet/mellanox/mlx5/core/en_dcbnl.c and en/port_buffer.c).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..common import keeping
from ..common.adapters import adapters

PRIORITIES = 8
POINTS = 64
_KEPT = "/lab/run/qos.json"
_LOSSLESS = 1  # the buffer that priorities with flow control get

Qos = dict[str, Any]


def load(interface: str) -> Qos | None:
    """Return the settings of an interface, or None where there is none of that name."""
    for nic in adapters():
        if nic["interface"] == interface and nic["qos"] is not None:
            return {"newest": [], **nic["qos"], **keeping.read(_KEPT).get(interface, {})}
    return None


def keep(interface: str, changed: Mapping[str, Any]) -> None:
    """Keep what was changed until the boot."""
    with keeping.changing(_KEPT) as (kept,):
        kept.setdefault(interface, {}).update(changed)


def trusting(qos: Qos, trust: str) -> Qos:
    """Return what changes with trust: DSCP begins with the firmware's map, PCP has none."""
    if qos["trust"] == trust:
        return {}
    firmwares = {str(point): point // PRIORITIES for point in range(POINTS)}
    return {"trust": trust, "dscp": firmwares, "newest": []}


def mapped(qos: Qos, action: str, point: int, priority: int) -> Qos:
    """Return what changes with one entry of the map; the first one makes the port trust DSCP."""
    now = {**qos, **trusting(qos, "dscp")} if action == "set" else qos
    points, newest = dict(now["dscp"]), list(now["newest"])
    wanted = priority if action == "set" else 0
    if points[str(point)] != wanted:
        points[str(point)] = wanted
        newest = [point, *(other for other in newest if other != point)]
    return {"trust": now["trust"], "dscp": points, "newest": newest}


def flow_control(enabled: list[int]) -> Qos:
    """Return what changes with flow control: a lossless priority gets the lossless buffer."""
    return {"pfc": enabled, "buffer_of": [_LOSSLESS * on for on in enabled]}


def points_of(qos: Qos, priority: int) -> list[int]:
    """Return the code points of a priority in the kernel's order: what came last is first."""
    listed = [*qos["newest"], *reversed(range(POINTS))]
    return [p for p in dict.fromkeys(listed) if qos["dscp"][str(p)] == priority]
