# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `lspci`: plain, -nn, -n, -D, -k, -v to -vvv, and `ACSCtl:` lines cut out of it.

Format: one block a PCI function, its first line `<address> <class>: <name>`,
then lines with a label. Versions: pciutils 3.5 to 3.14 print `(ok)` beside a
link's speed, only `(downgraded)`, or nothing, so numbers are compared and the
marks are kept as notes. Sources: lspci(8); pciutils ls-caps.c and lspci.c.

Without root lspci prints `Capabilities: <access denied>`: links and ACS are
then null and the reading is partial. A device that fell off the bus reads as
all ones (`rev ff`, `!!! Unknown header type 7f`); it is kept, with
`config_readable` false.
"""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._identity import pci_sort_key
from ansible_collections.trackbed.cluster.plugins.module_utils._lspci_device import (
    Device,
    acs_controls,
    header,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._lspci_fields import FIELDS
from ansible_collections.trackbed.cluster.plugins.module_utils._pci_kind import (
    is_virtual_function,
    kind_of,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    ABSENT,
    ERROR,
    UNREADABLE,
    Entity,
    Reading,
    Value,
    failed,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import (
    Data,
    decode,
    numbered_lines,
)

KIND = "lspci"
TITLE = "lspci, also -nn, -D, -k, -vv, -vvv"
VERSIONS = "pciutils 3.5 to 3.14"
SOURCES = ("lspci(8)", "https://github.com/pciutils/pciutils")
PROVEN = True
__all__ = ["FIELDS", "KIND", "PROVEN", "SOURCES", "TITLE", "VERSIONS", "read", "recognise"]

# More functions than any machine of today has; keeps a mangled log bounded.
MAX_DEVICES = 8192
MAX_PROBLEMS = 64
_ACS_LINE = re.compile(r"^\s*ACSCtl:\s+SrcValid[+-]")
_TOOL_ERROR = re.compile(r"^(?:lspci|pcilib): ")
_NO_TOOL = re.compile(r"\blspci: (?:command )?not found|No such file or directory: '?lspci")
# Lines with which a verbose block can end; a listing cut elsewhere was cut short.
_LAST_LINES = re.compile(
    r"^(?:Kernel (?:driver in use|modules): \S+.*|(?:Latency|NUMA node|IOMMU group): \d+.*"
    r"|.*[A-Za-z0-9][+-]|.*[>\])]|Subsystem: .+|LnkSta:.*|.*Device Serial Number (?:..-){7}..)$"
)


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    devices = acs = 0
    for _number, line in numbered_lines(text):
        devices += header(line) is not None
        acs += _ACS_LINE.match(line) is not None
        if devices + acs >= 3:
            break
    if devices:
        return 95 if header(text.lstrip("\n").partition("\n")[0]) else 70
    if acs:
        return 90
    first = text.lstrip().partition("\n")[0]
    return 60 if _TOOL_ERROR.match(first) or _NO_TOOL.search(first) else 0


def read(data: Data) -> Reading:
    """Read a listing. Entities: "" with counts, then by address `gpu:N` (N in the order of
    addresses), `nvswitch:`, `nic:`, `disk:`, `bridge:` and `pci:` with the address.
    """
    text = decode(data)
    reading = Reading(KIND, tool_name="lspci")
    scan = _Scan(reading)
    for number, line in numbered_lines(text):
        scan.take(number, line)
    if not scan.devices and not scan.acs:
        return _nothing(text)
    if scan.devices and _cut_short(text, scan):
        scan.truncated = True
        reading.note("truncated", "the listing ends within a device; counts are left out")
    _add_entities(reading, scan)
    scan.close()
    return reading


class _Scan:
    """Goes through the lines once and sorts them to their devices."""

    def __init__(self, reading: Reading) -> None:
        self.devices: dict[str, Device] = {}
        self.acs: list[Value] = []
        self.truncated = False
        self._reading = reading
        self._current: Device | None = None
        self._strange: list[tuple[int, str]] = []
        self._twice: list[int] = []
        self.dropped = 0

    def take(self, number: int, line: str) -> None:
        if not line:
            return
        first = header(line)
        if first is not None:
            self._start(number, *first)
        elif self._current is not None and line[0] in " \t":
            self._current.take(line)
        elif _ACS_LINE.match(line):
            self.acs.append(dict(acs_controls(line)))
        elif _TOOL_ERROR.match(line):
            if len(self._reading.problems) < MAX_PROBLEMS:
                self._reading.note("tool_error", "lspci complained", line=number, verbatim=line)
        elif not re.match(r"^[0-9a-f]{2,3}: (?:[0-9a-f]{2} ?){1,16}$", line):  # not a -x dump
            self._strange.append((number, line[:200]))
            del self._strange[MAX_PROBLEMS:]

    def _start(self, number: int, address: str, class_text: str, rest: str) -> None:
        if address in self.devices:
            self._twice.append(number)
            del self._twice[MAX_PROBLEMS:]
            self._current = Device(address, class_text, rest, number)  # read, and forgotten
            return
        self._current = Device(address, class_text, rest, number)
        if len(self.devices) >= MAX_DEVICES:
            self.dropped += 1
            return
        self.devices[address] = self._current

    def close(self) -> None:
        """Say once what was found in several places."""
        if self._strange:
            number, line = self._strange[0]
            says = (
                f"lines that are not of an lspci listing: {len(self._strange)}; the first is shown"
            )
            self._reading.note("malformed", says, line=number, verbatim=line)
        if self._twice:
            says = f"devices listed twice: {len(self._twice)}; the first block of each is kept"
            self._reading.note("inconsistent", says, line=self._twice[0])
        if self.dropped:
            self._reading.note("limited", f"{self.dropped} devices beyond {MAX_DEVICES} left out")
        if self.acs:
            says = (
                f"{len(self.acs)} ACSCtl lines without the device they belong to; "
                "give the whole output of `lspci -vvv`"
            )
            self._reading.note("missing_value", says, field="acs_unplaced")


def _nothing(text: str) -> Reading:
    first = text.strip().partition("\n")[0]
    if not first:
        return failed(
            KIND, UNREADABLE, "empty", "lspci printed nothing; a device list was expected"
        )
    if _NO_TOOL.search(first):
        return failed(KIND, ABSENT, "tool_absent", "lspci is not installed", verbatim=first)
    if _TOOL_ERROR.match(first):
        return failed(KIND, ERROR, "tool_error", "lspci printed only an error", verbatim=first)
    says = "no line begins with a PCI address; `<address> <class>: <name>` was expected"
    return failed(KIND, UNREADABLE, "other_format", says, line=1, verbatim=first)


def _cut_short(text: str, scan: _Scan) -> bool:
    """Tell whether the end is missing: lspci always ends its last line, people's copies do not."""
    last = list(scan.devices.values())[-1]
    if last.has_link_capability and "pcie_width" not in last.values:
        return True
    if text.endswith("\n"):
        return False
    line = text[text.rfind("\n") + 1 :][-500:].strip()
    return not (_LAST_LINES.match(line) or header(line))


def _add_entities(reading: Reading, scan: _Scan) -> None:
    devices = [scan.devices[one] for one in sorted(scan.devices, key=pci_sort_key)]
    node = reading.add(Entity(""))
    secondary = {
        (one.address.partition(":")[0], one.secondary_bus): one.address
        for one in devices
        if one.secondary_bus not in (None, "00")
    }
    links_shown = any("pcie_width" in one.values for one in devices)
    kinds = {one.address: _classify(one) for one in devices}
    gpu_index = 0
    for device in devices:
        kind = kinds[device.address]
        place = device.address if kind != "gpu" else str(gpu_index)
        gpu_index += kind == "gpu"
        domain, bus = device.address.split(":")[:2]
        device.values["parent_pci"] = secondary.get((domain, bus))
        entity = Entity(f"{kind}:{place}", _ids(device), _values(device, kind), device.notes)
        reading.add(entity, device.line)
        _note_problems(reading, device, entity, links_shown)
    _note_no_access(reading, devices)
    node.values = _node_values(scan, devices, kinds)


def _classify(device: Device) -> str:
    known = (device.text("vendor_id"), device.text("device_id"), device.text("name"))
    device.values["virtual_function"] = is_virtual_function(*known)
    return kind_of(device.text("class_code"), *known)


def _ids(device: Device) -> dict[str, str | None]:
    return {"pci": device.address, "serial": device.serial, "dsn": device.dsn}


def _values(device: Device, kind: str) -> dict[str, Value]:
    """Return all values of the kind, null where missing; of other devices only those printed."""
    found = dict(device.values)
    for part, name in (("speed_gt_s", "speed"), ("width", "width")):
        now, most = found.get(f"pcie_{part}"), found.get(f"pcie_max_{part}")
        if isinstance(now, (int, float)) and isinstance(most, (int, float)):
            found[f"link_{name}_downgraded"] = now < most
    if device.bars:
        found["bars"] = device.bars
    if "pcie_port_type" in found and not device.no_access:
        found.setdefault("acs_capable", False)
    if kind == "pci":
        return {name: value for name, value in found.items() if value is not None}
    return {name: found.get(name) for name in FIELDS[kind]}


def _note_problems(reading: Reading, device: Device, entity: Entity, links_shown: bool) -> None:
    if len(reading.problems) >= MAX_PROBLEMS:
        return
    where = {"line": device.line, "entity": entity.path}
    if device.values["config_readable"] is False:
        says = f"{device.address} does not answer: its configuration space reads as all ones"
        reading.note("unreadable_value", says, **where)
    elif links_shown and device.has_link_capability and "pcie_width" not in device.values:
        says = f"{device.address} has a link capability but no LnkSta line"
        reading.note("missing_value", says, field="pcie_width", **where)
    for name, verbatim in device.unknown[:4]:
        says = f"{device.address}: not a link or speed that we know"
        reading.note("unknown_value", says, field=name, verbatim=verbatim, **where)
    for name, flag in (("pcie_speed_gt_s", "speed"), ("pcie_width", "width")):
        if (
            entity.notes.get(name) == "downgraded"
            and entity.values.get(f"link_{flag}_downgraded") is False
        ):
            says = f"{device.address}: marked as downgraded, but {name} is not below its maximum"
            reading.note("inconsistent", says, field=name, **where)


def _note_no_access(reading: Reading, devices: list[Device]) -> None:
    hidden = [one for one in devices if one.no_access]
    if hidden:
        says = (
            f"capabilities of {len(hidden)} of {len(devices)} devices are hidden "
            "(<access denied>); run lspci as root to see links and ACS"
        )
        reading.note("no_access", says, line=hidden[0].line)


def _node_values(scan: _Scan, devices: list[Device], kinds: dict[str, str]) -> dict[str, Value]:
    found: dict[str, Value] = dict.fromkeys(FIELDS["node"])
    found["acs_unplaced"] = scan.acs or None
    if not devices or scan.truncated or scan.dropped:
        return found  # what is not there was perhaps only cut off

    def count(kind: str, **wanted: Value) -> int:
        return sum(
            kinds[one.address] == kind
            and all(one.values.get(name) is value for name, value in wanted.items())
            for one in devices
        )

    management = count("nic", nvlink_switch_management=True)
    virtual = count("nic", virtual_function=True)
    found.update(
        device_count=len(devices),
        unreadable_count=sum(one.values["config_readable"] is False for one in devices),
        gpu_count=count("gpu"),
        gpu_responding_count=count("gpu", config_readable=True),
        nvswitch_count=count("nvswitch"),
        nic_count=count("nic") - management - virtual,
        nic_vf_count=virtual,
        nvlink_switch_management_count=management,
        disk_count=count("disk"),
        bridge_count=count("bridge"),
    )
    return found
