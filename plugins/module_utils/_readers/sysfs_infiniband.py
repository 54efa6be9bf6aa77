# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of a listing of /sys/class/infiniband: adapters, ports and all counters.

Format: `mlx5_0/ports/1/state: 4: ACTIVE`, a file a line, as `grep -r . /sys/class/infiniband`
and sosreports give it (`path:content`, with or without the directory before it). Data
counters count words of four bytes here; they are given in bytes. Versions: Linux 4.15 to
6.18. Source: linux Documentation/ABI/stable/sysfs-class-infiniband.
"""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._identity import guid
from ansible_collections.trackbed.cluster.plugins.module_utils._readers import (
    _ib_counters,
    _rdma,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import (
    Data,
    decode,
    numbered_lines,
)

KIND = "sysfs-infiniband"
TITLE = "/sys/class/infiniband: adapters, ports and counters"
VERSIONS = "Linux 4.15 to 6.18"
SOURCES = ("linux Documentation/ABI/stable/sysfs-class-infiniband",)
PROVEN = True
FIELDS = {
    "node": {
        "device_count": Field(int, "adapters"),
        "active_port_count": Field(int, "ports in state active"),
    },
    "nic": {
        "firmware_version": Field(str, "firmware"),
        "ca_type": Field(str, "kind of chip, as MT4129"),
        "board_id": Field(str, "PSID"),
        "hardware_version": Field(str, "revision of the chip"),
        "node_description": Field(str, "name in the fabric"),
    },
    "port": {
        **_rdma.PORT_FIELDS,
        **_ib_counters.FIELDS,
        "hw_counters": Field(dict, "counters of the driver under its own names"),
        "default_gid": Field(str, "GID of index 0"),
    },
}
_LINE = re.compile(
    r"^(?:\S{0,300}?/class/infiniband/|\./)?([A-Za-z][A-Za-z0-9_.-]{0,63})/"
    r"((?:ports/[0-9]{1,3}/)?[A-Za-z0-9_/.-]{1,120}?): ?(.*)$"
)
_PORT = re.compile(r"^ports/([0-9]{1,3})/(.+)$")
_DEVICE = {
    "fw_ver": "firmware_version",
    "hca_type": "ca_type",
    "board_id": "board_id",
    "hw_rev": "hardware_version",
    "node_desc": "node_description",
}
_GUIDS = {"node_guid": "guid", "sys_image_guid": "system_guid"}
_SIGNATURE = re.compile(r"(?m)^\S*/ports/[0-9]+/(?:state|phys_state|rate|link_layer): ?\S")
_MAX_COUNTERS = 1000


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    return 97 if _SIGNATURE.search(text[:100000]) else 0


def read(data: Data) -> Reading:
    """Read one listing. Entities: "", `nic:<name>`, `nic:<name>/port:<n>`."""
    reading = Reading(KIND)
    for number, line in numbered_lines(decode(data)):
        found = _LINE.match(line)
        if found and "/" not in found.group(1):
            _file(reading, found.groups(), number)
        elif line.strip() and not _rdma.trouble(reading, number, line):
            says = "not a file of /sys/class/infiniband with its content"
            _rdma.note(reading, "malformed", says, line=number, verbatim=line.strip())
    ports = [one for one in reading.entities if "/port:" in one.path]
    if not ports:
        reading.entities.clear()
        return _rdma.nothing_found(reading, "`<adapter>/ports/<n>/state: ...`")
    for port in ports:
        for name in ("state", "physical_state", "rate_gbit_per_s"):
            if name not in port.values:
                says = f"no file for {name.replace('_', ' ')}"
                _rdma.note(reading, "missing_value", says, entity=port.path, field=name)
    counts = {
        "device_count": sum("/" not in one.path for one in reading.entities),
        "active_port_count": _rdma.active_count(ports),
    }
    reading.entities.insert(0, Entity("", values=dict(counts)))
    return reading


def _entity(reading: Reading, path: str) -> Entity:
    return reading.entity(path) or reading.add(Entity(path))


def _file(reading: Reading, parts: tuple[str, ...], number: int) -> None:
    name, path, word = parts[0], parts[1], parts[2].strip()
    nic = _entity(reading, f"nic:{name}")
    in_port = _PORT.match(path)
    if in_port:
        port = _entity(reading, f"nic:{name}/port:{int(in_port.group(1))}")
        _of_port(reading, port, in_port.group(2), word, number)
    elif path in _GUIDS:
        nic.ids[_GUIDS[path]] = guid(word)
    elif path in _DEVICE:
        nic.values[_DEVICE[path]] = word or None


def _of_port(reading: Reading, port: Entity, path: str, word: str, number: int) -> None:
    if path == "state":
        state = _rdma.without_number(word)
        _rdma.put_name(reading, port, "state", state, _rdma.PORT_STATES, number)
    elif path == "phys_state":
        state = _rdma.without_number(word)
        _rdma.put_name(reading, port, "physical_state", state, _rdma.PHYSICAL_STATES, number)
    elif path == "link_layer":
        _rdma.put_name(reading, port, "link_layer", word, _rdma.LINK_LAYERS, number)
    elif path == "rate":
        _rdma.put_rate(reading, port, word, number)
    elif path in ("lid", "sm_lid", "lid_mask_count"):
        name = "lmc" if path == "lid_mask_count" else path
        _rdma.put(reading, port, name, word, _rdma.integer, number)
    elif path == "gids/0":
        port.values["default_gid"] = word or None
    elif path.startswith(("counters/", "hw_counters/")):
        _counter(reading, port, path, word, number)


def _counter(reading: Reading, port: Entity, path: str, word: str, number: int) -> None:
    folder, _slash, name = path.partition("/")
    value = _rdma.integer(word)
    if value is None:
        if "N/A" not in word:  # the kernel's word for a counter that the adapter lacks
            where = {"line": number, "entity": port.path, "verbatim": word}
            _rdma.note(reading, "unreadable_value", f"{name} is no whole number", **where)
    elif folder == "counters":
        # The kernel asks for traffic in 64 bits, for errors in the classic widths.
        wide = name.endswith(("_data", "_packets"))
        _ib_counters.put_counter(port, name, value, wide=wide)
    else:
        counters = port.values.setdefault("hw_counters", {})
        if isinstance(counters, dict) and len(counters) < _MAX_COUNTERS:
            counters[name] = value
