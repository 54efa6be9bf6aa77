"""The stand-ins for kmod: its words and exit codes, and the vendor's driver behind them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from trackbed.lab import recipes

RELEASE = "6.1.0-50-amd64"
NODE, STANDINS = recipes.node("debian12").sources
ENTRY = f"""\
#!{sys.executable} -I
import sys
sys.path.insert(0, {str(STANDINS.parent)!r})
from standins.kmod.main import main
sys.exit(main())
"""
GPU = {
    "pci": "0000:1b:00.0",
    "name": "NVIDIA H100 80GB HBM3",
    "uuid": "GPU-00000000-0000-4000-8000-000000000001",
    "vbios": "96.00.A5.00.01",
    "minor": 0,
    "architecture": "Hopper",
}


class Node:
    """A node's file system in a directory."""

    def __init__(self, top: Path) -> None:
        self.top = top
        for place in ("lab/hw", "sys/module/kernel_own", "proc/sys/kernel", "proc/driver", "dev",
                      "etc/modules-load.d", "etc/modprobe.d", "usr/lib/modules-load.d",
                      "usr/sbin"):  # fmt: skip
            (top / place).mkdir(parents=True)
        self.write("lab/hw/modules.available", "nvidia-peermem\ntcp_bbr\nib_uverbs\n")
        self.write("lab/modules", "")
        self.write("proc/sys/kernel/osrelease", f"{RELEASE}\n")
        self.machine(GPU)
        for name in ("modprobe", "rmmod", "lsmod"):
            path = self.write(f"usr/sbin/{name}", ENTRY)
            path.chmod(0o700)

    def write(self, path: str, text: str) -> Path:
        place = self.top / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="ascii")
        return place

    def machine(self, *gpus: dict[str, object]) -> None:
        self.write("lab/hw/machine.json", json.dumps({"gpus": gpus}))

    def module(self, name: str, *facts: str) -> None:
        """Install a module file, as DKMS does."""
        # The linker may put the first text right behind the last byte of the code.
        text = "\x7fELF\0\x05" + "\0".join([*facts, f"vermagic={RELEASE} SMP ", ""])
        self.write(f"lib/modules/{RELEASE}/updates/dkms/{name}.ko", text)

    def driver(self, version: str = "580.126.09", licence: str = "Dual MIT/GPL") -> None:
        self.module("nvidia", f"license={licence}", f"version={version}")
        self.module("nvidia-uvm", f"version={version}", "depends=nvidia")
        self.module("nvidia-modeset", f"version={version}", "depends=nvidia")

    def call(self, name: str, *args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.top / "usr/sbin" / name), *args],
            env={"LAB_ROOT": str(self.top), "PATH": os.defpath},
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )

    def loaded(self) -> list[str]:
        return [line.split()[0] for line in self.call("lsmod").stdout.splitlines()[1:]]


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def test_modprobe_loads_what_there_is_under_both_spellings(node: Node):
    assert node.call("modprobe", "nvidia_peermem").returncode == 0
    assert node.call("modprobe", "nvidia-peermem").returncode == 0
    state = node.top / "sys/module/nvidia_peermem/initstate"
    assert state.read_text(encoding="ascii") == "live\n"
    listed = node.call("lsmod").stdout.splitlines()
    assert listed[0].split() == ["Module", "Size", "Used", "by"]
    assert node.loaded() == ["nvidia_peermem"]


def test_modprobe_answers_as_kmod_for_what_is_missing(node: Node):
    done = node.call("modprobe", "no_such-one")
    assert done.returncode == 1
    assert done.stderr == (
        f"modprobe: FATAL: Module no_such-one not found in directory /lib/modules/{RELEASE}\n"
    )
    assert node.call("modprobe", "-q", "no_such").stderr == ""
    assert node.call("modprobe").returncode == 1
    assert node.call("modprobe", "--strange", "x").returncode == 1


def test_a_module_is_taken_out_again(node: Node):
    node.call("modprobe", "-a", "tcp_bbr", "nvidia_peermem")
    assert node.call("modprobe", "-r", "tcp_bbr").returncode == 0
    assert not (node.top / "sys/module/tcp_bbr").exists()
    assert node.loaded() == ["nvidia_peermem"]
    assert node.call("rmmod", "nvidia_peermem").returncode == 0
    assert (node.top / "lab/modules").read_text(encoding="ascii") == ""
    gone = node.call("rmmod", "tcp_bbr")
    assert gone.returncode == 1
    assert "rmmod: ERROR: Module tcp_bbr is not currently loaded" in gone.stderr
    assert node.call("modprobe", "-r", "tcp_bbr").returncode == 0
    assert node.call("modprobe", "-r", "none").returncode == 1


def test_what_is_built_in_is_there_and_stays(node: Node):
    assert node.call("modprobe", "kernel-own").returncode == 0
    done = node.call("modprobe", "-r", "kernel_own")
    assert (done.returncode, done.stderr) == (
        1,
        "modprobe: FATAL: Module kernel_own is builtin.\n",
    )


def test_a_dry_run_and_questions_of_maintainer_scripts_load_nothing_else(node: Node):
    assert node.call("modprobe", "-n", "tcp_bbr").returncode == 0
    assert node.call("modprobe", "--set-version=6.2.0", "-qn", "tcp_bbr").returncode == 0
    assert node.call("modprobe", "-S", "6.2.0", "-q", "-n", "tcp_bbr").returncode == 0
    assert node.loaded() == []


def test_parameters_come_from_the_call_and_the_configuration(node: Node):
    node.write("etc/modprobe.d/a.conf", "options tcp-bbr mode=1\n")
    assert node.call("modprobe", "tcp_bbr", "extra=2").returncode == 0
    parameters = node.top / "sys/module/tcp_bbr/parameters"
    assert {path.name: path.read_text() for path in parameters.iterdir()} == {
        "mode": "1\n",
        "extra": "2\n",
    }


def test_the_boot_loads_what_files_ask_for_and_not_what_is_blacklisted(node: Node):
    text = (NODE / "modules-load").read_text(encoding="utf-8")
    for place in ("/etc/modules", "/run/modules", "/usr/lib/modules", "/usr/sbin/"):
        text = text.replace(place, f"{node.top}{place}")
    node.write("usr/sbin/modules-load", text).chmod(0o700)
    node.write("etc/modules-load.d/a.conf", "# c\n\n; d\ntcp_bbr\n")
    node.write("usr/lib/modules-load.d/a.conf", "hidden_by_etc\n")
    node.write("usr/lib/modules-load.d/b.conf", "nvidia-peermem\n")
    node.write("etc/modprobe.d/b.conf", "blacklist nvidia-peermem\n")
    assert node.call("modules-load").returncode == 0
    assert node.loaded() == ["tcp_bbr"]
    node.write("etc/modules-load.d/c.conf", "missing\ntcp_bbr\n")
    assert node.call("modules-load").returncode == 1


def test_the_driver_comes_up_with_its_files_and_devices(node: Node):
    node.driver()
    assert node.call("modprobe", "nvidia-uvm").returncode == 0
    assert node.loaded() == ["nvidia_uvm", "nvidia"]
    assert node.call("lsmod").stdout.splitlines()[2].split()[2:] == ["1", "nvidia_uvm"]
    version = (node.top / "proc/driver/nvidia/version").read_text()
    assert version.startswith("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.126.09")
    assert (node.top / "sys/module/nvidia/version").read_text() == "580.126.09\n"
    facts = (node.top / "proc/driver/nvidia/gpus/0000:1b:00.0/information").read_text()
    assert "Model:\t\t NVIDIA H100 80GB HBM3\n" in facts
    assert {path.name for path in (node.top / "dev").iterdir()} == {
        "nvidia0",
        "nvidiactl",
        "nvidia-uvm",
        "nvidia-uvm-tools",
    }
    assert "NVRM: loading NVIDIA UNIX Open Kernel Module" in (node.top / "lab/kmsg").read_text()


def test_what_is_loaded_stays_when_another_version_is_installed(node: Node):
    node.driver("580.105.08")
    node.call("modprobe", "nvidia")
    node.driver("580.126.09")
    assert node.call("modprobe", "nvidia").returncode == 0
    assert (node.top / "sys/module/nvidia/version").read_text() == "580.105.08\n"
    assert node.call("rmmod", "nvidia").returncode == 0
    assert not (node.top / "proc/driver/nvidia").exists()
    assert list((node.top / "dev").iterdir()) == []
    node.call("modprobe", "nvidia")
    assert (node.top / "sys/module/nvidia/version").read_text() == "580.126.09\n"


def test_a_module_that_others_use_stays(node: Node):
    node.driver()
    node.call("modprobe", "-a", "nvidia-uvm", "nvidia-modeset")
    done = node.call("rmmod", "nvidia")
    assert done.returncode == 1
    said = "rmmod: ERROR: Module nvidia is in use by: nvidia_modeset nvidia_uvm\n"
    assert done.stderr == said
    done = node.call("modprobe", "-r", "nvidia")
    assert (done.returncode, done.stderr) == (1, "modprobe: FATAL: Module nvidia is in use.\n")
    assert node.call("modprobe", "-r", "nvidia-uvm").returncode == 0
    assert node.loaded() == ["nvidia_modeset", "nvidia"]
    assert node.call("modprobe", "-r", "nvidia-modeset").returncode == 0
    assert node.loaded() == []  # and what nobody needs any more


def test_a_module_whose_device_somebody_holds_stays(node: Node):
    node.driver()
    node.call("modprobe", "nvidia")
    holder = node.top / "proc" / "4711"
    (holder / "fd").mkdir(parents=True)
    (holder / "comm").write_text("python3\n", encoding="ascii")
    (holder / "fd" / "3").symlink_to(node.top / "dev/nvidia0")
    done = node.call("rmmod", "nvidia")
    assert (done.returncode, done.stderr) == (1, "rmmod: ERROR: Module nvidia is in use\n")
    shutil.rmtree(holder)
    assert node.call("rmmod", "nvidia").returncode == 0


def test_a_module_of_another_kernel_is_refused(node: Node):
    node.driver()
    node.write(f"lib/modules/{RELEASE}/updates/dkms/nvidia.ko", "\0version=1\0vermagic=5.0 SMP\0")
    done = node.call("modprobe", "nvidia")
    assert done.returncode == 1
    assert done.stderr == "modprobe: ERROR: could not insert 'nvidia': Exec format error\n"


def test_without_a_gpu_the_driver_does_not_come_up(node: Node):
    node.driver()
    node.machine()
    done = node.call("modprobe", "nvidia")
    assert done.returncode == 1
    assert done.stderr == "modprobe: ERROR: could not insert 'nvidia': No such device\n"
    assert "No NVIDIA GPU found" in (node.top / "lab/kmsg").read_text()


def test_blackwell_asks_for_open_modules(node: Node):
    node.driver(licence="NVIDIA")
    assert node.call("modprobe", "nvidia").returncode == 0
    node.call("rmmod", "nvidia")
    node.machine({**GPU, "architecture": "Blackwell"})
    assert node.call("modprobe", "nvidia").returncode == 1
    assert "requires use of the NVIDIA open kernel modules" in (node.top / "lab/kmsg").read_text()
    node.driver()
    assert node.call("modprobe", "nvidia").returncode == 0
