"""The server's management controller: sensors, event log and inventory in machine.json. Pure.

Temperatures of GPUs and adapters, and watts, are those that the other tools tell of.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from trackbed.lab.hardware import smbios
from trackbed.lab.hardware.model import Plan, seeded

_DATA = Path(__file__).with_name("bmc.yaml")
_KEYS = frozenset(
    {"name", "per", "of", "type", "entity", "unit", "range", "scale", "limits", "states", "bits"}
)
_NO_LIMITS = [None] * 6
Documents = Sequence[Mapping[str, Any]]
Places = list[tuple[str, float | None]]  # name, and what is measured there


@cache
def _data() -> Mapping[str, Any]:
    found: Mapping[str, Any] = yaml.safe_load(_DATA.read_text(encoding="utf-8"))
    for entry in found["sensors"]:
        unknown = sorted(set(entry) - _KEYS)
        if unknown:
            raise ValueError(f"bmc.yaml: {entry['name']}: unknown {', '.join(unknown)}")
    return found


def controller(plan: Plan, gpus: Documents, nics: Documents) -> dict[str, Any]:
    """Return the BMC of a node; `gpus` and `nics` are what machine.json tells of them."""
    return {
        "controller": dict(_data()["controller"]),
        "sensors": [
            {"number": number, **sensor}
            for number, sensor in enumerate(_sensors(plan, gpus, nics), 1)
        ],
        "events": _events(),
        "inventory": _inventory(plan),
        "power": "on",
    }


def _sensors(plan: Plan, gpus: Documents, nics: Documents) -> Iterator[dict[str, Any]]:
    total = _watts(plan, gpus)
    for entry in _data()["sensors"]:
        for instance, (name, measured) in enumerate(_places(plan, entry, gpus, nics), 1):
            value = {"total": total, "share": total // _chassis(plan)["supplies"]}.get(
                entry.get("of"), measured
            )
            yield {
                "name": name,
                "type": entry["type"],
                "entity": f"{entry['entity']}.{instance}",
                "unit": entry.get("unit"),
                "reading": value if "of" in entry else _steady(plan, name, entry),
                "states": list(entry.get("states", [])),
                "bits": entry.get("bits"),
                "limits": list(entry.get("limits", _NO_LIMITS)),
                "status": None,
            }


def _places(plan: Plan, entry: Mapping[str, Any], gpus: Documents, nics: Documents) -> Places:
    """Return the names of an entry's sensors; a GPU keeps its place when others are gone."""
    name = entry["name"]
    chassis = _chassis(plan)
    per = entry.get("per")
    if per == "dimm":
        slots = [dimm.locator for dimm in plan.platform.dimms if dimm.size_gib]
        return [(name.format(slot=slot.replace("_DIMM_", " DIMM")), None) for slot in slots]
    if per == "gpu":
        return [(name.format(n=_seat(gpu)), _gpu_c(gpu)) for gpu in gpus]
    if per == "nic":
        warm = [nic for nic in nics if nic.get("temperature_c") is not None]
        return [(name.format(n=n), nic["temperature_c"]) for n, nic in enumerate(warm, 1)]
    counts = {
        None: 1,
        "socket": plan.platform.sockets,
        "fan": chassis["fans"],
        "supply": chassis["supplies"],
    }
    return [(name.format(n=n), None) for n in range(1, counts[per] + 1)]


def _chassis(plan: Plan) -> Mapping[str, int]:
    listed: Mapping[str, Mapping[str, int]] = _data()["chassis"]
    return listed.get(plan.platform.product, listed["other"])


def _seat(gpu: Mapping[str, Any]) -> int:
    return int(str(gpu["device"] or "").rpartition(":")[2] or gpu["index"]) + 1


def _gpu_c(gpu: Mapping[str, Any]) -> float | None:
    """Return a GPU's temperature; of one that does not answer the BMC knows none either."""
    return None if gpu["lost"] else gpu["temperature"]["gpu_c"]


def _watts(plan: Plan, gpus: Documents) -> int:
    low, high = _data()["base_w"]
    base = low + seeded("reading", plan.node, "bmc", "base", bits=16) % (high - low + 1)
    return int(base + sum(gpu["power"]["draw_w"] or 0 for gpu in gpus if not gpu["lost"]))


def _steady(plan: Plan, name: str, entry: Mapping[str, Any]) -> float | None:
    """Return a reading within the entry's range: the same for a node every time."""
    if "range" not in entry:
        return None
    low, high = entry["range"]
    value = low + seeded("reading", plan.node, "bmc", name, bits=16) % (high - low + 1)
    scaled: float = value * entry.get("scale", 1)
    return round(scaled, 2)


def _events() -> list[dict[str, Any]]:
    """Return the event log of a server that has been set up: it was cleared, then powered on."""
    return [
        {
            "date": "03/19/2026",
            "time": "09:12:41",
            "sensor": "SEL",
            "type": "Event Logging Disabled",
            "number": 255,
            "event": "Log area reset/cleared",
            "asserted": True,
        },
        {
            "date": "03/19/2026",
            "time": "09:20:07",
            "sensor": "ACPI State",
            "type": "System ACPI Power State",
            "number": 254,
            "event": "S0/G0: working",
            "asserted": True,
        },
    ]


def _inventory(plan: Plan) -> dict[str, str]:
    """Return the FRU fields, which say what SMBIOS says."""
    who = smbios.identity(plan)
    return {
        "Chassis Type": "Rack Mount Chassis",
        "Chassis Part Number": f"{who['product_name']}-CH",
        "Chassis Serial": who["chassis_serial"],
        "Board Mfg Date": "Mon Jan 12 08:00:00 2026",
        "Board Mfg": who["board_vendor"],
        "Board Product": who["board_name"],
        "Board Serial": who["board_serial"],
        "Board Part Number": who["board_name"],
        "Product Manufacturer": who["sys_vendor"],
        "Product Name": who["product_name"],
        "Product Part Number": who["product_name"],
        "Product Version": who["product_version"],
        "Product Serial": who["product_serial"],
    }
