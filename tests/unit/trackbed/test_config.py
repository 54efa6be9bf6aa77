"""Settings know where they came from."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from trackbed import config
from trackbed.config import Setting
from trackbed.errors import UsageError


def test_defaults() -> None:
    found = config.load(SimpleNamespace(), {})
    assert found.inventory == Setting((), "default")
    assert found.forks == Setting(config.DEFAULT_FORKS, "default")
    assert found.journal == Setting(None, "default")
    assert found.lab_dir.value == Path("~/.local/state/trackbed/lab").expanduser()


def test_the_environment_beats_the_default() -> None:
    env = {"TRACKBED_FORKS": "7", "TRACKBED_INVENTORY": "/a:/b", "TRACKBED_JOURNAL": "/j.db"}
    found = config.load(SimpleNamespace(forks=None, inventory=None), env)
    assert found.forks == Setting(7, "TRACKBED_FORKS")
    assert found.inventory == Setting(("/a", "/b"), "TRACKBED_INVENTORY")
    assert found.journal == Setting("/j.db", "TRACKBED_JOURNAL")


def test_the_command_line_beats_the_environment() -> None:
    args = SimpleNamespace(forks=3, inventory=["/c"], limit="gpu-001")
    found = config.load(args, {"TRACKBED_FORKS": "7", "TRACKBED_INVENTORY": "/a"})
    assert found.forks == Setting(3, "--forks")
    assert found.inventory == Setting(("/c",), "--inventory")
    assert found.limit == Setting("gpu-001", "--limit")


@pytest.mark.parametrize("text", ["0", "many", "-2"])
def test_an_environment_that_cannot_be_read_is_named(text: str) -> None:
    with pytest.raises(UsageError, match="TRACKBED_FORKS is") as caught:
        config.load(SimpleNamespace(), {"TRACKBED_FORKS": text})
    assert caught.value.wanted == "a whole number above zero"
    assert caught.value.remedy == "correct or unset TRACKBED_FORKS"


@pytest.mark.parametrize(
    ("env", "place"),
    [
        ({"TRACKBED_LAB_DIR": "/labs", "XDG_STATE_HOME": "/state"}, "/labs"),
        ({"XDG_STATE_HOME": "/state"}, "/state/trackbed/lab"),
    ],
)
def test_where_the_labs_are(env: dict[str, str], place: str) -> None:
    assert config.load(SimpleNamespace(), env).lab_dir.value == Path(place)


def test_rows_are_plain_and_complete() -> None:
    rows = config.load(SimpleNamespace(), {"TRACKBED_LAB_DIR": "/labs"}).rows()
    assert {row["setting"] for row in rows} == {"inventory", "journal", "forks", "limit", "lab_dir"}
    assert {"setting": "lab_dir", "value": "/labs", "source": "TRACKBED_LAB_DIR"} in rows
    assert {"setting": "inventory", "value": [], "source": "default"} in rows
