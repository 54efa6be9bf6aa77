# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of the log that NCCL and RCCL write with NCCL_DEBUG=INFO or WARN.

Format: `HOST:PID:TID [LOCAL RANK] NCCL INFO text`, with `file:line` before `NCCL
WARN`; time stamps or a launcher's prefix may stand before it, and RCCL may leave
the prefix out. Lines of many processes are interleaved. Warnings about one cable
appear on many hosts: the host with `async event : port error` is where it
happened, a completion with error 12 on another host is the consequence.
Versions: NCCL 2.4 to 2.30. Source: NCCL user guide "Environment variables";
nccl src/debug.cc, src/transport/net_ib.cc.
"""

from __future__ import annotations

import re
import typing as t

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

KIND = "nccl-info"
TITLE = "NCCL and RCCL log (NCCL_DEBUG=INFO, WARN): networks, transports, GPUDirect, warnings"
VERSIONS = "NCCL 2.4 to 2.30, RCCL 2.18 to 2.28"
SOURCES = (
    "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html",
    "https://github.com/NVIDIA/nccl",
)
PROVEN = True
WARNINGS = ("port_error", "port_active", "completion_error", "socket", "cuda", "other")
FIELDS = {
    "node": {
        "line_count": Field(int, "lines of NCCL"),
        "warning_count": Field(int, "lines of NCCL WARN"),
        "process_count": Field(int, "processes that speak; 0 where lines carry none"),
        "init_complete_count": Field(int, "communicators whose initialisation was completed"),
        "nccl_version": Field(str, "as printed by NCCL"),
        "networks": Field(list, "networks in use by any process: IB, Socket or a plugin's name"),
    },
    "process": {
        "host": Field(str, "host name as printed"),
        "pid": Field(int, "process"),
        "local_rank": Field(int, "the number in brackets: CUDA device of the process"),
        "network": Field(str, "network in use"),
        "oob_interface": Field(str, "interface for bootstrap (OOB)"),
        "gdr_disabled_hcas": Field(list, "adapters for which GPU Direct RDMA is disabled"),
        "dma_buf": Field(bool, "the log says that DMA-BUF is available"),
        "transports": Field(dict, "transport (P2P/CUMEM, NET/IB/GDRDMA) -> channels over it"),
        "environment": Field(dict, "NCCL variables that the log says were set by environment"),
        "port_error_count": Field(int, "asynchronous port errors"),
        "port_active_count": Field(int, "ports that came back"),
        "completion_error_count": Field(int, "completions with an error"),
    },
    "event": {
        "kind": Field(str, "what kind of warning", values=WARNINGS),
        "host": Field(str, "host that printed it"),
        "local_rank": Field(int, "the number in brackets"),
        "text": Field(str, "the warning, cut to 300 characters"),
        "error_code": Field(int, "ibv_wc_status of a completion error; 12 is no answer"),
    },
}
# More warnings than this tell nothing new; they are counted all the same.
_MAX_EVENTS = 500
_MAX_PROCESSES = 20_000
_LINE = re.compile(
    r"(?:([A-Za-z0-9_.-]{1,255}):([0-9]{1,10}):([0-9]{1,10}) \[([0-9]{1,4})\] )?"
    r"(?:\S{1,120}:[0-9]{1,6} )?NCCL (INFO|WARN|TRACE) ?(.*)$"
)
_CHANNEL = re.compile(r"^Channel [0-9]{2,4}(?:/[0-9]+)? :? ?.{0,200}? via (\S+)")
_ENVIRONMENT = re.compile(r"^(NCCL_[A-Z0-9_]+|RCCL_[A-Z0-9_]+) set by environment to (.*?)\.?$")
_GDR_OFF = re.compile(r"GPU Direct RDMA Disabled for HCA [0-9]+ '([^']{1,64})'")
_OOB = re.compile(r"; OOB ([A-Za-z0-9_.-]{1,32}):")
_VERSION = re.compile(r"(?:NCCL|RCCL) version\s*:?\s*([0-9]\S*)")
_COMPLETION = re.compile(r"Got completion .{0,120}?(?:with error|status=)\s*([0-9]{1,3})")


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    lines = len(re.findall(r"(?m)\bNCCL (?:INFO|WARN) ", text))
    if lines == 0:
        return 0
    # A log of nccl-tests holds lines of NCCL, too, and knows itself more surely.
    return 85 if re.search(r"(?m):[0-9]+:[0-9]+ \[[0-9]+\] (?:\S+:[0-9]+ )?NCCL ", text) else 60


def read(data: Data) -> Reading:
    """Read the log. Entities: "", `process:HOST:PID`, `event:N` for warnings."""
    log = _Log()
    for line_number, line in numbered_lines(decode(data)):
        if "NCCL " in line:
            log.take(line_number, line)
    return log.finish()


class _Log:
    """Counts as lines come; nothing but counts and the first warnings is kept."""

    def __init__(self) -> None:
        self.reading = Reading(KIND, tool_name="nccl")
        self.node = self.reading.add(Entity(""))
        self.processes: dict[tuple[str, str], Entity] = {}
        self.lines = self.warnings = self.events = self.complete = 0

    def take(self, line_number: int, line: str) -> None:
        """Take one line that names NCCL."""
        version = _VERSION.search(line)
        if version:
            self.node.values["nccl_version"] = version.group(1)
            self.reading.tool_version = version.group(1)
        found = _LINE.search(line)
        if found is None:
            return
        self.lines += 1
        host, pid, _thread, local, level, text = found.groups()
        process = self._process(host, pid, local) if host else None
        if "Init COMPLETE" in text:
            self.complete += 1
        if level == "WARN":
            self._warning(line_number, process, text)
        elif process is not None:
            _info(process, text)

    def _process(self, host: str, pid: str, local: str) -> Entity | None:
        known = self.processes.get((host, pid))
        if known is None and len(self.processes) < _MAX_PROCESSES:
            known = Entity(f"process:{host}:{int(pid)}")
            known.values.update({"host": host, "pid": int(pid), "local_rank": int(local)})
            self.processes[host, pid] = known
        return known

    def _warning(self, line_number: int, process: Entity | None, text: str) -> None:
        self.warnings += 1
        kind, code = _kind(text)
        if process is not None and f"{kind}_count" in FIELDS["process"]:
            before = process.values.get(f"{kind}_count")
            process.values[f"{kind}_count"] = (before if isinstance(before, int) else 0) + 1
        if self.events >= _MAX_EVENTS:
            return
        event = Entity(f"event:{self.events}", values={"kind": kind, "text": text[:300] or None})
        if process is not None:
            event.values["host"] = process.values["host"]
            event.values["local_rank"] = process.values["local_rank"]
        if code is not None:
            event.values["error_code"] = code
        self.events += 1
        self.reading.add(event, line_number)

    def finish(self) -> Reading:
        """Return the reading."""
        for process in self.processes.values():
            self.reading.add(process)
        networks = {one.values.get("network") for one in self.processes.values()}
        self.node.values.update(
            {
                "line_count": self.lines,
                "warning_count": self.warnings,
                "process_count": len(self.processes),
                "init_complete_count": self.complete,
                "networks": sorted(str(one) for one in networks if one),
            }
        )
        if self.lines == 0:
            self.reading.note("missing_value", "no line of NCCL")
            self.reading.quality = UNREADABLE
        if self.warnings > self.events:
            says = f"{self.warnings - self.events} more warnings are counted and not kept"
            self.reading.note("limited", says)
        return self.reading


def _kind(text: str) -> tuple[str, int | None]:
    completion = _COMPLETION.search(text)
    if completion:
        return "completion_error", int(completion.group(1))
    if "async event" in text and "port error" in text:
        return "port_error", None
    if "async event" in text and "port active" in text:
        return "port_active", None
    if "Cuda failure" in text or "HIP failure" in text:
        return "cuda", None
    return ("socket" if "socket" in text.lower() or "Connect to" in text else "other"), None


def _info(process: Entity, text: str) -> None:
    values = process.values
    channel, variable = _CHANNEL.match(text), _ENVIRONMENT.match(text)
    gdr, oob = _GDR_OFF.search(text), _OOB.search(text)
    if channel:
        # NET/IB/3/GDRDMA: the number is the adapter's, and would make each its own transport.
        name = "/".join(part for part in channel.group(1).split("/") if not part.isdigit())
        counts = t.cast("dict[str, t.Any]", values.setdefault("transports", {}))
        if name in counts or len(counts) < 50:
            counts[name] = counts.get(name, 0) + 1
    elif text.startswith("Using network "):
        values["network"] = text[len("Using network ") :].strip()[:64] or None
    elif variable:
        settings = t.cast("dict[str, t.Any]", values.setdefault("environment", {}))
        if len(settings) < 200:
            settings[variable.group(1)] = variable.group(2)[:200]
    elif gdr:
        names = t.cast("list[t.Any]", values.setdefault("gdr_disabled_hcas", []))
        if gdr.group(1) not in names and len(names) < 64:
            names.append(gdr.group(1))
    elif "DMA-BUF is available" in text:
        values["dma_buf"] = True
    if oob:
        values["oob_interface"] = oob.group(1)
