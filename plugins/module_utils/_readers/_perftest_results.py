# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the readers of perftest share: the values of a run, and its sums.

Private to trackbed.cluster. Entities: "", `test:N`, `test:N/row:M`.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    ERROR,
    UNREADABLE,
    Entity,
    Field,
    Reading,
)

SETTINGS = {
    "device": ("device", str, "RDMA device"),
    "number of qps": ("qp_count", int, "queue pairs"),
    "transport type": ("transport", str, "IB for InfiniBand verbs, on Ethernet too"),
    "connection type": ("connection", str, "RC, UC, UD, XRC, DC"),
    "link type": ("link_layer", str, "IB or Ethernet"),
    "gid index": ("gid_index", int, "index of the GID that was used"),
    "tx depth": ("tx_depth", int, "depth of the send queue"),
    "mtu": ("mtu_b", int, "path MTU, bytes"),
    "tos": ("tos", int, "type of service; above 255 where printed so"),
}
FIELDS = {
    "node": {
        "exit_code": Field(int, "exit code, where a wrapper printed it"),
    },
    "test": dict(
        {
            "title": Field(str, "such as RDMA_Write BW Test"),
            "rdma_cm": Field(bool, "connected by rdma_cm"),
            "relaxed_ordering": Field(bool, "PCIe relaxed ordering"),
            "largest_size_b": Field(int, "largest message", "B"),
            "bw_average_gbit_per_s": Field(float, "average at the largest size", "10^9 bit/s"),
            "latency_typical_us": Field(float, "typical (median) latency at the smallest size"),
        },
        **{name: Field(kind, says) for name, kind, says in SETTINGS.values()},
    ),
    "row": {
        "side": Field(str, "local or remote, where a file tells them apart"),
        "size_b": Field(int, "message size", "B"),
        "iterations": Field(int, "iterations"),
        "bw_peak_gbit_per_s": Field(float, "peak; null where it was not measured", "10^9 bit/s"),
        "bw_average_gbit_per_s": Field(float, "average", "10^9 bit/s"),
        "message_rate_mpps": Field(float, "messages", "10^6/s"),
        "latency_min_us": Field(float, "least", "µs"),
        "latency_max_us": Field(float, "largest", "µs"),
        "latency_typical_us": Field(float, "median", "µs"),
        "latency_average_us": Field(float, "mean", "µs"),
        "latency_stdev_us": Field(float, "standard deviation", "µs"),
        "latency_p99_us": Field(float, "99th percentile", "µs"),
        "latency_p999_us": Field(float, "99.9th percentile", "µs"),
        "transactions_per_s": Field(float, "transactions", "1/s"),
        "cpu_util_pct": Field(float, "processor time in use meanwhile", "%"),
    },
}
# perftest calls 2**20 bytes an MB.
MIB_TO_GBIT = 2**20 * 8 / 1e9
ERROR_LINE = re.compile(
    r"^\s*(?:Couldn't|Unable to|Failed to|Completion with error|Problems? with|ibv_[a-z_]+ failed"
    r"|Unexpected|IB device .* not found|Did not detect devices|.*Couldn't (?:connect|read))"
)


def settle(reading: Reading) -> Reading:
    """Sum up; a run without a row is no result, whatever its exit code."""
    rows = [one for one in reading.entities if "/row:" in one.path]
    by_test: dict[str, list[Entity]] = {}
    for row in rows:
        by_test.setdefault(row.path.partition("/")[0], []).append(row)
    for path, those in by_test.items():
        test = reading.added(path)
        if test is not None:
            _sum_up(test, those)
    if not rows:
        told = any(one.code == "tool_error" for one in reading.problems)
        code = "missing_value" if told else "truncated"
        reading.note(code, "no row with a measurement: the run gave no result")
        reading.quality = ERROR if told else UNREADABLE
    return reading


def put(entity: Entity, name: str, factor: float, value: float) -> None:
    """Put a value of a row; a peak of 0 was not measured."""
    if name in ("size_b", "iterations"):
        entity.values[name] = int(value)
    elif name == "bw_peak_gbit_per_s" and value == 0:
        entity.values[name] = None
        entity.notes[name] = "not_supported"
    elif name:
        entity.values[name] = round(float(value) * factor, 6)


def _sum_up(test: Entity, rows: list[Entity]) -> None:
    by_size = sorted(rows, key=lambda row: t.cast("int", row.values.get("size_b") or 0))
    test.values["largest_size_b"] = by_size[-1].values.get("size_b")
    average = by_size[-1].values.get("bw_average_gbit_per_s")
    if average is not None:
        test.values["bw_average_gbit_per_s"] = average
    typical = by_size[0].values.get("latency_typical_us")
    if typical is not None:
        test.values["latency_typical_us"] = typical
