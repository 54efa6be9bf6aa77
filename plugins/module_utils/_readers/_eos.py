# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Arista EOS says of one port, by command.

Private to trackbed.cluster. Sources: https://github.com/aristanetworks/anta,
https://github.com/amd/node-scraper.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils import _identity
from ansible_collections.trackbed.cluster.plugins.module_utils._readers import (
    _json,
    _plain,
    _switch_fields,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._switch_fields import (
    part,
    port_named,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    Entity,
    Field,
    Reading,
)

FIELDS: dict[str, dict[str, Field]] = {
    "node": _switch_fields.NODE,
    "port": _switch_fields.PORT,
    "priority": _switch_fields.PRIORITY,
    "queue": _switch_fields.QUEUE,
    "watchdog": _switch_fields.WATCHDOG,
    "neighbour": _switch_fields.NEIGHBOUR,
}
Body = t.Dict[str, t.Any]
COMMAND = re.compile(r"(?:^|[#>] ?)show [a-z].{0,200}$")
# The state that EOS gives an interface -> whether its link is up.
STATUSES = {
    "connected": "up",
    "notconnect": "down",
    "disabled": "down",
    "errdisabled": "down",
    "inactive": "down",
    "monitoring": "up",
    "uncapable": "down",
}
_ERRORS = {
    "inErrors": "rx_errors",
    "outErrors": "tx_errors",
    "fcsErrors": "rx_crc_errors",
    "alignmentErrors": "rx_alignment_errors",
    "symbolErrors": "rx_symbol_errors",
    "frameTooShorts": "rx_short_frames",
    "frameTooLongs": "rx_long_frames",
}
_COUNTERS = {
    "inOctets": "rx_bytes",
    "outOctets": "tx_bytes",
    "inTotalPkts": "rx_packets",
    "outTotalPkts": "tx_packets",
    "inDiscards": "rx_discards",
    "outDiscards": "tx_discards",
    "totalInErrors": "rx_errors",
    "totalOutErrors": "tx_errors",
    "linkStatusChanges": "carrier_transitions",
}
_INPUT = {
    "fcsErrors": "rx_crc_errors",
    "alignmentErrors": "rx_alignment_errors",
    "symbolErrors": "rx_symbol_errors",
    "runtFrames": "rx_short_frames",
    "giantFrames": "rx_long_frames",
    "rxPause": "rx_pause",
}
_FRAMES = {"rxFrames": "rx_pfc_frames", "txFrames": "tx_pfc_frames"}
_CASTS = ("UcastPkts", "MulticastPkts", "BroadcastPkts")


def take_status(reading: Reading, name: str, body: Body, line: int) -> None:
    """Take one port of `show interfaces status`, or the head of one of `show interfaces`."""
    port = port_named(reading, name)
    word = _json.text_of(body.get("linkStatus")) or _json.text_of(body.get("interfaceStatus"))
    if word:
        put_status(reading, port, word, line)
    protocol = _json.text_of(body.get("lineProtocolStatus"))
    if "oper_state" not in port.values and protocol:
        port.values["oper_state"] = "up" if protocol == "up" else "down"
    bandwidth = _json.integer_of(body.get("bandwidth"))
    if "bandwidth" in body:  # 0 is said of a port that has not agreed on a speed
        port.values["speed_mbit_per_s"] = bandwidth // 1_000_000 or None if bandwidth else None
    put_duplex(port, _json.text_of(body.get("duplex")))
    for key, value in (("interfaceType", "media"), ("description", "description")):
        if key in body:
            port.values[value] = _json.text_of(body[key])
    if _json.integer_of(body.get("mtu")):
        port.values["mtu_b"] = _json.integer_of(body["mtu"])
    vlan = _json.as_dict(body.get("vlanInformation"))
    if vlan:
        words = [vlan.get(key) for key in ("vlanId", "vlanExplanation", "interfaceMode")]
        port.values["vlan"] = next((_json.text_of(one) for one in words if one), None)
    negotiated = body.get("autoNegotiateActive", body.get("autoNegotiate"))
    if isinstance(negotiated, bool):
        port.values["auto_negotiation"] = negotiated


def put_status(reading: Reading, port: Entity, word: str, line: int) -> None:
    """Put the state of a port in the switch's word, and whether its link is up."""
    port.values["status"] = word
    port.values["oper_state"] = STATUSES.get(word.lower())
    if word.lower() == "disabled":
        port.values["admin_state"] = "down"
    if word.lower() not in STATUSES:
        port.notes["status"] = "verbatim"
        where = {"line": line, "entity": port.path, "field": "status", "verbatim": word}
        _plain.note(reading, "unknown_value", "status has a value that is not known", **where)


def put_duplex(port: Entity, word: str | None) -> None:
    """Put `full` or `half` for `duplexFull`, `a-full`; other words say that none is agreed on."""
    if word:
        found = re.match(r"^(?:duplex|a-)?(full|half)$", word.lower())
        port.values["duplex"] = found.group(1) if found else None


def take_interface(reading: Reading, name: str, body: Body, line: int) -> None:
    """Take one port of `show interfaces`, of its counters, or of the PFC watchdog."""
    port = port_named(reading, name)
    if "lineProtocolStatus" in body or "interfaceStatus" in body:
        take_status(reading, name, body, line)
    _flow_control(reading, port, body, line)
    for counters in (body, _json.as_dict(body.get("interfaceCounters"))):
        _names(reading, port, _COUNTERS, counters, line)
        _names(reading, port, _INPUT, _json.as_dict(counters.get("inputErrorsDetail")), line)
        pause = _json.as_dict(counters.get("outputErrorsDetail"))
        _names(reading, port, {"txPause": "tx_pause"}, pause, line)
        for way, value in (("in", "rx_packets"), ("out", "tx_packets")):
            counts = [_json.integer_of(counters.get(way + one)) for one in _CASTS]
            if value not in port.values and None not in counts:
                port.values[value] = sum(one for one in counts if one is not None)


def take_errors(reading: Reading, name: str, body: Body, line: int) -> None:
    """Take one port of `show interfaces counters errors`."""
    _names(reading, port_named(reading, name), _ERRORS, body, line)


def take_pfc(reading: Reading, name: str, body: Body, line: int) -> None:
    """Take one port of `show priority-flow-control counters`."""
    _names(reading, port_named(reading, name), _FRAMES, body, line)


def take_pause(reading: Reading, name: str, body: Body, line: int) -> None:
    """Take one port of `show interfaces flow-control`."""
    names = {"rxPause": "rx_pause", "txPause": "tx_pause"}
    _names(reading, port_named(reading, name), names, body, line)


def take_marked(reading: Reading, name: str, body: Body, line: int) -> None:
    """Take one port of `show qos interfaces ecn counters queue`; `-`: no ECN in that queue."""
    port = port_named(reading, name)
    for number, value in list(_json.as_dict(body.get("queueCounters")).items())[:64]:
        found = re.match(r"^(?:[A-Za-z]{0,4})([0-9]{1,2})$", number)
        if found:
            queue = part(reading, f"{port.path}/queue:{found.group(1)}")
            _names(reading, queue, {"n": "ecn_marked_packets"}, {"n": value}, line)


def _flow_control(reading: Reading, port: Entity, body: Body, line: int) -> None:
    """Take what the watchdog of flow control counts, and frames by priority (`detail`)."""
    names = {"stuckCount": "storms_detected", "recoveryCount": "storms_restored"}
    for number, queue in list(_json.as_dict(body.get("txQueues")).items())[:64]:
        if re.match(r"^[0-9]{1,2}$", number) and isinstance(queue, dict):
            _names(reading, part(reading, f"{port.path}/watchdog:{number}"), names, queue, line)
    for number, frames in list(_json.as_dict(body.get("priorities")).items())[:64]:
        if re.match(r"^[0-7]$", number) and isinstance(frames, dict):
            _names(reading, part(reading, f"{port.path}/priority:{number}"), _FRAMES, frames, line)


def take_neighbours(reading: Reading, name: str, body: Body, line: int) -> None:
    """Take one port of `show lldp neighbors detail`."""
    if "lldpNeighborInfo" not in body:
        says = f"{name} has no `lldpNeighborInfo`"
        _plain.note(reading, "missing_value", says, line=line)
    for one in _json.dicts(body.get("lldpNeighborInfo"))[:64]:
        far = _json.as_dict(one.get("neighborInterfaceInfo"))
        port = _json.text_of(far.get("interfaceId_v2")) or _json.text_of(far.get("interfaceId"))
        port = port.strip('"') or None if port else None
        host = _json.text_of(one.get("systemName"))
        entity = _switch_fields.neighbour(reading, name, host, port)
        entity.values["port_description"] = _json.text_of(far.get("interfaceDescription"))
        entity.values["ttl_s"] = _json.integer_of(far.get("ttl", one.get("ttl")))
        able = _json.as_dict(one.get("systemCapabilities"))
        entity.values["capabilities"] = sorted(key for key, on in able.items() if on is True)
        entity.ids["mac"] = _identity.mac(_json.text_of(one.get("chassisId")))


def take_neighbour(reading: Reading, body: Body, line: int) -> None:
    """Take one neighbour of `show lldp neighbors`."""
    name = _json.text_of(body.get("port"))
    if name is None or len(name) > 80:
        _plain.note(
            reading, "missing_value", "a neighbour without a port of this switch", line=line
        )
        return
    far = [_json.text_of(body.get(one)) for one in ("neighborDevice", "neighborPort")]
    entity = _switch_fields.neighbour(reading, name, *far)
    entity.values["ttl_s"] = _json.integer_of(body.get("ttl"))


def _names(reading: Reading, entity: Entity, names: dict[str, str], body: Body, line: int) -> None:
    for key, name in names.items():
        if key not in body:
            continue
        word = _json.text_of(body[key])
        if word is None:
            entity.values.setdefault(name, None)
        else:
            _plain.put(reading, entity, name, word, _switch_fields.count, line)


# First key of a document -> what takes each port of it.
DOCUMENTS: dict[str, t.Callable[[Reading, str, Body, int], None]] = {
    "interfaceStatuses": take_status,
    "interfaces": take_interface,
    "interfaceErrorCounters": take_errors,
    "interfaceCounters": take_pfc,
    "interfaceFlowControls": take_pause,
    "intfQueueCounters": take_marked,
    "lldpNeighbors": take_neighbours,
}
