# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of the kernel log, in whatever form it was written down.

Forms: dmesg (plain, -T in any language, -x, --time-format, --json), /dev/kmsg,
syslog, journalctl -k in any -o form. One event is a burst: a run of the same
message about the same device, until 3 minutes of silence. The log is streamed:
what is kept is bounded, and `limited` says so where more was found. The
tables in the modules `_kernel_*` say which messages were seen in real outputs.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._identity import (
    pci_address,
    serial,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _kernel_json
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._kernel_events import (
    KINDS,
    Bursts,
    find,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._kernel_fields import EVENT
from ansible_collections.trackbed.cluster.plugins.module_utils._readers._kernel_lines import (
    Line,
    parse,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    ABSENT,
    ERROR,
    UNREADABLE,
    Entity,
    Field,
    Reading,
    Value,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data

KIND = "dmesg"
TITLE = "Kernel log: Xid, SXid, AER, network, memory, OOM, storage, amdgpu, grouped in bursts"
VERSIONS = "forms of dmesg, kmsg, syslog, journalctl; NVIDIA 470 to 570 and Linux 5.15, 6.8 seen"
SOURCES = (
    "https://github.com/NVIDIA/NVSentinel/issues/155",
    "https://github.com/NVIDIA/nvidia-docker/issues/1553",
    "https://github.com/pop-os/pop/issues/3363",
    "https://github.com/ROCm/legacy-rocm-build/issues/4021",
)
PROVEN = True
FIELDS = {
    "node": {
        "line_count": Field(int, "lines that are not empty"),
        "event_count": Field(int, "events (bursts) that are kept"),
        "counts": Field(dict, "kind of event -> lines, also of events that are not kept"),
        "forms": Field(list, "forms that lines came in, such as printk, ctime, kmsg, syslog, json"),
        "hosts": Field(list, "hosts that the form names, up to 64"),
        "first_time": Field(str, "time of the first line that has one, as printed"),
        "last_time": Field(str, "time of the last line that has one, as printed"),
        "kernel_version": Field(str, "kernel of the latest boot in the log"),
        "boot_count": Field(int, "boots that begin in the log; 0 where none is in it"),
        "command_line": Field(str, "command line of the kernel, cut to 2048 characters"),
        "driver_version": Field(str, "NVIDIA driver that was loaded last"),
        "driver_is_open": Field(bool, "whether that is the open kernel module"),
        "suppressed_count": Field(int, "lines that the kernel or journald says it left out"),
    },
    "gpu": {
        "xids": Field(list, "Xids in the order in which they came first"),
        "xid_count": Field(int, "lines with an Xid"),
        "gpu_number": Field(int, "the driver's own number of the GPU (GPU4)"),
    },
    "event": {**EVENT, "kind": Field(str, "what happened", values=KINDS)},
}
_MOST_HOSTS = 64
# Programs beside the kernel whose lines are read: what they say is in the tables.
_TAGS = frozenset(
    {"kernel", "systemd-networkd", "NetworkManager", "nv-fabricmanager", "systemd-journald"}
)
_NO_ACCESS = re.compile(r"^\s*dmesg: read kernel buffer failed: (?:Operation|Permission)")
_NO_TOOL = re.compile(r"^.{0,80}(?:dmesg|journalctl): (?:command )?not found")
_NO_ENTRIES = re.compile(r"^-- No entries --$")
_HINT = re.compile(r"You are currently not seeing messages from other users")
_NO_JOURNAL = re.compile(r"^No journal files were (?:found|opened)")
_KERNEL_WORDS = re.compile(
    r"(?:^|[:>|] ?)(?:NVRM: |nvidia-nv\w{4,8}[0-9]{0,3}: |mlx5_core [0-9a-f]{4}:"
    r"|pcieport [0-9a-f]{4}:|amdgpu [0-9a-f]{4}:|EDAC |mce: |XFS \(|EXT4-fs "
    r"|blk_update_request: |Xid \()"
)
_JSON_KERNEL = re.compile(
    r'"(?:_TRANSPORT|SYSLOG_IDENTIFIER)" ?: ?"kernel"|"dmesg" ?: ?\[(?:\s{0,16}\{|$)'
)
# /dev/kmsg: ` SUBSYSTEM=pci` and the like belong to the message before.
_KMSG_MORE = re.compile(r"^[A-Z_]{3,32}=\S")
_LOOK_AT = 300


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    if any(one.match(text) for one in (_NO_ACCESS, _NO_JOURNAL)):
        return 95
    if _JSON_KERNEL.search(text):
        return 92
    kernel = total = said = 0
    for word in text.split("\n")[: _LOOK_AT * 2]:
        if not word.strip() or total >= _LOOK_AT:
            continue
        total += 1
        line = parse(word[:2000])
        own_words = line.tag is None and _KERNEL_WORDS.search(line.message[:300])
        if line.is_kernel or own_words:
            kernel += 1
        elif line.tag in _TAGS and line.host is not None and find(line.message):
            said += 1
    if kernel * 2 >= total and kernel:
        return 92
    return 60 if kernel else (70 if said else 0)


def read(data: Data) -> Reading:
    """Read the log. Entities: "", `gpu:PCI` for GPUs that are named, `event:N`."""
    log = _Log()
    number = 0
    for number, line in _kernel_json.lines(data):
        if line.message.strip():
            log.take(number, line)
    newline = b"\n" if isinstance(data, bytes) else "\n"
    whole = data[-1:] == newline
    return log.finish(None if whole else number)


class _Log:
    """Streams: keeps what the bursts keep, and facts about the whole log."""

    def __init__(self) -> None:
        self.reading = Reading(KIND)
        self.node = self.reading.add(Entity(""))
        self.bursts = Bursts(self.reading)
        self.lines = self.kernel_lines = self.boots = self.suppressed = 0
        self.forms: list[str] = []
        self.hosts: list[str] = []
        self.first: Line | None = None
        self.last: Line | None = None
        self.malformed: list[tuple[int, str]] = []
        self.gpu: Entity | None = None

    def take(self, number: int, line: Line) -> None:
        """Take one line."""
        if line.form == "bare" and "kmsg" in self.forms and _KMSG_MORE.match(line.message):
            return
        self.lines += 1
        if line.stamp is not None:
            self.first = self.first or line
            self.last = line
        if line.form not in self.forms:
            self.forms.append(line.form)
        if line.host and len(self.hosts) < _MOST_HOSTS and line.host not in self.hosts:
            self.hosts.append(line.host)
        self.kernel_lines += line.is_kernel
        if line.form == "broken":
            self.malformed.append((number, line.message))
            del self.malformed[64:]
        elif line.tag is None or line.tag in _TAGS or line.form == "decoded":
            self._message(number, line)

    def _message(self, number: int, line: Line) -> None:
        found = find(line.message)
        if found is None:
            if line.form == "bare" and len(self.reading.problems) < 8:
                self._trouble(number, line.message)
            return
        row, match = found
        self.kernel_lines += 1
        if row.kind == "@malformed":
            self.malformed.append((number, line.message))
            del self.malformed[64:]
        elif row.kind.startswith("@"):
            self._fact(row.kind, match.groupdict())
        else:
            self.bursts.take(row, match, number, line.timed())

    def _trouble(self, number: int, text: str) -> None:
        """Note what the tool itself said in place of, or beside, the log."""
        if _NO_ACCESS.match(text):
            self.reading.note("no_access", "dmesg may not read", line=number, verbatim=text)
            self.reading.quality = ERROR
        elif _NO_ENTRIES.match(text):
            self.kernel_lines += 1  # journalctl answered: there is nothing
        elif _HINT.search(text):
            self.reading.note("no_access", "journalctl does not show all", line=number)
        elif _NO_JOURNAL.match(text) or _NO_TOOL.match(text):
            code = "tool_error" if _NO_JOURNAL.match(text) else "tool_absent"
            self.reading.note(code, "there is no log", line=number, verbatim=text)
            self.reading.quality = ABSENT

    def _fact(self, kind: str, said: dict[str, t.Any]) -> None:
        values = self.node.values
        if kind == "@gpu":
            address = pci_address(said["pci"])
            self.gpu = self.bursts.gpu(address) if address else None
            if self.gpu is not None:
                self.gpu.ids["uuid"] = said["uuid"]
        elif kind == "@serial" and self.gpu is not None and serial(said["serial"]):
            self.gpu.ids["serial"] = serial(said["serial"])
        elif kind == "@driver":
            values["driver_version"] = said["driver_version"]
            values["driver_is_open"] = "Open" in said["module"]
        elif kind == "@kernel":
            self.boots += 1
            values["kernel_version"] = said["kernel_version"]
        elif kind == "@cmdline":
            values["command_line"] = said["command_line"].strip()
        elif kind == "@suppressed":
            self.suppressed += int(said["lines"])
        elif kind == "@lost":
            self.bursts.problem("truncated", "the kernel's buffer ran over; messages are lost")

    def finish(self, unfinished: int | None) -> Reading:
        """Return the reading; `unfinished` is the number of a last line without its end."""
        for number, text in self.malformed:
            code = "truncated" if number == unfinished else "malformed"
            says = "the line does not have the shape of its kind"
            self.bursts.problem(code, says, line=number, verbatim=text)
        for gpu in self.bursts.gpus.values():
            self.reading.add(gpu)
        kept = [one.entity for one in self.bursts.bursts if not one.dropped]
        for index, entity in enumerate(kept):
            entity.path = f"event:{index}"
            self.reading.add(entity)
        self.node.values.update(self._totals(len(kept)))
        if self.bursts.limited:
            says = f"{self.bursts.limited} lines of further events are counted and not kept"
            self.reading.note("limited", says)
        if self.lines == 0:
            self.reading.note("empty", "the log holds no line")
            self.reading.quality = UNREADABLE
        elif self.kernel_lines == 0 and not self.reading.problems:
            self.reading.note("other_format", "no line of this text is one of a kernel log")
            self.reading.quality = UNREADABLE
        return self.reading

    def _totals(self, events: int) -> dict[str, Value]:
        if self.suppressed:
            self.node.notes["counts"] = "at_least"
        return {
            "line_count": self.lines,
            "event_count": events,
            "counts": dict(sorted(self.bursts.counts.items())),
            "forms": sorted(self.forms),
            "hosts": self.hosts,
            "first_time": self.first.stamp if self.first else None,
            "last_time": self.last.stamp if self.last else None,
            "boot_count": self.boots,
            "suppressed_count": self.suppressed,
        }
