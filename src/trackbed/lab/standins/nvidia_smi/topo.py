"""`nvidia-smi topo`: how the devices of a node are joined."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_LEGEND = """
Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)
  NODE = Connection traversing PCIe as well as the interconnect between PCIe Host Bridges within a NUMA node
  PHB  = Connection traversing PCIe as well as a PCIe Host Bridge (typically the CPU)
  PXB  = Connection traversing multiple PCIe bridges (without traversing the PCIe Host Bridge)
  PIX  = Connection traversing at most a single PCIe bridge
  NV#  = Connection traversing a bonded set of # NVLinks
"""  # noqa: E501
_P2P_LEGEND = """
Legend:

  X    = Self
  OK   = Status Ok
  CNS  = Chipset not supported
  GNS  = GPU not supported
  TNS  = Topology not supported
  NS   = Not supported
  U    = Unknown
"""
P2P_KINDS = ("r", "w", "n", "a", "p")


def active_links(view: Any) -> int:
    """Return the number of NVLinks of a GPU that are up."""
    return sum(link["state"] == "active" for link in view["nvlink"]["links"])


def matrix(views: Sequence[Any], machine: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of `topo -m`; the header is underlined, on terminals or not."""
    nics = machine["nics"]
    names = [f"GPU{view['index']}" for view in views] + [f"NIC{n}" for n in range(len(nics))]
    devices = [*views, *nics]
    more = "\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID"
    yield "\t\x1b[4m" + "\t".join(names) + more + "\x1b[0m"
    for number, device in enumerate(devices):
        cells = [_cell(device, other, machine) for other in devices]
        line = f"{names[number]}\t" + "\t".join(cells)
        if number < len(views):
            numa = device["gpu_numa_id"]
            own = "N/A" if numa is None else str(numa)
            line += f"\t{device['cpus']}\t{device['numa_node']}\t\t{own}"
        yield line
    yield from _LEGEND.rstrip("\n").split("\n")
    if nics:
        yield from ("", "NIC Legend:", "")
        yield from (f"  NIC{number}: {nic['name']}" for number, nic in enumerate(nics))
    yield ""


def _cell(one: Any, other: Any, machine: Mapping[str, Any]) -> str:
    if one is other:
        return " X "
    if "nvlink" in one and "nvlink" in other:
        links = min(active_links(one), active_links(other))
        if links and not (one["now"]["mig"] or other["now"]["mig"]):
            return f"NV{links}"
    return str(machine["topology"][one["device"]][other["device"]])


def peers(views: Sequence[Any]) -> Iterator[str]:
    """Yield the lines of `topo -p2p`: GPUs reach each other where the fabric is up."""
    names = [f"GPU{view['index']}" for view in views]
    yield "\t" + "\t".join(names)
    for number, view in enumerate(views):
        yield f" {names[number]}\t" + "\t".join(_peer(view, other) for other in views)
    yield from _P2P_LEGEND.split("\n")


def _peer(one: Any, other: Any) -> str:
    if one is other:
        return "X"
    if one["now"]["mig"] or other["now"]["mig"]:
        return "NS"
    for view in (one, other):
        if view["fabric"]["supported"] and view["now"]["fabric"]["state"] != "Completed":
            return "NS"
    return "OK"
