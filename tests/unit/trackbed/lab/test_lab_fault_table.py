"""Each fault changes exactly what it says: the real lspci before and after, line by line."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from trackbed.lab import faults
from trackbed.lab.hardware import (
    change_tree,
    effects_gpu,
    effects_node,
    effects_platform,
    write_tree,
)
from trackbed.lab.state import NodeState

STATE = NodeState("gpu-002", "h100-sxm")
GPU, PORT = "0000:bb:00.0", "0000:b9:01.0"  # gpu:5 and the switch port above it


def _can_look() -> bool:
    if os.geteuid() != 0 or not shutil.which("lspci") or not shutil.which("unshare"):
        return False
    return subprocess.run(["unshare", "-m", "true"], check=False, timeout=20).returncode == 0


pytestmark = pytest.mark.skipif(not _can_look(), reason="needs root, unshare and pciutils")


def look(tree: Path) -> dict[str, list[str]]:
    """Return the lines of lspci -vvv by device, spaces made even."""
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", 'mount --bind "$0" /sys/bus/pci && lspci -D -vvv', tree],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    blocks = (part.splitlines() for part in done.stdout.strip().split("\n\n"))
    return {lines[0].split()[0]: [" ".join(line.split()) for line in lines] for lines in blocks}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hardware")
    write_tree(STATE, path)
    return path


@pytest.fixture(scope="module")
def healthy(tree: Path) -> dict[str, list[str]]:
    return look(tree / "pci")


def changes(before: list[str], after: list[str]) -> list[str]:
    """Return what went (-) and what came (+), as multisets."""
    old, new = Counter(before), Counter(after)
    return sorted([f"-{line}" for line in old - new] + [f"+{line}" for line in new - old])


def plain(lines: list[str]) -> list[str]:
    """Drop "(downgraded)" and "(ok)": whether ports get the word differs by lspci's version."""
    return [re.sub(r" \((downgraded|ok)\)", "", line) for line in lines]


def _link(old: str, new: str) -> list[str]:
    return [f"+LnkSta: {new}", f"-LnkSta: {old}"]


FULL = "Speed 32GT/s, Width x16"
NO_LINK = [
    "+EqualizationPhase2- EqualizationPhase3- LinkEqualizationRequest-",
    "+LnkSta2: Current De-emphasis Level: -6dB, EqualizationComplete- EqualizationPhase1-",
    "+LnkSta: Speed 2.5GT/s, Width x0",
    "+TrErr- Train- SlotClk+ DLActive- BWMgmt- ABWMgmt-",
    "-EqualizationPhase2+ EqualizationPhase3+ LinkEqualizationRequest-",
    "-LnkSta2: Current De-emphasis Level: -6dB, EqualizationComplete+ EqualizationPhase1+",
    f"-LnkSta: {FULL}",
    "-TrErr- Train- SlotClk+ DLActive+ BWMgmt- ABWMgmt-",
]
_SLOT = "SltSta: Status: AttnBtn- PowerFlt- MRL- CmdCplt- PresDet{} Interlock-"
NO_CARD = [f"+{_SLOT.format('-')}", f"-{_SLOT.format('+')}"]

TABLE = {
    "pcie_gen4": {
        GPU: _link(FULL, "Speed 16GT/s, Width x16"),
        PORT: _link(FULL, "Speed 16GT/s, Width x16"),
    },
    "pcie_x8": {
        GPU: _link(FULL, "Speed 32GT/s, Width x8"),
        PORT: _link(FULL, "Speed 32GT/s, Width x8"),
    },
    "gpu_missing": {GPU: None, PORT: sorted(NO_LINK + NO_CARD)},
    "gpu_off_bus": {GPU: "no capability", PORT: sorted(NO_LINK)},
    "kernel_other": {},
    **{kind: {} for kind in effects_platform.FAULTS},
    "acs_on": "every port with ACS",
}
_ACS = "ACSCtl: SrcValid{0} TransBlk- ReqRedir{0} CmpltRedir{0} UpstreamFwd{0} EgressCtrl- "
ACS_ON = [f"+{_ACS.format('+')}DirectTrans-", f"-{_ACS.format('-')}DirectTrans-"]


def test_the_table_has_every_fault() -> None:
    """Those without a device have tables of their own: test_lab_fault_{gpus,acts}.py."""
    assert set(TABLE) == set(faults.FAULTS) - set(effects_gpu.FAULTS) - set(effects_node.FAULTS)


@pytest.mark.parametrize("kind", sorted(TABLE))
def test_a_fault_changes_exactly_what_it_says(
    tree: Path, healthy: dict[str, list[str]], kind: str
) -> None:
    wanted_target = faults.FAULTS[kind].target
    target = "node" if wanted_target == "node" else f"{wanted_target}:5"
    after = faults.apply(STATE, target, kind)
    change_tree(STATE, after, tree)
    try:
        broken = look(tree / "pci")
        release = (tree / "osrelease").read_text()
    finally:
        change_tree(after, STATE, tree)
    assert look(tree / "pci") == healthy, "clearing it restores every line"
    assert (release == "6.1.0-49-amd64\n") == (kind == "kernel_other")
    wanted = TABLE[kind]
    if kind == "acs_on":
        ports = [a for a, lines in healthy.items() if any("ACSCap: SrcValid+" in x for x in lines)]
        assert len(ports) > 30
        wanted = dict.fromkeys(ports, sorted(ACS_ON))
    assert isinstance(wanted, dict)
    for address, lines in healthy.items():
        now = broken.get(address)
        if wanted.get(address) is None and address in wanted:
            assert now is None
        elif wanted.get(address) == "no capability":
            assert now is not None
            assert "!!! Unknown header type 7f" in now
            assert not any(line.startswith(("Capabilities", "Lnk", "Control")) for line in now)
        else:
            assert now is not None, address
            assert changes(plain(lines), plain(now)) == wanted.get(address, []), address
    assert set(broken) <= set(healthy)


@pytest.mark.parametrize("kind", ["pcie_gen4", "pcie_x8"])
def test_lspci_calls_the_slow_link_downgraded(
    tree: Path, healthy: dict[str, list[str]], kind: str
) -> None:
    after = faults.apply(STATE, "gpu:5", kind)
    change_tree(STATE, after, tree)
    try:
        line = next(x for x in look(tree / "pci")[GPU] if x.startswith("LnkSta:"))
    finally:
        change_tree(after, STATE, tree)
    assert line.count("(downgraded)") == 1
    assert not any("downgraded" in x for x in healthy[GPU])


def test_a_lost_gpu_reads_rev_ff_in_a_dump(tree: Path, tmp_path: Path) -> None:
    after = faults.apply(STATE, "gpu:5", "gpu_off_bus")
    change_tree(STATE, after, tree)
    try:
        config = (tree / "pci/devices" / GPU / "config").read_bytes()
    finally:
        change_tree(after, STATE, tree)
    rows = (f"{at:02x}: {config[at : at + 16].hex(' ')}" for at in range(0, len(config), 16))
    dump = tmp_path / "dump"
    dump.write_text("bb:00.0 3D controller: lost\n" + "\n".join(rows) + "\n\n")
    done = subprocess.run(["lspci", "-F", dump], capture_output=True, text=True, check=True)
    assert "(rev ff)" in done.stdout


def test_links_that_are_narrow_by_design_stay_so(healthy: dict[str, list[str]]) -> None:
    """Real servers have some; whoever calls each of them a fault calls every node broken."""
    narrow = [a for a, lines in healthy.items() if any("(downgraded)" in line for line in lines)]
    assert {"0000:03:00.0", "0000:81:00.0", "0000:81:00.1"} <= set(narrow)
    assert not any("3D controller" in healthy[address][0] for address in narrow)
