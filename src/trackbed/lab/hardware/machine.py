"""machine.json: all that the stand-ins know of a node's hardware. Pure.

The layout is in docs/lab.md. What a running node sets itself (persistence mode, power limit,
locked clocks, …) is not here: the node keeps it in /lab/run, and loses it with its boot.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from typing import Any

from trackbed.lab.hardware import bmc, infiniband, nics, processors
from trackbed.lab.hardware.capabilities import trained
from trackbed.lab.hardware.facts import merged, put
from trackbed.lab.hardware.gpu import GpuModel, gpu_models, link_counters
from trackbed.lab.hardware.model import Device, Plan, seeded
from trackbed.lab.hardware.topology import matrix
from trackbed.lab.state import NodeState

SCHEMA = 1


def machine_of(plan: Plan, state: NodeState) -> dict[str, Any]:
    """Return the document of a node. Raises UsageError for a fact that names no value of it."""
    gpus = [device for device in plan.devices if device.part.key in gpu_models()]
    rdma = infiniband.names(plan)
    adapters = [device for device in plan.devices if device.address in rdma]
    switches = [d for d in plan.devices if (d.name or "").startswith("nvswitch:")]
    found = [_gpu(plan, device, index) for index, device in enumerate(gpus)]
    cards = [_nic(plan, device, rdma[device.address]) for device in adapters]
    document = {
        "schema": SCHEMA,
        "node": state.name,
        "sku": plan.sku,
        "driver": {"hangs": False},
        "processors": processors.processors(plan),
        "numa": processors.numa(plan),
        "gpus": found,
        "nics": cards,
        "nic_settings": nics.settings(plan),
        "nvswitches": [{"device": d.name, "pci": d.address} for d in switches],
        "bmc": bmc.controller(plan, found, cards),
        "topology": matrix(plan, [d for d in (*gpus, *adapters) if d.name]),
    }
    return put(document, plan.facts, plan.node)


def machine_json(machine: Mapping[str, Any]) -> bytes:
    """Return the file: a line for each value, so that two states can be compared."""
    return (json.dumps(machine, indent=1) + "\n").encode()


def _place(plan: Plan, device: Device) -> dict[str, Any]:
    return {
        "device": device.name,
        "pci": device.address,
        "pci_id": f"{device.part.vendor:04x}:{device.part.device:04x}",
        "subsystem": "{:04x}:{:04x}".format(*(device.part.subsystem or (0, 0))),
        "pci_class": f"{device.part.device_class:06x}",
        "numa_node": device.numa_node,
        "cpus": plan.numa_cpus[device.numa_node],
    }


def _gpu(plan: Plan, device: Device, index: int) -> dict[str, Any]:
    model = gpu_models()[device.part.key]
    seat = int((device.name or "").rpartition(":")[2] or index)  # where it sits, whoever is gone
    domain, bus, slot = (int(part, 16) for part in device.address[:-2].split(":"))
    own = {
        "index": index,
        "minor": index,
        **_place(plan, device),
        "board_id": f"{domain << 16 | bus << 8 | slot:#x}",
        "model": model.name,
        **_identity(plan, seat),
        "platform": {
            "module_id": model.module_ids[seat % len(model.module_ids)],
            "fabric_guid": f"{2 * (seat + 1):#018x}" if model.fabric_guids else None,
        },
        "pcie": _pcie(plan, device),
        "lost": not device.responds,
        "nvlink": _nvlink(plan, model),
    }
    document = _order(merged(model.facts, own), own)
    document = merged(document, _readings(plan, model, seat))
    return put(document, device.facts, f"{plan.node}: {device.name}")


def _order(document: dict[str, Any], first: dict[str, Any]) -> dict[str, Any]:
    """Return the document with what identifies it in front, for those who read the file."""
    rest = (key for key in document if key not in first)
    return {key: document[key] for key in (*first, *rest)}


def _identity(plan: Plan, seat: int) -> dict[str, Any]:
    words = (plan.node, f"gpu:{seat}")
    made = uuid.UUID(int=seeded("gpu uuid", *words, bits=128), version=4)
    return {
        "uuid": f"GPU-{made}",
        "serial": f"165{seeded('gpu serial', *words) % 10**10:010d}",
        "pdi": f"{seeded('gpu pdi', *words):#018x}",
    }


def _pcie(plan: Plan, device: Device) -> dict[str, Any]:
    gen, width = trained(device)
    port = plan.find(device.parent) if device.parent else None
    host = port.part.max_gen if port is not None else None
    return {
        "gen": gen,
        "width": width,
        "gen_max": min(device.part.max_gen or 1, host or device.part.max_gen or 1),
        "gen_device_max": device.part.max_gen,
        "gen_host_max": host,
        "width_max": device.part.max_width,
    }


def _nvlink(plan: Plan, model: GpuModel) -> dict[str, Any]:
    """Return the links; they are shared out among the switches of the board in turn."""
    facts = model.facts["nvlink"]
    switches = [d.name for d in plan.devices if (d.name or "").startswith("nvswitch:")]
    counters = link_counters(facts["counters"])
    links = [
        {
            "state": "active",
            "mb_s": facts["mb_s"],
            "remote": switches[number % len(switches)] if switches else None,
            "errors": dict.fromkeys(counters, 0),
        }
        for number in range(facts["links"])
    ]
    return {"counters": dict(counters), "links": links}


def _readings(plan: Plan, model: GpuModel, seat: int) -> dict[str, Any]:
    """Return the steady readings of one GPU: within the model's ranges, and in step."""

    def within(path: str) -> float:
        low, high = model.readings[path]
        share = seeded("reading", plan.node, f"gpu:{seat}", path, bits=32) / 2**32
        value = low + share * (high - low)
        return round(value, 2) if isinstance(low, float) else round(value)

    gpu_c = within("temperature.gpu_c")
    draw = within("power.draw_w")
    zero = model.tlimit_zero_c
    return {
        "temperature": {
            "gpu_c": gpu_c,
            "memory_c": gpu_c + within("temperature.memory_above_gpu_c"),
            "tlimit_c": None if zero is None else zero - gpu_c,
        },
        "power": {
            "draw_w": draw,
            "draw_instant_w": round(draw + 0.21, 2),  # as far apart as on real idle nodes
            "memory_draw_w": within("power.memory_draw_w"),
        },
        "pcie": {
            "tx_kb_s": within("pcie.tx_kb_s"),
            "rx_kb_s": within("pcie.rx_kb_s"),
            "replays": within("pcie.replays"),
        },
    }


def _nic(plan: Plan, device: Device, name: str) -> dict[str, Any]:
    adapter = device.adapter
    document = {
        "name": name,
        **_place(plan, device),
        "ca_type": adapter.ca_type if adapter else None,
        "firmware": adapter.firmware if adapter else None,
        "link_layer": adapter.link_layer if adapter else None,
        "up": bool(adapter and adapter.up),
        **nics.facts(plan, device),
    }
    return put(document, device.facts, f"{plan.node}: {device.name}")
