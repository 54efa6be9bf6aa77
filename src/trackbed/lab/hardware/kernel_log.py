"""What a node's kernel says of its hardware, when it boots and when something breaks. Pure.

The file is read by the stand-ins dmesg and journalctl. A line is LEVEL, TAB, WHEN, TAB, TEXT: the
level as syslog counts, `+SECONDS` after the boot or `@SECONDS` since 1970. What the node's own
modules say (nvidia) is written by the node, into /lab/kmsg, in the same form.

Texts: Linux 6.1, drivers/pci/probe.c, pci.c and pcie/aer.c, drivers/firmware/dmi_scan.c,
arch/x86/kernel/smpboot.c, drivers/net/ethernet/mellanox/mlx5/core.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from trackbed.lab.hardware.capabilities import trained
from trackbed.lab.hardware.model import Device, Line, Lines, Plan
from trackbed.lab.state import NodeState

ERROR, WARNING, NOTICE, INFO = 3, 4, 5, 6
# drivers/pci/probe.c of Linux 6.10 and later says what kind of port a function is.
_NAMES_PORTS = (6, 10)
_PORTS = {
    "endpoint": " PCIe Endpoint",
    "root_port": " PCIe Root Port",
    "switch_up": " PCIe Switch Upstream Port",
    "switch_down": " PCIe Switch Downstream Port",
    "pci_bridge": " PCIe to PCI/PCI-X bridge",
    "integrated": " PCIe Root Complex Integrated Endpoint",
}
# Transfers per second, in MT/s, and what is left of them after encoding: include/linux/pci.h.
_MEGATRANSFERS = {1: 2500, 2: 5000, 3: 8000, 4: 16000, 5: 32000, 6: 64000}
_XID = "NVRM: Xid"
# Where a server without a list of its kernel's steps spends its first seconds.
_BEGIN = {"kernel": 0.0, "pci": 0.61, "drivers": 2.2}
_STEP = 0.000173


def kernel_log(plan: Plan, state: NodeState, machine: Mapping[str, Any]) -> bytes:
    """Return the file; `machine` is machine.json, for the identities of the GPUs.

    A fault's lines stand at the time at which it was planted, those of a fault without one soon
    after the boot.
    """
    lines = [f"{line.level}\t+{when:.6f}\t{line.text}" for when, line in _boot(plan)]
    planted = {(mark.kind, mark.target): mark.at for mark in state.faults}
    introduced: set[str] = set()
    for number, (fault, said) in enumerate(plan.log.items()):
        at = planted.get(fault)
        sign, begin = ("+", 30.0 + number) if at is None else ("@", at)
        for count, line in enumerate(_introduced(said, fault[1], machine, introduced)):
            lines.append(f"{line.level}\t{sign}{begin + count * _STEP:.6f}\t{line.text}")
    return "".join(f"{line}\n" for line in lines).encode()


def _introduced(
    said: Lines, target: str, machine: Mapping[str, Any], before: set[str]
) -> Iterator[Line]:
    """Yield the lines of a fault; the driver says who a GPU is before its first Xid."""
    gpu = next((gpu for gpu in machine["gpus"] if gpu["device"] == target), None)
    for line in said:
        if gpu and target not in before and line.text.startswith(_XID):
            before.add(target)
            yield Line(WARNING, f"NVRM: GPU at PCI:{gpu['pci'][:-2]}: {gpu['uuid']}")
            yield Line(WARNING, f"NVRM: GPU Board Serial Number: {gpu['serial']}")
        yield line


def _boot(plan: Plan) -> Iterator[tuple[float, Line]]:
    """Yield what the kernel says until its own drivers are up: seconds since the boot, line."""
    parts = {"kernel": _of_kernel(plan), "pci": _of_bus(plan), "drivers": _of_drivers(plan)}
    for part, lines in parts.items():
        for number, line in enumerate(lines):
            # The first lines come before the clock runs.
            yield (_BEGIN[part] + number * _STEP if _BEGIN[part] else 0.0), line


def _of_kernel(plan: Plan) -> Iterator[Line]:
    where = plan.platform
    cpus = where.cores * where.sockets * 2
    yield Line(NOTICE, f"Linux version {plan.kernel_release} #1 SMP PREEMPT_DYNAMIC Debian")
    yield Line(INFO, "Command line: @/proc/cmdline")
    yield Line(
        INFO,
        f"DMI: {where.vendor} {where.product}/{where.product}, BIOS {where.bios_version} "
        f"{where.bios_date}",
    )
    yield Line(INFO, f"smpboot: Allowing {cpus} CPUs, 0 hotplug CPUs")
    yield Line(INFO, f"smp: Brought up {len(plan.numa_cpus)} nodes, {cpus} CPUs")


def _of_bus(plan: Plan) -> Iterator[Line]:
    names_ports = _release(plan) >= _NAMES_PORTS
    for device in plan.devices:
        part = device.part
        port = ""
        if names_ports:
            port = _PORTS[part.kind] if part.max_gen else " conventional PCI endpoint"
        yield Line(
            INFO,
            f"pci {device.address}: [{part.vendor:04x}:{part.device:04x}] type "
            f"{int(part.is_bridge):02d} class {part.device_class:#08x}{port}",
        )
        if part.is_bridge:
            buses = f"{device.secondary:02x}"
            if device.subordinate != device.secondary:
                buses += f"-{device.subordinate:02x}"
            yield Line(INFO, f"pci {device.address}: PCI bridge to [bus {buses}]")
        limited = _link(plan, device, always=False)
        if limited and part.kind in ("endpoint", "switch_up") and device.address.endswith(".0"):
            yield Line(INFO, f"pci {device.address}: {limited}")


def _of_drivers(plan: Plan) -> Iterator[Line]:
    disks = 0
    for device in plan.devices:
        if device.part.driver == "nvme":
            yield Line(INFO, f"nvme nvme{disks}: pci function {device.address}")
            disks += 1
        elif device.part.driver == "mlx5_core" and device.adapter is not None:
            here = f"mlx5_core {device.address}"
            yield Line(INFO, f"{here}: firmware version: {device.adapter.firmware}")
            yield Line(INFO, f"{here}: {_link(plan, device, always=True)}")
            yield Line(INFO, f"{here}: Port module event: module 0, Cable plugged")


def _release(plan: Plan) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", plan.kernel_release)[:2])


def _mb_s(gen: int, width: int) -> int:
    rate = _MEGATRANSFERS[gen]
    if gen >= 6:  # encoded 1b/1b
        return rate * width
    return (rate * 128 // 130 if gen >= 3 else rate * 8 // 10) * width


def _gb_s(mb_s: int) -> str:
    return f"{mb_s // 1000}.{mb_s % 1000:03d} Gb/s"


def _speed(gen: int) -> str:
    return f"{_MEGATRANSFERS[gen] / 1000:.1f} GT/s PCIe"


def _link(plan: Plan, device: Device, always: bool) -> str:
    """Return what the kernel says of a device's bandwidth; "" where it has all that it can have.

    As pcie_bandwidth_available does, it looks for the slowest link on the way to the root.
    """
    able_gen, able_width = device.part.max_gen, device.part.max_width
    if not able_gen or not able_width:
        return ""
    capable = _mb_s(able_gen, able_width)
    slowest: tuple[int, int, int, str] | None = None
    at: Device | None = device
    while at is not None and at.part.max_gen:
        if at.part.kind not in ("root_port", "switch_down"):  # their link is the one below
            gen, width = trained(at)
            if gen and width:
                found = (_mb_s(gen, width), gen, width, at.parent or at.address)
                slowest = found if slowest is None or found[0] < slowest[0] else slowest
        at = plan.find(at.parent) if at.parent else None
    if slowest is None:
        return ""
    available, gen, width, port = slowest
    if available < capable:
        return (
            f"{_gb_s(available)} available PCIe bandwidth, limited by {_speed(gen)} x{width} link "
            f"at {port} (capable of {_gb_s(capable)} with {_speed(able_gen)} x{able_width} link)"
        )
    return f"{_gb_s(available)} available PCIe bandwidth ({_speed(gen)} x{width} link)" * always
