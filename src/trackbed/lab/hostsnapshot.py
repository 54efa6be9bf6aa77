"""What a host looks like, to prove that the lab left it as it was.

`take()` reads; `compare()` is pure. Counters and what every process changes by running are left out
of the snapshot, because they differ between any two moments.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from trackbed.lab.command import Runner, run

# Read-only files are the kernel's counters; these writable ones move by themselves too.
_MOVING = re.compile(
    r"kernel/(ns_last_pid|random/.*|pty/nr|tainted|sched_domain/.*)|fs/(dentry-state|inode-nr|"
    r"inode-state|file-nr|aio-nr|quota/.*|binfmt_misc/.*)|net/netfilter/nf_conntrack_count|"
    r"net/ipv[46]/(route/flush|neigh/.*)|net/ipv6/conf/.*/stable_secret|kernel/core_pipe_limit"
)
_PROGRAM_SECONDS = 20.0
_VM_SETTINGS = ("transparent_hugepage", "hugepages", "ksm")


@dataclass(frozen=True)
class HostSnapshot:
    """One host at one moment: for each kind of thing, its names and what each one says."""

    sysctls: Mapping[str, str]
    memory: Mapping[str, str]
    modules: Mapping[str, str]
    mounts: Mapping[str, str]
    links: Mapping[str, str]
    firewall: Mapping[str, str]
    processes: Mapping[str, str]
    pci: Mapping[str, str]

    def to_json(self) -> str:
        """Return the snapshot as text that `from_json` reads."""
        return json.dumps(asdict(self), indent=1, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> HostSnapshot:
        """Return the snapshot that `to_json` wrote."""
        return cls(**json.loads(text))


def compare(before: HostSnapshot, after: HostSnapshot) -> list[str]:
    """Return one line for each difference, as `sysctls: vm.swappiness was 60, is 10`."""
    lines: list[str] = []
    left, right = asdict(before), asdict(after)
    for kind in left:
        for name in sorted(left[kind].keys() | right[kind].keys()):
            old, new = left[kind].get(name), right[kind].get(name)
            if old != new:
                lines.append(f"{kind}: {name} {_was_is(old, new)}")
    return lines


def _was_is(old: str | None, new: str | None) -> str:
    if old is None:
        return f"was not there, is {new!r}" if new else "was not there"
    return f"was {old!r}, is gone" if new is None else f"was {old!r}, is {new!r}"


def take(runner: Runner = run, processes: Iterable[str] = ()) -> HostSnapshot:
    """Read this host. `processes` are names that no process may have gained or lost."""
    return HostSnapshot(
        sysctls=_sysctls(Path("/proc/sys")),
        memory=_memory(Path("/sys/kernel/mm")),
        modules=_modules(Path("/sys/module")),
        mounts=parse_mounts(_text(Path("/proc/self/mounts"))),
        links=_links(Path("/sys/class/net")),
        firewall=_firewall(runner),
        processes=_processes(Path("/proc"), frozenset(processes) or LAB_PROCESSES),
        pci=_pci(Path("/sys/bus/pci/devices")),
    )


# The engines' helpers and our own: what a lab starts on its host.
LAB_PROCESSES = frozenset(
    {"aardvark-dns", "catatonit", "conmon", "netavark", "slirp4netns", "trackbed-lab-ke"}
)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _sysctls(top: Path) -> dict[str, str]:
    found = {}
    for path in _files(top):
        name = str(path.relative_to(top))
        mode = path.stat().st_mode
        if mode & 0o222 and mode & 0o444 and not _MOVING.fullmatch(name):
            found[name] = _text(path).strip()
    return found


def _memory(top: Path) -> dict[str, str]:
    paths = (path for name in _VM_SETTINGS for path in _files(top / name))
    # nr_hugepages and the like are settings; the rest that is writable is too.
    return {str(path.relative_to(top)): _text(path).strip() for path in paths if _writable(path)}


def _writable(path: Path) -> bool:
    return bool(path.stat().st_mode & 0o222)


def _files(top: Path) -> Iterable[Path]:
    for directory, _, names in os.walk(top):
        yield from (Path(directory) / name for name in names)


def _modules(top: Path) -> dict[str, str]:
    return {path.name: _text(path / "initstate").strip() for path in _entries(top)}


def _entries(top: Path) -> list[Path]:
    return sorted(top.iterdir()) if top.is_dir() else []


def parse_mounts(text: str) -> dict[str, str]:
    """Return the mounts of /proc/mounts: place, with a number where several lie on one."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        fields = line.split()
        if len(fields) < 4:
            continue
        name, count = fields[1], 1
        while name in found:
            count += 1
            name = f"{fields[1]} ({count})"
        found[name] = f"{fields[2]} {fields[3]}"
    return found


def _links(top: Path) -> dict[str, str]:
    return {path.name: _text(path / "address").strip() for path in _entries(top)}


def _firewall(runner: Runner) -> dict[str, str]:
    found = {}
    for argv in (["iptables-save"], ["ip6tables-save"], ["nft", "list", "ruleset"]):
        result = runner(argv, _PROGRAM_SECONDS)
        if result.ok:
            found[argv[0]] = without_counters(result.out)
    return found


def without_counters(rules: str) -> str:
    """Return the rules without packet counts, comments and times."""
    lines = (line.strip() for line in rules.splitlines() if not line.startswith("#"))
    counters = re.compile(r"counter packets \d+ bytes \d+|\[\d+:\d+\]")
    return "\n".join(counters.sub("counter", line) for line in lines if line)


def _processes(top: Path, names: frozenset[str]) -> dict[str, str]:
    found: dict[str, int] = {}
    for path in _entries(top):
        if not path.name.isdigit():
            continue
        stat = _text(path / "stat")
        name = stat.partition("(")[2].rpartition(")")[0]
        dead = stat.rpartition(")")[2].split()[:1] == ["Z"]
        if name in names and not dead:
            found[name] = found.get(name, 0) + 1
    return {name: str(count) for name, count in found.items()}


def _pci(top: Path) -> dict[str, str]:
    found = {}
    for path in _entries(top):
        try:
            # The first 64 bytes are the standard header; what follows may hold live status bits.
            content = (path / "config").read_bytes()[:64]
        except OSError:
            content = b""
        found[path.name] = hashlib.sha256(content).hexdigest()[:16]
    return found
