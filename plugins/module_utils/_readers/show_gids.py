# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `show_gids`: the GIDs of RDMA ports, with their RoCE version.

Format: a table of tabs: DEV PORT INDEX GID IPv4 VER DEV, then `n_gids_found=4`. The
column IPv4 is blank for a GID that holds no IPv4 address. Versions: mlnx-tools 5.x, OFED
4.9 to DOCA 3.3. Source: https://github.com/Mellanox/mlnx-tools, sbin/show_gids.
"""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _rdma
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

KIND = "show_gids"
TITLE = "show_gids: GIDs of RDMA ports"
VERSIONS = "OFED 4.9 to DOCA 3.3"
SOURCES = ("https://github.com/Mellanox/mlnx-tools",)
PROVEN = True
_TYPES = {"v1": "roce_v1", "v2": "roce_v2", "ib": "ib"}
FIELDS = {
    "node": {"gid_count": Field(int, "GIDs listed")},
    "gid": {
        "index": Field(int, "index in the port's table; NCCL_IB_GID_INDEX takes it"),
        "gid": Field(str, "the GID"),
        "gid_type": Field(str, "kind of packets that it makes", values=tuple(_TYPES.values())),
        "ipv4": Field(str, "IPv4 address in it; null where there is none"),
        "interface": Field(str, "network interface"),
    },
}
_HEADER = re.compile(r"^DEV\s+PORT\s+INDEX\s+GID\s+")
_RULE = re.compile(r"^-{2,}\s")
_ROW = re.compile(
    r"^([A-Za-z][A-Za-z0-9_.-]{0,63})\s+([0-9]{1,3})\s+([0-9]{1,5})\s+"
    r"((?:[0-9a-fA-F]{4}:){7}[0-9a-fA-F]{4})\s+"
    r"(?:([0-9]{1,3}(?:\.[0-9]{1,3}){3})\s+)?(\S{1,16})(?:\s+(\S{1,64}))?$"
)
_COUNT = re.compile(r"^n_gids_found=([0-9]{1,6})$")


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    return 97 if re.search(r"(?m)^DEV\s+PORT\s+INDEX\s+GID\s", text[:20000]) else 0


def read(data: Data) -> Reading:
    """Read one table. Entities: "", `nic:<name>/port:<n>/gid:<index>`."""
    reading = Reading(KIND, tool_name="show_gids")
    told: int | None = None
    header = False
    for number, line in numbered_lines(decode(data)):
        row, count = _ROW.match(line), _COUNT.match(line)
        if _HEADER.match(line):
            header = True
        elif row:
            _row(reading, row.groups(), number)
        elif count:
            told = int(count.group(1))
        elif line.strip() and not _RULE.match(line) and not _rdma.trouble(reading, number, line):
            says = "not a row of show_gids"
            _rdma.note(reading, "malformed", says, line=number, verbatim=line.strip())
    found = len(reading.entities)
    if not found and not (header and told == 0):
        return _rdma.nothing_found(reading, "a row below `DEV PORT INDEX GID`")
    if told is None:
        _rdma.note(reading, "truncated", "it ends before `n_gids_found=`")
    elif told != found:
        says = f"{found} GIDs are listed, but it counts {told}"
        _rdma.note(reading, "inconsistent", says)
    if not found:
        reading.quality = ABSENT
    reading.entities.insert(0, Entity("", values={"gid_count": found}))
    return reading


def _row(reading: Reading, words: tuple[str | None, ...], number: int) -> None:
    device, port, index, address, ipv4, kind, interface = words
    path = f"nic:{device}/port:{port}/gid:{index}"
    entity = reading.add(Entity(path), number)
    entity.values.update({"index": int(index or 0), "gid": (address or "").lower(), "ipv4": ipv4})
    entity.values["interface"] = interface
    _rdma.put_name(reading, entity, "gid_type", kind or "", _TYPES, number)
