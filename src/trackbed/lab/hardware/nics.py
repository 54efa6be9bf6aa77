"""What the firmware tools know of network adapters, as machine.json tells it. Pure.

Facts of boards and the settings that their flash keeps are in nics.yaml, with their sources. Only
adapters of that vendor (PCI 15b3) have any; of others the tools say that there is no such device.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from trackbed.lab.hardware.infiniband import guid_of
from trackbed.lab.hardware.model import Adapter, Device, Plan, seeded

_DATA = Path(__file__).with_name("nics.yaml")
_SETTING_KEYS = frozenset({"kind", "default", "names", "least", "most", "needs"})
_KINDS = frozenset({"bool", "enum", "number", "array"})
_RATE = re.compile(r"^([0-9.]+) Gb/sec \(([0-9]+)X (\w+)\)$")
_PAM4 = frozenset({"HDR", "NDR", "XDR"})  # speeds with four levels
NO_ERRORS = "15E-255"  # what the firmware says of a rate that it has not seen (mlxlink)
# IEEE 802.1Q: a priority for every eight code points, as the driver sets it up.
_PRIORITIES = 8
# The receive buffers at factory settings, bytes: outputs of mlnx_qos on ConnectX-6 Dx and 7
# (https://github.com/Mellanox/mlnx-tools, python/mlnx_qos).
_BUFFERS = [19872, 243072, 0, 0, 0, 0, 0, 0]
_BUFFERS_TOTAL = 2069280
_CABLE_LENGTH_M = 7


@cache
def _data() -> Mapping[str, Any]:
    found: Mapping[str, Any] = yaml.safe_load(_DATA.read_text(encoding="utf-8"))
    for name, entry in found["settings"].items():
        unknown = sorted(set(entry) - _SETTING_KEYS)
        if unknown or entry["kind"] not in _KINDS:
            raise ValueError(f"nics.yaml: {name}: unknown {', '.join(unknown) or entry['kind']}")
    return found


def boards() -> Mapping[str, Mapping[str, Any]]:
    """Return the boards by the parts that they are."""
    found: Mapping[str, Mapping[str, Any]] = _data()["boards"]
    return found


def settings(plan: Plan) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the settings of each kind of board that is in the node: by part, then by name."""
    keys = {device.part.key for device in plan.devices} & set(boards())
    return {key: settings_of(key) for key in sorted(keys)}


def settings_of(key: str) -> dict[str, dict[str, Any]]:
    """Return the settings that a board has: what they can be, and their factory defaults."""
    board = boards()[key]
    listed = _data()["settings"]
    defaults = board["defaults"]
    unknown = sorted({*board["lacks"], *defaults} - set(listed))
    if unknown:
        raise ValueError(f"nics.yaml: {key}: no setting {', '.join(unknown)}")
    return {
        name: {**entry, "default": defaults.get(name, entry["default"])}
        for name, entry in listed.items()
        if name not in board["lacks"]
    }


def facts(plan: Plan, device: Device) -> dict[str, Any]:
    """Return what machine.json tells of an adapter's firmware, link, module and buffers."""
    adapter = device.adapter
    board = boards().get(device.part.key)
    if adapter is None:
        return {}
    guid = guid_of(device, plan)
    return {
        "guid": guid,
        "mac": f"{guid[:6]}{guid[10:]}",
        "psid": adapter.board_id,
        "interface": _interface(plan, device, adapter),
        "mst": _mst(plan, device) if board else None,
        "image": _image(adapter, board) if board else None,
        "settings": device.part.key if board else None,
        "flash": {},
        "link": _link(adapter, board or {}),
        "counters": _counters(plan, device, adapter),
        "eye": _eye(plan, device, board or {}),
        "module": _module(plan, device, board or {}),
        "temperature_c": temperature_c(plan, device),
        "qos": _qos() if adapter.link_layer == "Ethernet" else None,
    }


def temperature_c(plan: Plan, device: Device) -> int | None:
    """Return the temperature of the adapter's chip: steady, within the board's range."""
    board = boards().get(device.part.key)
    if board is None:
        return None
    low, high = board["temperature_c"]
    words = (plan.node, device.name or device.address, "temperature")
    return int(low + seeded("reading", *words, bits=16) % (high - low + 1))


def _interface(plan: Plan, device: Device, adapter: Adapter) -> str | None:
    """Return the predictable name of an Ethernet interface (systemd.net-naming-scheme(7)).

    An InfiniBand port has none: those come with ib_ipoib, which nothing loads.
    """
    if adapter.link_layer != "Ethernet":
        return None
    port = plan.find(device.parent) if device.parent else None
    if port is not None and port.slot is not None:
        return f"ens{port.slot}np0"
    slot, function = device.address.rpartition(":")[2].split(".")
    return f"enp{device.bus}s{int(slot, 16)}f{function}np0"


def _mst(plan: Plan, device: Device) -> str:
    """Return the device that `mst start` makes: counted by chip, functions share a number."""
    cards = [
        other.address.rpartition(".")[0]
        for other in plan.devices
        if other.part.device == device.part.device and other.part.key in boards()
    ]
    card, _, function = device.address.rpartition(".")
    number = list(dict.fromkeys(cards)).index(card)
    return f"/dev/mst/mt{device.part.device}_pciconf{number}" + f".{function}" * (function != "0")


def _image(adapter: Adapter, board: Mapping[str, Any]) -> dict[str, Any]:
    """Return what flint tells of the image in flash; `running` is another one after a burn."""
    count = board["guids"]
    return {
        "type": "FS4",
        "version": adapter.firmware,
        "running": adapter.firmware,
        "release_date": board["release_date"],
        "device_type": board["device_type"],
        "part_number": board["part_number"],
        "description": board["description"],
        "rom": list(board["rom"]),
        "guid_count": count,
        "mac_count": count,
        "image_vsd": "N/A",
        "device_vsd": "N/A",
        "security": board["security"],
        "update_method": "fw_ctrl",
        "life_cycle": "GA SECURED",
        "secure_boot": board["secure_boot"],
        "efuse_security": 0,
        "image_security": 0,
        "security_program": "Manually ; Disabled",
        "encryption": board["encryption"],
    }


def speed_of(rate: str) -> tuple[int, int, str]:
    """Return Gbit/s, lanes and the name of the speed of a rate as the kernel writes it."""
    found = _RATE.match(rate)
    if found is None:
        raise ValueError(f"{rate!r} is no rate such as '400 Gb/sec (4X NDR)'")
    return int(float(found.group(1))), int(found.group(2)), found.group(3)


def _link(adapter: Adapter, board: Mapping[str, Any]) -> dict[str, Any]:
    gbit, lanes, name = speed_of(adapter.rate)
    fabric = adapter.link_layer == "InfiniBand"
    speeds = board.get("speeds", {"mask": "0x00000000", "names": []})
    up = adapter.up
    return {
        "state": "Active" if up else "Disable",
        "physical": "LinkUp" if up else "Disabled",
        "speed": (f"IB-{name}" if fabric else f"{gbit}G") if up else None,
        "width": f"{lanes}x" if up else None,
        "fec": board.get("fec") if up else None,
        "loopback": "No Loopback",
        "negotiation": "ON",
        "enabled": {"mask": speeds["mask"], "names": list(speeds["names"])},
        "cable": {"mask": speeds["mask"], "names": list(speeds["names"])},
        "opcode": 0 if up else 1,
        "group": None if up else "PHY FW",
        "recommendation": "No issue was observed"
        if up
        else "The port is closed by command. Please check that the interface is enabled",
    }


def _counters(plan: Plan, device: Device, adapter: Adapter) -> dict[str, Any]:
    """Return what the physical layer has counted; None is N/A, as without a link.

    A healthy PAM4 lane corrects a few bits all the time: raw errors, and none that are left.
    """

    def seed(what: str, most: int) -> int:
        return seeded("phy", plan.node, device.address, what, bits=32) % most

    _gbit, lanes, name = speed_of(adapter.rate)
    up, pam4 = adapter.up, name in _PAM4
    errors = [seed(f"lane {lane}", 40) if pam4 else 0 for lane in range(lanes)]
    return {
        "minutes": round(600 + seed("minutes", 300000) / 10, 1) if up else None,
        "symbol_errors": 0 if up else None,
        "symbol_ber": NO_ERRORS if up else None,
        "effective_errors": 0 if up else None,
        "effective_ber": NO_ERRORS if up else None,
        "raw_errors": errors if up else None,
        "raw_ber": f"{1 + seed('ber', 8)}E-{9 + seed('power', 3)}" if pam4 and up else
        NO_ERRORS if up else None,
        "downed": 0 if up else None,
        "recoveries": 0 if up else None,
    }  # fmt: skip


def _eye(plan: Plan, device: Device, board: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what the receivers say of the signal, lane by lane; None without a link."""
    adapter, ranges = device.adapter, board.get("eye")
    if adapter is None or not adapter.up or not ranges:
        return None
    _gbit, lanes, name = speed_of(adapter.rate)

    def values(what: str, key: str) -> list[int]:
        low, high = ranges[key]
        words = ("eye", plan.node, device.address, what)
        return [
            low + seeded(*words, str(lane), bits=16) % (high - low + 1) for lane in range(lanes)
        ]

    if ranges["process"] == "16nm":
        return {key: values(key, key) for key in ("grade", "height_mv", "phase_psec")}
    # Four levels have three eyes, two levels have one.
    eyes = ("upper", "mid", "lower") if name in _PAM4 else ()
    return {
        "mode": "SLRG_FOM_MODE_EYEO",
        "initial": values("initial", "figure"),
        "last": values("last", "figure"),
        **{key: values(key, "grade") for key in eyes},
    }


def _module(plan: Plan, device: Device, board: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the cable's end in the port; its serial number is the node's own."""
    module = board.get("module")
    if not module:
        return None
    number = seeded("module", plan.node, device.address, bits=32) % 100_000
    return {**module, "serial": f"MT2412VS{number:05d}", "revision": "A3"}


def _qos() -> dict[str, Any]:
    """Return the quality of service that the driver sets up when it is loaded."""
    return {
        "dcbx": "os",
        "trust": "pcp",
        "dscp": {str(point): point // _PRIORITIES for point in range(64)},
        "buffers": list(_BUFFERS),
        "buffers_total": _BUFFERS_TOTAL,
        "cable_length": _CABLE_LENGTH_M,
        "pfc": [0] * _PRIORITIES,
        "buffer_of": [0] * _PRIORITIES,
        "class_of": list(range(_PRIORITIES)),
        "selection": ["vendor"] * _PRIORITIES,
        "bandwidth": [0] * _PRIORITIES,
        "limit_gbit": [0] * _PRIORITIES,
    }
