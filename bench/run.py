"""Measure what the design promises about speed, each thing beside a floor of the same minute.

Prints ratios of one run and no verdict: absolute times belong to one machine, and a
ratio is worth as much as the machine was quiet (the spread says so).
usage: bench/run.py [--hosts N] [--devices N] [--log-mb N] [--repeats N] [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from trackbed import collection

collection.activate()

from ansible_collections.trackbed.cluster.plugins.module_utils._readers import lspci  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
LOG = ROOT / "tests/data/readers/dmesg/boot-and-nvidia.log"
ONE_NODE = ROOT / "tests/data/readers/lspci/8xh100-healthy.txt"
# A command that takes longer hangs.
_SECONDS = 1800
_PING = [
    {
        "hosts": "all",
        "gather_facts": False,
        "tasks": [{"ansible.builtin.ping": {}}],
    }
]
Measure = Callable[[], float]


@dataclass(frozen=True)
class Ratio:
    """How often the floor fits into what was measured: medians of the repeats."""

    name: str
    measured: float
    floor_measured: float
    ratio: float
    spread: float
    """Largest by smallest repeat of what was measured."""
    floor: str
    unit: str = "s"


def ratio(
    name: str, floor: str, measured: Measure, by: Measure, repeats: int, unit: str = "s"
) -> Ratio:
    """Take turns, so that a busy minute of the machine meets both."""
    pairs = [(measured(), by()) for _ in range(repeats)]
    ours = [one for one, _ in pairs]
    top, bottom = statistics.median(ours), statistics.median(other for _, other in pairs)
    return Ratio(name, top, bottom, top / bottom, max(ours) / min(ours), floor, unit)


def devices(count: int) -> bytes:
    """Return an `lspci -vvv` of about so many functions: one node's, in many PCI domains."""
    text = ONE_NODE.read_text(encoding="utf-8").rstrip("\n") + "\n\n"
    each = len(re.findall(r"(?m)^0000:", text))
    parts = [re.sub(r"(?m)^0000:", f"{n:04x}:", text) for n in range(max(1, count // each))]
    return "".join(parts).encode()


def _wall(action: Callable[[], object]) -> Measure:
    def measure() -> float:
        began = time.perf_counter()
        action()
        return time.perf_counter() - began

    return measure


def _cpu(argv: list[str], directory: Path) -> Measure:
    """Return what measures the CPU seconds of a command with all that it starts."""

    def used() -> float:
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        return children.ru_utime + children.ru_stime

    def measure() -> float:
        before = used()
        done = subprocess.run(
            argv, cwd=directory, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
        # 4: nothing failed, but something could not be read here (no lspci).
        if done.returncode not in (0, 4):
            raise SystemExit(f"bench: {argv} ended with {done.returncode}:\n{done.stderr}")
        return used() - before

    return measure


def reader(count: int, repeats: int) -> list[Ratio]:
    """Compare the reader with splitting its text, and with itself on a quarter of it."""

    def split(data: bytes) -> list[str]:
        return data.decode().splitlines()

    large, small = devices(count), devices(count // 4)
    size = f"{len(large) / 1e6:.1f} MB"
    name = f"read lspci of {count} functions ({size})"
    ours = _wall(lambda: lspci.read(large))
    return [
        ratio(name, "splitting it into lines", ours, _wall(lambda: split(large)), repeats),
        ratio(name, "a quarter of it (4: linear)", ours, _wall(lambda: lspci.read(small)), repeats),
    ]


def kernel_log(size: int, path: Path) -> Path:
    """Write a kernel log of about so many bytes: boots and faults, one after the other in time."""
    lines = LOG.read_text(encoding="utf-8").splitlines()
    each = sum(map(len, lines)) + len(lines)
    with path.open("w", encoding="utf-8") as stream:
        for n in range(max(1, size // each)):
            for line in lines:
                stream.write(re.sub(r"^\[ *\d+", f"[{n * 600:>6}", line, count=1) + "\n")
    return path


def log(size_mb: int, repeats: int, directory: Path) -> list[Ratio]:
    """Compare `trackbed read` of a large kernel log with `sort` of it, and with a tenth of it."""
    large = kernel_log(size_mb * 1_000_000, directory / "large.log")
    small = kernel_log(size_mb * 100_000, directory / "small.log")

    def read(path: Path) -> list[str]:
        return [sys.executable, "-m", "trackbed", "read", "--json", str(path)]

    name = f"trackbed read of a kernel log of {large.stat().st_size / 1e6:.0f} MB"

    def seconds(argv: list[str]) -> Measure:
        return lambda: _child(argv)[0]

    return [
        ratio(
            f"{name}, wall",
            "sort of it",
            seconds(read(large)),
            seconds(["sort", "-o", os.devnull, str(large)]),
            repeats,
        ),
        ratio(
            f"{name}, peak memory",
            "its size",
            lambda: _child(read(large))[1],
            lambda: large.stat().st_size / 2**20,
            1,
            "MiB",
        ),
        ratio(
            f"{name}, wall",
            "a tenth of it (10: linear)",
            seconds(read(large)),
            seconds(read(small)),
            1,
        ),
    ]


def _child(argv: list[str]) -> tuple[float, float]:
    """Return wall seconds and peak memory in MiB of one command."""
    began = time.perf_counter()
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL)
    _pid, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    # 3 and 4: the log tells of faults, and was read.
    if process.returncode not in (0, 3, 4):
        raise SystemExit(f"bench: {argv} ended with {process.returncode}")
    return time.perf_counter() - began, usage.ru_maxrss / 1024


def start(repeats: int, directory: Path) -> Ratio:
    """Compare the start of the command line with the start of Python."""
    ours = _cpu([sys.executable, "-m", "trackbed", "--version"], directory)
    floor = _cpu([sys.executable, "-c", "pass"], directory)
    return ratio("trackbed --version, CPU", "python -c pass", ours, floor, repeats)


def playbooks(hosts: int, repeats: int, directory: Path) -> Ratio:
    """Compare reading N hosts into the journal with a bare ping of them by ansible-playbook.

    Local connections: nothing is changed, the module runs here, and both sides pay for that.
    """
    local = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    names = {f"host-{n:03d}": dict(local, ansible_become=False) for n in range(hosts)}
    inventory, ping = directory / "hosts.yml", directory / "ping.yml"
    inventory.write_text(json.dumps({"all": {"hosts": names}}), encoding="utf-8")
    ping.write_text(json.dumps(_PING), encoding="utf-8")
    ansible = str(Path(sys.executable).parent / "ansible-playbook")
    facts = [sys.executable, "-m", "trackbed", "facts", "--json", "-i", str(inventory)]
    return ratio(
        f"trackbed facts of {hosts} hosts, CPU",
        "ansible-playbook, one ping each",
        _cpu([*facts, "--forks", "20", "--journal", str(directory / "journal")], directory),
        _cpu([ansible, "-i", str(inventory), "-f", "20", str(ping)], directory),
        repeats,
    )


def table(rows: list[Ratio]) -> str:
    """Return the rows for a person."""
    lines = [f"{'ratio':>8}  {'spread':>6}  {'measured':>13}  what, by what"]
    lines += [
        f"{one.ratio:8.2f}  {one.spread:6.2f}  {one.measured:9.4f} {one.unit:<3}  "
        f"{one.name}, by {one.floor}"
        for one in rows
    ]
    return "\n".join(lines)


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError("wanted a whole number above zero")
    return int(text)


def main(arguments: list[str]) -> int:
    """Measure, and print a table or JSON."""
    parser = argparse.ArgumentParser(description="Ratios of one run; no verdict.")
    parser.add_argument("--hosts", type=_positive, default=20, help="local connections (20)")
    parser.add_argument("--devices", type=_positive, default=2000, help="PCI functions (2000)")
    parser.add_argument("--log-mb", type=_positive, default=100, help="kernel log, MB (100)")
    parser.add_argument("--repeats", type=_positive, default=3, help="of each, median taken (3)")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    args = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as made:
        directory = Path(made)
        rows = [
            *reader(args.devices, args.repeats),
            *log(args.log_mb, args.repeats, directory),
            start(args.repeats, directory),
            playbooks(args.hosts, args.repeats, directory),
        ]
    document = {"schema": 1, "repeats": args.repeats, "ratios": [asdict(one) for one in rows]}
    sys.stdout.write((json.dumps(document, indent=2) if args.json else table(rows)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
