"""Each source answers with a reading, whatever happens on the node."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from ansible_collections.trackbed.cluster.plugins.module_utils import _sources
from ansible_collections.trackbed.cluster.plugins.module_utils._readers import lspci, node_os
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


def ask(path: Path, timeout_s: float = 30) -> tuple[Reading, _sources.Collected]:
    found = _sources.from_tool([str(path)], timeout_s, lspci.KIND, lspci.read, "install it")
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
    monkeypatch.setattr(_sources, "OUTPUT_LIMIT_BYTES", len(GPU) + 9)
    reading, found = ask(tool_that(tool, f"printf '{text}'"))
    assert reading.quality == "partial"
    assert {"limited", "truncated"} <= {one.code for one in reading.problems}
    assert reading.entities[0].values["gpu_count"] is None
    assert len(found.raw or b"") == len(GPU) + 9


def test_pci_asks_for_the_version_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = f'case "$*" in --version) echo "lspci version 3.9.0";; *) echo "{GPU}";; esac'
    tool_that(tmp_path / "lspci", script)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    reading = _sources.collect_pci(30).reading
    assert (reading.tool_name, reading.tool_version) == ("lspci", "3.9.0")
    assert reading.entities[1].ids["pci"] == "0000:1b:00.0"


def test_os_of_this_machine() -> None:
    """Whatever runs the tests is a Linux that has these files."""
    found = _sources.collect_os(30)
    release = Path("/proc/sys/kernel/osrelease").read_text().strip()
    assert found.reading.entities[0].values["kernel_release"] == release
    assert node_os.recognise((found.raw or b"").decode()) >= 90


def test_os_without_any_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_sources, "_file_text", lambda path: None)
    reading = _sources.collect_os(30).reading
    assert reading.quality == "partial"
    assert {one.code for one in reading.problems} == {"missing_value"}
    assert reading.entities[0].values["os_id"] is None


def test_os_release_has_a_second_place(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {"/usr/lib/os-release": "ID=rhel\nVERSION_ID='9.6'\n"}
    monkeypatch.setattr(_sources, "_file_text", texts.get)
    values = _sources.collect_os(30).reading.entities[0].values
    assert (values["os_id"], values["os_version_id"]) == ("rhel", "9.6")


def test_secrets_are_gone_before_the_raw_output_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {"/proc/cmdline": "ro ipmi.password=hunter2 quiet\n"}
    monkeypatch.setattr(_sources, "_file_text", texts.get)
    found = _sources.collect_os(30)
    assert found.reading.entities[0].values["kernel_cmdline"] == "ro ipmi.password=*** quiet"
    assert b"hunter2" not in (found.raw or b"")


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    assert _sources._file_text(str(tmp_path)) is None
    assert _sources._file_text(str(tmp_path / "nothing")) is None
