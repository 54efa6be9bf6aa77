"""From a node's state to the plan of its hardware: buses, addresses, overrides, faults. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from trackbed.errors import UsageError
from trackbed.lab.hardware import catalogue
from trackbed.lab.hardware.addresses import place
from trackbed.lab.hardware.catalogue import Seat
from trackbed.lab.hardware.effects import FAULTS
from trackbed.lab.hardware.fault import fault_named
from trackbed.lab.hardware.model import Device, Plan, seeded, with_facts
from trackbed.lab.state import FACTS, WHOLE_NODE, NodeState

# Interrupts below are the legacy controller's and the timers'.
_FIRST_IRQ = 24


def plan_of(state: NodeState) -> Plan:
    """Return the hardware of a node, with its overrides and its faults.

    Raises UsageError for a SKU, an override or a fault that does not exist.
    """
    plan = healthy_plan(state)
    for mark in state.faults:
        plan = fault_named(mark.kind, FAULTS).apply(plan, mark.target)
    return plan


def healthy_plan(state: NodeState) -> Plan:
    """Return the hardware of a node, with its overrides but without its faults."""
    sku = catalogue.sku(state.sku)
    devices = place(list(_walk_roots(sku.tree, state.name)))
    plan = Plan(
        node=state.name,
        sku=sku.name,
        kernel_release=state.kernel_release,
        modules=catalogue.modules(),
        numa_cpus=sku.numa_cpus,
        platform=sku.platform,
        devices=devices,
    )
    for target, values in state.overrides.items():
        plan = _overridden(plan, target, values)
    return plan


class _Counter:
    """Buses of one root complex, counted upwards as firmware does; and interrupts of the node."""

    def __init__(self, first_irq: int) -> None:
        self.bus = 0
        self.irq = first_irq

    def next_bus(self) -> int:
        self.bus += 1
        return self.bus

    def next_irq(self) -> int:
        self.irq += 1
        return self.irq


def _walk_roots(tree: Iterable[Seat], node: str) -> Iterator[Device]:
    counter = _Counter(_FIRST_IRQ)
    shared = _shared_slots(tree)
    for seat in tree:
        if seat.bus is None or seat.numa is None:
            raise ValueError(f"{seat.part.key}: a root needs `at` and `numa`")
        counter.bus = max(counter.bus, seat.bus)
        yield from _walk(
            seat, seat.bus, None, seat.numa, counter, node, (seat.bus, seat.device) in shared
        )


def _shared_slots(seats: Iterable[Seat]) -> set[tuple[int | None, int]]:
    counts = Counter((seat.bus, seat.device) for seat in seats)
    return {key for key, count in counts.items() if count > 1}


def _walk(
    seat: Seat,
    bus: int,
    parent: str | None,
    numa: int,
    counter: _Counter,
    node: str,
    multifunction: bool,
) -> Iterator[Device]:
    """Yield a device and all that is behind it, in bus order."""
    address = f"0000:{bus:02x}:{seat.device:02x}.{seat.function}"
    device = _device(seat, address, parent, numa, counter, node)
    if not seat.part.is_bridge:
        yield replace(device, multifunction=multifunction)
        return
    secondary = counter.next_bus()
    shared = _shared_slots(seat.ports)
    behind: list[Device] = []
    for child in seat.ports:
        several = (child.bus, child.device) in shared
        behind += _walk(child, secondary, address, numa, counter, node, several)
    occupied = bool(seat.ports)
    gen, width = _link_of_port(seat, device)
    yield replace(
        device,
        multifunction=multifunction,
        secondary=secondary,
        subordinate=counter.bus,
        link_up=occupied,
        presence=occupied,
        current_gen=gen,
        current_width=width,
    )
    yield from behind


def _link_of_port(seat: Seat, device: Device) -> tuple[int | None, int | None]:
    """Return generation and width: a downstream port runs at what the device behind it runs at."""
    if seat.part.kind not in ("root_port", "switch_down") or not seat.ports:
        return device.current_gen, device.current_width
    gen, width = _runs(seat.ports[0])
    return min(gen or 1, device.current_gen or 1), min(width or 1, device.current_width or 1)


def _runs(seat: Seat) -> tuple[int | None, int | None]:
    return seat.runs_at or (seat.part.max_gen, seat.part.max_width)


def _device(
    seat: Seat, address: str, parent: str | None, numa: int, counter: _Counter, node: str
) -> Device:
    part = seat.part
    gen, width = _runs(seat)
    return Device(
        address=address,
        part=part,
        parent=parent,
        name=seat.name,
        numa_node=numa,
        irq=counter.next_irq() if part.kind != "integrated" else 0,
        serial=seeded("serial", node, seat.name or address),
        slot=seat.slot,
        current_gen=gen,
        current_width=width,
        payload=part.payload,
        read_request=part.read_request,
        adapter=part.adapter,
    )


_FIELDS = {
    "acs_control": "acs_control",
    "current_gen": "current_gen",
    "current_width": "current_width",
    "max_payload": "payload",
    "max_read_request": "read_request",
}


def _overridden(plan: Plan, target: str, values: Mapping[str, Any]) -> Plan:
    if target != WHOLE_NODE and plan.find(target) is None:
        raise UsageError(
            f"{plan.node} has no device {target!r} to override",
            wanted=f"{WHOLE_NODE}, a PCI address, or one of {', '.join(plan.names())}",
            remedy="correct the overrides of the node",
        )

    def change(device: Device) -> Device:
        if target not in (WHOLE_NODE, device.name, device.address):
            return device
        for key, value in values.items():
            if key == FACTS:
                if target != WHOLE_NODE:
                    device = with_facts(device, value)
                continue
            if key == "acs_control" and "acs" not in device.part.extended:
                continue
            device = replace(device, **{_FIELDS[key]: value})
        return device

    if target == WHOLE_NODE:
        plan = replace(plan, facts={**plan.facts, **values.get(FACTS, {})})
    return plan.mapped(change)
