"""Faults of the server around the GPUs: firmware, memory, network adapters. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from trackbed.errors import UsageError
from trackbed.lab.hardware.fault import Fault, table, the
from trackbed.lab.hardware.model import Adapter, Plan


def _bios_old(plan: Plan, _target: str) -> Plan:
    version, date = plan.platform.bios_old
    return replace(plan, platform=replace(plan.platform, bios_version=version, bios_date=date))


def _dimm_missing(plan: Plan, _target: str) -> Plan:
    """Empty the last slot of the last socket."""
    *others, last = plan.platform.dimms
    dimms = (*others, replace(last, size_gib=0))
    return replace(plan, platform=replace(plan.platform, dimms=dimms))


def _adapter(change: Callable[[Adapter, Adapter], Adapter]) -> Callable[[Plan, str], Plan]:
    """Return an effect on the adapter that a device is; it also sees it as it was made."""

    def apply(plan: Plan, target: str) -> Plan:
        device = the(plan, target)
        if device.adapter is None:
            raise UsageError(
                f"{target} of {plan.node} is no RDMA adapter",
                wanted="one that is",
                remedy="choose another target",
            )
        made = device.part.adapter or device.adapter
        changed = change(device.adapter, made)
        return plan.with_device(device.address, lambda one: replace(one, adapter=changed))

    return apply


def older(firmware: str) -> str:
    """Return the firmware release before this one: major.minor.build, two minors less."""
    major, minor, _build = firmware.split(".")
    return f"{major}.{int(minor) - 2}.1002"


FAULTS = table(
    Fault(
        "bios_old",
        "node",
        "The node has the BIOS release before the one that its peers have.",
        _bios_old,
    ),
    Fault(
        "dimm_missing",
        "node",
        "The last memory slot of the last socket is empty.",
        _dimm_missing,
    ),
    Fault(
        "ib_link_down",
        "nic",
        "The adapter's port has no link: state Down, physical state Disabled.",
        _adapter(lambda now, _made: replace(now, up=False)),
    ),
    Fault(
        "ib_half_rate",
        "nic",
        "The adapter's port trained with half of its lanes, at half of the rate.",
        _adapter(lambda now, made: replace(now, rate=made.half_rate)),
    ),
    Fault(
        "nic_fw_old",
        "nic",
        "The adapter runs an older firmware than its peers.",
        _adapter(lambda now, made: replace(now, firmware=older(made.firmware))),
    ),
)
