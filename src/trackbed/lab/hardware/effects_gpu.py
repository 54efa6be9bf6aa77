"""Faults that a GPU's driver tells of: other values in machine.json, and the kernel's words. Pure.

Which Xid comes with what, and which recovery action it leads to: NVIDIA's Xid catalogue,
https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html. The words of the lines:
NVIDIA/open-gpu-kernel-modules, src/nvidia/src/kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from trackbed.errors import UsageError
from trackbed.lab.hardware.fault import Fault, Line, Lines, logged, table, the
from trackbed.lab.hardware.gpu import GpuModel, gpu_models
from trackbed.lab.hardware.model import Device, Plan, seeded, with_facts

Facts = Mapping[str, Any]
# A program's page faults come in storms: as many lines as a job of eight ranks leaves.
_BURST = 48
_NO_PROCESS = "pid='<unknown>', name=<unknown>, "
_WARNING = 4  # NVRM's lines have no level of their own; the kernel gives them its default
_RESET = "154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"
_DRAIN = "154, GPU recovery action changed from 0x0 (None) to 0x4 (Drain and Reset)"


def _gpu(plan: Plan, target: str) -> tuple[Device, GpuModel]:
    device = the(plan, target)
    model = gpu_models().get(device.part.key)
    if model is None:
        raise UsageError(
            f"{target} of {plan.node} ({plan.sku}) is no NVIDIA GPU",
            wanted="a GPU that nvidia-smi knows",
            remedy="use another SKU",
        )
    return device, model


def _facts(
    kind: str,
    change: Callable[[Device, GpuModel], Facts],
    log: Callable[[Device, GpuModel], Lines] | None = None,
) -> Callable[[Plan, str], Plan]:
    """Return an effect: other values of one GPU, and what the kernel says of it."""

    def apply(plan: Plan, target: str) -> Plan:
        device, model = _gpu(plan, target)
        facts = change(device, model)
        plan = plan.with_device(device.address, lambda one: with_facts(one, facts))
        return logged(plan, kind, target, log(device, model)) if log else plan

    return apply


def xid(device: Device, *said: str) -> Lines:
    """Return the kernel's lines of these Xids of a GPU: "79, GPU has …" each."""
    return tuple(Line(_WARNING, f"NVRM: Xid (PCI:{device.address[:-2]}): {one}") for one in said)


def xid_79(device: Device) -> Lines:
    """Return what the driver says when it loses a GPU."""
    lost = "GPU has fallen off the bus."
    return (
        *xid(device, f"79, {_NO_PROCESS}{lost}"),
        Line(_WARNING, f"NVRM: GPU {device.address}: {lost}"),
        *xid(device, "154, GPU recovery action changed from 0x0 (None) to 0x2 "
             "(Node Reboot Required)"),
    )  # fmt: skip


def older_vbios(version: str) -> str:
    """Return the release before this one: the third of its hexadecimal parts, less one."""
    parts = version.split(".")
    parts[2] = f"{(int(parts[2], 16) - 1) % 256:02X}"
    return ".".join(parts)


def _bad_rows(model: GpuModel, rows: int, availability: str) -> Facts:
    """Return the facts of a bank in which rows were remapped, after an error just now."""
    return {
        "ecc.volatile.dram_uncorrectable": 1,
        "ecc.aggregate.dram_uncorrectable": rows,
        "rows.uncorrectable": rows,
        f"rows.banks.{availability}": 1,
        "rows.banks.max": model.facts["rows"]["banks"]["max"] - 1,
    }


def _row_pending(_device: Device, model: GpuModel) -> Facts:
    pending = {"rows.pending": True, "recovery_action": "Drain and Reset"}
    return {**_bad_rows(model, 1, "high"), **pending}


def _row_failure(_device: Device, model: GpuModel) -> Facts:
    """Return a bank in which all eight spare rows are used up, and one more is asked for."""
    return {
        **_bad_rows(model, 8, "none"),
        "ecc.aggregate.dram_uncorrectable": 9,
        "rows.failure": True,
        "recovery_action": "Reset",
    }


def _sram_error(_device: Device, _model: GpuModel) -> Facts:
    return {
        "ecc.volatile.sram_uncorrectable_secded": 1,
        "ecc.aggregate.sram_uncorrectable_secded": 1,
        "ecc.sram_sources.l2": 1,
        "recovery_action": "Reset",
    }


def _too_hot(_device: Device, model: GpuModel) -> Facts:
    """Return a GPU at its slowdown limit, with half of its clocks."""
    limit = model.facts["temperature"]["limits"]["slowdown_c"]
    zero = model.tlimit_zero_c
    hot = limit if zero is None else zero - limit
    half = model.facts["clocks"]["max"]["graphics"] // 30 * 15
    return {
        "temperature.gpu_c": hot,
        "temperature.memory_c": hot + 4,
        "temperature.tlimit_c": None if zero is None else limit,
        "events.hw_slowdown": True,
        "events.hw_thermal_slowdown": True,
        "event_counters_us.hw_thermal_slowdown": 86_400_000,
        "clocks.busy.graphics": half,
        "clocks.busy.sm": half,
    }


def _capped(_device: Device, model: GpuModel) -> Facts:
    power = model.facts["power"]
    return {"power.cap_w": max(power["min_w"], float(round(power["default_w"] * 0.6)))}


def _down_link(device: Device, model: GpuModel) -> int:
    number: int = model.facts["nvlink"]["links"]
    return seeded("nvlink_down", f"{device.serial:x}") % number


def _link_down(device: Device, model: GpuModel) -> Facts:
    return {f"nvlink.links.{_down_link(device, model)}.state": "inactive"}


def _says_link_down(device: Device, model: GpuModel) -> Lines:
    """Return Xid 74 with its seven words, or 149 of NVLink 5 with reason 2: the link's signal."""
    link = _down_link(device, model)
    if model.facts["nvlink"]["version"] < 5:
        words = ", ".join(["0x0", "0x0", "0x10000", *["0x0"] * 4])
        return xid(device, f"74, {_NO_PROCESS}NVLink: fatal error detected on link {link}({words})")
    words = " ".join(["0x00200011", *["0x00000000"] * 5])
    return xid(device, f"149, NETIR_LINK_DOWN Fatal   XC0 i0 Link {link:02} ({words})")


def _in_fabric(state: str) -> Callable[[Device, GpuModel], Facts]:
    def facts(device: Device, model: GpuModel) -> Facts:
        if not model.facts["fabric"]["supported"]:
            raise UsageError(
                f"{device.name} ({model.name}) tells of no fabric state",
                wanted="a GPU of Hopper or newer with NVSwitches",
                remedy="use another SKU",
            )
        return {"fabric.state": state}

    return facts


def _burst(device: Device, _model: GpuModel) -> Lines:
    """Return the page faults of one program, each at another address, and the end of its work."""
    pid = 3000 + seeded("xid_burst", f"{device.serial:x}") % 60000
    who = f"pid={pid}, name=python3, "
    first = seeded("fault address", f"{device.serial:x}", bits=24)
    faults = [
        f"31, {who}Ch {8 + number % 8:08x}, intr 00000000. MMU Fault: ENGINE GRAPHICS "
        f"GPC{number % 7} GPCCLIENT_T1_{number % 9} faulted @ 0x7f1e_{first + number * 0x1000:08x}."
        " Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ"
        for number in range(_BURST - 1)
    ]
    return xid(device, *faults, f"43, {who}Ch 00000008")


def _always(facts: Facts) -> Callable[[Device, GpuModel], Facts]:
    return lambda _device, _model: facts


def _fault(
    kind: str,
    effect: str,
    change: Callable[[Device, GpuModel], Facts],
    log: Callable[[Device, GpuModel], Lines] | None = None,
) -> Fault:
    return Fault(kind, "gpu", effect, _facts(kind, change, log))


FAULTS = table(
    _fault(
        "vbios_old",
        "The GPU has the VBIOS release before the one that its peers have.",
        lambda _device, model: {"vbios": older_vbios(model.facts["vbios"])},
    ),
    _fault(
        "ecc_uncorrectable",
        "The GPU has counted one uncorrectable error in its L2 cache (SRAM, SECDED), since the boot"
        " and altogether, and asks for a reset; Xid 48 and 154.",
        _sram_error,
        lambda device, _model: xid(
            device, "48, An uncorrectable double bit error (DBE) has been detected on GPU", _RESET
        ),
    ),
    _fault(
        "row_remap_pending",
        "One row of the GPU's memory had an uncorrectable error; its remapping waits for a reset,"
        " after the jobs have gone; Xid 63, 94 and 154.",
        _row_pending,
        lambda device, _model: xid(
            device,
            "63, Row Remapper: New row marked for remapping, reset gpu to activate.",
            f"94, {_NO_PROCESS}Contained: CE User Channel (0x9). RST: No, D-RST: No",
            _DRAIN,
        ),
    ),
    _fault(
        "row_remap_failure",
        "A bank of the GPU's memory has no spare row left, so that a row could not be remapped;"
        " Xid 64, 95 and 154.",
        _row_failure,
        lambda device, _model: xid(
            device,
            "64, Row Remapper: Failed to remap a row, no spare row is left in its bank.",
            f"95, {_NO_PROCESS}Uncontained: FBHUB. RST: Yes, D-RST: No",
            _RESET,
        ),
    ),
    _fault(
        "thermal_throttle",
        "The GPU is as hot as its slowdown limit; its hardware slows it down, to half of its"
        " clocks when it works. The BMC measures the same temperature.",
        _too_hot,
    ),
    _fault(
        "power_cap_low",
        "The board enforces 60 % of the GPU's default power limit, whatever limit is set.",
        _capped,
    ),
    _fault(
        "nvlink_down",
        "One NVLink of the GPU is inactive; Xid 74, or 149 of NVLink 5.",
        _link_down,
        _says_link_down,
    ),
    _fault(
        "fabric_in_progress",
        "The GPU's registration with the fabric does not come to an end.",
        _in_fabric("In Progress"),
    ),
    _fault(
        "persistence_off",
        "The GPU's persistence mode is off, whatever the node sets.",
        _always({"forced.persistence": False}),
    ),
    _fault(
        "mig_on",
        "The GPU is in MIG mode, without instances, whatever the node sets.",
        _always({"forced.mig": True}),
    ),
    _fault(
        "xid_79",
        "The driver has lost the GPU (nvidia-smi: GPU is lost), although its config space answers"
        " again; Xid 79 and 154.",
        _always({"lost": True, "recovery_action": "Reboot"}),
        lambda device, _model: xid_79(device),
    ),
    _fault(
        "xid_burst",
        f"The kernel's log has {_BURST - 1} page faults (Xid 31) of one program on the GPU within a"
        " second, and the end of its work (Xid 43); nothing else is changed.",
        _always({}),
        _burst,
    ),
    _fault(
        "hbm_slow",
        "The GPU's memory reaches 70 % of its bandwidth. Only what measures it can tell; no tool"
        " that asks the driver does.",
        _always({"memory.bandwidth_percent": 70}),
    ),
)
