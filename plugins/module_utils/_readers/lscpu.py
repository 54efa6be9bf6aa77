# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of lscpu's table.

lscpu translates its labels. What has no words in it (NUMA, CPU, vendor) is read in
every language; the rest needs LC_ALL=C, and its absence is said.
"""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    UNREADABLE,
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import (
    Data,
    decode,
    number,
    numbered_lines,
)

KIND = "lscpu"
TITLE = "Processors and NUMA nodes by lscpu"
VERSIONS = "util-linux 2.23 to 2.41"
SOURCES = ("https://github.com/util-linux/util-linux",)
PROVEN = True
# Label -> (value name, type, what it says, unit)
_LABELS: dict[str, tuple[str, type, str, str | None]] = {
    "architecture": ("architecture", str, "machine", None),
    "model name": ("cpu_model", str, "model", None),
    "vendor id": ("cpu_vendor", str, "vendor", None),
    "thread(s) per core": ("threads_per_core", int, "threads of a core", None),
    "core(s) per socket": ("cores_per_socket", int, "cores of a socket", None),
    "socket(s)": ("socket_count", int, "sockets", None),
    "on-line cpu(s) list": ("cpu_online_list", str, "CPUs that are on line", None),
    "off-line cpu(s) list": ("cpu_offline_list", str, "CPUs that are off line", None),
    "cpu max mhz": ("max_clock_mhz", float, "highest clock", "MHz"),
    "cpu min mhz": ("min_clock_mhz", float, "lowest clock", "MHz"),
    "hypervisor vendor": ("hypervisor", str, "hypervisor; absent on bare metal", None),
    "virtualization": ("virtualization", str, "VT-x or AMD-V", None),
}
FIELDS = {
    "node": {
        **{name: Field(kind, says, unit) for name, kind, says, unit in _LABELS.values()},
        "cpu_count": Field(int, "CPUs (threads)"),
        "numa_node_count": Field(int, "NUMA nodes"),
        "english": Field(bool, "the labels are English"),
    },
    "numa": {"cpus": Field(str, "CPUs; null for a node without any, such as GPU memory")},
}
_LINE = re.compile(r"^(\S[^:]{0,80}?)\s*:\s*(\S.*)?$")
_NUMA_COUNT = re.compile(r"^NUMA[^0-9]{0,40}$")
_NUMA_NODE = re.compile(r"^NUMA[^0-9]{0,40}([0-9]{1,5})\s*CPU(?:\(s\))?$")
_CPU_COUNT = re.compile(r"^CPU(?:\(s\))?$")
_VENDORS = ("AuthenticAMD", "GenuineIntel", "ARM", "HygonGenuine")


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    if re.search(r"(?m)^Architecture: +\S", text) and re.search(r"(?m)^CPU\(s\): +[0-9]", text):
        return 95
    has_cpus = re.search(r"(?m)^CPU(?:\(s\))?: +[0-9]", text) is not None
    is_table = has_cpus and re.search(r"(?m)^BogoMIPS: ", text) is not None
    return 90 if is_table else 0


def read(data: Data) -> Reading:
    """Read one table; entities "" and `numa:N`."""
    reading = Reading(KIND)
    node = reading.add(Entity(""))
    for line_number, line in numbered_lines(decode(data)):
        found = _LINE.match(line.strip())
        if found:
            _line(reading, node, line_number, found.group(1), (found.group(2) or "").strip())
    return _finish(reading, node)


def _line(reading: Reading, node: Entity, line_number: int, label: str, word: str) -> None:
    numa = _NUMA_NODE.match(label)
    whole = number(word)
    if numa:
        entity = Entity(f"numa:{int(numa.group(1))}", values={"cpus": word or None})
        reading.add(entity, line_number)
    elif _NUMA_COUNT.match(label) and isinstance(whole, int):
        node.values.setdefault("numa_node_count", whole)
    elif _CPU_COUNT.match(label) and isinstance(whole, int):
        node.values.setdefault("cpu_count", whole)
    elif label.lower() in _LABELS:
        name, kind, _says, _unit = _LABELS[label.lower()]
        if kind is str:
            node.values.setdefault(name, word or None)
        else:
            node.values.setdefault(name, None if whole is None else kind(whole))
    elif word in _VENDORS:
        node.values.setdefault("cpu_vendor", word)
    elif word in ("x86_64", "aarch64"):
        node.values.setdefault("architecture", word)


def _finish(reading: Reading, node: Entity) -> Reading:
    node.values["english"] = "threads_per_core" in node.values or "socket_count" in node.values
    numas = len(reading.entities) - 1
    count = node.values.get("numa_node_count")
    if "cpu_count" not in node.values:
        reading.note("missing_value", "no number of CPUs: not a table of lscpu")
        reading.quality = UNREADABLE
    elif not node.values["english"]:
        reading.note("other_format", "the labels are not English; run it with LC_ALL=C")
    elif isinstance(count, int) and count != numas:
        reading.note("inconsistent", f"{count} NUMA nodes announced, {numas} listed")
    elif "socket_count" not in node.values:
        reading.note("truncated", "the table has no number of sockets")
    return reading
