"""Installed in each of its forms, Trackbed works from an unrelated directory.

Builds one environment of its own with the dependencies from the package index, and puts the wheel,
the editable checkout and nothing at all (a bare checkout with ansible.cfg) into it in turn.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.checkout import clean_environment, copy, galaxy, tracked

MODULES = [f"trackbed.cluster.{Path(n).stem}" for n in tracked("plugins/modules") if "/_" not in n]
ROLES = sorted({Path(name).parts[1] for name in tracked("roles")})
INSTALL_SECONDS = 600
# A command reads a cold disk and imports ansible; on a busy machine that takes a while.
SECONDS = 120
STALE = "ansible_collections/trackbed/cluster"
# Prints where the code that would run comes from, as the command line sees it.
WHERE = """
from trackbed import collection
collection.activate()
import ansible_collections.trackbed.cluster.plugins.plugin_utils._finding as one
print(one.__file__)
"""
ANOTHER_FIRST = """
import sys
from ansible.plugins.loader import init_plugin_loader
init_plugin_loader()
import ansible_collections.trackbed.cluster.plugins
from trackbed.cli import main
sys.exit(main(["config"]))
"""


@dataclass(frozen=True)
class Installed:
    """One environment, a home and a directory that has nothing to do with it."""

    form: str
    venv: Path
    checkout: Path
    away: Path
    home: Path

    def call(
        self, *words: str, codes: tuple[int, ...] = (0,), cwd: Path | None = None, **more: str
    ) -> subprocess.CompletedProcess[str]:
        """Run one of its programs by its full path, as pipx would."""
        done = subprocess.run(
            [str(self.venv / "bin" / words[0]), *words[1:]],
            cwd=cwd or self.away,
            env=clean_environment(self.home, **more),
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode in codes, done.stdout + done.stderr
        return done

    def read(self, *words: str, codes: tuple[int, ...] = (0,), cwd: Path | None = None) -> dict:
        """Run one that prints JSON, and return that."""
        return json.loads(self.call(*words, codes=codes, cwd=cwd).stdout)


def _pip(venv: Path, *words: str) -> None:
    done = subprocess.run(
        [str(venv / "bin/python"), "-m", "pip", "--disable-pip-version-check", *words],
        capture_output=True,
        text=True,
        timeout=INSTALL_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy(tmp_path_factory.mktemp("checkout"))


@pytest.fixture(scope="module")
def venv(tmp_path_factory: pytest.TempPathFactory, checkout: Path) -> Path:
    """An environment with our dependencies, and with what a build needs."""
    place = tmp_path_factory.mktemp("venv")
    subprocess.run([sys.executable, "-m", "venv", str(place)], timeout=SECONDS, check=True)
    _pip(place, "install", "--quiet", str(checkout), "hatchling", "editables")
    return place


@pytest.fixture(scope="module", params=["wheel", "editable", "bare checkout"])
def installed(
    request: pytest.FixtureRequest,
    venv: Path,
    checkout: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Installed:
    _pip(venv, "uninstall", "--yes", "--quiet", "trackbed")
    forms = {"wheel": [str(checkout)], "editable": ["--editable", str(checkout)]}
    if request.param in forms:
        options = ["--quiet", "--no-deps", "--no-build-isolation"]
        _pip(venv, "install", *options, *forms[request.param])
    away = tmp_path_factory.mktemp("elsewhere")
    if request.param == "bare checkout":
        away = checkout
    return Installed(request.param, venv, checkout, away, tmp_path_factory.mktemp("home"))


@pytest.fixture
def program(installed: Installed) -> Installed:
    if installed.form == "bare checkout":
        pytest.skip("a bare checkout has no program; its playbooks and modules work")
    return installed


@pytest.fixture
def stale(installed: Installed, tmp_path: Path) -> Path:
    """A home with an older copy of the collection, as an earlier `ansible-galaxy install` left."""
    collections = tmp_path / ".ansible/collections"
    old = collections / STALE
    for name in tracked("plugins/plugin_utils", "plugins/module_utils"):
        (old / name).parent.mkdir(parents=True, exist_ok=True)
        (old / name).write_bytes((installed.checkout / name).read_bytes())
    (old / "galaxy.yml").write_text("version: 0.0.1\n", encoding="utf-8")
    return collections


def test_modules_are_documented(installed: Installed) -> None:
    said = installed.read("ansible-doc", "--json", "-t", "module", *MODULES)
    assert sorted(said) == sorted(MODULES)


def test_roles_are_documented(installed: Installed) -> None:
    names = [f"trackbed.cluster.{role}" for role in ROLES]
    said = installed.read("ansible-doc", "--json", "-t", "role", *names)
    assert sorted(said) == names


def test_the_site_playbook_is_found(installed: Installed) -> None:
    said = installed.call(
        "ansible-playbook", "trackbed.cluster.site", "--syntax-check", "-i", "localhost,"
    )
    assert "site" in said.stdout


def test_the_version_is_that_of_the_collection(program: Installed) -> None:
    assert program.call("trackbed", "--version").stdout.strip() == f"trackbed {galaxy()['version']}"


def test_it_runs_ansible_without_the_environment_on_path(
    program: Installed, tmp_path: Path
) -> None:
    inventory = tmp_path / "hosts.yml"
    here = {"ansible_connection": "local", "ansible_become": False}
    inventory.write_text(json.dumps({"all": {"hosts": {"here": here}}}), encoding="utf-8")
    interpreter = f"ansible_python_interpreter={program.venv / 'bin/python'}"
    words = ["facts", "--json", "-i", str(inventory), "--journal", str(tmp_path / "journal")]
    # This machine need not have lspci: then the answer is partial, which is 4.
    said = program.read("trackbed", *words, "-e", interpreter, codes=(0, 4))
    assert [(row["node"], row["state"]) for row in said["nodes"]] == [("here", "ok")]


def test_its_own_collection_wins_over_a_stale_copy(program: Installed, stale: Path) -> None:
    place = {"HOME": str(stale.parents[1]), "ANSIBLE_COLLECTIONS_PATH": str(stale)}
    script = stale / "where.py"
    script.write_text(WHERE, encoding="utf-8")
    said = Path(program.call("python", str(script), **place).stdout.strip()).resolve()
    assert not said.is_relative_to(stale)
    assert said.is_relative_to(program.checkout if program.form == "editable" else program.venv)


def test_another_copy_is_refused(program: Installed, stale: Path) -> None:
    # Something in this process has imported the other copy already: its code would run.
    script = stale / "another.py"
    script.write_text(ANOTHER_FIRST, encoding="utf-8")
    words = ["python", str(script)]
    said = program.call(*words, codes=(2,), ANSIBLE_COLLECTIONS_PATH=str(stale)).stderr
    assert str(stale / STALE) in said
    assert "remove the other copy" in said


def test_an_edit_is_live_where_the_checkout_is_used(installed: Installed) -> None:
    new = installed.checkout / "plugins/modules/fresh_info.py"
    source = installed.checkout / "plugins/modules/node_facts_info.py"
    text = source.read_text(encoding="utf-8").replace("node_facts_info", "fresh_info")
    new.write_text(text, encoding="utf-8")
    try:
        words = ["ansible-doc", "--json", "-t", "module", "trackbed.cluster.fresh_info"]
        if installed.form == "wheel":
            assert installed.read(*words) == {}
        else:
            assert list(installed.read(*words)) == ["trackbed.cluster.fresh_info"]
    finally:
        new.unlink()
