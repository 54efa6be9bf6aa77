# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What `nvidia-smi nvlink` can say of a link, and our names for it.

Private to trackbed.cluster. Names of the counters: driver 535 (Hopper) and 595.91
(B300); nvidia-smi(1) after 610.
"""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._reading import Field

STATUS = {
    "listed": "the links are listed",
    "all_inactive": "the GPU has links, and none of them is active",
    "not_supported": "this GPU has no NVLink",
    "mig_mode": "the GPU is in MIG mode, where links cannot be asked",
    "unreadable": "the driver did not answer",
}
_SPOKEN = (
    (re.compile(r"all links are in-?active", re.IGNORECASE), "all_inactive"),
    (re.compile(r"nvlink.{0,60}\bMIG\b", re.IGNORECASE), "mig_mode"),
    (
        re.compile(
            r"does not have or support nvlink|nvlink.{0,40}not supported|no nvlink", re.IGNORECASE
        ),
        "not_supported",
    ),
    (
        re.compile(r"(?:unable|failed) to (?:retrieve|get|query).{0,60}", re.IGNORECASE),
        "unreadable",
    ),
)
ABILITIES = {
    "p2p is supported": "p2p_supported",
    "access to system memory supported": "system_memory_access_supported",
    "p2p atomics supported": "p2p_atomics_supported",
    "system memory atomics supported": "system_memory_atomics_supported",
    "sli is supported": "sli_supported",
    "link is supported": "link_supported",
}
COUNTERS = {
    "replay errors": "sent again (to Hopper)",
    "recovery errors": "recoveries of the link (to Hopper)",
    "crc errors": "CRC errors (to Hopper)",
    "malformed packet errors": "malformed packets",
    "buffer overrun errors": "overruns of a buffer",
    "rx errors": "packets received with an error",
    "rx remote errors": "packets that the far end marked as bad",
    "rx general errors": "other errors of reception",
    "local link integrity errors": "too many errors at once, which retrain a link",
    "tx discards": "packets that were not sent",
    "link recovery successful events": "recoveries that succeeded",
    "link recovery failed events": "recoveries that failed",
    "total link recovery events": "recoveries",
    "effective errors": "errors that the correction did not mend",
    "symbol errors": "symbols that were wrong after the correction",
    "raw errors lane 0": "before the correction; some are normal",
    "raw errors lane 1": "before the correction; some are normal",
    "tx packets": "packets sent",
    "rx packets": "packets received",
    "plr xmit blocks": "blocks sent by physical-layer retransmission",
    "plr xmit retry blocks": "blocks sent again by it",
}
RATES = {
    "effective ber": "bit errors after the correction; 15e-255 is the least that is printed",
    "symbol ber": "symbol errors after the correction",
    "raw ber lane 0": "as printed: a ratio, or an integer on some drivers",
    "raw ber lane 1": "as printed: a ratio, or an integer on some drivers",
    "raw ber total": "as printed: a ratio, or an integer on some drivers",
}
TRAFFIC = {
    "raw tx": "raw_tx_kib",
    "raw rx": "raw_rx_kib",
    "data tx": "data_tx_kib",
    "data rx": "data_rx_kib",
    "tx0": "tx0_kib",
    "rx0": "rx0_kib",
    "tx1": "tx1_kib",
    "rx1": "rx1_kib",
    "tx bytes": "tx_b",
    "rx bytes": "rx_b",
}


def snake(label: str) -> str:
    """Return a label as a name."""
    return re.sub(r"[^a-z0-9]+", "_", label).strip("_")


FIELDS = {
    "node": {
        "gpu_count": Field(int, "GPUs in the output; null where some were left out"),
        "nvlink_count": Field(int, "links listed by state; null where a GPU could not be asked"),
        "nvlink_active_count": Field(int, "active ones of them"),
    },
    "gpu": {
        "name": Field(str, "product name"),
        "nvlink_status": Field(str, "what the GPU said of its links", values=tuple(STATUS)),
        "nvlink_count": Field(int, "links listed, active or not; null where they are not listed"),
        "nvlink_active_count": Field(int, "links with a speed; null where states are not listed"),
        "nvlink_total_gb_per_s": Field(float, "sum of the speeds, one direction", "GB/s"),
        "nvlink_encryption": Field(str, "enabled or disabled"),
        "nvlink_version": Field(str, "version of NVLink"),
        "nvlink_firmware": Field(dict, "part -> version of its firmware"),
    },
    "nvlink": {
        "state": Field(str, "active has a speed", values=("active", "inactive")),
        "speed_gb_per_s": Field(float, "one direction; null where inactive", "GB/s"),
        "remote_pci": Field(str, "GPU or switch at the far end"),
        "remote_link": Field(int, "number of the link, or of the port, at the far end"),
        "fec_errors": Field(list, "code words by number of symbols mended; the first are normal"),
        "other": Field(dict, "label -> value, of what is not known"),
        **{name: Field(bool, label) for label, name in ABILITIES.items()},
        **{snake(label): Field(int, says) for label, says in COUNTERS.items()},
        **{snake(label): Field(float, says) for label, says in RATES.items()},
        **{name: Field(int, f"traffic: {label}") for label, name in TRAFFIC.items()},
    },
}


def status_of(line: str) -> str | None:
    """Return the key of `STATUS` for a sentence that stands in the place of links."""
    return next((status for pattern, status in _SPOKEN if pattern.search(line)), None)
