"""The lab's faults, and what those of the PCI tree do to the plan of a node. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from trackbed.errors import UsageError
from trackbed.lab.hardware import effects_gpu, effects_node, effects_platform
from trackbed.lab.hardware.fault import Fault, Line, Lines, logged, table, the
from trackbed.lab.hardware.gpu import gpu_models
from trackbed.lab.hardware.model import DOWNSTREAM, Device, Plan

# Source validation, request and completion redirect, upstream forwarding: what firmware and
# hypervisors switch on, and what sends peer-to-peer traffic through the root port.
ACS_ON = 0x001D


def _link_at_most(gen: int | None, width: int | None) -> Callable[[Plan, str], Plan]:
    """Return an effect: the link between a device and the port above it runs slower."""

    def at_most(value: int | None, limit: int | None) -> int | None:
        return value if value is None or limit is None else min(value, limit)

    def change(device: Device) -> Device:
        return replace(
            device,
            current_gen=at_most(device.current_gen, gen),
            current_width=at_most(device.current_width, width),
        )

    def apply(plan: Plan, target: str) -> Plan:
        device = the(plan, target)
        if gen is not None and device.part.max_gen is not None and device.part.max_gen <= gen:
            raise UsageError(
                f"{target} of {plan.node} ({plan.sku}) has a Gen{device.part.max_gen} link "
                "by design",
                wanted=f"a device whose link can do more than Gen{gen}",
                remedy="plant pcie_x8 there, or use another SKU",
            )
        plan = plan.with_device(device.address, change)
        return plan.with_device(device.parent, change) if device.parent else plan

    return apply


def _port_down(plan: Plan, device: Device, presence: bool) -> Plan:
    if device.parent is None:
        return plan
    return plan.with_device(
        device.parent, lambda port: replace(port, link_up=False, presence=presence)
    )


def _missing(plan: Plan, target: str) -> Plan:
    device = plan.find(target)
    if device is None:  # already gone: a second application changes nothing
        return plan
    plan = _port_down(plan, device, presence=False)
    return replace(plan, devices=tuple(d for d in plan.devices if d.address != device.address))


def _surprise_down(plan: Plan, device: Device) -> Lines:
    """Return what the port above says when its link goes: drivers/pci/pcie/aer.c of Linux 6.1."""
    port = plan.find(device.parent) if device.parent else None
    if port is None:
        return ()
    root = port
    while root.parent and (above := plan.find(root.parent)) is not None:
        root = above
    here = f"pcieport {port.address}: "
    return (
        Line(
            4, f"pcieport {root.address}: AER: Uncorrected (Fatal) error received: {port.address}"
        ),
        Line(
            3,
            f"{here}PCIe Bus Error: severity=Uncorrected (Fatal), type=Data Link Layer, "
            "(Receiver ID)",
        ),
        Line(
            3,
            f"{here}  device [{port.part.vendor:04x}:{port.part.device:04x}] error "
            "status/mask=00000020/00000000",
        ),
        Line(3, f"{here}   [ 5] {'SDES':<22} (First)"),
    )


def _off_bus(plan: Plan, target: str) -> Plan:
    device = the(plan, target)
    said = _surprise_down(plan, device)
    if device.part.key in gpu_models():
        said += effects_gpu.xid_79(device)
    plan = logged(_port_down(plan, device, presence=True), "gpu_off_bus", target, said)
    return plan.with_device(device.address, lambda gpu: replace(gpu, responds=False))


def other_release(release: str) -> str:
    """Return a kernel release beside this one: the last number of its version part, less one."""
    matches = list(re.finditer(r"\d+", re.sub(r"(?<=\d)[-.+]?[a-z].*", "", release)))
    if not matches:
        return release + "-other"
    last = matches[-1]
    number = int(last.group())
    return f"{release[: last.start()]}{number - 1 if number else 1}{release[last.end() :]}"


def _other_kernel(healthy: Plan, _target: str) -> Plan:
    return replace(healthy, kernel_release=other_release(healthy.kernel_release))


def _acs_on(plan: Plan, _target: str) -> Plan:
    def change(device: Device) -> Device:
        if device.part.kind not in DOWNSTREAM or "acs" not in device.part.extended:
            return device
        return replace(device, acs_control=ACS_ON)

    return plan.mapped(change)


_PCI = table(
    Fault(
        "pcie_gen4",
        "gpu",
        "The GPU's PCIe link, at both of its ends, runs at Gen4 (16 GT/s) although both ends"
        " can do Gen5.",
        _link_at_most(4, None),
    ),
    Fault(
        "pcie_x8",
        "gpu",
        "The GPU's PCIe link, at both of its ends, runs with 8 of its 16 lanes.",
        _link_at_most(None, 8),
    ),
    Fault(
        "gpu_missing",
        "gpu",
        "The GPU is gone from the bus: no PCI device, and the port above it has no link and"
        " sees no card.",
        _missing,
    ),
    Fault(
        "gpu_off_bus",
        "gpu",
        "The GPU has fallen off the bus: the kernel still lists it, every read of its config"
        " space answers ff (lspci: Unknown header type 7f, or rev ff), and the port above it"
        " has no link; AER's surprise down, Xid 79 and 154.",
        _off_bus,
    ),
    Fault(
        "kernel_other",
        "node",
        "The node runs another kernel release than its peers (the one before).",
        _other_kernel,
    ),
    Fault(
        "acs_on",
        "node",
        "ACS redirection is on at every root port and switch port that has it, so that traffic"
        " between GPU and NIC goes by way of the CPU.",
        _acs_on,
    ),
)

FAULTS: Mapping[str, Fault] = {
    **_PCI,
    **effects_gpu.FAULTS,
    **effects_node.FAULTS,
    **effects_platform.FAULTS,
}
