"""Each role's argument_specs and defaults name the same variables, all with the role's prefix."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from support.checkout import ROOT

ROLES = sorted(path.parent for path in ROOT.glob("roles/*/meta"))


def _read(path: Path) -> dict:
    return yaml.safe_load(path.read_text(encoding="utf-8")) or {}


def _options(role: Path) -> dict[str, dict]:
    return _read(role / "meta/argument_specs.yml")["argument_specs"]["main"]["options"]


@pytest.fixture(params=ROLES, ids=lambda role: role.name)
def role(request: pytest.FixtureRequest) -> Path:
    return request.param


def test_there_are_roles() -> None:
    assert ROLES


def test_specs_name_the_defaults_and_what_has_none(role: Path) -> None:
    options = _options(role)
    defaults = _read(role / "defaults/main.yml")
    # A variable without default is either required, or left out on purpose (it could do harm);
    # then its description has to say what happens where it is not set.
    without = {name for name, spec in options.items() if "default" not in spec}
    assert set(options) - without == set(defaults)
    assert all(spec.get("description") for spec in options.values())


def test_specs_state_the_same_defaults(role: Path) -> None:
    stated = {name: spec["default"] for name, spec in _options(role).items() if "default" in spec}
    assert stated == _read(role / "defaults/main.yml")


def test_variables_carry_the_role_as_prefix(role: Path) -> None:
    assert all(name.startswith(f"{role.name}_") for name in _options(role))


def test_role_has_its_page_and_tests(role: Path) -> None:
    assert (role / "README.md").is_file()
    assert (role / "meta/main.yml").is_file()
    assert list(ROOT.glob(f"molecule/{role.name}*/molecule.yml"))
