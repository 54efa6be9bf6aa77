"""The nouns of made-up hardware: parts, devices, and the plan of one node. Pure data."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

# PCI Express Base Specification 6.0, §7.5.3.2: the device/port type field.
PORT_TYPES = {
    "endpoint": 0x0,
    "root_port": 0x4,
    "switch_up": 0x5,
    "switch_down": 0x6,
    "pci_bridge": 0x7,
    "integrated": 0x9,
}
BRIDGES = frozenset({"root_port", "switch_up", "switch_down", "pci_bridge"})
DOWNSTREAM = frozenset({"root_port", "switch_down"})


@dataclass(frozen=True)
class Bar:
    """A memory base address register: `kind` is mem32, mem64 or mem64_pref, `size` in bytes."""

    index: int
    size: int
    kind: str
    address: int = 0


@dataclass(frozen=True)
class Window:
    """An address range that a bridge forwards, both ends inclusive."""

    start: int
    end: int


@dataclass(frozen=True)
class Adapter:
    """What the RDMA stack says of an adapter; rates as the kernel writes them."""

    ca_type: str  # MT4129
    firmware: str
    board_id: str  # the PSID
    rate: str  # 400 Gb/sec (4X NDR)
    half_rate: str  # what it trains at with half of its lanes
    link_layer: str  # InfiniBand or Ethernet
    up: bool = True


@dataclass(frozen=True)
class Dimm:
    """One memory slot; `size_gib` 0 is an empty one."""

    locator: str
    bank: str
    size_gib: int


@dataclass(frozen=True)
class Platform:
    """The server around the devices: what its firmware says in the SMBIOS tables."""

    vendor: str
    product: str
    bios_vendor: str
    bios_version: str
    bios_date: str  # MM/DD/YYYY
    bios_old: tuple[str, str]  # version and date of the release before
    cpu: str
    cpu_vendor: str
    cores: int  # of one socket
    sockets: int
    cpu_mhz: int
    dimm_vendor: str
    dimm_part: str
    dimm_mt_s: int
    dimms: tuple[Dimm, ...]


@dataclass(frozen=True)
class Part:
    """A kind of silicon: what every piece of it has in common (from the parts files)."""

    key: str
    kind: str  # a key of PORT_TYPES
    vendor: int
    device: int
    device_class: int  # 24 bits: base class, sub-class, interface
    revision: int
    subsystem: tuple[int, int] | None
    max_gen: int | None  # None: no link of its own (integrated, or conventional PCI)
    max_width: int | None
    max_payload: int  # what it can, bytes
    payload: int  # what the firmware sets, bytes
    read_request: int  # what the firmware sets, bytes
    bars: tuple[Bar, ...]
    capabilities: Mapping[str, Mapping[str, int]]  # in list order: name -> {at, and its own}
    extended: Mapping[str, Mapping[str, int]]
    driver: str | None  # the kernel's own driver, bound at boot
    vpd: Mapping[str, str]
    adapter: Adapter | None = None

    @property
    def is_bridge(self) -> bool:
        """Say whether it has a bus behind it (header type 1)."""
        return self.kind in BRIDGES


@dataclass(frozen=True)
class Device:
    """One function of one node, with everything that its config space says."""

    address: str  # 0000:19:00.0
    part: Part
    parent: str | None  # the address of the bridge above; None on a root bus
    name: str | None  # gpu:0, nic:3 …; None for bridges and the like
    numa_node: int
    irq: int
    serial: int  # 64 bits
    multifunction: bool = False
    slot: int | None = None
    secondary: int = 0
    subordinate: int = 0
    bars: tuple[Bar, ...] = ()
    memory: Window | None = None
    prefetchable: Window | None = None
    current_gen: int | None = None
    current_width: int | None = None
    payload: int = 128
    read_request: int = 512
    acs_control: int = 0
    link_up: bool = True
    presence: bool = True  # the slot of a port sees a card
    responds: bool = True
    adapter: Adapter | None = None  # as it is now; the part's is as it is made
    facts: Mapping[str, Any] = field(default_factory=dict)  # path in machine.json -> other value

    @property
    def bus(self) -> int:
        """Return the bus on which it sits."""
        return int(self.address.split(":")[1], 16)


@dataclass(frozen=True)
class Line:
    """A line of the kernel's log."""

    level: int  # as syslog counts: 3 err, 4 warning, 6 info
    text: str


Lines = tuple[Line, ...]


@dataclass(frozen=True)
class Plan:
    """The whole hardware of one node, before it becomes bytes."""

    node: str
    sku: str
    kernel_release: str
    modules: tuple[str, ...]
    numa_cpus: tuple[str, ...]  # cpulist of each NUMA node
    platform: Platform
    devices: tuple[Device, ...] = field(default_factory=tuple)
    facts: Mapping[str, Any] = field(default_factory=dict)  # as a device's, of the whole node
    log: Mapping[tuple[str, str], Lines] = field(default_factory=dict)  # by fault: kind, target
    acts: tuple[str, ...] = ()  # faults that the node makes itself, by their kinds

    def find(self, target: str) -> Device | None:
        """Return the device with this name or address."""
        return next((d for d in self.devices if target in (d.name, d.address)), None)

    def with_device(self, address: str, change: Callable[[Device], Device]) -> Plan:
        """Return a plan in which the device at `address` is changed."""
        return self.mapped(lambda device: change(device) if device.address == address else device)

    def mapped(self, change: Callable[[Device], Device]) -> Plan:
        """Return a plan in which every device is changed."""
        return replace(self, devices=tuple(change(device) for device in self.devices))

    def names(self) -> list[str]:
        """Return the names of the devices that have one, in bus order."""
        return [device.name for device in self.devices if device.name]


def with_facts(device: Device, facts: Mapping[str, Any]) -> Device:
    """Return the device with other values in machine.json: path -> value, the later one wins."""
    return replace(device, facts={**device.facts, **facts})


def seeded(*words: str, bits: int = 64) -> int:
    """Return a number that depends on the words alone: serials that are equal on every run."""
    digest = hashlib.sha256("/".join(words).encode()).digest()
    return int.from_bytes(digest[:16], "big") >> (128 - bits)
