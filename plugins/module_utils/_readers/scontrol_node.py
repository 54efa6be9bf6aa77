# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of `scontrol show node`, also with `--oneliner`.

Traps: a reason holds blanks, colons and equals signs; `Gres=(null)`; `CfgTRES`
names GPUs only where AccountingStorageTRES asks for them, so the number of GPUs
comes from `Gres`; a MIXED node may have no free GPU. Versions: Slurm 19.05 to 25.05.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import _slurm
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import (
    ABSENT,
    ERROR,
    UNREADABLE,
    Entity,
    Field,
    Reading,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._text import Data, decode, number

KIND = "scontrol-node"
TITLE = "Slurm's own view of its nodes (scontrol show node)"
VERSIONS = "Slurm 19.05 to 25.05"
SOURCES = ("https://slurm.schedmd.com/scontrol.html",)
PROVEN = True

# Key -> (value name, type, what it says, unit)
_KEYS: dict[str, tuple[str, type, str, str | None]] = {
    "Arch": ("architecture", str, "machine", None),
    "CPUAlloc": ("cpu_allocated_count", int, "CPUs given to jobs", None),
    "CPUTot": ("cpu_count", int, "CPUs", None),
    "CPULoad": ("cpu_load", float, "load average", None),
    "Version": ("slurmd_version", str, "version of slurmd", None),
    "OS": ("os", str, "kernel, as uname prints it", None),
    "RealMemory": ("memory_total_mib", int, "memory by slurm.conf", "MiB"),
    "AllocMem": ("memory_allocated_mib", int, "memory given to jobs", "MiB"),
    "FreeMem": ("memory_free_mib", int, "free memory by the kernel", "MiB"),
    "NodeAddr": ("address", str, "address", None),
    "NodeHostName": ("host", str, "host name", None),
    "BootTime": ("boot_time", str, "when it booted, controller's local time", None),
    "SlurmdStartTime": ("slurmd_start_time", str, "when slurmd started", None),
    "Comment": ("comment", str, "comment", None),
    "Extra": ("extra", str, "extra", None),
}
_LISTS = {"ActiveFeatures": "features", "Partitions": "partitions"}
FIELDS = {
    "node": {"slurm_node_count": Field(int, "nodes in this output")},
    "slurm_node": {
        **_slurm.NODE_FIELDS,
        **{name: Field(kind, says, unit) for name, kind, says, unit in _KEYS.values()},
        "features": Field(list, "active features"),
        "partitions": Field(list, "partitions"),
        "gpu_accounted_count": Field(int, "GPUs by CfgTRES; null where Slurm does not track them"),
        "gpu_allocated_count": Field(int, "GPUs given to jobs; null where it does not track them"),
    },
}
_NODE = re.compile(r"(?m)^\s*NodeName=(\S{1,255})")
_KEY = re.compile(
    r"(?:^|(?<=\s))("
    + "|".join([*_KEYS, *_LISTS])
    + r"|CoresPerSocket|CPUEfctv|AvailableFeatures|Gres|GresDrain|GresUsed|Port|Sockets|Boards"
    r"|State|ThreadsPerCore|TmpDisk|Weight|Owner|MCS_label|NextState|LastBusyTime|ResumeAfterTime"
    r"|CfgTRES|AllocTRES|CapWatts|CurrentWatts|AveWatts|MemSpecLimit|CoreSpecCount|CPUSpecList"
    r"|ExtSensors[A-Za-z]+|Reason|ReservationName|InstanceId|InstanceType|CertFlags|Topology"
    r"|TLSCertLastRenewal|GpuSpec|RestrictedCoresPerGPU|PowerManagement|BcastAddr)="
)
_BY = re.compile(r"^(.*?)\s*\[([^\[\]@\s]{1,64})@([0-9T:\-]{10,25})\]")
_GPU_TRES = re.compile(r"(?:^|,)gres/gpu=([0-9]{1,6})(?:,|$)")
_ERROR = re.compile(r"(?m)^(?:Node (\S+) not found|(?:slurm_load_\w+|scontrol:)\s*error:?.*)$")


def recognise(text: str) -> int:
    """Return how surely this text is of this kind, 0 to 100."""
    if _NODE.search(text) and re.search(r"\bState=[A-Z]", text):
        return 96
    return 92 if re.match(r"\s*Node \S+ not found\s*$", text) else 0


def read(data: Data) -> Reading:
    """Read every node; entities `slurm_node:<name>`."""
    reading = Reading(KIND)
    text = decode(data)
    starts = list(_NODE.finditer(text))
    for index, found in enumerate(starts):
        end = starts[index + 1].start() if index + 1 < len(starts) else len(text)
        line = text.count("\n", 0, found.start(1)) + 1 if index < 10_000 else None
        entity = reading.add(Entity("slurm_node:" + re.sub(r"[/:]", "_", found.group(1))), line)
        _fill(reading, entity, _pairs(text[found.end() : end]), line)
    _errors(reading, text)
    reading.entities.insert(0, Entity("", values={"slurm_node_count": len(starts)}))
    if not starts and not reading.problems:
        reading.note(
            "other_format" if text.strip() else "empty",
            "no NodeName=: this is not what scontrol show node prints",
        )
        reading.quality = UNREADABLE
    return reading


def _errors(reading: Reading, text: str) -> None:
    for found in _ERROR.finditer(text):
        reading.note("tool_error", "scontrol reported an error", verbatim=found.group(0))
        if not reading.entities:
            reading.quality = ABSENT if found.group(1) else ERROR
        if len(reading.problems) > 50:
            return


def _pairs(block: str) -> dict[str, str]:
    """Return key -> value of one node; a reason is all up to its closing bracket or line end."""
    pairs: dict[str, str] = {}
    start, keys = 0, []
    for found in _KEY.finditer(block):
        if found.start() < start:  # inside the reason
            continue
        keys.append((found.group(1), found.end(), found.start()))
        if found.group(1) == "Reason":
            line_end = block.find("\n", found.end())
            rest = block[found.end() : line_end if line_end >= 0 else len(block)]
            by = _BY.match(rest)
            start = found.end() + (by.end() if by else len(rest))
            pairs["Reason"] = rest[: by.end() if by else None]
    ends = [begin for _key, _end, begin in keys[1:]] + [len(block)]
    for (key, begin, _start), end in zip(keys, ends):
        pairs.setdefault(key, block[begin:end].strip())
    return pairs


def _fill(reading: Reading, entity: Entity, pairs: dict[str, str], line: int | None) -> None:
    if "State" not in pairs or not pairs["State"]:
        reading.note("truncated", f"{entity.path} has no State=", entity=entity.path, line=line)
    else:
        _slurm.put_state(entity, pairs["State"].split()[0])
        if not _slurm.is_state(pairs["State"].split()[0]):
            entity.notes["state"] = "verbatim"
            reading.note(
                "unknown_value",
                "not a state that we know",
                entity=entity.path,
                field="state",
                verbatim=pairs["State"],
            )
    for key, (name, kind, _says, _unit) in _KEYS.items():
        if key in pairs:
            entity.values[name] = _value(kind, pairs[key])
    for key, name in _LISTS.items():
        if key in pairs:
            words = (_slurm.none_of(pairs[key]) or "").split(",")
            entity.values[name] = [one.strip() for one in words if one.strip()]
    if "Gres" in pairs:
        _slurm.put_gres(entity, pairs["Gres"])
    accounted = _GPU_TRES.search(pairs.get("CfgTRES", ""))
    allocated = _GPU_TRES.search(pairs.get("AllocTRES", ""))
    entity.values["gpu_accounted_count"] = int(accounted.group(1)) if accounted else None
    none_given = 0 if accounted and "AllocTRES" in pairs else None
    entity.values["gpu_allocated_count"] = int(allocated.group(1)) if allocated else none_given
    by = _BY.match(pairs.get("Reason", ""))
    reason = by.group(1) if by else pairs.get("Reason")
    entity.values["reason"] = _slurm.none_of(reason)
    if by:
        entity.values.update({"reason_by": by.group(2), "reason_time": by.group(3)})


def _value(kind: type, text: str) -> t.Any:
    if kind is str:
        return _slurm.none_of(text)
    value = number(text)
    if value is None:
        return None
    return int(value) if kind is int else float(value)
