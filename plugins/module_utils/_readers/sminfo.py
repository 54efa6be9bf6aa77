# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `sminfo`: the subnet manager that answers.

Format: one line, `sminfo: sm lid 1 sm guid 0x..., activity count 450 priority 0
state 3 SMINFO_MASTER`. Where no subnet manager answers, the query fails and there
is no such line. Versions: infiniband-diags 1.5 to rdma-core 61. Source: sminfo(8).
"""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._identity import guid
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._rdma import (
    note,
    nothing_found,
    put_name,
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

KIND = "sminfo"
TITLE = "sminfo: the subnet manager of an InfiniBand fabric"
VERSIONS = "infiniband-diags 1.5 to rdma-core 61"
SOURCES = ("sminfo(8)",)
PROVEN = True
_STATES = {
    "sminfo_notact": "not_active",
    "sminfo_discover": "discovering",
    "sminfo_standby": "standby",
    "sminfo_master": "master",
}
FIELDS = {
    "sm": {
        "lid": Field(int, "LID of the subnet manager"),
        "activity_count": Field(int, "grows while the subnet manager is alive"),
        "priority": Field(int, "0 to 15"),
        "state": Field(str, "state", values=tuple(_STATES.values())),
    },
}
_LINE = re.compile(
    r"^sminfo: sm lid ([0-9]{1,6}) sm guid (0x[0-9a-f]{1,16}), activity count ([0-9]{1,10})"
    r" priority ([0-9]{1,3}) state [0-9]{1,3} (\S{1,40})$"
)


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    if re.search(r"(?m)^sminfo: sm lid [0-9]+ sm guid 0x", text):
        return 97
    return 95 if re.search(r"(?m)^sminfo: ", text) else 0


def read(data: Data) -> Reading:
    """Read one answer. Entity: `sm:<lid>`."""
    reading = Reading(KIND, tool_name="sminfo")
    for line_number, line in numbered_lines(decode(data)):
        found = _LINE.match(line)
        if found:
            lid, own, activity, priority, state = found.groups()
            entity = reading.add(Entity(f"sm:{int(lid)}", {"guid": guid(own)}), line_number)
            numbers = {"lid": int(lid), "activity_count": int(activity), "priority": int(priority)}
            entity.values.update(numbers)
            put_name(reading, entity, "state", state, _STATES, line_number)
        elif line.startswith("sminfo: iberror:"):
            note(
                reading,
                "tool_error",
                "no subnet manager answers at this port",
                line=line_number,
                verbatim=line,
            )
        elif line.strip() and not trouble(reading, line_number, line):
            note(reading, "malformed", "not a line of sminfo", line=line_number, verbatim=line)
    return reading if reading.entities else nothing_found(reading, "`sminfo: sm lid <n>`")
