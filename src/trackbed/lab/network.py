"""Choose a subnet for a lab that collides with nothing that this host can reach."""

from __future__ import annotations

import hashlib
import ipaddress
import struct
from collections.abc import Iterable
from pathlib import Path

from trackbed.errors import TrackbedError

# Private ranges (RFC 1918) that engines do not use by themselves; last, for hosts that route all of
# 10.0.0.0/8 and 172.16.0.0/12 somewhere, the range for benchmarks (RFC 2544).
POOLS = tuple(
    ipaddress.IPv4Network(pool) for pool in ("10.213.0.0/16", "172.30.0.0/16", "198.18.0.0/16")
)


def parse_routes(text: str) -> list[ipaddress.IPv4Network]:
    """Return the destinations in /proc/net/route, without the default route."""
    networks = []
    for line in text.splitlines()[1:]:
        fields = line.split()
        if len(fields) < 8:
            continue
        address, mask = (struct.pack("<I", int(fields[index], 16)) for index in (1, 7))
        network = ipaddress.IPv4Network((address, str(ipaddress.IPv4Address(mask))), strict=False)
        if network.prefixlen:
            networks.append(network)
    return networks


def host_routes() -> list[ipaddress.IPv4Network]:
    """Return the networks that this host routes to."""
    return parse_routes(Path("/proc/net/route").read_text(encoding="ascii"))


def choose(name: str, taken: Iterable[ipaddress.IPv4Network]) -> str:
    """Return a free subnet; the same name gets the same one as long as it is free."""
    used = list(taken)
    first = hashlib.sha256(name.encode()).digest()[0]
    for pool in POOLS:
        subnets = list(pool.subnets(new_prefix=24))
        for subnet in subnets[first:] + subnets[:first]:
            if not any(subnet.overlaps(other) for other in used):
                return str(subnet)
    raise TrackbedError(
        f"all subnets of {', '.join(map(str, POOLS))} are in use on this host",
        wanted="one free /24 for the lab's network",
        remedy="remove labs (`trackbed lab down --all`) or the routes into this range",
    )
