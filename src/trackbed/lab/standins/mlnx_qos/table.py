"""What mlnx_qos prints of a port. Layout: python/mlnx_qos of Mellanox/mlnx-tools (GitHub)."""

from __future__ import annotations

from collections.abc import Iterator

from .settings import PRIORITIES, Qos, points_of

_MODES = {"os": "OS controlled", "fw": "Firmware controlled"}
_A_LINE = 8  # code points


def lines(qos: Qos, *, every: bool) -> Iterator[str]:
    """Yield the lines; `every` tells of classes that no priority has, too."""
    yield f"DCBX mode: {_MODES[qos['dcbx']]}"
    yield f"Priority trust state: {qos['trust']}"
    if qos["trust"] == "dscp":
        yield "dscp2prio mapping:"
        for priority in range(PRIORITIES):
            yield from _points(priority, points_of(qos, priority))
    yield "default priority:"
    sizes = "".join(f"{size}," for size in qos["buffers"])
    yield f"Receive buffer size (bytes): {sizes}max_buffer_size={qos['buffers_total']}"
    yield f"Cable len: {qos['cable_length']}"
    yield "PFC configuration:"
    yield "\tpriority    0   1   2   3   4   5   6   7"
    yield "\tenabled     " + "".join(f"{on}   " for on in qos["pfc"])
    yield "\tbuffer      " + "".join(f"{number}   " for number in qos["buffer_of"])
    yield from _classes(qos, every=every)


def _points(priority: int, points: list[int]) -> Iterator[str]:
    for at in range(0, len(points), _A_LINE):
        listed = "".join(f"{point:02d}," for point in points[at : at + _A_LINE])
        yield f"\tprio:{priority} dscp:{listed}"


def _classes(qos: Qos, *, every: bool) -> Iterator[str]:
    """Yield the traffic classes, in the order in which priorities name them."""
    named = range(PRIORITIES) if every else list(dict.fromkeys(qos["class_of"]))
    for number in named:
        limit = qos["limit_gbit"][number]
        rate = f"{limit:.1f} Gbps" if limit else "unlimited"
        selection = qos["selection"][number]
        share = f", bw: {qos['bandwidth'][number]}%" if selection == "ets" else ""
        yield f"tc: {number} ratelimit: {rate}, tsa: {selection}{share}"
        for priority, of in enumerate(qos["class_of"]):
            if of == number:
                yield f"\t priority:  {priority}"
