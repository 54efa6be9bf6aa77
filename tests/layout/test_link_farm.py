"""The committed links make a collection of the checkout: each entry, and no other."""

from __future__ import annotations

import pytest

from support.checkout import FARM, ROOT, galaxy, tracked

# A new root entry that belongs to the collection (tests/sanity does not: it is no content)
# gets a link, a directive in galaxy.yml and a word here.
ENTRIES = [
    "CHANGELOG.md",
    "LICENSE",
    "README.md",
    "galaxy.yml",
    "meta",
    "playbooks",
    "plugins",
    "roles",
]


def test_the_farm_has_exactly_these_entries() -> None:
    assert sorted(entry.name for entry in (ROOT / FARM).iterdir()) == ENTRIES
    assert tracked("collections") == [str(FARM / name) for name in ENTRIES]


@pytest.mark.parametrize("name", ENTRIES)
def test_an_entry_is_a_relative_link_to_the_root_entry(name: str) -> None:
    link = ROOT / FARM / name
    assert link.is_symlink()
    assert str(link.readlink()) == f"../../../../{name}"
    assert link.resolve(strict=True) == ROOT / name


def test_no_link_leads_back_above_itself() -> None:
    # One link to the root would be a cycle: tools that walk it never end.
    assert all((ROOT / FARM / name).resolve() != ROOT for name in ENTRIES)


def test_the_namespace_stays_open_to_other_collections() -> None:
    # An __init__.py in either directory would hide every other collection of the environment.
    assert not list((ROOT / "collections").glob("**/__init__.py"))


def test_the_farm_is_named_as_the_collection() -> None:
    assert FARM.parts[-2:] == (galaxy()["namespace"], galaxy()["name"])
