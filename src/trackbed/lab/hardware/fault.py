"""What a fault is: an effect on the plan of a node's hardware. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from trackbed.errors import UsageError
from trackbed.lab.hardware.model import Device, Line, Lines, Plan

__all__ = ["Fault", "Line", "Lines", "fault_named", "logged", "table", "the"]


@dataclass(frozen=True)
class Fault:
    """A kind of fault: on what it can be planted, and what a person will see.

    `apply` is a function of the plan and a target (`node`, or the name of a device), and does the
    same again when it is applied again.
    """

    kind: str
    target: str  # gpu, nic or node
    effect: str
    apply: Callable[[Plan, str], Plan]


def table(*faults: Fault) -> Mapping[str, Fault]:
    """Return faults by their kinds."""
    return {fault.kind: fault for fault in faults}


def logged(plan: Plan, kind: str, target: str, lines: Lines) -> Plan:
    """Return a plan in whose kernel log a fault has left these lines."""
    return replace(plan, log={**plan.log, (kind, target): lines})


def fault_named(kind: str, faults: Mapping[str, Fault]) -> Fault:
    """Return a fault by kind; raises UsageError with the list of kinds."""
    if kind not in faults:
        raise UsageError(
            f"the lab has no fault {kind!r}",
            wanted=f"one of {', '.join(sorted(faults))}",
            remedy="`trackbed lab faults` lists them with their effects",
        )
    return faults[kind]


def the(plan: Plan, target: str) -> Device:
    """Return a device that must be there; raises UsageError where it is not."""
    device = plan.find(target)
    if device is None:
        raise UsageError(
            f"{plan.node} has no {target!r}",
            wanted=f"one of {', '.join(plan.names())}",
            remedy="clear the fault that removed it, or choose another target",
        )
    return device
