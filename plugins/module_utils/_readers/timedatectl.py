# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `timedatectl` and `timedatectl timesync-status`.

Source: systemd 237 to 257, LC_ALL=C. Before 239 the labels were `Network time on`
and `NTP synchronized`.
"""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
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

KIND = "timedatectl"
TITLE = "Clock and its synchronisation by timedatectl"
VERSIONS = "systemd 237 to 257"
SOURCES = ("https://www.freedesktop.org/software/systemd/man/latest/timedatectl.html",)
PROVEN = True
FIELDS = {
    "node": {
        "clock_synchronized": Field(bool, "the kernel's clock is synchronised"),
        "ntp_service": Field(str, "active, inactive, n/a"),
        "time_zone": Field(str, "time zone"),
        "rtc_in_local_tz": Field(bool, "the hardware clock runs in local time"),
        "server": Field(str, "time server, as printed"),
        "stratum": Field(int, "distance from the reference clock"),
        "leap": Field(str, "normal, or the coming leap second"),
        "offset_s": Field(float, "own clock minus the server's", "s"),
        "delay_s": Field(float, "round trip to the server", "s"),
        "jitter_s": Field(float, "jitter", "s"),
        "packet_count": Field(int, "answers from the server"),
    }
}
_LABELS = {
    "system clock synchronized": "clock_synchronized",
    "ntp synchronized": "clock_synchronized",
    "ntp service": "ntp_service",
    "systemd-timesyncd.service active": "ntp_service",
    "time zone": "time_zone",
    "rtc in local tz": "rtc_in_local_tz",
    "server": "server",
    "stratum": "stratum",
    "leap": "leap",
    "offset": "offset_s",
    "delay": "delay_s",
    "jitter": "jitter_s",
    "packet count": "packet_count",
}
_LINE = re.compile(r"^\s*([A-Za-z][A-Za-z .-]{1,40}): (\S.*)$")
_SPAN = re.compile(r"^([+-])?([0-9.]{1,12})(us|ms|s|min)$")
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0}


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    if re.search(r"(?m)^\s*Universal time: ", text) and "RTC in local TZ: " in text:
        return 95
    return 93 if re.search(r"(?m)^\s*Poll interval: ", text) and "Root distance: " in text else 0


def read(data: Data) -> Reading:
    """Read one output; entity ""."""
    reading = Reading(KIND)
    node = reading.add(Entity(""))
    for line_number, line in numbered_lines(decode(data)):
        found = _LINE.match(line)
        name = _LABELS.get(found.group(1).lower()) if found else None
        if found and name and name not in node.values:
            _put(reading, node, line_number, name, found.group(2).strip())
    if not node.values:
        reading.note("other_format", "nothing that timedatectl prints")
        reading.quality = UNREADABLE
    elif not {"rtc_in_local_tz", "packet_count"} & set(node.values):
        reading.note("truncated", "neither `RTC in local TZ` nor `Packet count`: cut short")
    return reading


def _put(reading: Reading, node: Entity, line_number: int, name: str, word: str) -> None:
    kind = FIELDS["node"][name].type
    span = _SPAN.match(word)
    if kind is str:
        node.values[name] = word
        return
    node.values[name] = None
    if kind is bool and word in ("yes", "no"):
        node.values[name] = word == "yes"
    elif kind is int and re.match(r"^[0-9]{1,12}$", word):
        node.values[name] = int(word)
    elif kind is float and span and span.group(2).count(".") <= 1 and span.group(2) != ".":
        sign = -1.0 if span.group(1) == "-" else 1.0
        node.values[name] = round(sign * float(span.group(2)) * _SECONDS[span.group(3)], 9)
    elif word.lower() == "n/a":
        node.notes[name] = "not_supported"
    else:
        node.notes[name] = "unreadable"
        reading.note(
            "unreadable_value",
            f"{name} is not in a form that we know",
            line=line_number,
            field=name,
            verbatim=word,
        )
