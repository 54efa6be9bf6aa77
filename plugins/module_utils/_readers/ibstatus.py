# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `ibstatus`: state and rate of every RDMA port, from sysfs.

Format: `Infiniband device '<name>' port <n> status:`, then `<label>: <value>` lines
with the numbers of sysfs (`4: ACTIVE`). LIDs are hexadecimal.
Versions: infiniband-diags 1.5 to rdma-core 61. Source: ibstatus(8).
"""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._readers._rdma import (
    LINK_LAYERS,
    PHYSICAL_STATES,
    PORT_FIELDS,
    PORT_STATES,
    active_count,
    integer,
    note,
    nothing_found,
    put,
    put_name,
    put_rate,
    text,
    trouble,
    without_number,
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

KIND = "ibstatus"
TITLE = "ibstatus: RDMA ports"
VERSIONS = "infiniband-diags 1.5 to rdma-core 61"
SOURCES = ("ibstatus(8)",)
PROVEN = True
FIELDS = {
    "node": {
        "device_count": Field(int, "different devices listed"),
        "active_port_count": Field(int, "ports whose state is active"),
    },
    "port": dict(PORT_FIELDS, default_gid=Field(str, "GID with index 0")),
}
_PORT = re.compile(r"^Infiniband device '([^'/]{1,64})' port ([0-9]{1,3}) status:$")
_NAMES = {
    "state": ("state", PORT_STATES),
    "phys state": ("physical_state", PHYSICAL_STATES),
    "link_layer": ("link_layer", LINK_LAYERS),
}
_OTHERS = {"default gid": ("default_gid", text), "base lid": ("lid", integer)}
_OTHERS["sm lid"] = ("sm_lid", integer)
_LABELS = {*_NAMES, *_OTHERS, "rate"}


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    return 97 if re.search(r"(?m)^Infiniband device '[^'\n]+' port [0-9]+ status:", text) else 0


def read(data: Data) -> Reading:
    """Read one output. Entities: "", `nic:<name>/port:<n>`."""
    reading = Reading(KIND, tool_name="ibstatus")
    port: Entity | None = None
    for line_number, line in numbered_lines(decode(data)):
        found = _PORT.match(line)
        label, colon, word = line.partition(":")
        key = label.strip().lower()
        if found:
            path = f"nic:{found.group(1)}/port:{int(found.group(2))}"
            port = reading.add(Entity(path), line_number)
        elif port and colon and key in _LABELS:
            _value(reading, port, key, word.strip(), line_number)
        elif line.strip() and not trouble(reading, line_number, line):
            says = "neither a port nor one of its values"
            note(reading, "malformed", says, line=line_number, verbatim=line.strip())
    return _finish(reading)


def _value(reading: Reading, port: Entity, key: str, word: str, line: int) -> None:
    if key in _NAMES:
        name, known = _NAMES[key]
        put_name(reading, port, name, without_number(word), known, line)
    elif key in _OTHERS:
        name, reader = _OTHERS[key]
        put(reading, port, name, word, reader, line)
    else:
        put_rate(reading, port, word, line)


def _finish(reading: Reading) -> Reading:
    ports = list(reading.entities)
    if not ports:
        return nothing_found(reading, "`Infiniband device '<name>' port <n> status:`")
    for port in ports:
        if "link_layer" not in port.values and (
            port is ports[-1] or "link_layer" in ports[0].values
        ):
            code = "truncated" if port is ports[-1] else "missing_value"
            note(reading, code, "the port has no link layer", entity=port.path)
    counts = {
        "device_count": len({one.path.partition("/")[0] for one in ports}),
        "active_port_count": active_count(ports),
    }
    reading.entities.insert(0, Entity("", values=dict(counts)))
    return reading
