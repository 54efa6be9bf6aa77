"""Tools and files of a node, whatever they do; and which of several is believed."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from ansible_collections.trackbed.cluster.plugins.module_utils import _collect
from ansible_collections.trackbed.cluster.plugins.module_utils._collect import (
    KernelFile,
    Tool,
    first_of,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._readers import lsmod, lspci
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import Reading

GPU = "0000:1b:00.0 3D controller [0302]: NVIDIA Corporation Device [10de:2330] (rev a1)"


@pytest.fixture
def tool(tmp_path: Path) -> Path:
    """A directory that `tool_that` fills."""
    return tmp_path / "a-tool"


def tool_that(path: Path, script: str) -> Path:
    path.write_text("#!/bin/sh\n" + script)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def ask(path: Path, timeout_s: float = 30) -> tuple[Reading, _collect.Collected]:
    found = Tool((str(path),), lspci.KIND, lspci.read, "install it")(timeout_s)
    return found.reading, found


def test_a_tool_that_answers(tool: Path) -> None:
    reading, found = ask(tool_that(tool, f"echo '{GPU}'"))
    assert (reading.quality, reading.problems) == ("ok", [])
    assert reading.entities[0].values["gpu_count"] == 1
    assert found.raw == GPU.encode() + b"\n"
    assert found.started.endswith("Z")
    assert found.seconds > 0


def test_a_tool_that_is_not_there(tool: Path) -> None:
    reading, found = ask(tool)
    assert reading.quality == "absent"
    assert [one.code for one in reading.problems] == ["tool_absent"]
    assert "install it" in reading.problems[0].says
    assert found.raw is None


def test_a_tool_that_hangs_leaves_no_half_counts(tool: Path) -> None:
    reading, found = ask(tool_that(tool, f"echo '{GPU}'; exec sleep 300"), 1)
    assert (reading.quality, reading.entities, found.raw) == ("timeout", [], None)
    assert [one.code for one in reading.problems] == ["timed_out"]
    assert "within 1 s" in reading.problems[0].says


def test_a_tool_that_fails_and_says_why(tool: Path) -> None:
    reading, _ = ask(tool_that(tool, "echo 'lspci: Cannot open /sys/bus/pci' >&2; exit 1"))
    assert reading.quality == "error"
    assert reading.problems[0].verbatim == "lspci: Cannot open /sys/bus/pci"
    assert "exit status 1" in reading.problems[0].says


def test_a_tool_that_fails_after_an_answer(tool: Path) -> None:
    reading, _ = ask(tool_that(tool, f"echo '{GPU}'; exit 2"))
    assert reading.quality == "partial"
    assert reading.entities[0].values["gpu_count"] == 1
    assert "exit status 2" in reading.problems[0].says


def test_a_tool_that_cannot_be_started(tool: Path) -> None:
    tool.write_bytes(b"\x7fELF")
    tool.chmod(0o755)
    reading, _ = ask(tool)
    assert (reading.quality, reading.problems[0].code) == ("error", "tool_error")


def test_an_output_that_was_cut_has_no_counts(tool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"{GPU}\\n\\tNUMA node: 0\\n\\tKernel driver in use: nvidia\\n"
    monkeypatch.setattr(_collect, "OUTPUT_LIMIT_BYTES", len(GPU) + 9)
    reading, found = ask(tool_that(tool, f"printf '{text}'"))
    assert reading.quality == "partial"
    assert {"limited", "truncated"} <= {one.code for one in reading.problems}
    assert reading.entities[0].values["gpu_count"] is None
    assert len(found.raw or b"") == len(GPU) + 9


def lspci_at(path: Path) -> Tool:
    return Tool((str(path),), lspci.KIND, lspci.read, "install it")


def test_an_exit_status_that_is_no_trouble(tool: Path) -> None:
    tool_that(tool, f"echo '{GPU}'; exit 1")
    usual = Tool((str(tool),), lspci.KIND, lspci.read, "install it", frozenset({0, 1}))
    assert (usual(30).reading.quality, usual(30).reading.problems) == ("ok", [])


def test_secrets_go_before_anything_is_read(tool: Path) -> None:
    tool_that(tool, f"echo '{GPU}'; echo password=hunter2")
    seen: list[bytes] = []

    def read(data: bytes) -> Reading:
        seen.append(data)
        return lspci.read(data)

    hushed = Tool((str(tool),), "x", read, "-", clean=lambda data: data.replace(b"hunter2", b"***"))
    found = hushed(30)
    assert b"hunter2" not in (found.raw or b"") + seen[0]
    assert b"password=***" in (found.raw or b"")


def test_a_kernel_file(tmp_path: Path) -> None:
    (tmp_path / "modules").write_text("nvidia 16384 2 nvidia_uvm, Live 0x0000000000000000 (OE)\n")
    there = KernelFile(str(tmp_path / "modules"), lsmod.KIND, lsmod.read, "-")(30)
    assert there.reading.entity("module:nvidia") is not None
    assert there.reading.tool_name == str(tmp_path / "modules")
    gone = KernelFile(str(tmp_path / "none"), lsmod.KIND, lsmod.read, "no modules")(30)
    assert (gone.reading.quality, gone.raw) == ("absent", None)
    assert gone.reading.problems[0].says.endswith("none is not there: no modules")


def test_the_best_source_is_believed_alone(tmp_path: Path) -> None:
    best = lspci_at(tool_that(tmp_path / "best", f"echo '{GPU}'"))
    other = lspci_at(tool_that(tmp_path / "other", f"touch {tmp_path}/asked"))
    found = first_of((best, other), 30)
    assert (found.reading.quality, found.reading.problems) == ("ok", [])
    assert not (tmp_path / "asked").exists()


def test_a_fallback_for_what_is_not_installed_is_as_good(tmp_path: Path) -> None:
    other = lspci_at(tool_that(tmp_path / "other", f"echo '{GPU}'"))
    found = first_of((lspci_at(tmp_path / "best"), other), 30)
    assert found.reading.quality == "ok"
    (problem,) = found.reading.problems
    assert problem.code == "fallback"
    assert "best was asked first" in problem.says
    assert "is not on the node" in problem.says


def test_a_fallback_for_what_failed_makes_the_reading_partial(tmp_path: Path) -> None:
    best = lspci_at(tool_that(tmp_path / "best", "exit 3"))
    other = lspci_at(tool_that(tmp_path / "other", f"echo '{GPU}'"))
    found = first_of((best, other), 30)
    assert found.reading.quality == "partial"
    assert [one.code for one in found.reading.problems] == ["fallback"]
    assert "exit status 3" in found.reading.problems[0].says
    assert found.reading.entities[0].values["gpu_count"] == 1


def test_where_none_answers_the_one_that_is_there_says_why(tmp_path: Path) -> None:
    other = lspci_at(tool_that(tmp_path / "other", "exit 3"))
    found = first_of((lspci_at(tmp_path / "best"), other), 30)
    assert found.reading.quality == "error"
    assert [one.code for one in found.reading.problems] == ["tool_error", "tool_absent"]


def test_a_program_that_hung_is_not_asked_again(tmp_path: Path) -> None:
    path = tool_that(tmp_path / "best", f"echo x >> {tmp_path}/asked; exec sleep 300")
    found = first_of((lspci_at(path), lspci_at(path)), 1)
    assert found.reading.quality == "timeout"
    assert (tmp_path / "asked").read_text() == "x\n"


def test_no_such_device() -> None:
    found = _collect.not_applicable("ibstat", "there is no adapter")
    assert (found.reading.quality, found.reading.problems[0].code) == (
        "not_applicable",
        "no_device",
    )


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    assert _collect.file_text(tmp_path) is None
    assert _collect.file_text(tmp_path / "nothing") is None
    assert _collect.entries(tmp_path / "nothing") == []
