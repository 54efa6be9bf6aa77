"""Make what a node's kernel says of processors and memory: files for /proc and /sys.

usage: processors.py MACHINE_JSON DESTINATION
writes DESTINATION/{cpuinfo,meminfo} and DESTINATION/{cpu,node}/, which init binds over
/proc/{cpuinfo,meminfo} and /sys/devices/system/{cpu,node}. Python 3.9, standard library.

Formats: Linux arch/x86/kernel/cpu/proc.c, arch/arm64/kernel/cpuinfo.c, fs/proc/meminfo.c,
drivers/base/{cpu,topology,cacheinfo,node}.c.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

# What a node that does nothing has in use: the kernel, and the services of a small system.
IDLE_MIB = 6144
SAME_NODE, OTHER_NODE, OTHER_SOCKET = 10, 12, 21


class Cpu(NamedTuple):
    """One thread, by where it is."""

    number: int
    socket: int
    core: int  # within its socket
    node: int


def numbers(ranges: str) -> list[int]:
    """Return the numbers of a kernel's list: "0-2,8" is 0, 1, 2, 8."""
    found: list[int] = []
    for part in filter(None, ranges.split(",")):
        first, _, last = part.partition("-")
        found.extend(range(int(first), int(last or first) + 1))
    return found


@lru_cache(maxsize=4096)
def ranges(of: tuple[int, ...]) -> str:
    """Return numbers as the kernel lists them."""
    parts: list[list[int]] = []
    for number in sorted(of):
        if parts and parts[-1][-1] == number - 1:
            parts[-1][1:] = [number]
        else:
            parts.append([number])
    return ",".join("-".join(map(str, part)) for part in parts)


@lru_cache(maxsize=4096)
def mask(of: tuple[int, ...], count: int) -> str:
    """Return a CPU mask: groups of 32 bits in hexadecimal, the highest first."""
    bits = sum(1 << number for number in of)
    groups = -(-count // 32)
    words = [f"{(bits >> (32 * group)) & 0xFFFFFFFF:08x}" for group in reversed(range(groups))]
    if count % 32:  # the first group has as many digits as it needs
        digits = (count % 32 + 3) // 4
        words[0] = words[0][-digits:]
    return ",".join(words)


def cpus_of(machine: dict[str, Any]) -> list[Cpu]:
    """Return all threads: the first one of every core, socket by socket, then the second ones."""
    parts = machine["processors"]
    cores = parts["cores"] * parts["sockets"]
    node_of = {cpu: one["node"] for one in machine["numa"] for cpu in numbers(one["cpus"])}
    return [
        Cpu(cpu, cpu % cores // parts["cores"], cpu % parts["cores"], node_of[cpu])
        for cpu in sorted(node_of)
    ]


def cpuinfo(machine: dict[str, Any]) -> str:
    """Return /proc/cpuinfo."""
    parts, cpus = machine["processors"], cpus_of(machine)
    describe = _arm if parts.get("architecture") == "aarch64" else _x86
    return "".join(describe(parts, cpu, cpus) + "\n\n" for cpu in cpus)


def _x86(parts: dict[str, Any], cpu: Cpu, cpus: list[Cpu]) -> str:
    threads = len(cpus) // (parts["cores"] * parts["sockets"])
    apic = (cpu.socket << 7 | cpu.core << 1) + (cpu.number >= len(cpus) // threads)
    rows: list[tuple[str, object]] = [
        ("processor\t", cpu.number),
        ("vendor_id\t", parts["vendor"]),
        ("cpu family\t", parts["family"]),
        ("model\t\t", parts["model"]),
        ("model name\t", parts["name"]),
        ("stepping\t", parts["stepping"]),
        ("microcode\t", parts["microcode"]),
        ("cpu MHz\t\t", f"{parts['mhz']:.3f}"),
        ("cache size\t", f"{_cache_shown(parts)} KB"),
        ("physical id\t", cpu.socket),
        ("siblings\t", parts["cores"] * threads),
        ("core id\t\t", cpu.core),
        ("cpu cores\t", parts["cores"]),
        ("apicid\t\t", apic),
        ("initial apicid\t", apic),
        ("fpu\t\t", "yes"),
        ("fpu_exception\t", "yes"),
        ("cpuid level\t", 32 if parts["vendor"] == "GenuineIntel" else 16),
        ("wp\t\t", "yes"),
        ("flags\t\t", parts["flags"]),
        ("bugs\t\t", "spectre_v1 spectre_v2 spec_store_bypass"),
        ("bogomips\t", f"{2 * parts['mhz']:.2f}"),
        ("clflush size\t", 64),
        ("cache_alignment\t", 64),
        ("address sizes\t", "{} bits physical, {} bits virtual".format(*parts["address_bits"])),
        ("power management", ""),
    ]
    return "\n".join(f"{name}: {value}" for name, value in rows)


def _cache_shown(parts: dict[str, Any]) -> int:
    """AMD's kernels show the second level here, Intel's the last."""
    level = 2 if parts["vendor"] == "AuthenticAMD" else max(c["level"] for c in parts["caches"])
    return int(next(one["kib"] for one in parts["caches"] if one["level"] == level))


def _arm(parts: dict[str, Any], cpu: Cpu, _cpus: list[Cpu]) -> str:
    rows = [
        ("processor\t", cpu.number),
        ("BogoMIPS\t", "2000.00"),
        ("Features\t", parts["flags"]),
        ("CPU implementer\t", parts["implementer"]),
        ("CPU architecture", 8),
        ("CPU variant\t", parts["variant"]),
        ("CPU part\t", parts["part"]),
        ("CPU revision\t", parts["stepping"]),
    ]
    return "\n".join(f"{name}: {value}" for name, value in rows)


def meminfo(mib: int) -> str:
    """Return /proc/meminfo of so much memory, in use as on an idle server."""
    kib = mib * 1024
    used = min(IDLE_MIB * 1024, kib // 2)
    cached = min(2 * 1024 * 1024, used)
    rows = {
        "MemTotal": kib - kib // 64,  # the kernel keeps its page structures
        "MemFree": kib - kib // 64 - used - cached,
        "MemAvailable": kib - kib // 64 - used,
        "Buffers": 65536,
        "Cached": cached,
        "SwapCached": 0,
        "Active": cached // 2,
        "Inactive": cached // 2,
        "SwapTotal": 0,
        "SwapFree": 0,
        "Dirty": 128,
        "Writeback": 0,
        "AnonPages": used // 2,
        "Mapped": used // 8,
        "Shmem": 16384,
        "Slab": used // 4,
        "CommitLimit": (kib - kib // 64) // 2,
        "Committed_AS": used,
        "HugePages_Total": None,
        "HugePages_Free": None,
        "HugePages_Rsvd": None,
        "HugePages_Surp": None,
        "Hugepagesize": 2048,
        "Hugetlb": 0,
    }
    return "".join(
        f"{name + ':':<15} {value or 0:>8}{'' if value is None else ' kB'}\n"
        for name, value in rows.items()
    )


def cpu_files(machine: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Return path and content of each file of /sys/devices/system/cpu."""
    parts, cpus = machine["processors"], cpus_of(machine)
    count = len(cpus)
    everyone = ranges(tuple(cpu.number for cpu in cpus))
    yield "possible", everyone
    yield "present", everyone
    yield "online", everyone
    yield "offline", ""
    yield "isolated", ""
    yield "kernel_max", "8191"
    yield "smt/active", str(int(count > parts["cores"] * parts["sockets"]))
    yield "smt/control", "on" if count > parts["cores"] * parts["sockets"] else "notsupported"
    sockets = {cpu.socket: tuple(o.number for o in cpus if o.socket == cpu.socket) for cpu in cpus}
    for cpu in cpus:
        socket = sockets[cpu.socket]
        for name, text in (*_topology(cpu, cpus, socket), *_caches(parts, cpu, count, socket)):
            yield f"cpu{cpu.number}/{name}", text


def _topology(cpu: Cpu, cpus: list[Cpu], socket: tuple[int, ...]) -> Iterator[tuple[str, str]]:
    core = tuple(one.number for one in cpus if (one.socket, one.core) == (cpu.socket, cpu.core))
    yield "topology/physical_package_id", str(cpu.socket)
    yield "topology/die_id", "0"
    yield "topology/core_id", str(cpu.core)
    for names, of in (
        (("core_cpus", "thread_siblings"), core),
        (("package_cpus", "core_siblings"), socket),
    ):
        for name in names:
            yield f"topology/{name}", mask(of, len(cpus))
            yield f"topology/{name}_list", ranges(of)


def _caches(
    parts: dict[str, Any], cpu: Cpu, count: int, socket: tuple[int, ...]
) -> Iterator[tuple[str, str]]:
    for index, cache in enumerate(parts["caches"]):
        group = cpu.core // cache["shared"]
        of = tuple(n for n in socket if n % parts["cores"] // cache["shared"] == group)
        where = f"cache/index{index}"
        yield f"{where}/level", str(cache["level"])
        yield f"{where}/type", cache["type"]
        yield f"{where}/size", f"{cache['kib']}K"
        yield f"{where}/shared_cpu_map", mask(of, count)
        yield f"{where}/shared_cpu_list", ranges(of)


def node_files(machine: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Return path and content of each file of /sys/devices/system/node."""
    nodes = machine["numa"]
    everyone = ranges(tuple(one["node"] for one in nodes))
    count = sum(len(numbers(one["cpus"])) for one in nodes)
    of_socket = max(1, len(nodes) // machine["processors"]["sockets"])
    for name in ("possible", "online", "has_memory", "has_normal_memory", "has_cpu"):
        yield name, everyone
    for one in nodes:
        number, here = one["node"], f"node{one['node']}"
        yield f"{here}/cpulist", one["cpus"]
        yield f"{here}/cpumap", mask(tuple(numbers(one["cpus"])), count)
        yield (
            f"{here}/distance",
            " ".join(str(_distance(number, other["node"], of_socket)) for other in nodes),
        )
        text = meminfo(one["memory_mib"]).splitlines()
        yield f"{here}/meminfo", "\n".join(f"Node {number} {line}" for line in text)


def _distance(one: int, other: int, of_socket: int) -> int:
    if one == other:
        return SAME_NODE
    return OTHER_NODE if one // of_socket == other // of_socket else OTHER_SOCKET


def write(machine: dict[str, Any], top: Path) -> None:
    """Write all files below `top`."""
    top.mkdir(parents=True, exist_ok=True)
    (top / "cpuinfo").write_text(cpuinfo(machine))
    (top / "meminfo").write_text(meminfo(sum(one["memory_mib"] for one in machine["numa"])))
    made = set()
    for part, files in (("cpu", cpu_files(machine)), ("node", node_files(machine))):
        for name, text in files:
            where, _, last = f"{top}/{part}/{name}".rpartition("/")
            if where not in made:
                Path(where).mkdir(parents=True, exist_ok=True)
                made.add(where)
            # Ten thousand small files at every boot: this is what makes the time of it.
            descriptor = os.open(f"{where}/{last}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o444)
            os.write(descriptor, (text + "\n").encode())
            os.close(descriptor)


if __name__ == "__main__":
    with Path(sys.argv[1]).open(encoding="utf-8") as stream:
        write(json.load(stream), Path(sys.argv[2]))
