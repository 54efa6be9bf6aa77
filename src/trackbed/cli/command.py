"""The plain `ansible-playbook` command that does what a verb does: pure, and without secrets."""

from __future__ import annotations

import argparse
import json
import shlex

from trackbed.cli import values
from trackbed.cli.nodes import Vault
from trackbed.config import Config

CALLBACK = "trackbed.cluster.journal"
# The verbs that change nodes, and so take --tags, --check, --diff and --allow.
APPLY = ("site", "up")
# The verbs whose playbook has another name.
_PLAYBOOKS = {"drift": "facts"}


def vault(args: argparse.Namespace) -> Vault:
    """Return where the vault passwords are."""
    return Vault(tuple(args.vault_id or ()), tuple(args.vault_password_file or ()))


def pattern(args: argparse.Namespace) -> str:
    """Return the host pattern of the plays, which the variable trackbed_hosts may narrow."""
    given = values.variables(getattr(args, "extra_vars", ()))
    return given.get("trackbed_hosts", "all")


def inventory(sources: tuple[str, ...]) -> tuple[str, ...]:
    """Return the sources as `-i` takes them: a list of hosts is one that ends with a comma."""
    return tuple(one + "," if "," in one and not one.endswith(",") else one for one in sources)


def options(args: argparse.Namespace) -> list[str]:
    """Return the options that have no parameter of their own in the runner."""
    parts = [*vault(args).arguments(), *values.extra_arguments(args.extra_vars)]
    if getattr(args, "allow", ()):
        parts += ["-e", json.dumps({"trackbed_allow": list(args.allow)})]
    if args.become_password_file:
        parts += ["--become-password-file", args.become_password_file]
    return parts


def line(
    verb: str, args: argparse.Namespace, config: Config, sources: tuple[str, ...]
) -> list[str]:
    """Return the whole command as a list of arguments."""
    parts = ["ansible-playbook", f"trackbed.cluster.{_PLAYBOOKS.get(verb, verb)}"]
    parts += [part for source in inventory(sources) for part in ("-i", source)]
    parts += ["--forks", str(config.forks.value)]
    if config.limit.value:
        parts += ["--limit", config.limit.value]
    if verb in APPLY:
        parts += ["--tags", ",".join(args.tags)] if args.tags else []
        parts += ["--check"] if args.check else []
        parts.append("--diff")  # always: what a setting was before belongs into the journal
    parts += options(args)
    if args.verbose > 1:
        parts.append("-" + "v" * (args.verbose - 1))
    return parts


def environment(journal: str | None, collections_path: str) -> dict[str, str]:
    """Return the variables that the plain command needs beside the user's own."""
    found = {
        "ANSIBLE_COLLECTIONS_PATH": collections_path,
        "ANSIBLE_CALLBACKS_ENABLED": CALLBACK,
    }
    if journal:
        found["TRACKBED_JOURNAL"] = journal
    return found


def as_text(command: list[str], env: dict[str, str]) -> str:
    """Return one line for a shell."""
    return " ".join(
        [*(f"{key}={shlex.quote(value)}" for key, value in env.items()), shlex.join(command)]
    )
