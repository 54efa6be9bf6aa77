# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Port counters of InfiniBand under one name, whichever tool prints them.

Private to trackbed.cluster. Data counters count words of four bytes; they are given
in bytes. The counters of the classic PortCounters attribute stop at the width given
here (InfiniBand Architecture Specification, volume 1, section 16.1.3.5, and
infiniband-diags ibqueryerrors.c); a value at that limit carries the note `at_least`.
"""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._reading import Entity, Field

# Name of ours (that of sysfs) -> (name of perfquery and ibqueryerrors, bits, what it counts).
COUNTERS = {
    "symbol_error": ("SymbolErrorCounter", 16, "minor link errors on lanes"),
    "link_error_recovery": ("LinkErrorRecoveryCounter", 8, "successful link error recoveries"),
    "link_downed": ("LinkDownedCounter", 8, "times the link went down"),
    "port_rcv_errors": ("PortRcvErrors", 16, "packets received with an error"),
    "port_rcv_remote_physical_errors": (
        "PortRcvRemotePhysicalErrors",
        16,
        "packets marked bad by a port before",
    ),
    "port_rcv_switch_relay_errors": (
        "PortRcvSwitchRelayErrors",
        16,
        "packets that the switch could not forward",
    ),
    "port_xmit_discards": ("PortXmitDiscards", 16, "packets discarded before sending"),
    "port_xmit_constraint_errors": ("PortXmitConstraintErrors", 8, "not sent for a constraint"),
    "port_rcv_constraint_errors": ("PortRcvConstraintErrors", 8, "discarded for a constraint"),
    "local_link_integrity_errors": ("LocalLinkIntegrityErrors", 4, "local physical errors"),
    "excessive_buffer_overrun_errors": ("ExcessiveBufferOverrunErrors", 4, "buffer overruns"),
    "qp1_dropped": ("QP1Dropped", 16, "packets for QP1 that were dropped"),
    "vl15_dropped": ("VL15Dropped", 16, "management packets that were dropped"),
    "port_xmit_data_b": ("PortXmitData", 32, "bytes sent"),
    "port_rcv_data_b": ("PortRcvData", 32, "bytes received"),
    "port_xmit_packets": ("PortXmitPkts", 32, "packets sent"),
    "port_rcv_packets": ("PortRcvPkts", 32, "packets received"),
    "port_xmit_wait": ("PortXmitWait", 32, "ticks with data to send and no credit"),
    "unicast_xmit_packets": ("PortUnicastXmitPkts", 64, "unicast packets sent"),
    "unicast_rcv_packets": ("PortUnicastRcvPkts", 64, "unicast packets received"),
    "multicast_xmit_packets": ("PortMulticastXmitPkts", 64, "multicast packets sent"),
    "multicast_rcv_packets": ("PortMulticastRcvPkts", 64, "multicast packets received"),
}
FIELDS = {
    name: Field(int, says, "B" if name.endswith("_b") else None)
    for name, (_printed, _bits, says) in COUNTERS.items()
}
FIELDS["other_counters"] = Field(dict, "counters without a field of their own, by printed name")
_BY_PRINTED = {printed.lower(): name for name, (printed, _bits, _says) in COUNTERS.items()}
# Names of older infiniband-diags, and those of sysfs.
_BY_PRINTED.update(
    {
        "symbolerrors": "symbol_error",
        "linkrecovers": "link_error_recovery",
        "linkdowned": "link_downed",
        "rcverrors": "port_rcv_errors",
        "rcvremotephyserrors": "port_rcv_remote_physical_errors",
        "rcvswrelayerrors": "port_rcv_switch_relay_errors",
        "xmtdiscards": "port_xmit_discards",
        "xmtconstrainterrors": "port_xmit_constraint_errors",
        "rcvconstrainterrors": "port_rcv_constraint_errors",
        "linkintegrityerrors": "local_link_integrity_errors",
        "excbufoverrunerrors": "excessive_buffer_overrun_errors",
        "xmtdata": "port_xmit_data_b",
        "rcvdata": "port_rcv_data_b",
        "xmtpkts": "port_xmit_packets",
        "rcvpkts": "port_rcv_packets",
        "xmtwait": "port_xmit_wait",
        "linkerrorrecovery": "link_error_recovery",
    }
)
_WORD_B = 4


def name_of(printed: str) -> str | None:
    """Return our name for `PortXmitWait` or `port_xmit_wait`, or None."""
    key = printed.lower()
    if key in COUNTERS or f"{key}_b" in COUNTERS:
        return key if key in COUNTERS else f"{key}_b"
    return _BY_PRINTED.get(key) or _BY_PRINTED.get(key.replace("_", ""))


def put_counter(entity: Entity, printed: str, value: int, wide: bool = False) -> None:
    """Set one counter; `wide` says that it comes from a 64-bit attribute."""
    name = name_of(printed)
    if name is None:
        others = entity.values.setdefault("other_counters", {})
        if isinstance(others, dict) and len(others) < 1000:
            others[re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", printed).lower()] = value
        return
    bits = 64 if wide else COUNTERS[name][1]
    entity.values[name] = value * _WORD_B if name.endswith("_b") else value
    if value == 2**bits - 1:
        entity.notes[name] = "at_least"
