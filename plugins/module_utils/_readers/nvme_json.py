# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of nvme-cli's JSON: `nvme list`, `list -v`, `list-subsys`, `smart-log`, `id-ctrl`.

Formats: a flat list of namespaces (before 2.11), or subsystems with controllers and namespaces
(1.x and 2.x with -v, and always from 2.11). A smart-log names no disk: the command or title
before it does, if there is one, else it is `disk:0`. Its temperatures are in Kelvin.
Names of values are those of the reader of smartctl. Versions: nvme-cli 1.8 to 2.15.
Source: nvme-list(1), nvme-smart-log(1).
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._identity import pci_address, serial
from ansible_collections.trackbed.cluster.plugins.module_utils._readers import (
    _json,
    _json_docs,
    _pasted,
    _plain,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data

KIND = "nvme-json"
TITLE = "NVMe disks by nvme list, smart-log and id-ctrl, JSON"
VERSIONS = "nvme-cli 1.8 to 2.15"
SOURCES = (
    "https://github.com/linux-nvme/nvme-cli/issues/225",
    "https://github.com/linux-nvme/nvme-cli/issues/2749",
    "https://github.com/netdata/netdata/issues/8594",
    "https://github.com/netdata/netdata/issues/19500",
)
PROVEN = True
# Label -> (value name, what it says, unit)
_Count = t.Tuple[str, str, t.Optional[str]]
_SMART: dict[str, _Count] = {
    "avail_spare": ("available_spare_pct", "spare blocks left", "%"),
    "spare_thresh": ("available_spare_threshold_pct", "least", "%"),
    "percent_used": ("percentage_used_pct", "life used; can pass 100", "%"),
    "data_units_read": ("data_units_read", "units of 512000 bytes", None),
    "data_units_written": ("data_units_written", "units of 512000 bytes", None),
    "host_read_commands": ("host_read_commands", "reads", None),
    "host_write_commands": ("host_write_commands", "writes", None),
    "controller_busy_time": ("controller_busy_min", "time that it was busy", "min"),
    "power_cycles": ("power_cycle_count", "times switched on", None),
    "power_on_hours": ("power_on_h", "time switched on", "h"),
    "unsafe_shutdowns": ("unsafe_shutdown_count", "power losses", None),
    "media_errors": ("media_error_count", "data that could not be read", None),
    "num_err_log_entries": ("error_log_count", "entries of the error log", None),
    "warning_temp_time": ("temperature_warning_min", "time above the warning", "min"),
    "critical_comp_time": ("temperature_critical_min", "time above the critical limit", "min"),
    "thm_temp1_trans_count": ("thermal_throttle_light_count", "times slowed for heat", None),
    "thm_temp2_trans_count": ("thermal_throttle_heavy_count", "times slowed hard", None),
    "thm_temp1_total_time": ("thermal_throttle_light_s", "time slowed for heat", "s"),
    "thm_temp2_total_time": ("thermal_throttle_heavy_s", "time slowed hard", "s"),
}
FIELDS = {
    "node": {"disk_count": Field(int, "disks and controllers listed")},
    "disk": {
        "model": Field(str, "model"),
        "firmware_version": Field(str, "firmware"),
        "controller": Field(str, "controller, such as nvme0"),
        "subsystem": Field(str, "NVMe qualified name of the subsystem"),
        "transport": Field(str, "pcie, rdma, tcp, fc, loop"),
        "address": Field(str, "address on that transport, as printed"),
        "state": Field(str, "live, resetting, connecting, dead ... (list-subsys)"),
        "namespace_id": Field(int, "number of the namespace"),
        "capacity_b": Field(int, "size", "B"),
        "used_b": Field(int, "used of it, as the disk counts", "B"),
        "sector_size_b": Field(int, "size of a block", "B"),
        "critical_warning": Field(int, "NVMe warning bits; 0 is none"),
        "temperature_c": Field(float, "temperature", "°C"),
        "sensor_temperatures_c": Field(list, "temperatures of its sensors", "°C"),
        **{name: Field(int, says, unit) for name, says, unit in _SMART.values()},
    },
}
_KELVIN = 273
_NAME = re.compile(r"\b(nvme[0-9]{1,4}(?:n[0-9]{1,4})?)\b")
_MARKS = re.compile(
    r'"(?:DevicePath|SubsystemNQN|avail_spare|percent_used|num_err_log_entries|HostNQN|cntlid)"\s*:'
)
_ERROR = re.compile(
    r"^(?:NVMe [Ss]tatus|Failed to|nvme: |[a-z-]+: (?:No such|Permission)|/dev/\S+: )"
)
_MOST_DISKS = 4096


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    if '"nvme_smart_health_information_log"' in text or not re.search(r"[{\[]", text):
        return 0
    marks = {found.group(0) for found in _MARKS.finditer(text[:60000])}
    if re.search(r'"Devices"\s*:\s*\[', text) and ("DevicePath" in text or "Subsystem" in text):
        return 95
    if re.search(r'"(?:critical_warning|num_err_log_entries)"\s*:', text) and len(marks) > 1:
        return 93
    if '"Subsystems"' in text and '"NQN"' in text:
        return 90
    identity = all(re.search(rf'"{one}"\s*:', text) for one in ("sn", "mn", "fr", "cntlid"))
    empty = re.search(r'"Devices"\s*:\s*\[\s*\]', _pasted.text_of(text))
    return 88 if identity or empty else 0


def read(data: Data) -> Reading:
    """Read one or several outputs. Entities: "", `disk:nvme0n1`."""
    disks = _Disks()
    documents, others = _json_docs.split(data)
    for number, line in others:
        disks.line(number, line)
    for document in documents:
        disks.document(document)
    return disks.finish()


class _Disks:
    """Collects disks over several documents."""

    def __init__(self) -> None:
        self.reading = Reading(KIND, tool_name="nvme-cli")
        self.by_name: dict[str, Entity] = {}
        self.known = False

    def line(self, number: int, line: str) -> None:
        """Take a line between the documents."""
        if _ERROR.match(line):
            says = "nvme-cli reported an error"
            _plain.note(self.reading, "tool_error", says, line=number, verbatim=line)
        elif not _NAME.search(line):
            _plain.malformed(self.reading, number, line, "a document of nvme-cli")

    def document(self, document: _json_docs.Document) -> None:
        """Take a document."""
        body = _json.load(document.text, self.reading)
        name = _NAME.search(document.before)
        for one in _json.dicts(body):
            if "Devices" in one:
                self.known = True
                for device in _json.dicts(one["Devices"]):
                    self._device(device)
            elif "Subsystems" in one or "Controllers" in one:
                self._device(one)
            elif "critical_warning" in one or "avail_spare" in one:
                self._smart(self._disk(name.group(1) if name else None), one)
            elif "sn" in one and "mn" in one:
                self._identity(self._disk(name.group(1) if name else None), one)
            elif "error" in one:
                says = "nvme-cli reported an error"
                where = {"line": document.line, "verbatim": _json.text_of(one["error"])}
                _plain.note(self.reading, "tool_error", says, **where)

    def _disk(self, name: str | None) -> Entity:
        self.known = True
        if name is None:
            name = str(len(self.by_name))
        if name in self.by_name or len(self.by_name) >= _MOST_DISKS:
            return self.by_name.get(name, Entity("disk:more"))
        entity = self.by_name[name] = self.reading.add(Entity(f"disk:{name}"))
        return entity

    def _device(self, body: dict[str, t.Any]) -> None:
        """Read a flat entry of `nvme list`, or one with subsystems."""
        subsystems = _json.dicts(body.get("Subsystems"))
        for subsystem in subsystems or ([body] if "Controllers" in body else []):
            name = _json.text_of(subsystem.get("SubsystemNQN")) or _json.text_of(
                subsystem.get("NQN")
            )
            shared = _json.dicts(subsystem.get("Namespaces"))
            for controller in _json.dicts(subsystem.get("Controllers")):
                self._controller(controller, name, shared)
            for path in _json.dicts(subsystem.get("Paths")):
                self._controller({**path, "Controller": path.get("Name")}, name, [])
        path_of = _NAME.search(_json.text_of(body.get("DevicePath")) or "")
        if "DevicePath" in body:
            disk = self._disk(path_of.group(1) if path_of else None)
            self._part(disk, body)
            self._space(disk, body)
            disk.values["namespace_id"] = _json.integer_of(body.get("NameSpace"))

    def _controller(
        self, body: dict[str, t.Any], subsystem: str | None, shared: list[dict[str, t.Any]]
    ) -> None:
        controller = _json.text_of(body.get("Controller"))
        found = _NAME.search(controller or "")
        spaces = _json.dicts(body.get("Namespaces")) or shared
        for space in spaces or [{}]:
            name = _NAME.search(str(space.get("NameSpace") or "")) or found
            disk = self._disk(name.group(1) if name else None)
            self._part(disk, body)
            disk.values["controller"] = controller
            disk.values["subsystem"] = subsystem
            for label in ("Transport", "Address", "State"):
                if label in body:
                    disk.values[label.lower()] = _json.text_of(body[label])
            pci = pci_address(_json.text_of(body.get("Address")))
            if pci:
                disk.ids["pci"] = pci
            if space:
                self._space(disk, space)
                disk.values["namespace_id"] = _json.integer_of(space.get("NSID"))

    def _part(self, disk: Entity, body: dict[str, t.Any]) -> None:
        for label, name in (("ModelNumber", "model"), ("Firmware", "firmware_version")):
            if label in body:
                disk.values[name] = _json.text_of(body[label])
        if "SerialNumber" in body:
            disk.ids["serial"] = serial(_json.text_of(body["SerialNumber"]))

    def _space(self, disk: Entity, body: dict[str, t.Any]) -> None:
        for label, name in (
            ("PhysicalSize", "capacity_b"),
            ("UsedBytes", "used_b"),
            ("SectorSize", "sector_size_b"),
        ):
            if label in body:
                disk.values[name] = _json.integer_of(body[label])

    def _identity(self, disk: Entity, body: dict[str, t.Any]) -> None:
        disk.ids["serial"] = serial(_json.text_of(body.get("sn")))
        disk.values["model"] = _json.text_of(body.get("mn"))
        disk.values["firmware_version"] = _json.text_of(body.get("fr"))
        disk.values["capacity_b"] = _json.integer_of(body.get("tnvmcap")) or None
        disk.values["subsystem"] = _json.text_of(body.get("subnqn"))

    def _smart(self, disk: Entity, body: dict[str, t.Any]) -> None:
        warning = body.get("critical_warning")
        if isinstance(warning, dict):
            warning = warning.get("value")
        disk.values["critical_warning"] = _integer(warning)
        for label, (name, _says, _unit) in _SMART.items():
            if label in body:
                disk.values[name] = _integer(body[label])
        disk.values["temperature_c"] = _celsius(body.get("temperature"))
        if disk.values["temperature_c"] is None and "temperature" in body:
            disk.notes["temperature_c"] = "not_supported"
        sensors = [_celsius(body.get(f"temperature_sensor_{one}")) for one in range(1, 9)]
        disk.values["sensor_temperatures_c"] = [one for one in sensors if one is not None]
        if "media_errors" not in body:
            says = "the log ends before `media_errors`"
            _plain.note(self.reading, "missing_value", says, entity=disk.path)

    def finish(self) -> Reading:
        """Add the node's count."""
        if self.known:
            node = Entity("", values={"disk_count": len(self.by_name)})
            self.reading.entities.insert(0, node)
        return _json_docs.settle(self.reading, '`"Devices": [` or a smart-log')


def _integer(value: t.Any) -> int | None:
    """Return a counter: a number, digits, or digits with separators."""
    word = _json.text_of(value)
    return _json.integer_of(value if not isinstance(value, str) else (word or "").replace(",", ""))


def _celsius(value: t.Any) -> float | None:
    """Return degrees Celsius; nvme-cli prints whole Kelvin, and 0 where there is no sensor."""
    kelvin = _integer(value)
    if not kelvin:
        return None
    return float(kelvin - _KELVIN if kelvin > 200 else kelvin)
