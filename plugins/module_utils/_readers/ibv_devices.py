# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `ibv_devices`: names and GUIDs of the RDMA devices.

Format: a table with the columns `device` and `node GUID`, the GUID without `0x`.
An empty table means that no device is there. Versions: libibverbs 1.1 to rdma-core
61. Source: ibv_devices(1).
"""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._identity import guid
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._rdma import (
    note,
    nothing_found,
    trouble,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    ABSENT,
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import (
    Data,
    decode,
    numbered_lines,
)

KIND = "ibv_devices"
TITLE = "ibv_devices: list of RDMA devices"
VERSIONS = "libibverbs 1.1 to rdma-core 61"
SOURCES = ("ibv_devices(1)",)
PROVEN = True
FIELDS = {
    "node": {"device_count": Field(int, "devices listed")},
    "nic": {"index": Field(int, "place in the list, from 0")},
}
_HEADER = re.compile(r"^\s*device\s+node GUID$")
_ROW = re.compile(r"^\s+(\S{1,64})\s+([0-9a-f]{16})$")


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    return 97 if re.search(r"(?m)^\s*device\s+node GUID\s*$", text) else 0


def read(data: Data) -> Reading:
    """Read one list. Entities: "", `nic:<name>`."""
    reading = Reading(KIND, tool_name="ibv_devices")
    header = False
    for line_number, line in numbered_lines(decode(data)):
        row = _ROW.match(line)
        if _HEADER.match(line):
            header = True
        elif row:
            name = row.group(1).replace("/", "_")
            entity = Entity(f"nic:{name}", {"guid": guid(row.group(2))})
            entity.values["index"] = len(reading.entities)
            reading.add(entity, line_number)
        elif line.strip(" -\t") and not trouble(reading, line_number, line):
            says = "not a device with its GUID"
            note(reading, "malformed", says, line=line_number, verbatim=line)
    count = len(reading.entities)
    if not count and header and not reading.problems:
        reading.note("empty", "the table is empty: no RDMA device, or no driver for it")
        reading.quality = ABSENT
    elif not count:
        return nothing_found(reading, "a table with `device` and `node GUID`")
    reading.entities.insert(0, Entity("", values={"device_count": count}))
    return reading
