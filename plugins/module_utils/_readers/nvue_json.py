# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of Cumulus Linux's `nv show ... -o json`: interfaces, QoS counters, RoCE.

Format: an object of interfaces by name, or the object of one interface or of a part of it
(then the command before it names the interface, or it is `port:0`), or that of `qos roce`.
Several documents may stand in one text. Versions: Cumulus Linux 5.0 to 5.14, NVUE's REST too.
"""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import (
    _json,
    _json_docs,
    _nvue,
    _pasted,
    _switch_fields,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import Reading
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data

KIND = "nvue-json"
TITLE = "nv show -o json: interfaces, QoS counters and RoCE of a Cumulus Linux switch"
VERSIONS = "Cumulus Linux 5.0 to 5.14"
SOURCES = (
    "https://github.com/CumulusNetworks/docs",
    "https://github.com/aliaydemir/lldpq-src-edt",
)
PROVEN = True
FIELDS = _nvue.FIELDS
_SIGNS = re.compile(
    r'"(?:egress-queue-stats|ingress-buffer-stats|pfc-stats|congestion-control)"\s*:\s*\{'
    r'|"link"\s*:\s*\{[^{}]{0,400}"(?:oper-status|admin-status|auto-negotiate)"'
    r'|"carrier-transitions"\s*:\s*[0-9"][^{}]{0,400}"(?:in|out)-pkts"'
    r'|"lldp"\s*:\s*\{\s*"neighbor"\s*:\s*\{|"(?:rx|tx)-roce-stats"\s*:\s*\{'
)
_INTERFACE = re.compile(r"nv show interface ([A-Za-z][\w./-]{0,40})")
_ERROR = re.compile(r"^(?:Error: |error: |Invalid |.{0,80}(?:does not exist|is not one of))", re.I)
_MOST_PORTS = 4096


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    return 92 if "{" in text[:4000] and _SIGNS.search(text) else 0


def read(data: Data) -> Reading:
    """Read one or several documents.

    Entities: "", `port:<name>` with `priority:<n>`, `queue:<n>` and `pg:<n>` below it,
    `neighbour:<port>`, `roce:global` or `port:<name>/roce:status`.
    """
    reading = Reading(KIND, tool_name="nv")
    documents, others = _json_docs.split(data)
    for number, line in others:
        if _ERROR.match(line):
            reading.note("tool_error", "nv said an error", line=number, verbatim=line)
        elif not _INTERFACE.search(line):
            _pasted.strange(reading, number, line, "a JSON document of `nv show`")
    for document in documents:
        tree = _json.load(document.text, reading)
        if isinstance(tree, dict):
            _document(reading, tree, document)
    if any(one.path.startswith(("port:", "roce:")) for one in reading.entities):
        listed = any(one.path.startswith("neighbour:") for one in reading.entities)
        _switch_fields.summary(reading, None, listed)
    return _json_docs.settle(reading, "an interface or RoCE as `nv show -o json` tells them")


def _document(reading: Reading, tree: _nvue.Tree, document: _json_docs.Document) -> None:
    asked = _INTERFACE.search(document.before)
    name = asked.group(1) if asked else "0"
    if _nvue.is_roce(tree):
        path = f"port:{_switch_fields.key(name)}/roce:status" if asked else "roce:global"
        _nvue.take_roce(reading, path, tree, document.line)
        return
    if _nvue.is_port(tree):
        _nvue.take_port(reading, name, tree, document.line)
        return
    ports = {key: one for key, one in tree.items() if isinstance(one, dict) and _nvue.is_port(one)}
    if not ports:
        reading.note("other_format", "a JSON document that is not known", line=document.line)
    for key, one in list(ports.items())[:_MOST_PORTS]:
        if re.match(r"^[A-Za-z][\w./-]{0,40}$", key):
            _nvue.take_port(reading, key, one, document.line)
        else:
            reading.note("malformed", "not the name of an interface", verbatim=key)
