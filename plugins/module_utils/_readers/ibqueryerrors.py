# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `ibqueryerrors`: ports whose error counters are beyond their thresholds.

Format: `Errors for <node>`, a line a port with `[<counter> == <value>]`, and a
summary. The line `port ALL` of a switch repeats the sum of its ports, some
counters clipped; it is not kept. Exit code 1 means "found", not "failed". Without a
summary nothing is known about the ports that are not listed. Classic counters stop
at their limit (note `at_least`).
Versions: infiniband-diags 1.5 to rdma-core 61. Source: ibqueryerrors(8).
"""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._identity import guid
from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _ib_counters
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._rdma import (
    note,
    trouble,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    ABSENT,
    UNREADABLE,
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import (
    Data,
    decode,
    numbered_lines,
)

KIND = "ibqueryerrors"
TITLE = "ibqueryerrors: InfiniBand ports with errors"
VERSIONS = "infiniband-diags 1.5 to rdma-core 61"
SOURCES = ("ibqueryerrors(8)", "https://github.com/linux-rdma/rdma-core")
PROVEN = True
FIELDS = {
    "node": {
        "checked_node_count": Field(int, "nodes of the fabric that were asked"),
        "bad_node_count": Field(int, "nodes with a port beyond a threshold"),
        "checked_port_count": Field(int, "ports that were asked"),
        "bad_port_count": Field(int, "ports beyond a threshold"),
        "thresholds": Field(dict, "threshold by the counter's printed name"),
        "suppressed": Field(list, "counters that were left out, as printed"),
    },
    "switch": {"name": Field(str, "node description")},
    "ca": {"name": Field(str, "node description")},
    "port": dict(_ib_counters.FIELDS),
}
_NODE = re.compile(r'^Errors for (?:(0x[0-9a-f]{1,16}) )?"(.*)"$')
_PORT = re.compile(r"^\s+GUID (0x[0-9a-f]{1,16}) port (ALL|[0-9]{1,4}):(.*)$")
_COUNTER = re.compile(r"\[([A-Za-z][A-Za-z0-9]{0,60}) == ([0-9]{1,20})\b")
_THRESHOLD = re.compile(r"\[?([A-Za-z][A-Za-z0-9]{0,60}) = ([0-9]{1,20})\]?")
_NODES = re.compile(r"^## Summary: ([0-9]{1,8}) nodes checked, ([0-9]{1,8}) bad nodes found")
_PORTS = re.compile(
    r"^##\s+([0-9]{1,8}) ports checked, ([0-9]{1,8}) ports have errors beyond threshold"
)


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    if re.search(r"(?m)^## Summary: [0-9]+ nodes checked, [0-9]+ bad nodes", text):
        return 97
    if re.search(r'(?m)^Errors for .*"$\n^\s+GUID 0x[0-9a-f]+ port ', text):
        return 95
    return 50 if re.match(r"^ibwarn: \[[0-9]+\] sa_get_handle: No SM/SA found", text) else 0


def read(data: Data) -> Reading:
    """Read one report. Entities: "", `switch:<guid>`, `ca:<guid>`, `.../port:<n>`."""
    reading = Reading(KIND, tool_name="ibqueryerrors")
    node = reading.add(Entity(""))
    owner: tuple[str | None, str] | None = None
    for line_number, line in numbered_lines(decode(data)):
        head, port = _NODE.match(line), _PORT.match(line)
        if head:
            owner = (head.group(1), head.group(2).strip())
        elif port and owner:
            _port(reading, line_number, owner, *port.groups())
        elif line.startswith("##"):
            _summary(node, line)
        elif line.strip().startswith("Link info:") or not line.strip():
            continue
        elif not trouble(reading, line_number, line):
            note(reading, "malformed", "not a port with counters", line=line_number, verbatim=line)
    return _finish(reading, node)


def _port(
    reading: Reading, line: int, owner: tuple[str | None, str], own: str, number: str, rest: str
) -> None:
    kind = "switch" if owner[0] else "ca"
    path = f"{kind}:{own[2:].zfill(16)}"
    if reading.entity(path) is None:
        reading.add(Entity(path, {"guid": guid(own)}, {"name": owner[1] or None}))
    if number == "ALL":
        return
    entity = reading.add(Entity(f"{path}/port:{int(number)}"), line)
    found = _COUNTER.findall(rest)
    if not found or rest.count("[") != rest.count("]"):
        note(
            reading,
            "malformed",
            "not all of this port's counters can be read",
            line=line,
            entity=entity.path,
            verbatim=rest.strip(),
        )
    for name, value in found:
        _ib_counters.put_counter(entity, name, int(value))


def _summary(node: Entity, line: str) -> None:
    nodes, ports = _NODES.match(line), _PORTS.match(line)
    label, _colon, rest = line.lstrip("# ").partition(":")
    if nodes:
        node.values["checked_node_count"] = int(nodes.group(1))
        node.values["bad_node_count"] = int(nodes.group(2))
    elif ports:
        node.values["checked_port_count"] = int(ports.group(1))
        node.values["bad_port_count"] = int(ports.group(2))
    elif label == "Thresholds":
        node.values["thresholds"] = {name: int(limit) for name, limit in _THRESHOLD.findall(rest)}
    elif label == "Suppressed":
        node.values["suppressed"] = re.split(r"[\s,]+", rest.strip()) if rest.strip() else []


def _finish(reading: Reading, node: Entity) -> Reading:
    codes = {one.code for one in reading.problems}
    if "bad_node_count" in node.values:
        ports = sum("/port:" in one.path for one in reading.entities)
        if ports != node.values.get("bad_port_count", ports):
            note(
                reading,
                "inconsistent",
                f"the summary counts {node.values['bad_port_count']} ports, {ports} are listed",
            )
        return reading
    if len(reading.entities) > 1:
        note(reading, "truncated", "the report ends before its summary")
        return reading
    if not codes:
        note(reading, "empty", "no summary: the report says nothing, which is not `no errors`")
    reading.quality = ABSENT if "tool_absent" in codes else UNREADABLE
    return reading
