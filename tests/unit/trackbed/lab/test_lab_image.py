"""The node image: its name, where its base comes from, and its shell programs."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from lab_fakes import ORDINARY, RESTRICTED, FakeEngine

from trackbed.errors import TrackbedError
from trackbed.lab import image
from trackbed.lab.engine import DOCKER, PODMAN, Engine


@pytest.fixture
def fake():
    return FakeEngine()


def ensure(fake, system="debian12", limits=ORDINARY, environ=None, said=None):
    engine = Engine(PODMAN, limits, runner=fake)
    say = (said if said is not None else []).append
    return image.ensure(engine, system, say, environ=environ or {}, runner=fake)


def test_the_name_changes_with_every_byte_of_the_recipe(tmp_path):
    (tmp_path / "Containerfile").write_text("FROM x\n", encoding="ascii")
    first = image.name_of("debian12", tmp_path)
    assert first == image.name_of("debian12", tmp_path)
    assert first != image.name_of("debian13", tmp_path)
    (tmp_path / "init").write_text("", encoding="ascii")
    second = image.name_of("debian12", tmp_path)
    assert second != first
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__/x.pyc").write_text("", encoding="ascii")
    assert image.name_of("debian12", tmp_path) == second


def test_the_base_comes_from_a_registry_where_one_answers(fake):
    made = ensure(fake)
    assert made.name == image.name_of("debian12")
    assert "docker.io/library/debian:12-slim" in made.how
    assert fake.verbs() == ["pull", "build"]
    assert ensure(fake).how == "already there"
    assert fake.verbs() == ["pull", "build"]


def test_a_base_of_ones_own_is_taken(fake):
    fake.images.add("mine:1")
    assert ensure(fake, environ={"TRACKBED_LAB_BASE": "mine:1"}).how == "on mine:1"
    assert fake.verbs() == ["build"]
    assert "--build-arg=BASE=mine:1" in fake.calls[-1]


@pytest.fixture
def bootstrap(tmp_path, monkeypatch):
    (tmp_path / "mmdebstrap").write_text("#!/bin/sh\n", encoding="ascii")
    (tmp_path / "mmdebstrap").chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path))


def test_without_a_registry_the_machines_own_mirror_serves(fake, bootstrap):
    fake.registry = False
    said: list[str] = []
    made = ensure(fake, "debian13", said=said)
    assert "Debian mirror" in made.how
    assert any("no registry answers" in line for line in said)
    assert any(call[0] == "mmdebstrap" and "trixie" in call for call in fake.calls)
    assert fake.verbs() == ["import", "build"]
    fake.images.discard(made.name)
    ensure(fake, "debian13")
    assert fake.verbs() == ["import", "build", "build"]  # the base is kept


def test_without_registry_and_bootstrap_the_ways_out_are_named(fake, monkeypatch, tmp_path):
    fake.registry = False
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TrackbedError) as caught:
        ensure(fake)
    assert "TRACKBED_LAB_BASE" in caught.value.remedy


def test_a_failed_bootstrap_says_so(fake, bootstrap):
    fake.registry = False
    fake.fail_at = "mmdebstrap"
    with pytest.raises(TrackbedError, match="making a base of bookworm"):
        ensure(fake)


def test_builds_start_no_container_where_none_can_start(fake):
    ensure(fake, limits=RESTRICTED)
    assert "--isolation=chroot" in fake.calls[-1]
    assert not image._chroot(Engine(DOCKER, RESTRICTED, runner=fake))
    assert not image._chroot(Engine(PODMAN, replace(RESTRICTED, memlock_unlimited=True)))


def test_mirrors_are_read_in_both_forms_of_apt():
    deb822 = (
        "# URIs: http://old.invalid/debian\nTypes: deb\nURIs: http://a.invalid/debian/\n"
        "\nTypes: deb\nURIs: http://a.invalid/debian-security\n"
    )
    assert image.mirrors([deb822]) == {
        "main": "http://a.invalid/debian",
        "security": "http://a.invalid/debian-security",
    }
    line = "deb [signed-by=/k] http://b.invalid/debian bookworm main\ndeb-src http://c/debian x y\n"
    assert image.mirrors([line, "deb http://d.invalid/ubuntu noble main\n"]) == {
        "main": "http://b.invalid/debian"
    }
    assert image.mirrors([]) == {}


def test_the_bootstrap_uses_them():
    argv = image.bootstrap_argv("trixie", Path("/t/base.tar"), {"main": "M", "security": "S"})
    assert argv[-3:] == ["deb M trixie main", "deb M trixie-updates main",
                         "deb S trixie-security main"]  # fmt: skip
    assert image.bootstrap_argv("trixie", Path("/t"), {})[-1] == "/t"


def test_images_are_removed_by_their_label(fake):
    ensure(fake)
    engine = Engine(PODMAN, ORDINARY, runner=fake)
    assert image.name_of("debian12") in image.remove_all(engine)
    assert fake.images == set()
    assert image.remove_all(engine) == []


@pytest.fixture
def node(tmp_path):
    """The stand-ins for kmod, with their fixed places moved into a directory."""
    for name in ("kmod", "modules-load"):
        text = (image.RECIPE / name).read_text(encoding="utf-8")
        for place in ("/lab/", "/sys/module", "/proc/sys/kernel", "/etc/mod", "/run/mod",
                      "/usr/lib/mod", "/usr/sbin/"):  # fmt: skip
            text = text.replace(place, f"{tmp_path}{place}")
        (tmp_path / name).write_text(text, encoding="utf-8")
        (tmp_path / name).chmod(0o700)
    for place in ("lab/hw", "sys/module/kernel_own", "proc/sys/kernel", "etc/modules-load.d",
                  "etc/modprobe.d", "usr/lib/modules-load.d", "usr/sbin"):  # fmt: skip
        (tmp_path / place).mkdir(parents=True)
    (tmp_path / "lab/hw/modules.available").write_text(
        "nvidia-peermem\ntcp_bbr\n", encoding="ascii"
    )
    (tmp_path / "lab/modules").write_text("", encoding="ascii")
    (tmp_path / "proc/sys/kernel/osrelease").write_text("6.1.0-50-amd64\n", encoding="ascii")
    for name in ("modprobe", "rmmod", "lsmod"):
        (tmp_path / "usr/sbin" / name).symlink_to("../../kmod")
    return tmp_path


def call(node, name, *args):
    path = node / name if name == "modules-load" else node / "usr/sbin" / name
    return subprocess.run(
        [str(path), *args], capture_output=True, text=True, timeout=20, check=False,
        env={"PATH": os.defpath + ":/usr/sbin"},
    )  # fmt: skip


def test_modprobe_loads_what_there_is_under_both_spellings(node):
    assert call(node, "modprobe", "nvidia_peermem").returncode == 0
    assert call(node, "modprobe", "nvidia-peermem").returncode == 0
    state = node / "sys/module/nvidia_peermem/initstate"
    assert state.read_text(encoding="ascii") == "live\n"
    listed = call(node, "lsmod").stdout.splitlines()
    assert listed[0].split() == ["Module", "Size", "Used", "by"]
    assert [line.split()[0] for line in listed[1:]] == ["nvidia_peermem"]


def test_modprobe_answers_as_kmod_for_what_is_missing(node):
    done = call(node, "modprobe", "no_such-one")
    assert done.returncode == 1
    assert done.stderr == (
        "modprobe: FATAL: Module no_such-one not found in directory /lib/modules/6.1.0-50-amd64\n"
    )
    assert call(node, "modprobe", "-q", "no_such").stderr == ""
    assert call(node, "modprobe").returncode == 1
    assert call(node, "modprobe", "--strange", "x").returncode == 1


def test_a_module_is_taken_out_again(node):
    call(node, "modprobe", "-a", "tcp_bbr", "nvidia_peermem")
    assert call(node, "modprobe", "-r", "tcp_bbr").returncode == 0
    assert not (node / "sys/module/tcp_bbr").exists()
    assert "tcp_bbr" not in call(node, "lsmod").stdout
    assert "nvidia_peermem" in call(node, "lsmod").stdout
    assert call(node, "rmmod", "nvidia_peermem").returncode == 0
    assert (node / "lab/modules").read_text(encoding="ascii") == ""
    gone = call(node, "rmmod", "tcp_bbr")
    assert gone.returncode == 1
    assert "rmmod: ERROR: Module tcp_bbr is not currently loaded" in gone.stderr
    assert call(node, "modprobe", "-r", "tcp_bbr").returncode == 0
    assert call(node, "modprobe", "-r", "none").returncode == 1


def test_what_is_built_in_is_there_and_stays(node):
    assert call(node, "modprobe", "kernel-own").returncode == 0
    done = call(node, "modprobe", "-r", "kernel_own")
    assert (done.returncode, done.stderr) == (
        1,
        "modprobe: FATAL: Module kernel_own is builtin.\n",
    )


def test_a_dry_run_and_parameters_load_nothing_else(node):
    assert call(node, "modprobe", "-n", "tcp_bbr").returncode == 0
    assert not (node / "sys/module/tcp_bbr").exists()
    assert call(node, "modprobe", "tcp_bbr", "option=1").returncode == 0


def test_the_boot_loads_what_files_ask_for_and_not_what_is_blacklisted(node):
    (node / "etc/modules-load.d/a.conf").write_text("# c\n\n; d\ntcp_bbr\n", encoding="ascii")
    (node / "usr/lib/modules-load.d/a.conf").write_text("hidden_by_etc\n", encoding="ascii")
    (node / "usr/lib/modules-load.d/b.conf").write_text("nvidia-peermem\n", encoding="ascii")
    (node / "etc/modprobe.d/b.conf").write_text("blacklist nvidia-peermem\n", encoding="ascii")
    assert call(node, "modules-load").returncode == 0
    assert (node / "sys/module/tcp_bbr").exists()
    assert not (node / "sys/module/nvidia_peermem").exists()
    (node / "etc/modules-load.d/c.conf").write_text("missing\ntcp_bbr\n", encoding="ascii")
    assert call(node, "modules-load").returncode == 1


@pytest.mark.parametrize("name", ["init", "kmod", "modules-load"])
def test_the_shell_programs_parse(name):
    shell = "bash" if name == "init" else "sh"
    done = subprocess.run(
        [shell, "-n", str(image.RECIPE / name)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
