"""The node image: its name, where its base comes from, and its shell programs."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from lab_fakes import ORDINARY, RESTRICTED, FakeEngine

from trackbed.errors import TrackbedError, UsageError
from trackbed.lab import image, recipes
from trackbed.lab.engine import DOCKER, PODMAN, Engine
from trackbed.lab.recipes import Recipe


@pytest.fixture
def fake():
    return FakeEngine()


NODE = recipes.node("debian12").sources[0]


def ensure(fake, system="debian12", limits=ORDINARY, environ=None, said=None):
    engine = Engine(PODMAN, limits, runner=fake)
    say = (said if said is not None else []).append
    return image.ensure(engine, recipes.node(system), say, environ=environ or {}, runner=fake)


def test_the_name_changes_with_every_byte_of_the_recipe(tmp_path):
    def name(system: str = "debian12", *families: str) -> str:
        return Recipe("node", system, (tmp_path,), families).name

    (tmp_path / "Containerfile").write_text("FROM x\n", encoding="ascii")
    first = name()
    assert first == name()
    assert first != name("debian13")
    assert first != name("debian12", "debian")
    (tmp_path / "init").write_text("", encoding="ascii")
    second = name()
    assert second != first
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__/x.pyc").write_text("", encoding="ascii")
    assert name() == second


def test_contexts_hold_what_the_containerfiles_copy(tmp_path):
    for recipe in (recipes.node("debian12"), recipes.head()):
        dest = tmp_path / recipe.kind
        dest.mkdir()
        recipe.write(dest)
        for line in (dest / "Containerfile").read_text(encoding="utf-8").splitlines():
            if line.startswith("COPY ") and "--from" not in line:
                for word in line.split()[1:-1]:
                    assert (dest / word).exists(), line
    assert not list(tmp_path.rglob("__pycache__"))


def test_a_machine_without_packages_is_told_so(tmp_path, monkeypatch):
    monkeypatch.setattr(recipes.platform, "machine", lambda: "s390x")
    with pytest.raises(UsageError, match="s390x"):
        recipes.head().write(tmp_path)


def test_the_head_has_a_base_of_its_own(fake):
    engine = Engine(PODMAN, ORDINARY, runner=fake)
    fake.images.add("mine:1")
    given = {"TRACKBED_LAB_BASE": "mine:1"}
    made = image.ensure(engine, recipes.head(), lambda text: None, environ=given, runner=fake)
    assert "debian:13-slim" in made.how


def test_the_base_comes_from_a_registry_where_one_answers(fake):
    made = ensure(fake)
    assert made.name == recipes.node("debian12").name
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
    assert recipes.node("debian12").name in image.remove_all(engine)
    assert fake.images == set()
    assert image.remove_all(engine) == []


@pytest.mark.parametrize("name", ["init", "modules-load", "modinfo", "uname"])
def test_the_shell_programs_parse(name):
    shell = "bash" if name == "init" else "sh"
    done = subprocess.run(
        [shell, "-n", str(NODE / name)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
