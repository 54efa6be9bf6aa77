# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tree that NVUE shows of an interface and of RoCE, be it JSON or an indented table.

Private to trackbed.cluster. Source: https://github.com/CumulusNetworks/docs.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import (
    _json,
    _plain,
    _switch_fields,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._switch_fields import part
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import absence

FIELDS: dict[str, dict[str, Field]] = {
    "node": _switch_fields.NODE,
    "port": _switch_fields.PORT,
    "priority": _switch_fields.PRIORITY,
    "queue": _switch_fields.QUEUE,
    "pg": _switch_fields.GROUP,
    "neighbour": _switch_fields.NEIGHBOUR,
    "roce": _switch_fields.ROCE,
    "pool": _switch_fields.POOL,
}
Tree = t.Dict[str, t.Any]
_SIZE = re.compile(r"^([0-9]{1,18}(?:\.[0-9]{1,6})?) ?(Bytes?|[KMGT]i?B)$", re.I)
# NVUE counts in powers of 1024: 150000 bytes are printed as `146.48 KB`.
_POWERS = {"k": 1, "m": 2, "g": 3, "t": 4}
_STATS = {
    "carrier-transitions": "carrier_transitions",
    "in-bytes": "rx_bytes",
    "in-pkts": "rx_packets",
    "in-drops": "rx_discards",
    "in-errors": "rx_errors",
    "out-bytes": "tx_bytes",
    "out-pkts": "tx_packets",
    "out-drops": "tx_discards",
    "out-errors": "tx_errors",
}
QUEUES = {
    "tx-frames": "tx_packets",
    "tx-bytes": "tx_bytes",
    "tx-uc-buffer-discards": "buffer_discards",
    "wred-discards": "wred_discards",
    "ecn-marked-frames": "ecn_marked_packets",
}
GROUPS = {
    "rx-frames": "rx_packets",
    "rx-buffer-discards": "buffer_discards",
    "rx-shared-buffer-discards": "shared_buffer_discards",
}
PRIORITIES = {
    "rx-pause-frames": "rx_pfc_frames",
    "rx-pause-duration": "rx_pause_duration",
    "tx-pause-frames": "tx_pfc_frames",
    "tx-pause-duration": "tx_pause_duration",
}
_PARTS = (
    ("egress-queue-stats", "queue", QUEUES),
    ("ingress-buffer-stats", "pg", GROUPS),
    ("pfc-stats", "priority", PRIORITIES),
)
# Path in the tree of `qos roce counters` -> name.
_ROCE_COUNTERS = {
    ("rx-stats", "rx-pfc-stats", "pause-packets"): "rx_pfc_frames",
    ("rx-stats", "rx-pfc-stats", "pause-duration"): "rx_pause_duration",
    ("rx-stats", "rx-roce-stats", "roce-packets"): "roce_rx_packets",
    ("rx-stats", "rx-roce-stats", "no-buffer-discard"): "roce_rx_buffer_discards",
    ("rx-stats", "rx-non-roce-stats", "no-buffer-discard"): "other_rx_buffer_discards",
    ("tx-stats", "tx-pfc-stats", "pause-packets"): "tx_pfc_frames",
    ("tx-stats", "tx-pfc-stats", "pause-duration"): "tx_pause_duration",
    ("tx-stats", "tx-ecn-stats", "ecn-marked-packets"): "ecn_marked_packets",
    ("tx-stats", "tx-roce-stats", "roce-packets"): "roce_tx_packets",
    ("tx-stats", "tx-roce-stats", "unicast-no-buffer-discard"): "roce_tx_buffer_discards",
    ("tx-stats", "tx-non-roce-stats", "unicast-no-buffer-discard"): "other_tx_buffer_discards",
    ("tx-stats", "tx-cnp-stats", "cnp-packets"): "cnp_tx_packets",
}
_ROCE: dict[tuple[str, str], tuple[str, str]] = {
    ("", "mode"): ("mode", "text"),
    ("pfc", "pfc-priority"): ("pfc_priorities", "list"),
    ("pfc", "rx-enabled"): ("pfc_rx_enabled", "bool"),
    ("pfc", "tx-enabled"): ("pfc_tx_enabled", "bool"),
    ("pfc", "cable-length"): ("cable_length_m", "size"),
    ("congestion-control", "congestion-mode"): ("congestion_mode", "text"),
    ("congestion-control", "enabled-tc"): ("ecn_tcs", "list"),
    ("congestion-control", "min-threshold"): ("ecn_min_threshold_b", "size"),
    ("congestion-control", "max-threshold"): ("ecn_max_threshold_b", "size"),
    ("congestion-control", "probability"): ("ecn_probability_pct", "size"),
    ("trust", "trust-mode"): ("trust", "text"),
    ("lldp-app-tlv", "priority"): ("lldp_priority", "size"),
}


def size(word: str) -> int | None:
    """Return a count, or the bytes of `9.73 MB`."""
    found = _SIZE.match(word)
    if found is None:
        return _switch_fields.count(word)
    power = _POWERS.get(found.group(2)[0].lower(), 0)
    number: float = float(found.group(1)) * 1024.0**power
    return round(number)


def put_size(reading: Reading, entity: Entity, name: str, value: t.Any, line: int | None) -> None:
    """Put a count or a size, be it a number or a text."""
    word = _json.text_of(value)
    if word is None:
        entity.values.setdefault(name, None)
        return
    _plain.put(reading, entity, name, word, size, line or 0)
    if _SIZE.match(word) and word[-2:].lower() != "es" and "Byte" not in word:
        entity.notes[name] = "rounded"


def truth(value: t.Any) -> bool | None:
    """Return the answer of on, enabled, yes or their contraries."""
    if isinstance(value, bool):
        return value
    word = str(value).lower()
    return {"enabled": True, "enable": True, "disabled": False, "disable": False}.get(
        word, _plain.yes(word)
    )


def listed(value: t.Any) -> list[int] | None:
    """Return the numbers of `0,3` or `[0, 3]`; `-` is none of them."""
    words = [str(one) for one in value] if isinstance(value, list) else str(value).split(",")
    words = [one.strip() for one in words if one.strip() not in ("", "-")]
    if len(words) > 256 or not all(re.match(r"^[0-9]{1,3}$", one) for one in words):
        return None
    return [int(one) for one in words]


def take_port(reading: Reading, name: str, tree: Tree, line: int | None = None) -> None:
    """Take the tree of one interface: its link, statistics, queues and neighbours."""
    port = _switch_fields.port_named(reading, name)
    link = _json.as_dict(tree.get("link"))
    if _json.text_of(tree.get("type")):
        port.values["port_type"] = _json.text_of(tree["type"])
    _link(reading, port, link or tree, line)
    for where in (link.get("stats"), tree.get("stats"), link.get("counters"), tree):
        _names(reading, port, _STATS, _json.as_dict(where), line)
    counters = _json.as_dict(tree.get("counters"))
    _names(reading, port, _STATS, counters, line)
    for where in (
        tree,
        counters,
        _json.as_dict(tree.get("qos")),
        _json.as_dict(counters.get("qos")),
    ):
        _queues(reading, port, where, line)
        _roce_counters(reading, port, where, line)
    for neighbour in _json.as_dict(_json.as_dict(tree.get("lldp")).get("neighbor")).items():
        _neighbour(reading, name, *neighbour)


def take_roce(reading: Reading, path: str, tree: Tree, line: int | None = None) -> Entity:
    """Take the tree of `qos roce`, of the whole switch or of one port."""
    roce = part(reading, path)
    state = tree.get("state", tree.get("enable"))
    if state is not None and truth(state) is not None:
        roce.values["state"] = "enabled" if truth(state) else "disabled"
    for (group, leaf), (name, form) in _ROCE.items():
        place = _json.as_dict(tree.get(group)) if group else tree
        if leaf not in place:
            continue
        value = place[leaf]
        if form == "size":
            put_size(reading, roce, name, value, line)
        elif form == "text":
            roce.values[name] = _json.text_of(value)
        else:
            found = truth(value) if form == "bool" else listed(value)
            roce.values[name] = found
            if found is None and value is not None and absence(str(value)) is None:
                where = {"line": line, "entity": path, "field": name, "verbatim": str(value)}
                _plain.note(reading, "unknown_value", f"{name} cannot be read", **where)
    return roce


def is_roce(tree: Tree) -> bool:
    """Return whether a tree is that of `qos roce`."""
    return isinstance(tree.get("congestion-control"), dict) or isinstance(tree.get("pfc"), dict)


def is_port(tree: Tree) -> bool:
    """Return whether a tree is that of one interface, or of a part of it."""
    names = {name for name, _sort, _leaves in _PARTS} | {"link", "oper-status", "rx-stats", "lldp"}
    names |= {"carrier-transitions", "counters"}
    return any(name in tree for name in names)


def _link(reading: Reading, port: Entity, link: Tree, line: int | None) -> None:
    states = (
        ("oper-status", "oper_state"),
        ("state", "oper_state"),
        ("admin-status", "admin_state"),
    )
    for leaf, name in states:
        value = link.get(leaf)
        word = next(iter(value), None) if isinstance(value, dict) else _json.text_of(value)
        if word and absence(word) is None and name not in port.values:
            _switch_fields.verbatim(reading, port, name, word, _switch_fields.state, line)
    fec = _json.text_of(link.get("fec"))
    if fec:
        _switch_fields.verbatim(reading, port, "fec", fec, _switch_fields.fec, line)
    speed = _json.text_of(link.get("speed"))
    if speed and speed != "auto":
        _plain.put(reading, port, "speed_mbit_per_s", speed, _switch_fields.speed, line or 0)
    if "mtu" in link:
        put_size(reading, port, "mtu_b", link["mtu"], line)
    if truth(link.get("auto-negotiate")) is not None:
        port.values["auto_negotiation"] = truth(link["auto-negotiate"])
    if link.get("duplex") in ("full", "half"):
        port.values["duplex"] = link["duplex"]
    if truth(link.get("protodown")) is not None:
        port.values["protodown"] = truth(link["protodown"])


def _names(
    reading: Reading, entity: Entity, names: dict[str, str], tree: Tree, line: int | None
) -> None:
    for leaf, name in names.items():
        if leaf in tree:
            put_size(reading, entity, name, tree[leaf], line)


def _queues(reading: Reading, port: Entity, tree: Tree, line: int | None) -> None:
    for group, sort, names in _PARTS:
        for number, leaves in list(_json.as_dict(tree.get(group)).items())[:64]:
            if re.match(r"^[0-9]{1,3}$", number) and isinstance(leaves, dict):
                _names(reading, part(reading, f"{port.path}/{sort}:{number}"), names, leaves, line)


def _roce_counters(reading: Reading, port: Entity, tree: Tree, line: int | None) -> None:
    for (way, group, leaf), name in _ROCE_COUNTERS.items():
        place = _json.as_dict(_json.as_dict(tree.get(way)).get(group))
        if leaf in place:
            put_size(reading, port, name, place[leaf], line)


def _neighbour(reading: Reading, interface: str, name: str, body: t.Any) -> None:
    tree = _json.as_dict(body)
    chassis, port = _json.as_dict(tree.get("chassis")), _json.as_dict(tree.get("port"))
    far = _json.text_of(chassis.get("system-name")) or name.strip() or None
    place = _json.text_of(port.get("name")) or _json.text_of(port.get("id"))
    entity = _switch_fields.neighbour(reading, interface, far, place)
    entity.values["port_description"] = _json.text_of(port.get("description"))
