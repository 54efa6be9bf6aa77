"""The lab's packages: names through the vendor's renames, relations, and what lies on the disk."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path, PurePosixPath

import pytest
import yaml

from trackbed.lab.packages import catalogue, deb, rpm, stage
from trackbed.lab.packages.model import DEBIAN, FAMILIES, RPM, UBUNTU, Package
from trackbed.lab.packages.tree import tree_of

MACHINE = stage.MACHINES["x86_64"]


def one(family: str, name: str, version: str) -> Package:
    found = [p for p in catalogue.packages(family) if (p.name, p.version) == (name, version)]
    assert len(found) == 1, f"{family} {name} {version}: {len(found)} of them"
    return found[0]


def names(family: str, version: str) -> set[str]:
    return {p.name for p in catalogue.packages(family) if p.version == version}


def test_branches_570_580_and_595_are_there_two_of_them_twice():
    branches = [version.split(".")[0] for version in catalogue.driver_versions()]
    assert branches == ["570", "580", "580", "595", "595"]


def test_companions_lost_their_branch_at_580():
    assert "nvidia-fabricmanager-570" in names(UBUNTU, "570.211.01")
    assert "nvidia-fabricmanager" in names(UBUNTU, "580.126.09")
    assert {"nvidia-imex", "libnvidia-nscq", "libnvsdm"} <= names(DEBIAN, "580.126.09")
    assert "nvidia-fabric-manager" in names(RPM, "570.211.01")
    assert "nvidia-fabricmanager" in names(RPM, "580.105.08")


def test_driver_packages_lost_their_branch_at_590():
    assert {"nvidia-dkms-580-open", "nvidia-utils-580"} <= names(UBUNTU, "580.126.09")
    assert {"nvidia-dkms-open", "nvidia-utils"} <= names(UBUNTU, "595.91.07")
    assert "nvidia-open-580" in names(UBUNTU, "580.126.09")
    assert not any(name.startswith("nvidia-open-5") for name in names(UBUNTU, "595.91.07"))


def test_versions_are_written_as_each_family_writes_them():
    assert one(DEBIAN, "libcuda1", "580.126.09").full_version == "580.126.09-1"
    assert one(UBUNTU, "nvidia-utils", "595.71.05").full_version == "595.71.05-1ubuntu1"
    assert one(RPM, "nvidia-open", "580.126.09").full_version == "3:580.126.09-1.el9"
    assert one(DEBIAN, "libnccl2", "2.30.7-1+cuda13.2").full_version == "2.30.7-1+cuda13.2"
    core = one(DEBIAN, "datacenter-gpu-manager-4-core", "4.6.0")
    assert core.full_version == "1:4.6.0-1"


@pytest.mark.parametrize("family", FAMILIES)
def test_whatever_a_package_needs_is_in_the_same_repository(family: str):
    listed = catalogue.packages(family)
    there = {(package.name, package.full_version) for package in listed}
    for package in listed:
        for need in package.exact:
            assert (need, package.full_version) in there, f"{package.name} needs {need}"


@pytest.mark.parametrize("family", FAMILIES)
def test_every_placeholder_is_filled(family: str):
    for package in catalogue.packages(family):
        texts = [package.name, *package.exact, *package.libraries.values()]
        for path, entry in tree_of(package, MACHINE.multiarch).items():
            texts += [str(path), entry.link]
            assert b"@VERSION@" not in entry.content
            assert b"@K" not in entry.content
        assert not [text for text in texts if "@" in text], package.name


def test_no_two_packages_of_one_transaction_share_a_file():
    owners: dict[PurePosixPath, str] = {}
    meta = [p for p in catalogue.packages(DEBIAN) if p.version == "580.126.09"]
    for package in meta:
        if package.name == "nvidia-kernel-dkms":  # conflicts with the open one
            continue
        for path in tree_of(package, MACHINE.multiarch):
            assert owners.setdefault(path, package.name) == package.name, path


def test_the_control_file_carries_the_relations():
    package = one(DEBIAN, "nvidia-kernel-open-dkms", "580.126.09")
    text = deb.control(package, "amd64")
    fields = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
    assert fields["Version"] == "580.126.09-1"
    assert fields["Depends"] == (
        "nvidia-kernel-support (= 580.126.09-1), firmware-nvidia-gsp (= 580.126.09-1), dkms"
    )
    assert fields["Conflicts"] == "nvidia-kernel-dkms"


def test_maintainer_scripts_build_and_remove_the_module():
    package = one(DEBIAN, "nvidia-kernel-open-dkms", "580.126.09")
    scripts = deb.scripts(package, tree_of(package, MACHINE.multiarch))
    assert "/usr/lib/dkms/common.postinst nvidia 580.126.09" in scripts["postinst"]
    assert "dkms remove -m nvidia -v 580.126.09 --all" in scripts["prerm"]
    for name in ("postinst", "prerm"):
        done = subprocess.run(["sh", "-n"], input=scripts[name], text=True, check=False)
        assert done.returncode == 0


def test_settings_are_conffiles():
    package = one(DEBIAN, "nvidia-imex", "580.126.09")
    scripts = deb.scripts(package, tree_of(package, MACHINE.multiarch))
    assert "/etc/nvidia-imex/nodes_config.cfg\n" in scripts["conffiles"]


def test_streams_name_what_the_repository_has():
    documents = rpm.streams(catalogue.packages(RPM), "x86_64")
    streams = {doc["data"]["stream"]: doc["data"] for doc in documents}
    assert {"580-open", "595-open", "open-dkms", "latest-dkms", "570-dkms"} <= set(streams)
    listed = streams["580-open"]["artifacts"]["rpms"]
    assert "kmod-nvidia-open-dkms-3:580.126.09-1.el9.x86_64" in listed
    assert not any("latest-dkms" in name or "595" in name for name in listed)


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    dest = tmp_path_factory.mktemp("stage")
    assert stage.write(FAMILIES, MACHINE, dest) > 300
    return dest


def test_the_stage_is_what_the_builders_read(staged: Path):
    web = staged / "deb/compute/cuda/repos/debian12/x86_64"
    assert (web / "nvidia-open_595.91.07-1/DEBIAN/control").is_file()
    assert (web / "libcuda1_580.105.08-1/usr/lib/x86_64-linux-gnu/libcuda.so.1").is_symlink()
    also = (staged / "also.tsv").read_text().splitlines()
    pair = "compute/cuda/repos/debian12/x86_64\tcompute/cuda/repos/debian13/x86_64"
    assert pair in also
    lines = (staged / "libraries.tsv").read_text().splitlines()
    assert any(line.endswith("libnvidia-ml.so.580.126.09\tlibnvidia-ml.so.1") for line in lines)
    modules = staged / "rpm/compute/cuda/repos/rhel9/x86_64/modules.yaml"
    assert len(list(yaml.safe_load_all(modules.read_text()))) == 8


def test_the_same_twice(staged: Path, tmp_path: Path):
    stage.write((DEBIAN,), MACHINE, tmp_path)
    for path in sorted((tmp_path / "deb").rglob("*")):
        if path.is_file() and not path.is_symlink():
            assert path.read_bytes() == (staged / path.relative_to(tmp_path)).read_bytes()


@pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="dpkg-deb is not installed")
def test_the_distributions_own_builder_takes_it(staged: Path, tmp_path: Path):
    top = staged / "deb/compute/cuda/repos/debian12/x86_64/nvidia-driver-cuda_580.126.09-1"
    made = tmp_path / "made.deb"
    argv = ["dpkg-deb", "--build", "--root-owner-group", str(top), str(made)]
    subprocess.run(argv, check=True, capture_output=True)
    shown = subprocess.run(["dpkg-deb", "-c", str(made)], check=True, capture_output=True).stdout
    assert b"./usr/bin/nvidia-smi" in shown


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
@pytest.mark.parametrize(
    ("driver", "kernel", "builds"),
    [
        ("580.126.09", "6.1.0-50", True),
        ("580.105.08", "6.1.0-50", True),
        ("580.105.08", "6.12.117+deb13", False),
        ("580.126.09", "6.12.117+deb13", True),
    ],
)
def test_modules_build_where_the_kernel_is_known(
    staged: Path, tmp_path: Path, driver: str, kernel: str, builds: bool
):
    cuda = staged / "deb/compute/cuda/repos/debian12/x86_64"
    source = cuda / f"nvidia-kernel-open-dkms_{driver}-1/usr/src/nvidia-{driver}"
    build = tmp_path / "build"
    shutil.copytree(source, build)
    release = f"{kernel}-amd64"
    headers = staged / f"deb/kernel/debian12/x86_64/linux-headers-{release}_{kernel}"
    argv = ["make", "-C", str(build), f"KERNEL_UNAME={release}", "modules"]
    argv.append(f"KERNEL_SOURCES={headers}/usr/src/linux-headers-{release}")
    done = subprocess.run(
        argv,
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "LC_ALL": "C"},
    )
    assert (done.returncode == 0) is builds, done.stderr
    if not builds:
        assert "too few arguments to function 'pci_resize_resource'" in done.stderr
        return
    data = (build / "nvidia.ko").read_bytes()
    assert f"version={driver}\0".encode() in data
    assert f"vermagic={release} ".encode() in data
    assert b"depends=nvidia\0" in (build / "nvidia-uvm.ko").read_bytes()


def test_the_vendors_tools_for_adapters_have_numbers_of_their_own():
    mft = one(DEBIAN, "mft", "4.34.1")
    assert mft.full_version == "4.34.1-10"
    assert stage.web_path(mft, "debian12", MACHINE) == "public/repo/doca/3.2.1/debian12/x86_64"
    tree = tree_of(mft, MACHINE.multiarch)
    assert tree[PurePosixPath("usr/share/mft/version")].content == b"4.34.1-10\n"
    entry = tree[PurePosixPath("usr/bin/mlxconfig")]
    assert entry.mode == 0o755
    assert b"standins.mlxconfig.main" in entry.content
    profile = one(DEBIAN, "doca-ofed", "3.2.1")
    assert "mft" in profile.depends
    assert "mft" not in profile.exact
    assert one(RPM, "mft", "4.35.0").file_stem == "mft-4.35.0-159"
