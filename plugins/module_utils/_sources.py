# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sources of facts about a node: what is asked, best first. Private to trackbed.cluster.

Structured output comes before text, the kernel's files before tools. A source is
one entry of `SOURCES`; it does the I/O within a time-out, hands the output to a
pure reader, and never raises.
"""

from __future__ import annotations

import dataclasses
import os
import re
import time
import typing as t
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ansible_collections.trackbed.cluster.plugins.module_utils import (
    _collect,
    _command,
    _evidence,
    _redact,
    _source_gpu,
    _source_packages,
    _source_rdma,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._collect import (
    Attempt,
    Collected,
    KernelFile,
    Tool,
    first_of,
    package,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._readers import (
    chronyc,
    dkms_status,
    dmesg,
    dmidecode,
    findmnt_json,
    ip_link,
    lsblk_json,
    lscpu,
    lsmod,
    lspci,
    mokutil,
    node_os,
    timedatectl,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    ABSENT,
    Entity,
    Reading,
    failed,
)

DMI_TABLES = Path("/sys/firmware/dmi/tables")
SYSTEMD_RUNS = Path("/run/systemd/system")  # sd_booted(3)
_LOG_LINES = 20_000
# Most of the time goes into waiting for tools, one of which may hang: they are asked side by side.
_AT_ONCE = 8


@dataclasses.dataclass(frozen=True)
class Source:
    """Where facts come from."""

    says: str
    collect: t.Callable[[float], Collected]
    """Takes the time-out in seconds."""
    usual: bool = True
    """Whether it is asked where no source is named."""


def usual() -> list[str]:
    """Return the sources that are asked where none is named, sorted."""
    return sorted(name for name, source in SOURCES.items() if source.usual)


def collect(names: t.Iterable[str], timeout_s: float) -> list[Collected]:
    """Ask the sources side by side; their answers come in the order of the names."""
    with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
        return list(pool.map(lambda name: SOURCES[name].collect(timeout_s), dict.fromkeys(names)))


def collect_pci(timeout_s: float) -> Collected:
    """Ask `lspci -D -nn -vvv`. As an ordinary user it hides links and ACS: quality partial."""
    argv = ("lspci", "-D", "-nn", "-vvv")
    collected = Tool(argv, lspci.KIND, lspci.read, package("pciutils"))(timeout_s)
    if collected.raw is not None:
        version = _command.run(("lspci", "--version"), min(timeout_s, 5.0)).stdout
        found = re.search(rb"version (\d[\w.]{0,20})", version)
        collected.reading.tool_version = found.group(1).decode() if found else None
    return collected


def collect_os(_timeout_s: float) -> Collected:
    """Read /etc/os-release and /proc; no tool, and nothing there that can hang."""
    started, begin = _evidence.utc_now(), time.monotonic()
    parts = {path: _collect.file_text(path) for path in node_os.WANTED}
    if parts[node_os.OS_RELEASE] is None:
        parts[node_os.OS_RELEASE_FALLBACK] = _collect.file_text(node_os.OS_RELEASE_FALLBACK)
    parts[node_os.MACHINE] = os.uname().machine
    raw = node_os.join({path: text for path, text in parts.items() if text is not None})
    return Collected(node_os.read(raw), started, time.monotonic() - begin, raw)


def collect_dmi(timeout_s: float) -> Collected:
    """Ask dmidecode, where the firmware has tables to decode."""
    if not DMI_TABLES.is_dir():
        says = f"{DMI_TABLES} is not there: this machine's firmware has no DMI tables"
        return _collect.not_applicable(dmidecode.KIND, says)
    return Tool(("dmidecode",), dmidecode.KIND, dmidecode.read, package("dmidecode"))(timeout_s)


def collect_clock(timeout_s: float) -> Collected:
    """Ask chrony, or systemd where there is none."""
    attempts: list[Attempt] = [
        Tool(("chronyc", "tracking"), chronyc.KIND, chronyc.read, package("chrony"))
    ]
    if SYSTEMD_RUNS.is_dir():
        argv = ("timedatectl", "status")
        attempts.append(Tool(argv, timedatectl.KIND, timedatectl.read, package("systemd")))
    return first_of(attempts, timeout_s)


def collect_modules(timeout_s: float) -> Collected:
    """Read which kernel modules are loaded: the kernel's list, else lsmod."""
    missing = "this kernel has no modules, or hides them"
    kernel = KernelFile("/proc/modules", lsmod.KIND, lsmod.read, missing)
    return first_of((kernel, Tool(("lsmod",), lsmod.KIND, lsmod.read, package("kmod"))), timeout_s)


def read_dkms(data: bytes) -> Reading:
    """Read `dkms status`, which says nothing at all where it has no module."""
    if data.strip():
        return dkms_status.read(data)
    return Reading(dkms_status.KIND, entities=[Entity("", values={"module_count": 0})])


def collect_kernel_log(timeout_s: float) -> Collected:
    """Read the kernel log of this boot: the journal's, else the kernel's own buffer."""
    argv = ("journalctl", "-k", "-b", "-q", "--no-pager", "-o", "short-iso", "-n", str(_LOG_LINES))
    journal = Tool(argv, dmesg.KIND, read_log, package("systemd"), clean=clean_log)
    buffer = Tool(("dmesg",), dmesg.KIND, read_log, package("util-linux"), clean=clean_log)
    return first_of((journal, buffer), timeout_s)


def read_log(data: bytes) -> Reading:
    """Read a kernel log; an empty one is absent, because no kernel boots in silence."""
    if data.strip():
        return dmesg.read(data)
    return failed(dmesg.KIND, ABSENT, "empty", "it holds nothing of this boot's kernel")


def clean_log(data: bytes) -> bytes:
    """Take secrets out of the lines in which the kernel repeats its command line."""

    def cleaned(found: re.Match[bytes]) -> bytes:
        text = _redact.command_line(found.group(2).decode("utf-8", "replace"))
        return found.group(1) + text.encode()

    return re.sub(rb"(?mi)(command line: )(.*)$", cleaned, data)


_DISK_COLUMNS = "NAME,KNAME,TYPE,SIZE,ROTA,MODEL,VENDOR,SERIAL,WWN,FSTYPE,MOUNTPOINT,PKNAME"
_MOUNT_COLUMNS = "TARGET,SOURCE,FSTYPE,OPTIONS"
_DISKS = ("lsblk", "--json", "--bytes", "--output", _DISK_COLUMNS)
_MOUNTS = ("findmnt", "--json", "--real", "--output", _MOUNT_COLUMNS)
_LINKS = ("ip", "-j", "-d", "-s", "link")
_UTIL_LINUX = package("util-linux")
SOURCES: dict[str, Source] = {
    "os": Source("distribution, kernel, boot", collect_os),
    "pci": Source("PCI devices, their links and settings", collect_pci),
    "gpu": Source("NVIDIA GPUs", _source_gpu.gpu),
    "gpu_driver": Source("the NVIDIA driver that is loaded", _source_gpu.gpu_driver),
    "amd_gpu": Source("AMD GPUs", _source_gpu.amd_gpu),
    "rdma": Source("RDMA adapters and their ports", _source_rdma.adapters),
    "cpu": Source("processors, NUMA", Tool(("lscpu",), lscpu.KIND, lscpu.read, _UTIL_LINUX)),
    "dmi": Source("machine, BIOS, memory modules", collect_dmi),
    "modules": Source("loaded kernel modules", collect_modules),
    "dkms": Source(
        "kernel modules that DKMS builds",
        Tool(("dkms", "status"), dkms_status.KIND, read_dkms, package("dkms")),
    ),
    "secure_boot": Source(
        "Secure Boot",
        Tool(("mokutil", "--sb-state"), mokutil.KIND, mokutil.read, package("mokutil")),
    ),
    "disks": Source("disks", Tool(_DISKS, lsblk_json.KIND, lsblk_json.read, _UTIL_LINUX)),
    "mounts": Source(
        "mounted file systems", Tool(_MOUNTS, findmnt_json.KIND, findmnt_json.read, _UTIL_LINUX)
    ),
    "interfaces": Source(
        "network interfaces", Tool(_LINKS, ip_link.KIND, ip_link.read, package("iproute2"))
    ),
    "clock": Source("the clock and its server", collect_clock),
    "packages": Source("versions of what nodes must have alike", _source_packages.installed),
    "kernel_log": Source("the kernel log of this boot", collect_kernel_log, usual=False),
}
