# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `ip link`, in all its forms: plain, brief (-br), with -d and -s, and JSON (-j).

Plain: `2: eth0@if3: <FLAGS> mtu 1500 qdisc mq state UP ...` and indented lines below it.
Brief: name, state, MAC, flags, a line each. JSON: a list of objects. Versions: iproute2
4.15 to 6.18. Source: ip-link(8); iproute2 ip/ipaddress.c.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._identity import mac
from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _json, _plain
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    UNREADABLE,
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data, decode

KIND = "ip-link"
TITLE = "ip link: network interfaces"
VERSIONS = "iproute2 4.15 to 6.18"
SOURCES = ("ip-link(8)",)
PROVEN = True
_STATES = ("up", "down", "unknown", "dormant", "lower_layer_down", "not_present", "testing")
_COUNTERS = ("bytes", "packets", "errors", "dropped")
FIELDS = {
    "node": {
        "interface_count": Field(int, "interfaces listed"),
        "up_count": Field(int, "of them in state up"),
    },
    "interface": {
        "index": Field(int, "the kernel's number"),
        "state": Field(str, "operational state", values=_STATES),
        "admin_up": Field(bool, "it is switched on"),
        "carrier": Field(bool, "the lower layer is up"),
        "mtu_b": Field(int, "largest packet", "B"),
        "min_mtu_b": Field(int, "smallest MTU that it takes", "B"),
        "max_mtu_b": Field(int, "largest MTU that it takes", "B"),
        "qdisc": Field(str, "queueing discipline"),
        "kind": Field(str, "link type: ether, infiniband, loopback ..."),
        "master": Field(str, "bond or bridge that it belongs to"),
        "lower": Field(str, "interface below it"),
        "promiscuous": Field(bool, "it takes all packets"),
        "vf_count": Field(int, "virtual functions listed"),
        "queue_length": Field(int, "packets"),
        "driver_bus_address": Field(str, "address on its parent bus, with -d"),
        **{f"rx_{name}": Field(int, f"received, {name}") for name in _COUNTERS},
        **{f"tx_{name}": Field(int, f"sent, {name}") for name in _COUNTERS},
    },
}
_HEAD = re.compile(
    r"^([0-9]{1,7}): ([^\s:@<]{1,64})(?:@([^\s:]{1,64}))?: <([A-Z0-9_,-]{0,300})>(.*)$"
)
_BRIEF = re.compile(
    r"^([^\s:]{1,64})\s+([A-Z]{2,16})\s+((?:[0-9a-fA-F]{2}:){5,19}[0-9a-fA-F]{2})?"
    r"\s*<([A-Z0-9_,-]{0,300})>\s*$"
)
_LINK = re.compile(r"^link/(\S{1,20})(?:\s+((?:[0-9a-f]{2}:){5,19}[0-9a-f]{2}))?")
_TOTALS = re.compile(r"^(RX|TX):\s+bytes\s+packets\s+errors\s+dropped")
_PAIRS = {"mtu": "mtu_b", "minmtu": "min_mtu_b", "maxmtu": "max_mtu_b", "qlen": "queue_length"}
_ERROR = re.compile(r"^(?:Device \"|Cannot |RTNETLINK |Error: )")
_STATE_NAMES = {"lowerlayerdown": "lower_layer_down", "notpresent": "not_present"}


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    head = text[:20000]
    if re.search(r"(?m)^[0-9]+: \S+: <[A-Z0-9_,-]*> mtu [0-9]+", head):
        return 0 if re.search(r"(?m)^\s+inet6? \S+/", head) else 95
    if re.search(r'"ifname"\s*:', head) and re.search(r'"operstate"\s*:', head):
        return 0 if '"addr_info"' in head else 95
    lines = [line for line in head.split("\n") if line.strip()]
    return 93 if lines and any(_BRIEF.match(line) for line in lines[:20]) else 0


def read(data: Data) -> Reading:
    """Read one output. Entities: "", `interface:<name>`."""
    reading = Reading(KIND, tool_name="ip")
    if decode(data).lstrip().startswith(("[", "{")):
        _objects(reading, data)
    else:
        _text(reading, data)
    if not reading.entities:
        if any(one.code == "other_format" for one in reading.problems):
            reading.quality = UNREADABLE
            return reading
        return _plain.nothing(reading, "an interface of ip link")
    up = [one for one in reading.entities if one.values.get("state") == "up"]
    node = {"interface_count": len(reading.entities), "up_count": len(up)}
    reading.entities.insert(0, Entity("", values=dict(node)))
    return reading


def _flags(entity: Entity, flags: t.Iterable[str]) -> None:
    names = set(flags)
    entity.values["admin_up"] = "UP" in names
    entity.values["carrier"] = "LOWER_UP" in names and "NO-CARRIER" not in names
    entity.values["promiscuous"] = "PROMISC" in names


def _state(reading: Reading, entity: Entity, word: str, number: int | None) -> None:
    state = _STATE_NAMES.get(word.lower(), word.lower())
    entity.values["state"] = state if state in _STATES else word
    if state not in _STATES:
        entity.notes["state"] = "verbatim"
        where = {"line": number, "entity": entity.path, "field": "state", "verbatim": word}
        _plain.note(reading, "unknown_value", "a state that is not known", **where)


def _text(reading: Reading, data: Data) -> None:
    current: Entity | None = None
    totals = ""
    for number, line in _plain.lines(data):
        word = line.strip()
        head, brief = _HEAD.match(line), _BRIEF.match(line)
        if head:
            current, totals = _begin(reading, head, number), ""
        elif brief:
            _brief(reading, brief, number)
        elif _ERROR.match(word):
            _plain.note(reading, "tool_error", "ip said an error", line=number, verbatim=word)
        elif current is not None and line[:1].isspace():
            totals = _below(current, word, totals)
        else:
            _plain.malformed(reading, number, line, "a line of ip link")


def _begin(reading: Reading, found: t.Match[str], number: int) -> Entity:
    index, name, lower, flags, rest = found.groups()
    entity = reading.add(Entity(f"interface:{name}"), number)
    entity.values.update({"index": int(index), "lower": lower})
    _flags(entity, flags.split(","))
    words = rest.split()
    pairs = dict(zip(words[::2], words[1::2]))
    _numbers(entity, words)
    entity.values["qdisc"] = pairs.get("qdisc")
    entity.values["master"] = pairs.get("master")
    if "state" in pairs:
        _state(reading, entity, pairs["state"], number)
    else:
        where = {"line": number, "entity": entity.path, "field": "state"}
        _plain.note(reading, "truncated", "the line ends before the state", **where)
    return entity


def _numbers(entity: Entity, words: list[str]) -> None:
    for key, value in zip(words, words[1:]):
        if key in _PAIRS and re.match(r"^[0-9]{1,9}$", value):
            entity.values[_PAIRS[key]] = int(value)
        elif key == "parentdev":
            entity.values["driver_bus_address"] = value


def _below(entity: Entity, word: str, totals: str) -> str:
    """Read a line below the head; return the direction whose counters come next."""
    link, next_totals = _LINK.match(word), _TOTALS.match(word)
    if next_totals:
        return next_totals.group(1).lower()
    if totals:
        for name, number in zip(_COUNTERS, word.split()):
            if re.match(r"^[0-9]{1,20}$", number):
                entity.values[f"{totals}_{name}"] = int(number)
        return ""
    if word.startswith("vf "):
        entity.values["vf_count"] = int(str(entity.values.get("vf_count") or 0)) + 1
    elif link and "kind" not in entity.values:
        entity.values["kind"] = link.group(1)
        entity.ids["mac"] = mac(link.group(2) or "")
        if link.group(1) == "infiniband":
            entity.ids["hardware_address"] = link.group(2)
    _numbers(entity, word.split())
    return ""


def _brief(reading: Reading, found: t.Match[str], number: int) -> None:
    name, state, address, flags = found.groups()
    name, _at, lower = name.partition("@")
    entity = reading.add(Entity(f"interface:{name}"), number)
    entity.values["lower"] = lower or None
    entity.ids["mac"] = mac(address or "")
    _flags(entity, flags.split(","))
    _state(reading, entity, state, number)


def _objects(reading: Reading, data: Data) -> None:
    document = _json.load(data, reading)
    for one in _json.dicts(document):
        name = _json.text_of(one.get("ifname"))
        if name is None:
            continue
        entity = reading.add(Entity(f"interface:{name}"))
        values = entity.values
        flags = one.get("flags")
        _flags(entity, [str(flag) for flag in flags] if isinstance(flags, list) else [])
        if isinstance(one.get("operstate"), str):
            _state(reading, entity, one["operstate"], None)
        values["index"] = _json.integer_of(one.get("ifindex"))
        for key, label in (("mtu", "mtu_b"), ("min_mtu", "min_mtu_b"), ("max_mtu", "max_mtu_b")):
            values[label] = _json.integer_of(one.get(key))
        values["queue_length"] = _json.integer_of(one.get("txqlen"))
        for key, label in (("qdisc", "qdisc"), ("link_type", "kind"), ("master", "master")):
            values[label] = _json.text_of(one.get(key))
        values["lower"] = _json.text_of(one.get("link"))
        values["driver_bus_address"] = _json.text_of(one.get("parentdev"))
        entity.ids["mac"] = mac(_json.text_of(one.get("address")) or "")
        stats = _json.as_dict(one.get("stats64") or one.get("stats"))
        for way in ("rx", "tx"):
            counted = _json.as_dict(stats.get(way))
            for name in _COUNTERS if counted else ():
                values[f"{way}_{name}"] = _json.integer_of(counted.get(name))
    if document is not None and not reading.entities:
        reading.note("other_format", "no object with `ifname`")
