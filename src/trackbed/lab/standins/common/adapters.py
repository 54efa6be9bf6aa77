"""The network adapters of the node, and the settings that their flash keeps.

A setting that is written holds from the next start of the firmware on: at a boot, or when
mlxfwreset starts it anew. So there are two documents, by the adapter's GUID:

/var/lib/trackbed-lab/nics.json   {GUID: {PARAMETER: value}}: what has been written to the flash
/lab/run/nics.json                the same for what runs, where that is older; gone with the boot
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from . import keeping
from .places import machine, place

_FLASH = "/var/lib/trackbed-lab/nics.json"
_RUNNING = "/lab/run/nics.json"
_PCI = re.compile(r"^(?:([0-9a-fA-F]{4}):)?([0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])$")
_CONFIG = re.compile(r"^/(?:sys|proc)/bus/pci/devices/([0-9a-fA-F:.]+)/config$")

Nic = Mapping[str, Any]
Values = dict[str, Any]


def adapters() -> list[Nic]:
    """Return the adapters that the vendor's tools know, in the order of the bus."""
    found: list[Nic] = [nic for nic in machine()["nics"] if nic.get("settings")]
    return found


def find(word: str) -> Nic | None:
    """Return the adapter of an address (with or without domain), RDMA name or mst device."""
    config = _CONFIG.match(word)
    address = _PCI.match(config.group(1) if config else word)
    if address:
        full = f"{address.group(1) or '0000'}:{address.group(2)}".lower()
        return _first(nic for nic in adapters() if nic["pci"] == full)
    if word.startswith("/dev/mst/"):
        there = place(word).exists()
        return _first(nic for nic in adapters() if there and nic["mst"] == word)
    return _first(nic for nic in adapters() if nic["name"] == word)


def _first(found: Iterable[Nic]) -> Nic | None:
    return next(iter(found), None)


def settings(nic: Nic) -> Mapping[str, Mapping[str, Any]]:
    """Return the settings that the adapter has: what they can be, and their factory defaults."""
    listed: Mapping[str, Mapping[str, Any]] = machine()["nic_settings"][nic["settings"]]
    return listed


def defaults(nic: Nic) -> Values:
    """Return what the adapter came with from the factory."""
    return {name: entry["default"] for name, entry in settings(nic).items()}


def kept(nic: Nic) -> Values:
    """Return what will hold after the next start of the firmware."""
    return {**defaults(nic), **nic["flash"], **keeping.read(_FLASH).get(nic["guid"], {})}


def running(nic: Nic) -> Values:
    """Return what the firmware works with now."""
    return {**kept(nic), **keeping.read(_RUNNING).get(nic["guid"], {})}


def write(nic: Nic, values: Mapping[str, Any]) -> None:
    """Write settings to the flash; what runs stays as it is."""
    with keeping.changing(_FLASH, _RUNNING) as (flash, older):
        before = {**defaults(nic), **nic["flash"], **flash.get(nic["guid"], {})}
        mine = older.setdefault(nic["guid"], {})
        for name in values:
            mine.setdefault(name, before[name])
        flash.setdefault(nic["guid"], {}).update(values)


def restart(nic: Nic) -> None:
    """Start the firmware anew: what is in the flash holds now."""
    with keeping.changing(_FLASH, _RUNNING) as (_flash, older):
        older.pop(nic["guid"], None)
