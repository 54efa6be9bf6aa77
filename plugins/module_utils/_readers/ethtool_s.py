# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `ethtool -S`: the counters that an adapter's driver keeps.

Format: `NIC statistics:` and `name: number` lines, names being the driver's own; so all
of them are kept under their names in one dictionary, and those that the fabric checks need
under common names beside them. Versions: ethtool 3.16 to 6.15. Source: ethtool(8);
linux Documentation/networking/device_drivers/ethernet/mellanox/mlx5.
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

KIND = "ethtool-S"
TITLE = "ethtool -S: counters of an adapter"
VERSIONS = "ethtool 3.16 to 6.15"
SOURCES = (
    "ethtool(8)",
    "linux Documentation/networking/device_drivers/ethernet/mellanox/mlx5/counters.rst",
)
PROVEN = True
# Common name -> what drivers call it, the first that is there wins (mlx5, ionic, bnxt, ice).
_COMMON = {
    "rx_packets": ("rx_packets", "frames_rx_ok"),
    "tx_packets": ("tx_packets", "frames_tx_ok"),
    "rx_bytes": ("rx_bytes", "octets_rx_ok"),
    "tx_bytes": ("tx_bytes", "octets_tx_ok"),
    "rx_crc_errors": (
        "rx_crc_errors_phy",
        "frames_rx_bad_fcs",
        "rx_fcs_err_frames",
        "rx_crc_errors",
    ),
    "rx_symbol_errors": ("rx_symbol_err_phy", "rx_pcs_symbol_err_phy"),
    "rx_discards": ("rx_discards_phy", "frames_rx_dropped", "rx_discards"),
    "tx_discards": ("tx_discards_phy", "hw_tx_dropped", "tx_discards"),
    "rx_out_of_buffer": ("rx_out_of_buffer", "hw_rx_missed_errors"),
    "rx_pause": ("rx_global_pause_phy", "rx_pause_ctrl_phy", "frames_rx_pause", "rx_pause_frames"),
    "tx_pause": ("tx_global_pause_phy", "tx_pause_ctrl_phy", "frames_tx_pause", "tx_pause_frames"),
    "fec_corrected_bits": ("rx_corrected_bits_phy",),
    "link_down_events": ("link_down_events_phy", "link_down_events"),
}
FIELDS = {
    "nic": {
        "counters": Field(dict, "all counters under the driver's names"),
        "counter_count": Field(int, "how many there are"),
        **{
            name: Field(int, f"first of {', '.join(names)}; null where the driver has none")
            for name, names in _COMMON.items()
        },
        "rx_priority_pause": Field(dict, "pause frames received, by priority"),
        "tx_priority_pause": Field(dict, "pause frames sent, by priority"),
        "non_zero_errors": Field(list, "counters of errors and drops that are not 0, sorted"),
    }
}
_MAX_COUNTERS = 20000
_LINE = re.compile(r"^([^:]{1,120}): (-?[0-9]{1,24})$")
_PRIORITY = re.compile(
    r"^(rx|tx)_(?:prio|pri|pfc_frames_pri|pfc_ena_frames_pri)_?([0-7])(?:_pause|_pause_frames)?$"
)
_BAD = re.compile(r"err|drop|discard|crc|bad_|abort|out_of_buffer|missed|jabber|fragments")
_ERROR = re.compile(r"^(?:no stats available|Cannot get stats|netlink error: |ethtool: )")


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    return 97 if re.search(r"(?m)^NIC statistics:\s*$", text[:4000]) else 0


def read(data: Data) -> Reading:
    """Read one output; entity `nic:0`, for the output does not name its adapter."""
    reading = Reading(KIND, tool_name="ethtool")
    counters: dict[str, int] = {}
    header = False
    for number, line in _plain.lines(data):
        word = line.strip()
        found = _LINE.match(word)
        if word == "NIC statistics:":
            header = True
        elif _ERROR.match(word):
            _plain.note(reading, "tool_error", "ethtool said an error", line=number, verbatim=word)
        elif not found:
            _plain.malformed(reading, number, line, "`name: number`")
        elif found.group(1).strip() in counters:
            says = "the same counter twice; the first is kept"
            _plain.note(reading, "inconsistent", says, line=number, verbatim=word)
        elif len(counters) < _MAX_COUNTERS:
            counters[found.group(1).strip()] = int(found.group(2))
        else:
            _plain.note(reading, "limited", f"more than {_MAX_COUNTERS} counters", line=number)
    if not counters or not header:
        return _plain.nothing(reading, "counters below `NIC statistics:`")
    nic = reading.add(Entity("nic:0", values={"counter_count": len(counters)}))
    nic.values["counters"] = dict(counters)
    for name, names in _COMMON.items():
        nic.values[name] = next((counters[one] for one in names if one in counters), None)
    for way in ("rx", "tx"):
        nic.values[f"{way}_priority_pause"] = _priorities(counters, way)
    bad = [name for name, value in counters.items() if value and _BAD.search(name)]
    nic.values["non_zero_errors"] = sorted(bad)[:200]
    return reading


def _priorities(counters: dict[str, int], way: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, value in counters.items():
        match = _PRIORITY.match(name)
        if match and match.group(1) == way and ("pause" in name or "pfc" in name):
            found.setdefault(match.group(2), value)
    return found
