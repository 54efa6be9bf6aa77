"""The collection archive, the wheel and the sdist hold the same collection, and nothing else."""

from __future__ import annotations

import email
import hashlib
import json
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

from support.checkout import ROOT, clean_environment, copy, galaxy, tracked

COLLECTION = "ansible_collections/trackbed/cluster/"
# What `ansible-galaxy collection build` makes by itself; the wheel has galaxy.yml instead.
GENERATED = {"MANIFEST.json", "FILES.json"}
SECONDS = 300
Content = dict[str, str]


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _call(argv: list[str], cwd: Path, home: Path) -> None:
    done = subprocess.run(
        argv,
        cwd=cwd,
        env=clean_environment(home),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def _hatch(source: Path, into: Path, kind: str) -> Path:
    argv = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(into)]
    _call(argv, source, into)
    suffix = {"wheel": "*.whl", "sdist": "*.tar.gz"}[kind]
    return next(into.glob(suffix))


def _wheel(path: Path) -> Content:
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
        return {name: _sha(archive.read(name)) for name in names}


def _tar(path: Path) -> Content:
    with tarfile.open(path) as archive:
        found = {}
        for member in archive.getmembers():
            if member.isfile():
                stream = archive.extractfile(member)
                assert stream is not None
                found[member.name] = _sha(stream.read())
        return found


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout with what a day's work leaves behind, none of it tracked."""
    made = copy(tmp_path_factory.mktemp("a checkout"))
    for left in (
        "plugins/modules/__pycache__/judge.cpython-311.pyc",
        ".venv/bin/python",
        ".cache/x",
    ):
        (made / left).parent.mkdir(parents=True, exist_ok=True)
        (made / left).write_text("left behind", encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def archive(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    into = tmp_path_factory.mktemp("galaxy")
    program = str(Path(sys.executable).parent / "ansible-galaxy")
    _call([program, "collection", "build", "--output-path", str(into)], source, into)
    return next(into.glob("*.tar.gz"))


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _hatch(source, tmp_path_factory.mktemp("wheel"), "wheel")


@pytest.fixture(scope="module")
def sdist(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _hatch(source, tmp_path_factory.mktemp("sdist"), "sdist")


def _intended() -> Content:
    names = tracked("README.md", "LICENSE", "CHANGELOG.md", "meta", "playbooks", "plugins", "roles")
    return {name: _sha((ROOT / name).read_bytes()) for name in names}


def test_collection_archive_holds_exactly_the_tracked_content(archive: Path) -> None:
    content = _tar(archive)
    assert content.keys() >= GENERATED
    assert {name: sha for name, sha in content.items() if name not in GENERATED} == _intended()


def test_wheel_holds_the_same_collection(wheel: Path) -> None:
    content = _wheel(wheel)
    collection = {
        name.removeprefix(COLLECTION): sha
        for name, sha in content.items()
        if name.startswith(COLLECTION)
    }
    assert collection.pop("galaxy.yml") == _sha((ROOT / "galaxy.yml").read_bytes())
    assert collection == _intended()


def test_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    others = {
        name: sha
        for name, sha in _wheel(wheel).items()
        if not name.startswith(COLLECTION) and ".dist-info/" not in name
    }
    package = tracked("src/trackbed")
    assert others == {
        name.removeprefix("src/"): _sha((ROOT / name).read_bytes()) for name in package
    }


def test_a_wheel_from_the_sdist_is_the_same(
    wheel: Path, sdist: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    unpacked = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(sdist) as archive:
        archive.extractall(unpacked, filter="data")
    again = _hatch(next(unpacked.iterdir()), tmp_path_factory.mktemp("again"), "wheel")
    assert _wheel(again) == _wheel(wheel)


def test_sdist_has_what_its_tests_need(sdist: Path) -> None:
    names = {name.partition("/")[2] for name in _tar(sdist)}
    assert {"pyproject.toml", "Makefile", "tests/conftest.py", "scripts/stages.py"} <= names
    assert not [name for name in names if "__pycache__" in name or name.startswith(".venv")]


def test_one_version_everywhere(archive: Path, wheel: Path) -> None:
    version = str(galaxy()["version"])
    with tarfile.open(archive) as opened:
        stream = opened.extractfile("MANIFEST.json")
        assert stream is not None
        assert json.load(stream)["collection_info"]["version"] == version
    with zipfile.ZipFile(wheel) as opened:
        metadata = next(name for name in opened.namelist() if name.endswith("dist-info/METADATA"))
        assert email.message_from_bytes(opened.read(metadata))["Version"] == version
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## {version} " in changelog


def test_execution_environment_asks_for_what_the_package_asks_for() -> None:
    description = yaml.safe_load((ROOT / "meta/execution-environment.yml").read_text())
    files = [ROOT / name for name in description["dependencies"].values()]
    assert all(file.is_file() for file in files)
    lines = (ROOT / description["dependencies"]["python"]).read_text(encoding="utf-8").splitlines()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {line for line in lines if not line.startswith("#")} <= set(project["dependencies"])
