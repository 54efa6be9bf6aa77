# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `ibswitches`, `ibhosts` and `ibnetdiscover -l`: one line a node of the fabric.

Format: `Switch<TAB>: 0x<guid> ports <n> "<name>" enhanced port 0 lid <n> lmc <n>` and
`Ca<TAB>: 0x<guid> ports <n> "<name>"`. LID 0 means that none is assigned.
Versions: infiniband-diags 1.5 to rdma-core 61. Sources: ibswitches(8), ibhosts(8).
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
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import (
    Data,
    decode,
    numbered_lines,
)

KIND = "ibswitches"
TITLE = "ibswitches, ibhosts, ibnetdiscover -l: nodes of an InfiniBand fabric"
VERSIONS = "infiniband-diags 1.5 to rdma-core 61"
SOURCES = ("ibswitches(8)", "ibhosts(8)")
PROVEN = True
_NODE_FIELDS = {
    "name": Field(str, "node description, blanks around it removed"),
    "port_count": Field(int, "number of ports"),
}
FIELDS = {
    "node": {
        "switch_count": Field(int, "switches listed"),
        "ca_count": Field(int, "channel adapters listed"),
    },
    "switch": dict(
        _NODE_FIELDS,
        lid=Field(int, "LID; 0 where no subnet manager has assigned one"),
        lmc=Field(int, "LID mask control"),
        enhanced_port_0=Field(bool, "port 0 is an enhanced one"),
    ),
    "ca": _NODE_FIELDS,
}
_LINE = re.compile(
    r'^(Switch|Ca|Rt)\s*: (0x[0-9a-f]{16}) ports ([0-9]{1,4})(?: devid \S+ vendid \S+)? "(.*)"(.*)$'
)
_LID = re.compile(r"\blid ([0-9]{1,6}) lmc ([0-9]{1,2})\b")


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    return 95 if re.search(r"(?m)^(?:Switch|Ca|Rt)\s*: 0x[0-9a-f]{16} ports [0-9]+ ", text) else 0


def read(data: Data) -> Reading:
    """Read one list. Entities: "", `switch:<guid>`, `ca:<guid>`."""
    reading = Reading(KIND)
    for line_number, line in numbered_lines(decode(data)):
        found = _LINE.match(line)
        if found:
            reading.add(_entity(*found.groups()), line_number)
        elif line.strip() and not trouble(reading, line_number, line):
            note(
                reading,
                "malformed",
                'not a node; `Switch<TAB>: 0x<guid> ports <n> "<name>"` was expected',
                line=line_number,
                verbatim=line,
            )
    if not reading.entities:
        return nothing_found(reading, "a line that begins with Switch or Ca")
    paths = [one.path for one in reading.entities]
    counts = {
        "switch_count": sum(one.startswith("switch:") for one in paths),
        "ca_count": sum(one.startswith("ca:") for one in paths),
    }
    reading.entities.insert(0, Entity("", values=dict(counts)))
    return reading


def _entity(kind: str, own: str, ports: str, name: str, rest: str) -> Entity:
    path = f"{'ca' if kind == 'Ca' else 'switch'}:{own[2:]}"
    entity = Entity(path, {"guid": guid(own)})
    entity.values.update({"name": name.strip() or None, "port_count": int(ports)})
    if kind != "Ca":
        found = _LID.search(rest)
        entity.values["lid"] = int(found.group(1)) if found else None
        entity.values["lmc"] = int(found.group(2)) if found else None
        entity.values["enhanced_port_0"] = "enhanced port 0" in rest
    return entity
