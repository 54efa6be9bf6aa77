"""Faults of a node's system: what the node does to itself, and a driver that answers no more. Pure.

What is no hardware is named in the plan's `acts`; the node reads them (standins/acts) when they
change and when it boots.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from trackbed.lab.hardware.fault import Fault, Line, logged, table
from trackbed.lab.hardware.model import Plan, seeded
from trackbed.lab.state import WHOLE_NODE

ERROR = 3


def _act(kind: str) -> Callable[[Plan, str], Plan]:
    def apply(plan: Plan, _target: str) -> Plan:
        return plan if kind in plan.acts else replace(plan, acts=(*plan.acts, kind))

    return apply


def _hangs(plan: Plan, target: str) -> Plan:
    """Return a node whose driver is stuck; text: kernel/hung_task.c of Linux 6.1."""
    pid = 2000 + seeded("nvidia_smi_hangs", plan.node) % 60000
    said = (
        Line(ERROR, f"INFO: task nvidia-smi:{pid} blocked for more than 120 seconds."),
        Line(ERROR, f"      Tainted: G           OE      {plan.kernel_release} #1 Debian"),
        Line(ERROR, '"echo 0 > /proc/sys/kernel/hung_task_timeout_secs" disables this message.'),
    )
    plan = replace(plan, facts={**plan.facts, "driver.hangs": True})
    return logged(plan, "nvidia_smi_hangs", target, said)


def _node(kind: str, effect: str) -> Fault:
    return Fault(kind, WHOLE_NODE, effect, _act(kind))


FAULTS = table(
    Fault(
        "nvidia_smi_hangs",
        WHOLE_NODE,
        "nvidia-smi does not come back until this is cleared, and takes no notice of TERM; the"
        " kernel tells of a blocked task.",
        _hangs,
    ),
    _node(
        "driver_mismatch",
        "The NVIDIA module that is loaded is of an earlier release than the library that is"
        " installed; until it is loaded anew. Needs a loaded driver.",
    ),
    _node(
        "time_skew",
        "The clock is 127 s ahead for every program that starts from now on, and from the next boot"
        " on for all of them. The times of files keep to the host's clock.",
    ),
    _node(
        "ssh_down",
        "sshd is stopped and those who are logged in are thrown out; the node runs on.",
    ),
    _node(
        "disk_full",
        "/var is full: nothing with a content can be written there. What was there can be read.",
    ),
    _node(
        "dpkg_half_configured",
        "A package is half configured, as after an interrupted dpkg: the NVIDIA kernel package,"
        " else less. `dpkg --configure -a` mends it. Needs room in /var.",
    ),
)
