# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `rdma statistic`: counters of RDMA links, plain and JSON (-j).

Format: `link mlx5_0/1 rx_write_requests 12 rx_read_requests 0 ...`, or a list of objects.
Names are the driver's own (mlx5, bnxt_re, ionic, irdma): all are kept in one dictionary,
those that checks need under common names beside them. Versions: iproute2 5.2 to 6.18.
Source: rdma-statistic(8).
"""

from __future__ import annotations

import re

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _json, _rdma
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import (
    Data,
    decode,
    numbered_lines,
)

KIND = "rdma-statistic"
TITLE = "rdma statistic: counters of RDMA links"
VERSIONS = "iproute2 5.2 to 6.18"
SOURCES = ("rdma-statistic(8)",)
PROVEN = True
# Common name -> what drivers call it; the first that is there wins (mlx5, ionic, bnxt_re, irdma).
COMMON = {
    "out_of_sequence": ("out_of_sequence", "resp_rx_outouf_seq", "oos_drop_count"),
    "out_of_buffer": ("out_of_buffer", "resp_rx_outof_buf", "resource_errors"),
    "packet_seq_err": ("packet_seq_err", "req_rx_pkt_seq_err", "seq_err_naks_rcvd"),
    "local_ack_timeout_err": ("local_ack_timeout_err", "to_retransmits"),
    "retry_exceeded_err": ("req_tx_retry_excd_err", "max_retry_exceeded"),
    "rnr_nak_retry_err": ("rnr_nak_retry_err", "req_rx_rnr_retry_err", "rnr_naks_rcvd"),
    "cnp_sent": ("np_cnp_sent", "tx_rdma_cnp_pkts", "tx_cnp_pkts"),
    "cnp_handled": ("rp_cnp_handled", "rx_rdma_cnp_pkts", "rx_cnp_pkts"),
    "ecn_marked_packets": ("np_ecn_marked_roce_packets", "rx_rdma_ecn_pkts", "rx_ecn_marked_pkts"),
    "duplicate_request": ("duplicate_request", "resp_rx_dup_request"),
    "adaptive_retransmissions": ("roce_adp_retrans",),
}
FIELDS = {
    "node": {"link_count": Field(int, "links listed")},
    "port": {
        "hw_counters": Field(dict, "all counters under the driver's names"),
        **{
            name: Field(int, f"first of {', '.join(names)}; null where the driver has none")
            for name, names in COMMON.items()
        },
    },
}
_LINK = re.compile(r"^link ([A-Za-z0-9_.-]{1,64})/([0-9]{1,3}) (.*)$")
_MAX_COUNTERS = 2000


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    head = text[:20000]
    if re.search(r"(?m)^link \S+/[0-9]+ [a-z][a-z0-9_]+ [0-9]+", head):
        return 95
    if re.search(r'"ifname"\s*:', head) and re.search(r'"(?:rx_write_requests|req_[rt]x_)', head):
        return 95
    return 0


def read(data: Data) -> Reading:
    """Read one output. Entities: "", `nic:<name>/port:<n>`."""
    reading = Reading(KIND, tool_name="rdma")
    if decode(data).lstrip().startswith(("[", "{")):
        for one in _json.dicts(_json.load(data, reading)):
            name = _json.text_of(one.get("ifname"))
            port = _json.integer_of(one.get("port"))
            counted = {
                key: _json.integer_of(one[key]) for key in one if key not in ("ifname", "port")
            }
            _add(reading, name or "unnamed", port or 0, counted, None)
    else:
        _lines(reading, data)
    if not reading.entities:
        return _rdma.nothing_found(reading, "`link <name>/<port> <counter> <number>`")
    count = len(reading.entities)
    reading.entities.insert(0, Entity("", values={"link_count": count}))
    return reading


def _lines(reading: Reading, data: Data) -> None:
    for number, line in numbered_lines(decode(data)):
        found = _LINK.match(line)
        if found:
            words = found.group(3).split()
            counted = {key: _rdma.integer(word) for key, word in zip(words[::2], words[1::2])}
            _add(reading, found.group(1), int(found.group(2)), counted, number)
            if len(words) % 2:
                says = "the last counter has no value"
                _rdma.note(reading, "truncated", says, line=number, verbatim=words[-1])
        elif line.strip() and not _rdma.trouble(reading, number, line):
            says = "not a link with its counters"
            _rdma.note(reading, "malformed", says, line=number, verbatim=line.strip())


def _add(
    reading: Reading, name: str, port: int, counted: dict[str, int | None], number: int | None
) -> None:
    entity = Entity(f"nic:{name.replace('/', '_')}/port:{port}")
    kept = {key: value for key, value in counted.items() if value is not None}
    if len(kept) < len(counted):
        says = "some counters are no whole numbers"
        _rdma.note(reading, "malformed", says, line=number, entity=entity.path)
    entity.values["hw_counters"] = dict(sorted(kept.items())[:_MAX_COUNTERS])
    for common, names in COMMON.items():
        entity.values[common] = next((kept[one] for one in names if one in kept), None)
    reading.add(entity, number)
