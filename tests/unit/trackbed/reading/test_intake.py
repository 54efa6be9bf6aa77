"""Files, directories, archives and bug reports become inputs; hostile ones do no harm."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
from pathlib import Path

import pytest

from trackbed.errors import UsageError
from trackbed.reading import intake

GPU = b"GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1b2c3d4e-0001-4a5b-8c6d-0123456789ab)\n"
RULE = "_" * 44
BUG_REPORT = f"""{RULE}

Start of NVIDIA bug report log file.  Please include this file.

nvidia-bug-report.sh Version: 36000000

{RULE}

*** /proc/driver/nvidia/version
*** ls: -r--r--r-- 1 root root 0 2026-11-30 09:00:00.000000000 +0000 /proc/driver/nvidia/version
NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build

{RULE}

/proc/driver/nvidia/warnings does not exist

{RULE}

/usr/bin/nvidia-smi -L

{GPU.decode()}
"""


def _names(paths: list[Path]) -> list[str]:
    return [item.name.rsplit("/", 1)[-1] for item in intake.items(paths)]


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress, bz2.compress])
def test_a_file_is_read_through_its_compression(tmp_path: Path, pack: object) -> None:
    path = tmp_path / "list"
    path.write_bytes(pack(GPU))  # type: ignore[operator]
    (item,) = intake.items([path])
    assert (item.data, item.explicit, item.trouble) == (GPU, True, None)


def test_truncated_gzip_gives_what_there_was(tmp_path: Path) -> None:
    path = tmp_path / "list.gz"
    path.write_bytes(gzip.compress(GPU * 1000 + bytes(range(256)) * 50)[:-40])
    (item,) = intake.items([path])
    assert item.data.startswith(GPU)
    assert "damaged" in str(item.trouble)


def test_a_directory_is_read_in_order_and_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "b").write_bytes(GPU)
    (tmp_path / "a").write_bytes(GPU)
    (tmp_path / "out").symlink_to("/etc/passwd")
    assert _names([tmp_path]) == ["a", "b"]


def _tar(path: Path, members: dict[str, bytes], mode: str = "w:gz") -> None:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))


def test_members_of_a_tarball_are_inputs_even_with_hostile_names(tmp_path: Path) -> None:
    path = tmp_path / "sos.tar.xz"
    _tar(path, {"../../escape": GPU, "sos/list.gz": gzip.compress(GPU)}, "w:xz")
    found = list(intake.items([path]))
    assert [item.data for item in found] == [GPU, GPU]
    assert not (tmp_path.parent / "escape").exists()


def test_a_cut_tarball_says_so(tmp_path: Path) -> None:
    path = tmp_path / "sos.tar"
    _tar(path, {"one": GPU, "two": GPU * 200}, "w")
    path.write_bytes(path.read_bytes()[:3000])
    found = list(intake.items([path]))
    assert found[0].data == GPU
    assert "damaged archive" in str(found[-1].trouble)


def test_sections_of_a_bug_report(tmp_path: Path) -> None:
    path = tmp_path / "nvidia-bug-report.log.gz"
    path.write_bytes(gzip.compress(BUG_REPORT.encode()))
    sections = [item for item in intake.items([path]) if "#" in item.name]
    by_title = {item.name.split("#")[1]: item.data for item in sections}
    assert by_title["/proc/driver/nvidia/version"].startswith(b"NVRM version:")
    assert GPU in by_title["/usr/bin/nvidia-smi -L"]
    assert not any("does not exist" in title for title in by_title)


def test_a_bomb_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake, "MAX_BYTES", 3 << 20)
    path = tmp_path / "zeros.gz"
    path.write_bytes(gzip.compress(bytes(8 << 20)))
    (item,) = intake.items([path])
    assert len(item.data) == 3 << 20
    assert "only the first 3 MiB" in str(item.trouble)


def test_too_many_files_are_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake, "MAX_ITEMS", 2)
    for name in "abc":
        (tmp_path / name).write_bytes(GPU)
    *_, last = intake.items([tmp_path])
    assert "only the first 2" in str(last.trouble)


def test_a_missing_path_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        list(intake.items([tmp_path / "absent"]))
