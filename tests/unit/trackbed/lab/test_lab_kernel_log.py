"""The kernel's log: made from the state, shown by dmesg and journalctl, read by the product."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.trackbed.cluster.plugins.module_utils._readers import dmesg as reader
from smi_node import STANDINS, SmiNode

from trackbed.lab import faults
from trackbed.lab.hardware import change_tree, write_tree
from trackbed.lab.hardware.kernel_log import kernel_log
from trackbed.lab.hardware.machine import machine_of
from trackbed.lab.hardware.plan import plan_of
from trackbed.lab.state import NodeState

STATE = NodeState("gpu-002", "h100-sxm")
BOOT = 1_796_140_800.0  # 2026-12-01 16:00:00 UTC
LATER = BOOT + 90


def log_of(state: NodeState) -> list[str]:
    plan = plan_of(state)
    return kernel_log(plan, state, machine_of(plan, state)).decode().splitlines()


def new_lines(*planted: tuple[str, str], sku: str = "h100-sxm") -> list[str]:
    before = state = NodeState("gpu-002", sku)
    for target, kind in planted:
        state = faults.apply(state, target, kind, LATER)
    old = log_of(before)
    return [line for line in log_of(state) if line not in old]


class Node(SmiNode):
    """A node that has booted, with its driver loaded."""

    def __init__(self, top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(top, monkeypatch)
        monkeypatch.setenv("TZ", "UTC")
        self.driver("580.126.09", "580.126.09")
        self.write("lab/boot_id", "x")
        self.write("proc/cmdline", "root=/dev/sda1 quiet\n")
        self.write("etc/machine-id", "0123456789abcdef0123456789abcdef\n")
        self.write("proc/sys/kernel/random/boot_id", "01234567-89ab-cdef-0123-456789abcdef\n")
        os.utime(top / "lab/boot_id", (BOOT, BOOT))

    def show(self, state: NodeState) -> None:
        self.write("lab/hw/kernel.log", "".join(f"{line}\n" for line in log_of(state)))

    def dmesg(self, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
        from standins.dmesg.main import main  # type: ignore[import-not-found]  # noqa: PLC0415

        capsys.readouterr()
        code: int = main(list(words))
        said = capsys.readouterr()
        return code, said.out, said.err


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    return Node(tmp_path, monkeypatch)


BROKEN = faults.apply(STATE, "gpu:5", "row_remap_pending", LATER)
FIRST = "NVRM: GPU at PCI:0000:bb:00: GPU-28ecbcdb-9ede-40fe-9975-f642f319a103"


def test_a_boot_tells_of_the_hardware() -> None:
    lines = [line.split("\t") for line in log_of(STATE)]
    texts = [text for _level, _when, text in lines]
    assert texts[0].startswith("Linux version 6.1.0-50-amd64 ")
    assert "pci 0000:bb:00.0: [10de:2330] type 00 class 0x030200" in texts
    assert "mlx5_core 0000:9c:00.0: firmware version: 28.43.1014" in texts
    assert sum("pci function" in text for text in texts) == 8
    times = [float(when[1:]) for _level, when, _text in lines]
    assert times == sorted(times)


def test_a_newer_kernel_names_the_ports() -> None:
    newer = NodeState("gpu-002", "h100-sxm", kernel_release="6.12.90+deb13-amd64")
    texts = [line.split("\t")[2] for line in log_of(newer)]
    assert "pci 0000:bb:00.0: [10de:2330] type 00 class 0x030200 PCIe Endpoint" in texts
    assert any(text.endswith("PCIe Switch Downstream Port") for text in texts)


def test_a_link_below_what_it_can_is_told_with_its_bottleneck() -> None:
    [gen4] = [line for line in new_lines(("gpu:5", "pcie_gen4")) if "limited" in line]
    assert gen4.split("\t")[2] == (
        "pci 0000:bb:00.0: 252.048 Gb/s available PCIe bandwidth, limited by 16.0 GT/s PCIe x16 "
        "link at 0000:b9:01.0 (capable of 504.112 Gb/s with 32.0 GT/s PCIe x16 link)"
    )


@pytest.mark.parametrize(
    ("kind", "xids"),
    [
        ("ecc_uncorrectable", [48, 154]),
        ("row_remap_pending", [63, 94, 154]),
        ("row_remap_failure", [64, 95, 154]),
        ("nvlink_down", [74]),
        ("xid_79", [79, 154]),
        ("xid_burst", [31] * 47 + [43]),
        ("gpu_off_bus", [79, 154]),
    ],
)
def test_the_product_reads_the_xids_of_a_fault(
    node: Node, capsys: pytest.CaptureFixture[str], kind: str, xids: list[int]
) -> None:
    node.show(faults.apply(STATE, "gpu:5", kind, LATER))
    for words in ([], ["-T"], ["-x", "--time-format", "iso"], ["--json"], ["--raw"]):
        code, said, _errors = node.dmesg(capsys, *words)
        assert code == 0
        reading = reader.read(said)
        [gpu] = [one for one in reading.entities if one.path.startswith("gpu:")]
        assert gpu.values["xid_count"] == len(xids)
        assert gpu.values["xids"] == list(dict.fromkeys(xids))


def test_nvlink_5_has_its_own_xid() -> None:
    [line] = [x for x in new_lines(("gpu:5", "nvlink_down"), sku="b200") if "Xid" in x]
    assert ": 149, NETIR_LINK_DOWN Fatal   XC0 i0 Link " in line


def test_a_gpu_is_introduced_once_and_keeps_its_time() -> None:
    lines = new_lines(("gpu:5", "row_remap_pending"), ("gpu:5", "nvlink_down"))
    assert [line.split("\t")[2] for line in lines].count(FIRST) == 1
    assert all(line.split("\t")[1].startswith(f"@{LATER:.0f}") for line in lines)
    assert log_of(faults.clear(BROKEN, "gpu:5")) == log_of(STATE)


def test_the_words_of_each_form(node: Node, capsys: pytest.CaptureFixture[str]) -> None:
    node.show(BROKEN)
    wanted = {
        (): f"[   90.000000] {FIRST}",
        ("-T",): f"[Tue Dec  1 16:01:30 2026] {FIRST}",
        ("--time-format", "iso"): f"2026-12-01T16:01:30,000000+00:00 {FIRST}",
        ("-x",): f"kern  :warn  : [   90.000000] {FIRST}",
        ("-t",): FIRST,
        ("-r",): f"<4>[   90.000000] {FIRST}",
        ("-e",): f"[Dec 1 16:01] {FIRST}",
    }
    for words, line in wanted.items():
        assert line in node.dmesg(capsys, *words)[1].splitlines(), words
    plain = node.dmesg(capsys)[1]
    assert "] Command line: root=/dev/sda1 quiet\n" in plain
    [(delta)] = [x for x in node.dmesg(capsys, "-d")[1].splitlines() if "Serial" in x]
    assert delta.startswith("[   90.000173 <    0.000173>] NVRM")


def test_json_is_whole_and_levels_choose(node: Node, capsys: pytest.CaptureFixture[str]) -> None:
    node.show(BROKEN)
    document: dict[str, Any] = json.loads(node.dmesg(capsys, "-J")[1])
    assert document["dmesg"][-1]["pri"] == 4
    named = json.loads(node.dmesg(capsys, "-J", "-x", "-l", "err,warn")[1])["dmesg"]
    assert {entry["pri"] for entry in named} == {"warn"}
    assert json.loads(node.dmesg(capsys, "-J", "-u")[1]) == {"dmesg": []}


def test_the_driver_says_nothing_before_it_is_loaded(
    node: Node, capsys: pytest.CaptureFixture[str]
) -> None:
    node.show(BROKEN)
    node.driver("580.126.09", None)
    assert "NVRM" not in node.dmesg(capsys)[1]


def test_what_was_broken_before_the_boot_is_found_by_the_drivers(
    node: Node, capsys: pytest.CaptureFixture[str]
) -> None:
    node.show(faults.apply(STATE, "gpu:5", "xid_79", BOOT - 3600))
    assert f"[   20.000000] {FIRST}" in node.dmesg(capsys)[1]


def test_what_the_modules_say_stands_in_between(
    node: Node, capsys: pytest.CaptureFixture[str]
) -> None:
    node.show(BROKEN)
    node.write("lab/kmsg", "4\t+12.500000\tNVRM: loading NVIDIA UNIX Open Kernel Module\n")
    lines = node.dmesg(capsys)[1].splitlines()
    [at] = [number for number, line in enumerate(lines) if "NVRM: loading" in line]
    assert lines[at].startswith("[   12.500000] ")
    assert lines[at + 1].endswith(FIRST)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["-C"], "clear kernel buffer failed: Operation not permitted"),
        (["-l", "loud"], "unknown level 'loud'"),
        (["--time-format", "x"], "unknown time format 'x'"),
        (["-F", "a"], "cannot open a"),
        (["extra"], "bad usage"),
        (["--since"], "not recognized"),
    ],
)
def test_what_it_cannot_it_refuses(
    node: Node, capsys: pytest.CaptureFixture[str], words: list[str], says: str
) -> None:
    code, said, errors = node.dmesg(capsys, *words)
    assert (code, said) == (1, "")
    assert says in errors


def test_a_user_may_not_read_where_the_kernel_keeps_its_log(
    node: Node, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    node.show(STATE)
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert node.dmesg(capsys)[0] == 0
    node.write("proc/sys/kernel/dmesg_restrict", "1\n")
    assert "Operation not permitted" in node.dmesg(capsys)[2]


def test_following_ends_and_says_why(node: Node, capsys: pytest.CaptureFixture[str]) -> None:
    node.show(STATE)
    code, said, errors = node.dmesg(capsys, "-w")
    assert code == 0
    assert "Linux version" in said
    assert "not waiting" in errors
    assert node.dmesg(capsys, "-W")[1] == ""
    assert node.dmesg(capsys, "--version")[1].startswith("dmesg from util-linux")
    assert "Usage:" in node.dmesg(capsys, "-h")[1]


def test_the_journal_gets_each_record_once(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    from standins.journalctl import main as journal  # type: ignore[import-not-found]  # noqa: PLC0415

    node.show(BROKEN)
    calls: list[Any] = []

    def write(argv: list[str], **rest: Any) -> None:
        calls.append(rest["input"].decode())
        Path(argv[2]).write_bytes(b"")

    monkeypatch.setattr(subprocess, "run", write)
    monkeypatch.setattr("shutil.chown", lambda *_args, **_rest: None)
    monkeypatch.setattr(os, "execv", lambda path, argv: calls.append((path, argv)))
    journal.main(["-k"])
    journal.main(["-k", "-b"])
    [records, first, second] = calls
    assert first[0].endswith("/usr/bin/journalctl.distrib")
    assert second[1] == ["journalctl", "-k", "-b"]
    found = records.split("\n\n")[:-1]
    assert len(found) == len(log_of(BROKEN))
    assert f"MESSAGE={FIRST}" in records
    assert "__REALTIME_TIMESTAMP=1796140890000000\n__MONOTONIC_TIMESTAMP=90000000\n" in records
    assert "_BOOT_ID=0123456789abcdef0123456789abcdef\n" in found[0]
    node.show(STATE)
    journal.main(["--flush"])
    assert len(calls) == 4
    assert journal.refresh()


def test_a_journal_that_cannot_be_written_stops_nobody(
    node: Node, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from standins.journalctl import main as journal  # noqa: PLC0415

    node.show(STATE)
    ran: list[str] = []
    monkeypatch.setattr(os, "execv", lambda path, _argv: ran.append(path))
    journal.main([])
    assert len(ran) == 1
    assert "could not write the kernel's log" in capsys.readouterr().err


def test_the_tree_has_the_log_and_a_fault_changes_it(tmp_path: Path) -> None:
    write_tree(STATE, tmp_path)
    assert (tmp_path / "kernel.log").read_text().splitlines() == log_of(STATE)
    change_tree(STATE, BROKEN, tmp_path)
    assert FIRST in (tmp_path / "kernel.log").read_text()
    change_tree(BROKEN, STATE, tmp_path)
    assert (tmp_path / "kernel.log").read_text().splitlines() == log_of(STATE)


def test_the_image_has_the_entries() -> None:
    tool = (STANDINS.parent / "images/node/tool").read_text()
    assert '"dmesg": "dmesg"' in tool
    assert '"journalctl": "journalctl"' in tool
