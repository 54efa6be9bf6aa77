"""How two devices of a node are joined on PCI, in the words of `nvidia-smi topo -m`. Pure.

Words: the legend that the program prints, and NVML's nvmlGpuTopologyLevel_t.
"""

from __future__ import annotations

from trackbed.lab.hardware.model import Device, Plan


def relation(plan: Plan, one: Device, other: Device) -> str:
    """Return PIX (one bridge between), PXB (several), PHB (host bridge), NODE or SYS."""
    above = _above(plan, one)
    common = next((bridge for bridge in _above(plan, other) if bridge in above), None)
    if common is not None:
        return "PXB" if common.part.kind == "root_port" else "PIX"
    if _root_bus(plan, one) == _root_bus(plan, other):
        return "PHB"
    return "NODE" if one.numa_node == other.numa_node else "SYS"


def matrix(plan: Plan, devices: list[Device]) -> dict[str, dict[str, str]]:
    """Return the relation of every device with every other, by their names."""
    return {
        str(one.name): {
            str(other.name): relation(plan, one, other) for other in devices if other != one
        }
        for one in devices
    }


def _above(plan: Plan, device: Device) -> list[Device]:
    """Return the bridges above a device that a packet passes, the nearest first."""
    found: list[Device] = []
    parent = plan.find(device.parent) if device.parent else None
    while parent is not None:
        found.append(parent)
        parent = plan.find(parent.parent) if parent.parent else None
    return found


def _root_bus(plan: Plan, device: Device) -> int:
    return (_above(plan, device) or [device])[-1].bus
