"""What one GPU says now: its hardware (machine.json), and over it what the node has set."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from typing import Any

from ..common.driver import Driver

View = dict[str, Any]
# From this branch on MIG is not kept over a boot (NVIDIA MIG user guide: Hopper and newer).
_VOLATILE_MIG = frozenset({"Hopper", "Blackwell"})


def view_of(
    gpu: Mapping[str, Any],
    volatile: Mapping[str, Any],
    inforom: Mapping[str, Any],
    driver: Driver,
) -> View:
    """Return the view of a GPU: the document's own keys, and `now`, which is computed."""
    view = copy.deepcopy(dict(gpu))
    own = volatile.get("gpus", {}).get(gpu["uuid"], {})
    kept = inforom.get(gpu["uuid"], {})
    forced = gpu["forced"]
    modes = _modes(gpu, own, kept)
    persistence = forced["persistence"]
    counts = _counts(gpu, own, modes["ecc"])
    view["now"] = {
        **modes,
        **_identity(gpu),
        **_memory(gpu, driver),
        **_power(gpu, own),
        "persistence": own.get("persistence", False) if persistence is None else persistence,
        "compute_mode": forced["compute_mode"] or own.get("compute_mode", "Default"),
        "gsp": driver.installed,
        "drain": "Drain" in gpu["recovery_action"],
        "idle": _idle(gpu),
        "utilization": dict.fromkeys(gpu["utilization"]) if modes["mig"] else gpu["utilization"],
        "reasons": _reasons(gpu),
        "inforom": "valid" if gpu["inforom"]["valid"] else "invalid",
        "counts": counts,
        "totals": {kind: _totals(counts[kind]) for kind in counts},
        "rows": gpu["rows"]["supported"] and not modes["mig"],
        "clocks": _clocks(gpu, own),
        "fabric": _fabric(gpu, volatile.get("fabric") or {}),
    }
    return view


def keeps_mig(gpu: Mapping[str, Any]) -> bool:
    """Say whether the GPU keeps its MIG mode over a boot."""
    return gpu["architecture"] not in _VOLATILE_MIG


def busy(gpu: Mapping[str, Any]) -> bool:
    """Say whether something runs on the GPU."""
    return bool(gpu["utilization"]["gpu"] or gpu["processes"])


def _modes(
    gpu: Mapping[str, Any], own: Mapping[str, Any], kept: Mapping[str, Any]
) -> dict[str, Any]:
    capable = gpu["mig"]["capable"]
    pending = kept.get("mig", False) if keeps_mig(gpu) else own.get("mig", False)
    mig = own.get("mig", pending)
    if gpu["forced"]["mig"] is not None:
        mig = pending = gpu["forced"]["mig"]
    ecc_pending = kept.get("ecc", gpu["ecc"]["enabled"])
    ecc = own.get("ecc", ecc_pending)
    has_ecc = gpu["ecc"]["supported"]
    return {
        "mig": mig if capable else None,
        "mig_pending": pending if capable else None,
        "ecc": ecc if has_ecc else None,
        "ecc_pending": ecc_pending if has_ecc else None,
    }


def _identity(gpu: Mapping[str, Any]) -> dict[str, Any]:
    domain, bus, rest = gpu["pci"].upper().split(":")
    vendor, device = gpu["pci_id"].upper().split(":")
    sub_vendor, sub_device = gpu["subsystem"].upper().split(":")
    code = int(gpu["pci_class"], 16)
    return {
        "domain": domain,
        "bus": bus,
        "slot": rest.split(".")[0],
        "base_class": f"{code >> 16:X}",
        "sub_class": f"{code >> 8 & 0xFF:X}",
        "device_id": device + vendor,
        "subsystem_id": sub_device + sub_vendor,
        "bus_id": f"{int(domain, 16):08X}:{bus}:{rest}",
    }


def _memory(gpu: Mapping[str, Any], driver: Driver) -> dict[str, Any]:
    """Return memory in MiB.

    Drivers before 550 round down, later ones up; since 570.148 they tell of no memory that only
    they themselves use.
    """
    facts = gpu["memory"]
    rounded = math.floor if driver.within("-549") else math.ceil
    kib = 0 if driver.within("570.148-") else facts["used_kib"]
    kib += 1024 * sum(process["memory_mib"] or 0 for process in gpu["processes"])
    if facts["used_mib"] is not None:
        kib = 1024 * facts["used_mib"]
    free = 1024 * facts["total_mib"] - facts["reserved_kib"] - kib
    bar1_used = gpu["bar1"]["used_mib"] + (kib >> 10)
    return {
        "memory_reserved": rounded(facts["reserved_kib"] / 1024),
        "memory_used": rounded(kib / 1024),
        "memory_free": rounded(free / 1024),
        "bar1_used": bar1_used,
        "bar1_free": gpu["bar1"]["total_mib"] - bar1_used,
    }


def _power(gpu: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    power = gpu["power"]
    requested = own.get("power_limit_w", power["default_w"])
    cap = power["cap_w"]
    return {
        "requested_w": requested,
        "limit_w": requested if cap is None else min(requested, cap),
        "average_w": power["draw_w"] if power["has_average"] else None,
        "memory_w": power["memory_draw_w"] if power["has_memory"] else None,
    }


def _idle(gpu: Mapping[str, Any]) -> bool:
    idle = gpu["events"]["idle"]
    return not busy(gpu) if idle is None else bool(idle)


def _counts(
    gpu: Mapping[str, Any], own: Mapping[str, Any], ecc: bool | None
) -> dict[str, dict[str, Any]]:
    """Return the error counters since they were cleared; None where ECC is off."""
    found: dict[str, dict[str, Any]] = {}
    for kind in ("volatile", "aggregate"):
        before = own.get("cleared", {}).get(kind, {})
        found[kind] = {
            name: max(0, count - before.get(name, 0)) if ecc else None
            for name, count in gpu["ecc"][kind].items()
        }
    return found


def _totals(counts: Mapping[str, Any]) -> dict[str, Any]:
    """Return sums of error counters; None where ECC is off."""
    if None in counts.values():
        return {"sram": None, "corrected": None, "uncorrected": None}
    sram = counts["sram_uncorrectable_parity"] + counts["sram_uncorrectable_secded"]
    return {
        "sram": sram,
        "corrected": counts["sram_correctable"] + counts["dram_correctable"],
        "uncorrected": sram + counts["dram_uncorrectable"],
    }


def _reasons(gpu: Mapping[str, Any]) -> str:
    """Return the mask of the clocks' event reasons: nvmlClocksEventReason* of nvml.h."""
    bits = {
        "applications_clocks": 0x2, "sw_power_cap": 0x4, "hw_slowdown": 0x8, "sync_boost": 0x10,
        "sw_thermal_slowdown": 0x20, "hw_thermal_slowdown": 0x40, "hw_power_brake": 0x80,
        "display_clocks": 0x100,
    }  # fmt: skip
    mask = 1 if _idle(gpu) else 0
    mask |= sum(bit for name, bit in bits.items() if gpu["events"][name])
    return f"0x{mask:016X}"


def _clocks(gpu: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return the clocks in MHz: those of an idle or a busy GPU, within what was locked."""
    clocks = dict(gpu["clocks"]["busy" if busy(gpu) else "now"])
    locks = {"locked_graphics": ("graphics", "sm"), "locked_memory": ("memory",)}
    for lock, names in locks.items():
        if own.get(lock):
            low, high = own[lock]
            for name in names:
                clocks[name] = min(max(clocks[name], low), high)
    return clocks


def _fabric(gpu: Mapping[str, Any], managed: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fabric: as the GPU insists, or as the node's fabric manager has left it."""
    facts = gpu["fabric"]
    shown = dict.fromkeys(("state", "status", "clique", "cluster_uuid", "summary"))
    shown.update({key: None for key in facts if key not in shown})
    if not facts["supported"]:
        return shown
    insists = facts["state"] is not None
    shown["state"] = facts["state"] if insists else managed.get("state", "In Progress")
    shown["status"] = facts["status"] or (None if insists else managed.get("status"))
    if shown["state"] != "Completed":
        return shown
    shown["status"] = shown["status"] or "Success"
    return {**facts, "state": shown["state"], "status": shown["status"]}
