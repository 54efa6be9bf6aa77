"""Measure what the design promises about speed, each thing beside a floor of the same minute.

Prints ratios of one run and no verdict: absolute times belong to one machine, and a
ratio is worth as much as the machine was quiet (the spread says so).
usage: bench/run.py [--hosts N] [--devices N] [--repeats N] [--json]
"""

from __future__ import annotations

import argparse
import json
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
    measured_s: float
    floor_s: float
    ratio: float
    spread: float
    """Slowest by fastest repeat of what was measured."""
    floor: str


def ratio(name: str, floor: str, measured: Measure, by: Measure, repeats: int) -> Ratio:
    """Take turns, so that a busy minute of the machine meets both."""
    pairs = [(measured(), by()) for _ in range(repeats)]
    ours = [one for one, _ in pairs]
    top, bottom = statistics.median(ours), statistics.median(other for _, other in pairs)
    return Ratio(name, top, bottom, top / bottom, max(ours) / min(ours), floor)


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
    lines = [f"{'ratio':>8}  {'spread':>6}  {'seconds':>9}  what, by what"]
    lines += [
        f"{one.ratio:8.2f}  {one.spread:6.2f}  {one.measured_s:9.4f}  {one.name}, by {one.floor}"
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
    parser.add_argument("--repeats", type=_positive, default=3, help="of each, median taken (3)")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    args = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as made:
        directory = Path(made)
        rows = [
            *reader(args.devices, args.repeats),
            start(args.repeats, directory),
            playbooks(args.hosts, args.repeats, directory),
        ]
    document = {"schema": 1, "repeats": args.repeats, "ratios": [asdict(one) for one in rows]}
    sys.stdout.write((json.dumps(document, indent=2) if args.json else table(rows)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
