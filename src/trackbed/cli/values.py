"""Values on the command line: pure checks whose refusals say what to do instead."""

from __future__ import annotations

import argparse
import itertools
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

# The disruptive steps of the evidence contract. None of them is allowed by default.
DISRUPTIONS = ("driver", "reload", "reboot", "nic_reset", "ecc", "mig", "firmware", "wipe")

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_SECRET_WORDS = frozenset(
    (
        *("pass", "passwd", "password", "passphrase", "passcode", "pwd", "pin", "psk"),
        *("secret", "secrets", "token", "tokens", "credential", "credentials", "apikey"),
    )
)
_SECRET_PAIRS = (("api", "key"), ("private", "key"), ("access", "key"), ("secret", "key"))
# The name of a file that holds the secret is no secret.
_PLACES = ("file", "path", "dir", "name", "id", "url")
_URL_WITH_PASSWORD = re.compile(r"[a-z][a-z0-9+.-]*://[^/\s:@]+:[^/\s@]+@", re.IGNORECASE)


@dataclass(frozen=True)
class ExtraVariable:
    """One `-e`: either a file of variables, or one name and value."""

    file: str | None = None
    key: str = ""
    value: str = ""

    def as_argument(self) -> str:
        """Return what `ansible-playbook -e` takes; the value stays a string there."""
        if self.file is not None:
            return "@" + self.file
        if re.fullmatch(r"[\w./:,@%+-]*", self.value):
            return f"{self.key}={self.value}"
        # Ansible splits KEY=VALUE at blanks and reads quotes; JSON says exactly this.
        return json.dumps({self.key: self.value})


def extra_variable(text: str) -> ExtraVariable:
    """Read one `-e` argument; refuse secrets, which every user of the machine could read."""
    if text.startswith("@"):
        return ExtraVariable(file=existing_file(text[1:]))
    key, equals, value = text.partition("=")
    if not equals or not _NAME.match(key):
        raise argparse.ArgumentTypeError(
            "neither KEY=VALUE nor @FILE; put anything richer into a YAML file and give @FILE"
        )
    if looks_secret(key) or _URL_WITH_PASSWORD.search(value):
        raise argparse.ArgumentTypeError(
            f"{key} looks like a secret, and arguments are visible to every user of this machine; "
            "put it into a file, `ansible-vault encrypt` that, and give -e @FILE with "
            "--vault-password-file"
        )
    return ExtraVariable(key=key, value=value)


def looks_secret(key: str) -> bool:
    """Return whether a variable of this name is likely to hold a secret."""
    parts = [part for part in re.split(r"[_\W]+", key.lower()) if part]
    if parts and parts[-1] in _PLACES:
        return False
    if _SECRET_WORDS & set(parts):
        return True
    return any(pair in _SECRET_PAIRS for pair in itertools.pairwise(parts))


def allowed_kinds(text: str) -> tuple[str, ...]:
    """Read the kinds of disruption that `--allow` names, each once, in a fixed order."""
    asked = words(text)
    unknown = [kind for kind in asked if kind not in DISRUPTIONS]
    if unknown:
        raise argparse.ArgumentTypeError(
            f"unknown kind {', '.join(unknown)}; known are {', '.join(DISRUPTIONS)}"
        )
    return tuple(kind for kind in DISRUPTIONS if kind in asked)


def words(text: str) -> tuple[str, ...]:
    """Read a comma-separated list; refuse an empty one."""
    found = tuple(part.strip() for part in text.split(",") if part.strip())
    if not found:
        raise argparse.ArgumentTypeError("an empty list")
    return found


def positive(text: str) -> int:
    """Read a whole number above zero."""
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above zero")
    return int(text)


def existing_file(text: str) -> str:
    """Return the absolute path of a file that exists: the run has another working directory."""
    path = Path(text).expanduser()
    if not path.is_file():
        raise argparse.ArgumentTypeError(f"no file {text!r}")
    return str(path.resolve())


def vault_source(text: str) -> str:
    """Read LABEL@FILE; a prompt cannot be answered, because the run has no terminal."""
    label, at, place = text.rpartition("@")
    if place == "prompt":
        raise argparse.ArgumentTypeError(
            "a run has no terminal to ask for a password; give LABEL@FILE, where FILE may be a "
            "program that asks a password store"
        )
    return f"{label}{at}{existing_file(place)}"


def extra_arguments(given: Iterable[ExtraVariable]) -> list[str]:
    """Return the `-e` arguments for ansible-playbook."""
    return [part for one in given for part in ("-e", one.as_argument())]


def variables(given: Sequence[ExtraVariable]) -> dict[str, str]:
    """Return the variables that were given by name."""
    return {one.key: one.value for one in given if one.file is None}
