"""Each source asks what it should, best first, whatever the node is."""

from __future__ import annotations

import shutil
import stat
from pathlib import Path

import pytest
from ansible_collections.trackbed.cluster.plugins.module_utils import (
    _collect,
    _command,
    _source_gpu,
    _source_rdma,
    _sources,
)
from ansible_collections.trackbed.cluster.plugins.module_utils._readers import node_os
from ansible_collections.trackbed.cluster.plugins.module_utils._reading import Reading

GPU = "0000:1b:00.0 3D controller [0302]: NVIDIA Corporation Device [10de:2330] (rev a1)"
DATA = Path(__file__).parents[3] / "data" / "readers"


def tool_that(path: Path, script: str) -> Path:
    path.write_text("#!/bin/sh\n" + script)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.fixture
def bin_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only place where tools are found; the shell's own are linked there."""
    where = tmp_path / "bin"
    where.mkdir()
    for name in ("cat", "grep", "sleep"):
        (where / name).symlink_to(shutil.which(name) or name)
    monkeypatch.setenv("PATH", str(where))
    monkeypatch.setattr(_command, "EXTRA_PATH", ())
    return where


def pci_device(tmp_path: Path, address: str, kind: str, vendor: str) -> None:
    where = tmp_path / "pci" / address
    where.mkdir(parents=True)
    (where / "class").write_text(kind + "\n")
    (where / "vendor").write_text(vendor + "\n")


@pytest.fixture
def with_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A node with an NVIDIA GPU and an NVSwitch."""
    pci_device(tmp_path, "0000:07:00.0", "0x068000", "0x10de")
    pci_device(tmp_path, "0000:1b:00.0", "0x030200", "0x10de")
    monkeypatch.setattr(_source_gpu, "PCI_DEVICES", tmp_path / "pci")


def codes(reading: Reading) -> list[str]:
    return [one.code for one in reading.problems]


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
    monkeypatch.setattr(_collect, "file_text", lambda path: None)
    reading = _sources.collect_os(30).reading
    assert reading.quality == "partial"
    assert {one.code for one in reading.problems} == {"missing_value"}
    assert reading.entities[0].values["os_id"] is None


def test_os_release_has_a_second_place(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {"/usr/lib/os-release": "ID=rhel\nVERSION_ID='9.6'\n"}
    monkeypatch.setattr(_collect, "file_text", texts.get)
    values = _sources.collect_os(30).reading.entities[0].values
    assert (values["os_id"], values["os_version_id"]) == ("rhel", "9.6")


def test_secrets_are_gone_before_the_raw_output_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {"/proc/cmdline": "ro ipmi.password=hunter2 quiet\n"}
    monkeypatch.setattr(_collect, "file_text", texts.get)
    found = _sources.collect_os(30)
    assert found.reading.entities[0].values["kernel_cmdline"] == "ro ipmi.password=*** quiet"
    assert b"hunter2" not in (found.raw or b"")


def test_gpus_by_xml(bin_dir: Path, with_gpu: None) -> None:
    xml = DATA / "nvidia-smi-xml" / "v13-dead-gpu.xml"
    tool_that(bin_dir / "nvidia-smi", f'[ "$*" = "-q -x" ] && cat {xml}')
    reading = _source_gpu.gpu(30).reading
    assert reading.kind == "nvidia-smi-xml"
    assert reading.entity("gpu:0") is not None


def test_gpus_by_text_where_the_xml_is_broken(bin_dir: Path, with_gpu: None) -> None:
    text = DATA / "nvidia-smi-q" / "v13-dead-gpu.txt"
    tool_that(bin_dir / "nvidia-smi", f'[ "$*" = "-q -x" ] && exit 139; cat {text}')
    reading = _source_gpu.gpu(30).reading
    assert (reading.kind, reading.quality) == ("nvidia-smi-q", "partial")
    assert reading.entity("gpu:0") is not None
    assert "exit status 139" in next(p.says for p in reading.problems if p.code == "fallback")


def test_gpus_that_do_not_answer_are_an_error_with_its_text(bin_dir: Path, with_gpu: None) -> None:
    words = "Failed to initialize NVML: Driver/library version mismatch"
    tool_that(bin_dir / "nvidia-smi", f"echo '{words}'; exit 18")
    found = _source_gpu.gpu(30)
    assert (found.reading.kind, found.reading.quality) == ("nvidia-smi-error", "error")
    assert found.raw == words.encode() + b"\n"
    assert any(words in str(one.verbatim) for one in found.reading.problems)


def test_gpus_without_nvidia_smi(bin_dir: Path, with_gpu: None) -> None:
    reading = _source_gpu.gpu(30).reading
    assert (reading.quality, set(codes(reading))) == ("absent", {"tool_absent"})


def test_no_gpu_at_all(bin_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pci_device(tmp_path, "0000:07:00.0", "0x068000", "0x10de")  # an NVSwitch is no GPU
    monkeypatch.setattr(_source_gpu, "PCI_DEVICES", tmp_path / "pci")
    for ask in (_source_gpu.gpu, _source_gpu.gpu_driver, _source_gpu.amd_gpu):
        reading = ask(30).reading
        assert (reading.quality, codes(reading)) == ("not_applicable", ["no_device"])


def test_amd_gpus_by_what_is_there(
    bin_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pci_device(tmp_path, "0000:05:00.0", "0x120000", "0x1002")
    monkeypatch.setattr(_source_gpu, "PCI_DEVICES", tmp_path / "pci")
    assert _source_gpu.amd_gpu(30).reading.quality == "absent"
    older = sorted((DATA / "rocm-smi-json").glob("*.json"))[0]
    tool_that(bin_dir / "rocm-smi", f"cat {older}")
    assert _source_gpu.amd_gpu(30).reading.kind == "rocm-smi-json"
    newer = sorted((DATA / "amd-smi-json").glob("*.json"))[0]
    tool_that(bin_dir / "amd-smi", f'[ "$*" = "static --json" ] && cat {newer}')
    assert _source_gpu.amd_gpu(30).reading.kind == "amd-smi-json"


def adapter(tmp_path: Path) -> Path:
    top = tmp_path / "sys" / "class" / "infiniband"
    port = top / "mlx5_0" / "ports" / "1"
    (port / "counters").mkdir(parents=True)
    (port / "gids").mkdir()
    (port.parents[1] / "fw_ver").write_text("28.43.2026\n")
    (port.parents[1] / "uevent").write_text("NAME=mlx5_0\n")
    (port / "state").write_text("4: ACTIVE\n")
    (port / "phys_state").write_text("5: LinkUp\n")
    (port / "rate").write_text("400 Gb/sec (4X NDR)\n")
    (port / "link_layer").write_text("InfiniBand\n")
    (port / "counters" / "symbol_error").write_text("7\n")
    (port / "gids" / "0").write_text("fe80:0000:0000:0000:a088:c203:0012:3456\n")
    return top


def test_adapters_by_the_kernels_files(
    bin_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_source_rdma, "INFINIBAND", adapter(tmp_path))
    assert not any(path.endswith("uevent") for path in _source_rdma.adapter_files())
    reading = _source_rdma.adapters(30).reading
    assert reading.kind == "sysfs-infiniband"
    values = {name: value for one in reading.entities for name, value in one.values.items()}
    assert (values["firmware_version"], values["active_port_count"]) == ("28.43.2026", 1)
    assert values["symbol_error"] == 7


def test_adapters_whose_counters_hang(
    bin_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_source_rdma, "INFINIBAND", adapter(tmp_path))
    (bin_dir / "grep").unlink()
    tool_that(bin_dir / "grep", "exec sleep 300")
    ibstat = DATA / "ibstat" / "ib-and-down-ethernet.txt"
    tool_that(bin_dir / "ibstat", f"cat {ibstat}")
    reading = _source_rdma.adapters(1).reading
    assert (reading.kind, reading.quality) == ("ibstat", "partial")
    assert "grep did not answer within 1 s" in reading.problems[-1].says


def test_no_adapter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_source_rdma, "INFINIBAND", tmp_path)
    assert _source_rdma.adapters(30).reading.quality == "not_applicable"


def test_dmi_where_the_firmware_has_none(
    bin_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_sources, "DMI_TABLES", tmp_path / "none")
    assert _sources.collect_dmi(30).reading.quality == "not_applicable"
    monkeypatch.setattr(_sources, "DMI_TABLES", tmp_path)
    assert _sources.collect_dmi(30).reading.quality == "absent"


def test_the_clock_without_and_with_systemd(
    bin_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = DATA / "timedatectl" / "plain.txt"
    tool_that(bin_dir / "timedatectl", f"cat {plain}")
    monkeypatch.setattr(_sources, "SYSTEMD_RUNS", tmp_path / "none")
    assert _sources.collect_clock(30).reading.quality == "absent"
    monkeypatch.setattr(_sources, "SYSTEMD_RUNS", tmp_path)
    reading = _sources.collect_clock(30).reading
    assert (reading.kind, codes(reading)[-1]) == ("timedatectl", "fallback")


@pytest.mark.parametrize(
    ("tool", "listing", "kind"),
    [("dpkg", "dpkg-l/mixed.txt", "dpkg-l"), ("rpm", "rpm-qi/list.txt", "rpm-qi")],
)
def test_packages_of_both_families(bin_dir: Path, tool: str, listing: str, kind: str) -> None:
    assert _sources.SOURCES["packages"].collect(30).reading.quality == "absent"
    tool_that(bin_dir / tool, f"cat {DATA / listing}")
    reading = _sources.SOURCES["packages"].collect(30).reading
    assert reading.kind == kind
    assert reading.entities


def test_dkms_that_has_no_module_says_nothing(bin_dir: Path) -> None:
    assert _sources.SOURCES["dkms"].collect(30).reading.quality == "absent"
    tool_that(bin_dir / "dkms", "exit 0")
    reading = _sources.SOURCES["dkms"].collect(30).reading
    assert (reading.quality, reading.problems) == ("ok", [])
    assert reading.entities[0].values == {"module_count": 0}
    tool_that(bin_dir / "dkms", "echo 'nvidia/580.126.09, 6.8.0-90-generic, x86_64: installed'")
    reading = _sources.SOURCES["dkms"].collect(30).reading
    assert reading.entities[0].values["module_count"] == 1


def test_modules_by_lsmod_where_the_kernel_hides_its_list(
    bin_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_collect, "file_bytes", lambda path: None)
    tool_that(bin_dir / "lsmod", "printf 'Module Size Used by\\nmlx5_core 2400256 1 mlx5_ib\\n'")
    reading = _sources.collect_modules(30).reading
    assert (reading.quality, codes(reading)) == ("ok", ["fallback"])
    assert reading.entity("module:mlx5_core") is not None


def test_the_kernel_log_without_secrets(bin_dir: Path) -> None:
    assert _sources.collect_kernel_log(30).reading.quality == "absent"
    log = (
        "[    0.000000] Linux version 6.8.0-90-generic (x@y) (gcc 13) #91\n"
        "[    0.000000] Command line: ro ipmi.password=hunter2 quiet\n"
        "[   12.500000] NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus.\n"
    )
    (bin_dir / "log").write_text(log)
    tool_that(bin_dir / "dmesg", f"cat {bin_dir / 'log'}")
    tool_that(bin_dir / "journalctl", "exit 0")  # a journal that keeps nothing of the kernel
    found = _sources.collect_kernel_log(30)
    assert b"hunter2" not in (found.raw or b"")
    assert b"password=*** quiet" in (found.raw or b"")
    assert found.reading.quality == "ok"
    assert any(one.values.get("xid") == 79 for one in found.reading.entities)


def test_sources_come_in_the_order_of_their_names_and_once() -> None:
    found = _sources.collect(["cpu", "os", "cpu"], 30)
    assert [one.reading.kind for one in found] == ["lscpu", "os"]


def test_a_source_that_hangs_does_not_hold_the_others(bin_dir: Path) -> None:
    for name in ("lspci", "lscpu", "dkms", "mokutil", "lsblk"):
        tool_that(bin_dir / name, "exec sleep 300")
    names = ["pci", "cpu", "dkms", "secure_boot", "disks", "os"]
    found = _sources.collect(names, 2)
    assert [one.reading.quality for one in found[:5]] == ["timeout"] * 5
    assert found[5].reading.quality == "ok"
    begun = {one.started for one in found}
    assert len(begun) <= 2  # side by side: all of them began in the same second, or the next
