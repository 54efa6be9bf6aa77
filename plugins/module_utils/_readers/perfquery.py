# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `perfquery`: port counters, also extended (-x) and the details of errors.

Format: a header `# Port counters: Lid 1 port 1 (CapMask: 0x1200)`, then
`<name>:....<value>`. Several ports, and several attributes of one port, may follow
each other. Data are counted in words of four bytes and given here in bytes.
Classic counters stop at their limit (note `at_least`), extended ones have 64 bits.
Versions: infiniband-diags 1.5 to rdma-core 61. Source: perfquery(8).
"""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _ib_counters
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._rdma import (
    integer,
    note,
    nothing_found,
    trouble,
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

KIND = "perfquery"
TITLE = "perfquery: counters of an InfiniBand port"
VERSIONS = "infiniband-diags 1.5 to rdma-core 61"
SOURCES = ("perfquery(8)", "https://github.com/linux-rdma/rdma-core")
PROVEN = True
FIELDS = {
    "port": dict(
        _ib_counters.FIELDS,
        lid=Field(int, "LID of the port's node"),
        port=Field(int, "port number; 255 stands for the sum of all ports"),
        attributes=Field(list, "attributes that were read, as the headers name them"),
    ),
}
_HEADER = re.compile(
    r"^# (.{0,60}?)[ ]?counters: (?:Lid ([0-9]{1,6})|(DR path .{1,200}?)) port ([0-9]{1,4})\b"
)
_VALUE = re.compile(r"^([A-Za-z][A-Za-z0-9]{0,60}):\.*(0x[0-9a-fA-F]{1,16}|[0-9]{1,20})$")
_SKIPPED = ("PortSelect", "CounterSelect", "CounterSelect2")


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    if re.search(r"(?m)^# .{0,60}counters: (?:Lid|DR path) .{1,200}?port [0-9]+", text):
        return 96
    if re.search(r"(?m)^PortSelect:\.{3,}[0-9]+$", text):
        return 90
    return 80 if re.match(r"^perfquery: ", text) else 0


def read(data: Data) -> Reading:
    """Read one or more ports. Entities: `lid:<lid>/port:<n>`."""
    reading = Reading(KIND, tool_name="perfquery")
    port: Entity | None = None
    wide = False
    for line_number, line in numbered_lines(decode(data)):
        header, value = _HEADER.match(line), _VALUE.match(line)
        if header:
            port = _port(reading, *header.groups())
            wide = "extended" in header.group(1).lower()
        elif value and value.group(1) == "PortSelect" and port is None:
            port = reading.add(Entity(f"port:{integer(value.group(2)) or 0}"), line_number)
        elif value and port:
            if value.group(1) not in _SKIPPED:
                _ib_counters.put_counter(port, value.group(1), integer(value.group(2)) or 0, wide)
        elif line.strip() and not trouble(reading, line_number, line):
            _malformed(reading, line_number, line)
    return _finish(reading)


def _port(reading: Reading, title: str, lid: str | None, path: str | None, number: str) -> Entity:
    """Return the entity of this port, which another attribute may have made."""
    where = f"lid:{int(lid)}" if lid else "dr:" + (path or "").rpartition(" ")[2].replace("/", "_")
    entity = reading.entity(f"{where}/port:{int(number)}")
    if entity is None:
        entity = reading.add(Entity(f"{where}/port:{int(number)}"))
        entity.values.update({"lid": int(lid) if lid else None, "port": int(number)})
        entity.values["attributes"] = []
    attributes = entity.values["attributes"]
    if isinstance(attributes, list):
        attributes.append(title.strip() or "Port")
    return entity


def _malformed(reading: Reading, line_number: int, line: str) -> None:
    if line.startswith("perfquery: "):
        code, says = "tool_error", "perfquery reported an error"
    else:
        code, says = "malformed", "not `<counter>:....<number>`"
    note(reading, code, says, line=line_number, verbatim=line)


def _finish(reading: Reading) -> Reading:
    if not reading.entities:
        return nothing_found(reading, "`# Port counters: Lid <lid> port <n>`")
    counted = [len(one.values) for one in reading.entities]
    if counted[-1] <= 3 or (len(counted) > 1 and counted[-1] < counted[0]):
        note(
            reading,
            "truncated",
            "the last port has fewer counters than expected",
            entity=reading.entities[-1].path,
        )
    return reading
