"""Which nodes a command is about."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from trackbed import config
from trackbed.cli import nodes
from trackbed.config import Config
from trackbed.errors import UsageError

INVENTORY = """\
all:
  vars: {trackbed_journal: /var/tmp/site.db, other: 1}
  children:
    gpu: {hosts: {gpu-001: {}, gpu-002: {}, gpu-003: {}}}
    head: {hosts: {head-1: {}}}
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    path = tmp_path / "site.yml"
    path.write_text(INVENTORY)
    return path


def settings(labs: Path | None = None, **options: Any) -> Config:
    env = {"TRACKBED_LAB_DIR": str(labs or "/nowhere")}
    return config.load(SimpleNamespace(**options), env)


def test_nodes_journal_and_own_variables(place: Path) -> None:
    found = nodes.load(settings(inventory=[str(place)]), nodes.Vault())
    assert found.names == ("gpu-001", "gpu-002", "gpu-003", "head-1")
    assert found.sources == (str(place),)
    assert found.journal == "/var/tmp/site.db"
    assert found.variables["gpu-001"] == {"trackbed_journal": "/var/tmp/site.db"}


def test_limit_and_pattern_narrow(place: Path) -> None:
    found = nodes.load(settings(inventory=[str(place)], limit="gpu-002,head-1"), nodes.Vault())
    assert found.names == ("gpu-002", "head-1")
    found = nodes.load(settings(inventory=[str(place)], limit="!gpu-002"), nodes.Vault(), "gpu")
    assert found.names == ("gpu-001", "gpu-003")


def test_a_limit_that_matches_nothing_says_what_there_is(place: Path) -> None:
    with pytest.raises(UsageError, match="--limit 'gpu-9' matches no node") as caught:
        nodes.load(settings(inventory=[str(place)], limit="gpu-9"), nodes.Vault())
    assert "gpu-001, gpu-002" in caught.value.wanted


def test_an_empty_inventory_is_an_error(tmp_path: Path) -> None:
    empty = tmp_path / "empty.yml"
    empty.write_text("all: {children: {gpu: {}}}\n")
    with pytest.raises(UsageError, match="no node in"):
        nodes.load(settings(inventory=[str(empty)]), nodes.Vault())


def test_an_unreadable_source_is_an_error_although_another_is_sound(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad.yml"
    bad.write_text("all: {hosts: [1, 2}\n")
    with pytest.raises(UsageError, match=r"bad[.]yml could not be read") as caught:
        nodes.load(settings(inventory=[str(place), str(bad)]), nodes.Vault())
    assert ": " in caught.value.found.partition("could not be read")[2]
    assert "Failed to parse" not in capsys.readouterr().err


def test_a_source_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nowhere[.]yml does not exist"):
        nodes.load(settings(inventory=[str(tmp_path / "nowhere.yml")]), nodes.Vault())


def test_a_list_of_hosts_is_an_inventory(tmp_path: Path) -> None:
    found = nodes.load(settings(inventory=["a,b"]), nodes.Vault())
    assert (found.names, found.sources, found.journal) == (("a", "b"), ("a,b",), None)
    with pytest.raises(UsageError, match="no journal is named in a,b") as caught:
        nodes.require_journal(found)
    assert "set `journal:` in the site file" in caught.value.remedy


def test_the_option_names_the_journal(place: Path, tmp_path: Path) -> None:
    given = settings(inventory=[str(place)], journal=str(tmp_path / "j.db"))
    found = nodes.load(given, nodes.Vault())
    assert nodes.require_journal(found) == str(tmp_path / "j.db")


def test_two_journals_are_refused(tmp_path: Path) -> None:
    two = tmp_path / "two.yml"
    two.write_text("all: {hosts: {a: {trackbed_journal: /a.db}, b: {trackbed_journal: /b.db}}}\n")
    with pytest.raises(UsageError, match=r"2 journals: /a[.]db, /b[.]db"):
        nodes.load(settings(inventory=[str(two)]), nodes.Vault())


def lab(labs: Path, name: str) -> Path:
    place = labs / name / "inventory"
    place.mkdir(parents=True)
    (place / "hosts.yml").write_text(INVENTORY)
    return place


def test_the_only_lab_is_the_default(tmp_path: Path) -> None:
    place = lab(tmp_path, "demo")
    found = nodes.load(settings(tmp_path), nodes.Vault())
    assert found.sources == (str(place),)
    assert len(found.names) == 4


def test_two_labs_are_no_default(tmp_path: Path) -> None:
    lab(tmp_path, "a")
    lab(tmp_path, "b")
    with pytest.raises(UsageError, match=r"2 labs are up \(a, b\)"):
        nodes.load(settings(tmp_path), nodes.Vault())


def test_nothing_given_and_no_lab(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no lab is up") as caught:
        nodes.load(settings(tmp_path), nodes.Vault())
    assert "trackbed lab up" in caught.value.remedy


def test_a_vaulted_file_opens_with_its_password_file(place: Path, tmp_path: Path) -> None:
    from ansible.parsing.vault import VaultLib, VaultSecret  # noqa: PLC0415

    password = tmp_path / "pw"
    password.write_text("s3cret\n")
    (tmp_path / "group_vars").mkdir()
    plain = b"trackbed_vaulted: yes-it-is\n"
    secret = VaultSecret(b"s3cret")
    cipher = VaultLib([("default", secret)]).encrypt(plain, secret)
    (tmp_path / "group_vars" / "all.yml").write_bytes(cipher)
    found = nodes.load(
        settings(inventory=[str(place)]), nodes.Vault(password_files=(str(password),))
    )
    assert found.variables["gpu-001"]["trackbed_vaulted"] == "yes-it-is"
    with pytest.raises(UsageError, match="vault") as caught:
        nodes.load(settings(inventory=[str(place)]), nodes.Vault())
    assert "--vault-password-file" in caught.value.remedy


def test_vault_options_hold_files_only() -> None:
    vault = nodes.Vault(("site@/p1",), ("/p2",))
    assert vault.arguments() == ["--vault-id", "site@/p1", "--vault-password-file", "/p2"]


def test_a_wrong_site_file_is_told_by_its_own_plugin(tmp_path: Path) -> None:
    place = tmp_path / "bad.trackbed.yml"
    place.write_text(
        "plugin: trackbed.cluster.cluster\ncluster: a\nnodes:\n  - {names: gpu-1, sku: h100}\n"
    )
    with pytest.raises(UsageError) as error:
        nodes.load(settings(inventory=[str(place)]), nodes.Vault())
    assert "unknown SKU 'h100'" in error.value.found
    assert f"{place}:4" in error.value.found
