# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `ethtool NAME`: link settings of an Ethernet interface.

Format: `Settings for NAME:`, tab-indented `Label: value` lines, lists that go on in
lines of their own; `netlink error: ...` lines stand among them where the user lacks a
right. Versions: ethtool 3.16 to 6.15. Source: ethtool(8).
"""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _plain
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data

KIND = "ethtool"
TITLE = "ethtool: link settings"
VERSIONS = "ethtool 3.16 to 6.15"
SOURCES = ("ethtool(8)",)
PROVEN = True
FIELDS = {
    "interface": {
        "speed_mbit_per_s": Field(int, "speed; null where there is no link", "Mbit/s"),
        "lanes": Field(int, "lanes; null where they are not told"),
        "duplex": Field(str, "duplex", values=("full", "half")),
        "auto_negotiation": Field(bool, "speed is negotiated"),
        "port": Field(str, "medium, as printed"),
        "link_detected": Field(bool, "there is a link"),
        "link_down_reason": Field(str, "what stands in brackets behind `no`"),
        "supported_link_modes": Field(list, "modes that the interface can do"),
        "advertised_link_modes": Field(list, "modes that it offers"),
        "partner_link_modes": Field(list, "modes that the other end offers"),
        "supported_fec_modes": Field(list, "FEC that it can do; empty where it is not reported"),
        "advertised_fec_modes": Field(list, "FEC that it offers"),
        "supported_ports": Field(list, "media that it can do"),
        "pause_advertised": Field(str, "pause frames that it offers, as printed"),
        "transceiver": Field(str, "internal or external"),
        "wake_on": Field(str, "letters of what wakes it"),
        "message_level": Field(int, "bits of the driver's messages"),
    }
}
_LISTS = {
    "Supported link modes": "supported_link_modes",
    "Advertised link modes": "advertised_link_modes",
    "Link partner advertised link modes": "partner_link_modes",
    "Supported FEC modes": "supported_fec_modes",
    "Advertised FEC modes": "advertised_fec_modes",
    "Supported ports": "supported_ports",
}
_TEXTS = {
    "Port": "port",
    "Transceiver": "transceiver",
    "Wake-on": "wake_on",
    "Advertised pause frame use": "pause_advertised",
}
# Known labels that say nothing that is kept.
_OTHERS = re.compile(
    r"^(?:Supported pause frame use|Supports auto-negotiation|Advertised auto-negotiation|"
    r"Link partner .*|PHYAD|MDI-X|Supports Wake-on|master-slave .*|SecureOn password|SQI)$"
)
_SETTINGS = re.compile(r"^Settings for ([^\s:]{1,64}):?$")
_ERROR = re.compile(
    r"^(?:netlink error: |Cannot get |ethtool: |No data available|Could not |Operation not )"
)
_SPEED = re.compile(r"^([0-9]{1,8})Mb/s$")
_LINK = re.compile(r"^(yes|no)(?: \((.{1,200})\))?$")
_PROMPT = re.compile(r"^[#$] ")
_NOT_ROOT = "not permitted"


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    return 96 if re.search(r"(?m)^Settings for \S+?:\s*$", text[:20000]) else 0


def read(data: Data) -> Reading:
    """Read one output, or several; entities `interface:<name>`."""
    reading = Reading(KIND, tool_name="ethtool")
    current: Entity | None = None
    listed = ""
    for number, line in _plain.lines(data):
        word = line.strip()
        head = _SETTINGS.match(word)
        if head:
            current, listed = reading.add(Entity(f"interface:{head.group(1)}"), number), ""
        elif _ERROR.match(word):
            code = "no_access" if _NOT_ROOT in word else "tool_error"
            _plain.note(reading, code, "ethtool said an error", line=number, verbatim=word)
        elif _PROMPT.match(word):
            continue
        elif current is None:
            _plain.malformed(reading, number, line, "a line of ethtool")
        else:
            listed = _line(reading, current, listed, line, number)
    for one in reading.entities:
        if "link_detected" not in one.values:
            where = {"entity": one.path, "field": "link_detected"}
            _plain.note(reading, "truncated", "it ends before `Link detected`", **where)
    return reading if reading.entities else _plain.nothing(reading, "`Settings for NAME:`")


def _line(reading: Reading, current: Entity, listed: str, line: str, number: int) -> str:
    """Read a line; return the list that may go on in the next one."""
    pair = _plain.label(line)
    if pair is None or not re.match(r"^[A-Za-z]", pair[0]):
        if listed:
            _extend(current, listed, line)
        return listed
    label, value = pair
    if label in _LISTS:
        current.values[_LISTS[label]] = []
        _extend(current, _LISTS[label], value)
        return _LISTS[label]
    if label in _TEXTS:
        current.values[_TEXTS[label]] = value or None
    elif label == "Current message level":
        level = re.match(r"^0x([0-9a-f]{1,8})", value)
        current.values["message_level"] = int(level.group(1), 16) if level else None
        return "message_level"
    elif not _single(reading, current, label, value, number) and not _OTHERS.match(label):
        _plain.malformed(reading, number, line, "a known label of ethtool")
    return ""


def _extend(current: Entity, name: str, words: str) -> None:
    listed = current.values.get(name)
    if isinstance(listed, list) and words.strip() not in ("Not reported", "None"):
        listed += [one for one in words.split() if one not in ("[", "]")][:200]


def _single(reading: Reading, current: Entity, label: str, value: str, number: int) -> bool:
    """Put a value that has a form of its own; return whether the label is one of these."""
    if label == "Speed":
        _optional(reading, current, "speed_mbit_per_s", value, _speed(value), number)
    elif label == "Lanes":
        _optional(reading, current, "lanes", value, _plain.integer(value), number)
    elif label == "Duplex":
        known = value.lower() if value.lower() in ("full", "half") else None
        _optional(reading, current, "duplex", value, known, number)
    elif label == "Auto-negotiation":
        _optional(reading, current, "auto_negotiation", value, _plain.yes(value), number)
    elif label == "Link detected":
        found = _LINK.match(value)
        says = found.group(1) == "yes" if found else None
        _optional(reading, current, "link_detected", value, says, number)
        if found and found.group(2):
            current.values["link_down_reason"] = found.group(2)
    else:
        return False
    return True


def _speed(value: str) -> int | None:
    found = _SPEED.match(value)
    # The driver's "unknown" is -1, which old versions print as a number.
    return int(found.group(1)) if found and int(found.group(1)) not in (65535, 4294967295) else None


def _optional(
    reading: Reading, current: Entity, name: str, word: str, value: object, number: int
) -> None:
    """Put a value; `Unknown!` is ethtool's word for what a port without a link does not know."""
    kept = value if isinstance(value, (bool, int, str)) else None
    current.values[name] = kept
    if kept is None and word.startswith(("Unknown", "65535", "4294967295")):
        current.notes[name] = "not_supported"
    elif kept is None:
        where = {"line": number, "entity": current.path, "field": name, "verbatim": word}
        _plain.note(reading, "unknown_value", f"{name} has a value that is not known", **where)
