"""Every setting of the command line, each with the place that its value came from."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Generic, TypeVar

from trackbed.errors import UsageError

T = TypeVar("T")

# Nodes at a time. Ansible's own default of 5 makes a rack of 32 wait six times; each fork is
# a controller process of about 60 MB and 0.15 s of CPU per task (docs/architecture.md).
DEFAULT_FORKS = 20


@dataclass(frozen=True)
class Setting(Generic[T]):
    """One value and where it came from: an option, an environment variable, or "default"."""

    value: T
    source: str


@dataclass(frozen=True)
class Config:
    """The settings of one command."""

    inventory: Setting[tuple[str, ...]]
    journal: Setting[str | None]
    forks: Setting[int]
    limit: Setting[str | None]
    lab_dir: Setting[Path]

    def rows(self) -> list[dict[str, Any]]:
        """Return name, value and source of each setting, for a table or JSON."""
        return [
            {"setting": one.name, "value": _plain(setting.value), "source": setting.source}
            for one in fields(self)
            for setting in [getattr(self, one.name)]
        ]


def load(args: object, environ: Mapping[str, str] | None = None) -> Config:
    """Build the settings: the command line first, then the environment, then defaults.

    Raises UsageError for a variable of the environment that cannot be read.
    """
    env = os.environ if environ is None else environ
    return Config(
        inventory=_pick(args, env, "inventory", "TRACKBED_INVENTORY", (), _paths),
        journal=_pick(args, env, "journal", "TRACKBED_JOURNAL", None, str),
        forks=_pick(args, env, "forks", "TRACKBED_FORKS", DEFAULT_FORKS, _positive),
        # No variable: a forgotten one would silently leave nodes out.
        limit=_limit(args),
        lab_dir=_lab_dir(env),
    )


def _pick(
    args: object,
    env: Mapping[str, str],
    name: str,
    variable: str,
    default: T,
    read: Callable[[str], T],
) -> Setting[T]:
    given = getattr(args, name, None)
    if given:
        chosen: Any = tuple(given) if isinstance(given, list) else given
        return Setting(chosen, f"--{name}")
    text = env.get(variable, "")
    if not text:
        return Setting(default, "default")
    try:
        return Setting(read(text), variable)
    except ValueError as error:
        raise UsageError(
            f"{variable} is {text!r}", wanted=str(error), remedy=f"correct or unset {variable}"
        ) from None


def _limit(args: object) -> Setting[str | None]:
    given = getattr(args, "limit", None)
    return Setting(given, "--limit" if given else "default")


def _lab_dir(env: Mapping[str, str]) -> Setting[Path]:
    """Return the directory that holds one state directory per lab."""
    if env.get("TRACKBED_LAB_DIR"):
        return Setting(Path(env["TRACKBED_LAB_DIR"]).expanduser(), "TRACKBED_LAB_DIR")
    if env.get("XDG_STATE_HOME"):
        return Setting(Path(env["XDG_STATE_HOME"]) / "trackbed" / "lab", "XDG_STATE_HOME")
    return Setting(Path("~/.local/state/trackbed/lab").expanduser(), "default")


def _paths(text: str) -> tuple[str, ...]:
    """Split like PATH: an inventory may hold commas and blanks, but no colon."""
    return tuple(part for part in text.split(":") if part)


def _positive(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise ValueError("a whole number above zero")
    return int(text)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return str(value) if isinstance(value, Path) else value
