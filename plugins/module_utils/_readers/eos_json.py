# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of Arista EOS's `show ... | json`: interfaces, errors, PFC, ECN, LLDP neighbours.

Format: one object a command, its first key tells which: `interfaceStatuses`, `interfaces`
(of `show interfaces`, its `counters` and `counters discards`, of PFC counters in `detail`, and
of the PFC watchdog, which lists only ports that had a storm), `interfaceErrorCounters`,
`interfaceCounters` (of `show priority-flow-control counters`), `interfaceFlowControls`,
`intfQueueCounters` (of `show qos interfaces ecn counters queue`), `lldpNeighbors` (a list, or
an object where `detail` was asked for). They may stand one after another, in a list, or in
the answer of eAPI. PFC in `detail` and the watchdog rest on one public program only, the rest
on two or more. Versions: EOS 4.15 to 4.34.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import (
    _eos,
    _json,
    _json_docs,
    _pasted,
    _switch_fields,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import Reading
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data

KIND = "eos-json"
TITLE = "Arista EOS show | json: ports, errors, PFC, ECN and neighbours of a switch"
VERSIONS = "EOS 4.15 to 4.34"
SOURCES = (
    "https://github.com/aristanetworks/anta",
    "https://github.com/amd/node-scraper",
    "https://github.com/napalm-automation/napalm",
)
PROVEN = True
FIELDS = _eos.FIELDS
_SIGN = re.compile(
    r'"(?:interfaceStatuses|interfaceErrorCounters|intfQueueCounters|interfaceFlowControls)"\s*:\s*\{'
    r'|"lldpNeighbors"\s*:\s*(?:\[\s*(?:\]|\{\s*"(?:ttl|port|neighborDevice|neighborPort)")'
    r'|\{\s*"[A-Z][a-z-]+[0-9/]+"\s*:\s*\{\s*"(?:lastDetectedTime|lldpNeighborInfo)")'
    r'|"interfaceCounters"\s*:\s*\{\s*"[A-Z][a-z-]+[0-9/]+"\s*:\s*\{\s*"(?:rx|tx)Frames"'
    r'|"lineProtocolStatus"\s*:\s*"|"(?:in|out)Discards"\s*:\s*[0-9]'
    r'|"txQueues"\s*:\s*\{\s*"[0-9]+"\s*:\s*\{\s*"(?:stuck|recovery)Count"'
    r'|"priorities"\s*:\s*\{\s*"[0-7]"\s*:\s*\{\s*"(?:rx|tx)Frames"'
)
_MOST = 4096


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    return 91 if _SIGN.search(text) else 0


def read(data: Data) -> Reading:
    """Read one or several documents.

    Entities: "", `port:<name>` with `priority:<n>`, `queue:<n>` and `watchdog:<n>` below it,
    `neighbour:<port>`.
    """
    reading = Reading(KIND, tool_name="eos")
    documents, others = _json_docs.split(data)
    for number, line in others:
        if line.startswith("% "):
            reading.note("tool_error", "EOS said an error", line=number, verbatim=line)
        elif not _eos.COMMAND.search(line):
            _pasted.strange(reading, number, line, "a JSON document of EOS")
    listed = known_any = False
    for document in documents:
        top = _json.load(document.text, reading)
        for tree in _trees(reading, top):
            known = _tree(reading, tree, document.line)
            known_any = known_any or (known and _tree_of(tree))
            listed = listed or "lldpNeighbors" in tree
            if not known and tree:
                says = "a JSON document that is not known"
                reading.note("other_format", says, line=document.line)
    if reading.entities or known_any:
        _switch_fields.summary(reading, None, listed)
    return _json_docs.settle(reading, "one of the objects that EOS prints of interfaces")


def _trees(reading: Reading, top: t.Any) -> list[dict[str, t.Any]]:
    """Return the objects of the commands, taken out of a list or of the answer of eAPI."""
    error = _json.as_dict(_json.as_dict(top).get("error"))
    if error:
        says = _json.text_of(error.get("message")) or "no message"
        reading.note("tool_error", "eAPI said an error", verbatim=says)
        return [one for one in _json.dicts(error.get("data")) if _tree_of(one)]
    if isinstance(top, dict) and isinstance(top.get("result"), list):
        return _json.dicts(top["result"])
    return _json.dicts(top)


def _tree_of(tree: dict[str, t.Any]) -> bool:
    return any(name in tree for name in _eos.DOCUMENTS)


def _tree(reading: Reading, tree: dict[str, t.Any], line: int) -> bool:
    """Take all that is known of one document; return whether anything is."""
    errors = tree.get("errors")
    if isinstance(errors, list) and errors:
        says = _json.text_of(errors[0]) or "no message"
        reading.note("tool_error", "EOS said an error", line=line, verbatim=says)
    for name, take in _eos.DOCUMENTS.items():
        for port, body in list(_json.as_dict(tree.get(name)).items())[:_MOST]:
            if re.match(r"^[A-Za-z][\w./-]{0,40}$", port) and isinstance(body, dict):
                take(reading, port, body, line)
            else:
                where = {"line": line, "verbatim": port[:80]}
                reading.note("malformed", "not the name and object of a port", **where)
    for neighbour in _json.dicts(tree.get("lldpNeighbors"))[:_MOST]:
        if isinstance(tree["lldpNeighbors"], list):
            _eos.take_neighbour(reading, neighbour, line)
    return bool(errors) or _tree_of(tree)
