# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the readers of Ethernet switches have in common: names of values and words of states.

Private to trackbed.cluster.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _plain
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    Entity,
    Field,
    Reading,
    Value,
)

STATES = ("up", "down")
FEC = ("none", "off", "auto", "rs", "base_r", "llrs")
_FEC_WORDS = {
    "rs": "rs",
    "rs-fec": "rs",
    "reed-solomon": "rs",
    "rs544": "rs",
    "rs528": "rs",
    "fc": "base_r",
    "fire-code": "base_r",
    "baser": "base_r",
    "base-r": "base_r",
    "llrs": "llrs",
    "none": "none",
    "off": "off",
    "disabled": "off",
    "auto": "auto",
}
PORT = {
    "name": Field(str, "name of the port, as printed; in the path `/` and `:` are `_`"),
    "alias": Field(str, "second name of the port"),
    "description": Field(str, "description that was given to it"),
    "oper_state": Field(str, "state of the link", values=STATES),
    "admin_state": Field(str, "whether it is switched on", values=STATES),
    "status": Field(str, "state in the switch's own word: connected, notconnect, errdisabled ..."),
    "speed_mbit_per_s": Field(int, "speed of the port", "Mbit/s"),
    "oper_speed_mbit_per_s": Field(int, "speed in use, where it is told apart", "Mbit/s"),
    "mtu_b": Field(int, "largest packet", "B"),
    "fec": Field(str, "forward error correction", values=FEC),
    "lanes": Field(list, "numbers of its lanes in the switch's chip"),
    "vlan": Field(str, "VLAN, `trunk` or `routed`, as printed"),
    "media": Field(str, "kind of the module or cable, as printed"),
    "duplex": Field(str, "duplex", values=("full", "half")),
    "auto_negotiation": Field(bool, "speed is negotiated"),
    "module_present": Field(bool, "a module or cable is plugged in"),
    "asymmetric_pfc": Field(bool, "sends no pause frames, obeys those that it gets"),
    "lossless_priorities": Field(list, "priorities with flow control"),
    "pfc_enabled": Field(bool, "priority flow control is configured"),
    "pfc_active": Field(bool, "priority flow control is in force"),
    "rx_utilisation_pct": Field(float, "load, received", "%"),
    "tx_utilisation_pct": Field(float, "load, sent", "%"),
    "rx_packets": Field(int, "packets received"),
    "tx_packets": Field(int, "packets sent"),
    "rx_bytes": Field(int, "bytes received", "B"),
    "tx_bytes": Field(int, "bytes sent", "B"),
    "rx_errors": Field(int, "packets received with an error"),
    "tx_errors": Field(int, "packets not sent because of an error"),
    "rx_crc_errors": Field(int, "packets received with a wrong checksum"),
    "rx_symbol_errors": Field(int, "symbol errors, received"),
    "rx_alignment_errors": Field(int, "packets that do not end with a whole byte"),
    "rx_short_frames": Field(int, "packets that are too short"),
    "rx_long_frames": Field(int, "packets that are too long"),
    "rx_discards": Field(int, "packets received and thrown away"),
    "tx_discards": Field(int, "packets thrown away before they were sent"),
    "rx_overruns": Field(int, "packets received and lost for want of buffers"),
    "tx_overruns": Field(int, "packets to be sent and lost for want of buffers"),
    "rx_buffer_drops": Field(int, "packets received and thrown away for want of buffers"),
    "tx_queue_drops": Field(int, "packets thrown away because their queue was full"),
    "rx_pause": Field(int, "pause frames received, for the whole port"),
    "tx_pause": Field(int, "pause frames sent, for the whole port"),
    "rx_pfc_frames": Field(int, "PFC frames received, all priorities"),
    "tx_pfc_frames": Field(int, "PFC frames sent, all priorities"),
    "ecn_marked_packets": Field(int, "packets marked with congestion experienced"),
    "carrier_transitions": Field(int, "how often the carrier came or went"),
    "port_type": Field(str, "swp, eth, bond, bridge ..., as printed"),
    "protodown": Field(bool, "the switch itself holds the port down"),
    "protodown_reason": Field(str, "why it does, as printed"),
    "roce_rx_packets": Field(int, "RoCE packets received"),
    "roce_tx_packets": Field(int, "RoCE packets sent"),
    "roce_rx_buffer_discards": Field(int, "RoCE packets received and lost for want of buffers"),
    "roce_tx_buffer_discards": Field(int, "RoCE packets to be sent, lost for want of buffers"),
    "other_rx_buffer_discards": Field(int, "other packets received, lost for want of buffers"),
    "other_tx_buffer_discards": Field(int, "other packets to be sent, lost for want of buffers"),
    "cnp_tx_packets": Field(int, "congestion notifications sent on"),
    "rx_pause_duration": Field(int, "how long the peer paused it, as counted; mlx: us"),
    "tx_pause_duration": Field(int, "how long it paused the peer, as counted; mlx: us"),
    "rx_jabber_frames": Field(int, "packets that are too long, with a wrong checksum"),
    "rx_length_errors": Field(int, "packets whose length field is wrong"),
    "rx_acl_drops": Field(int, "packets received that a rule threw away"),
    "tx_other_drops": Field(int, "packets to be sent, thrown away beside the queues"),
    "fec_corrected_blocks": Field(int, "code words that were mended"),
    "fec_uncorrectable_blocks": Field(int, "code words that could not be mended"),
    "fec_symbol_errors": Field(int, "symbols that FEC found wrong"),
    "raw_ber": Field(float, "bit error rate before FEC"),
    "effective_ber": Field(float, "bit error rate after FEC"),
    "watchdog_action": Field(str, "what the PFC watchdog does: drop, forward, alert"),
    "watchdog_detection_ms": Field(int, "pause that counts as a storm", "ms"),
    "watchdog_restoration_ms": Field(int, "quiet that ends a storm", "ms"),
}
PRIORITY = {
    "rx_pfc_frames": Field(int, "PFC frames received for this priority"),
    "tx_pfc_frames": Field(int, "PFC frames sent for this priority"),
    "rx_pause_duration": Field(int, "how long the peer paused it, as counted; mlx: us"),
    "tx_pause_duration": Field(int, "how long it paused the peer, as counted; mlx: us"),
}
QUEUE = {
    "tx_packets": Field(int, "packets sent"),
    "tx_bytes": Field(int, "bytes sent", "B"),
    "dropped_packets": Field(int, "packets thrown away"),
    "dropped_bytes": Field(int, "bytes thrown away", "B"),
    "ecn_marked_packets": Field(int, "packets marked with congestion experienced"),
    "ecn_marked_bytes": Field(int, "bytes of these", "B"),
    "buffer_discards": Field(int, "discards for want of buffers; Cumulus prints bytes"),
    "wred_discards": Field(int, "packets that WRED threw away"),
    "watermark_b": Field(int, "most that has stood in the queue", "B"),
}
GROUP = {
    "dropped_packets": Field(int, "packets thrown away on arrival"),
    "rx_packets": Field(int, "packets received"),
    "buffer_discards": Field(int, "discards for want of buffers; Cumulus prints bytes"),
    "shared_buffer_discards": Field(int, "of the shared pool; Cumulus prints bytes"),
    "shared_watermark_b": Field(int, "most of the shared pool that was in use", "B"),
    "headroom_watermark_b": Field(int, "most of the headroom that was in use", "B"),
}
ROCE = {
    "state": Field(str, "RoCE is configured", values=("enabled", "disabled")),
    "mode": Field(str, "lossless, lossy, lossless-single-ipool ..., as printed"),
    "pfc_priorities": Field(list, "switch priorities with flow control; empty where none"),
    "pfc_rx_enabled": Field(bool, "pause frames are obeyed"),
    "pfc_tx_enabled": Field(bool, "pause frames are sent"),
    "cable_length_m": Field(int, "length that headroom is reckoned for", "m"),
    "congestion_mode": Field(str, "ECN, `ecn, absolute` ..., as printed"),
    "ecn_tcs": Field(list, "traffic classes whose packets are marked"),
    "ecn_min_threshold_b": Field(int, "fill of the queue at which marking begins", "B"),
    "ecn_max_threshold_b": Field(int, "fill at which it reaches its full rate", "B"),
    "ecn_probability_pct": Field(int, "rate of marking at that fill", "%"),
    "trust": Field(str, "what the priority is taken from: `pcp,dscp` ..., as printed"),
    "lldp_priority": Field(int, "priority that LLDP tells the hosts"),
    "dscp_to_priority": Field(dict, "switch priority of each DSCP"),
    "priority_to_tc": Field(dict, "traffic class of each switch priority"),
    "tc_scheduler": Field(dict, "share or rank of each traffic class, as printed"),
}
POOL = {
    "mode": Field(str, "dynamic, static, as printed"),
    "priorities": Field(list, "switch priorities that use it"),
    "tcs": Field(list, "traffic classes that use it"),
    "size_b": Field(int, "size", "B"),
    "size_pct": Field(float, "size as a share of the buffer", "%"),
    "usage_b": Field(int, "in use now", "B"),
    "max_usage_b": Field(int, "most that was in use", "B"),
}
WATCHDOG = {
    "state": Field(str, "state of the queue", values=("operational", "stormed")),
    "storms_detected": Field(int, "pause storms found"),
    "storms_restored": Field(int, "pause storms that ended"),
    "tx_packets": Field(int, "packets sent while in a storm, all storms"),
    "tx_drops": Field(int, "packets not sent, all storms"),
    "rx_packets": Field(int, "packets received while in a storm, all storms"),
    "rx_drops": Field(int, "packets thrown away on arrival, all storms"),
    "last_tx_packets": Field(int, "packets sent, the last storm"),
    "last_tx_drops": Field(int, "packets not sent, the last storm"),
    "last_rx_packets": Field(int, "packets received, the last storm"),
    "last_rx_drops": Field(int, "packets thrown away on arrival, the last storm"),
}
NEIGHBOUR = {
    "interface": Field(str, "own port"),
    "switch_name": Field(str, "neighbour's name: a switch, or a node"),
    "port": Field(str, "neighbour's port id"),
    "port_description": Field(str, "neighbour's port description"),
    "capabilities": Field(list, "what it can do: router, bridge, other ..."),
    "ttl_s": Field(int, "how long it holds without being told again", "s"),
}
NODE = {
    "switch_name": Field(str, "name of the switch, where a prompt tells it"),
    "port_count": Field(int, "ports that were listed"),
    "up_port_count": Field(int, "ports whose link is up"),
    "neighbour_count": Field(int, "neighbours, where they were listed; 0 is a value"),
}
_SPEED = re.compile(r"^([0-9]{1,9}(?:\.[0-9]{1,6})?) ?([MGT])?(?:b(?:it)?(?:/s|ps)?)?$", re.I)
_SCALES = {"M": 1, "G": 1000, "T": 1_000_000}
# 2^32 - 1 Mbit/s is what a driver says that knows of no speed.
_NO_SPEED = 4_294_967_000


def fec(word: str) -> str | None:
    """Return the name of a forward error correction, None where it is not known."""
    return _FEC_WORDS.get(word.lower())


def state(word: str) -> str | None:
    """Return `up` or `down`."""
    return word.lower() if word.lower() in STATES else None


def speed(word: str) -> int | None:
    """Return Mbit/s of `100G`, `800Gbps`, `25000M`; None where there is none."""
    found = _SPEED.match(word.strip())
    if found is None:
        return None
    value = float(found.group(1)) * _SCALES[(found.group(2) or "M").upper()]
    return int(value) if 0 < value < _NO_SPEED else None


def count(word: str) -> int | None:
    """Return a counter that may carry commas between its thousands."""
    digits = word.replace(",", "")
    return int(digits) if re.match(r"^[0-9]{1,20}$", digits) else None


def percent(word: str) -> float | None:
    """Return the number before a sign of per cent."""
    return _plain.decimal(word[:-1].strip()) if word.endswith("%") else _plain.decimal(word)


def small(word: str) -> float | None:
    """Return a rate as `1.5e-12`."""
    found = re.match(r"^[0-9]{1,18}(?:\.[0-9]{1,18})?(?:[eE][+-]?[0-9]{1,3})?$", word)
    value = float(word) if found else None
    return value if value is not None and value < float("inf") else None


def verbatim(
    reading: Reading,
    entity: Entity,
    name: str,
    word: str,
    known: t.Callable[[str], str | None],
    line: int | None,
) -> None:
    """Put a name of an enumeration; one that is not known is kept as it is printed."""
    value = known(word)
    entity.values[name] = value or word
    if value is None:
        entity.notes[name] = "verbatim"
        where = {"line": line, "entity": entity.path, "field": name, "verbatim": word}
        _plain.note(reading, "unknown_value", f"{name} has a value that is not known", **where)


def part(reading: Reading, path: str) -> Entity:
    """Return the entity with this path; it is made where it is not there yet."""
    return reading.added(path) or reading.add(Entity(path))


def key(name: str) -> str:
    """Return the name of a port as it stands in a path: `Ethernet1/1` is `Ethernet1_1`."""
    return re.sub(r"[/:\s]", "_", name)


def port_named(reading: Reading, name: str) -> Entity:
    """Return the entity of the port with this name; `0` is that of an output that names none."""
    port = part(reading, f"port:{key(name)}")
    if name != "0":
        port.values.setdefault("name", name)
    return port


def neighbour(reading: Reading, interface: str, name: str | None, port: str | None) -> Entity:
    """Return the entity `neighbour:<port>`, with `_2` for a second one at the same port.

    A neighbour that an earlier table has told of already is that one again.
    """
    base = f"neighbour:{key(interface) or 'unnamed'}"
    path, number = base, 1
    values: dict[str, Value] = {"interface": interface.strip() or None}
    values.update({"switch_name": name, "port": port})
    known = reading.added(path)
    while known is not None and number < 64:
        if all(known.values[one] == values[one] for one in values):
            return known
        number += 1
        path = f"{base}_{number}"
        known = reading.added(path)
    return reading.add(Entity(path, values=values))


def summary(reading: Reading, name: str | None, listed: bool) -> None:
    """Put the entity "" in front: how many ports there are, and neighbours where `listed`."""
    ports = [one for one in reading.entities if "oper_state" in one.values]
    node = Entity("", values={"port_count": len(ports) or None})
    up = [one for one in ports if one.values["oper_state"] == "up"]
    node.values["up_port_count"] = len(up) if ports else None
    if listed:
        found = [one for one in reading.entities if one.path.startswith("neighbour:")]
        node.values["neighbour_count"] = len(found)
    if name:
        node.values["switch_name"] = name
    reading.entities.insert(0, node)
