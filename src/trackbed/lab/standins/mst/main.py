"""mst start, stop, restart and status: /dev/mst, in the words of MFT 4.22 to 4.34.

Words: the MFT manual (https://docs.nvidia.com/networking/display/mftv4341lts, Mellanox Software
Tools (mst) Service), and outputs that people published.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator

from ..common import adapters
from ..common.adapters import Nic
from ..common.console import say, say_all
from ..common.firmware_tools import VERSION_FLAGS, version_line
from ..common.places import place

_DEVICES = "/dev/mst"
_RULE = "-" * 12
_COLUMNS = (24, 30, 10, 16, 40)
_HEADS = ("DEVICE_TYPE", "MST", "PCI", "RDMA", "NET", "NUMA")


def main(argv: list[str] | None = None) -> int:
    """Run the program."""
    _program, *words = sys.argv if argv is None else argv
    if words == ["version"] or (words and words[0] in VERSION_FLAGS):
        # It is named as the vendor's tools are, though its name begins as mstflint's do.
        say(version_line("mft").replace("mft", "mst", 1))
        return 0
    commands = {"start": _start, "stop": _stop, "restart": _restart, "status": _status}
    if not words or words[0] not in commands or words[1:] not in ([], ["-v"]):
        say("Usage:\n    /usr/bin/mst {start|stop|restart|status [-v]}")
        return 1
    if words[0] != "status" and os.geteuid() != 0:
        say("-E- You must be root to use mst tool")
        return 1
    say_all(commands[words[0]](verbose="-v" in words[1:]))
    return 0


def _loaded() -> bool:
    return place(_DEVICES).is_dir()


def _start(*, verbose: bool) -> Iterator[str]:
    del verbose
    yield "Starting MST (Mellanox Software Tools) driver set"
    yield "Loading MST PCI module - Success"
    if _loaded():
        yield "[warn] mst_pciconf is already loaded, skipping"
    else:
        yield "Loading MST PCI configuration module - Success"
    place(_DEVICES).mkdir(parents=True, exist_ok=True)
    yield "Create devices"
    for nic in adapters.adapters():
        place(nic["mst"]).touch()
    yield "Unloading MST PCI module (unused) - Success"


def _stop(*, verbose: bool) -> Iterator[str]:
    del verbose
    yield "Stopping MST (Mellanox Software Tools) driver set"
    if _loaded():
        shutil.rmtree(place(_DEVICES))
        yield "Unloading MST PCI configuration module (unused) - Success"


def _restart(*, verbose: bool) -> Iterator[str]:
    yield from _stop(verbose=verbose)
    yield from _start(verbose=verbose)


def _status(*, verbose: bool) -> Iterator[str]:
    there = _loaded()
    state = "module loaded" if there else "module is not loaded"
    yield from ("MST modules:", _RULE, "    MST PCI module is not loaded")
    yield f"    MST PCI configuration {state}"
    if verbose:
        yield from ("PCI devices:", _RULE)
        yield _row(_HEADS)
        for nic in adapters.adapters():
            yield _row(_cells(nic, there=there))
            yield ""
    elif there:
        yield from ("", "MST devices:", _RULE)
        for nic in adapters.adapters():
            yield from _about(nic)
    else:
        yield from ("", "PCI Devices:", _RULE, "")
        yield from (nic["pci"].partition(":")[2] for nic in adapters.adapters())
    if not verbose:
        yield ""


def _about(nic: Nic) -> Iterator[str]:
    indent = " " * 35
    yield f"{nic['mst']:<33}- PCI configuration cycles access."
    yield (f"{indent}domain:bus:dev.fn={nic['pci']} addr.reg=88 data.reg=92 cr_bar.gw_offset=-1")
    yield f"{indent}Chip revision is: 00"


def _cells(nic: Nic, *, there: bool) -> tuple[str, ...]:
    return (
        f"{nic['image']['device_type']}(rev:0)",
        nic["mst"] if there else "NA",
        nic["pci"].partition(":")[2],
        nic["name"],
        f"net-{nic['interface']}" if nic["interface"] else "",
        str(nic["numa_node"]),
    )


def _row(cells: tuple[str, ...]) -> str:
    padded = (f"{cell:<{width}}" for cell, width in zip(cells, _COLUMNS))  # noqa: B905  (3.9)
    return "".join(padded) + cells[-1]
