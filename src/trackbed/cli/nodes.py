"""Which nodes a command is about, and where their journal lies: read from the inventory.

The same inventory is read again by ansible-playbook; here it is read first, so
that whatever is wrong with it is said before anything is touched.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleError
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.parsing.vault import VaultSecretsContext
from ansible.utils.display import Display
from ansible.vars.manager import VariableManager

from trackbed.config import Config, Setting
from trackbed.errors import UsageError

JOURNAL_VARIABLE = "trackbed_journal"


@dataclass(frozen=True)
class Vault:
    """Where the passwords of vaulted files are."""

    ids: tuple[str, ...] = ()
    password_files: tuple[str, ...] = ()

    def arguments(self) -> list[str]:
        """Return the options for ansible-playbook; files only, never a password."""
        return [
            *(part for one in self.ids for part in ("--vault-id", one)),
            *(part for one in self.password_files for part in ("--vault-password-file", one)),
        ]


@dataclass(frozen=True)
class Nodes:
    """The nodes of one command."""

    sources: tuple[str, ...]
    names: tuple[str, ...]
    journal: str | None = None
    variables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Node name -> its variables that begin with `trackbed_`."""


def sources(config: Config) -> tuple[str, ...]:
    """Return the inventory sources: those given, else the lab's if exactly one lab is up.

    Raises UsageError where there is none, or more than one lab.
    """
    if config.inventory.value:
        return tuple(_source(one, config.inventory.source) for one in config.inventory.value)
    labs = _labs(config.lab_dir)
    if len(labs) == 1:
        return (str(labs[0]),)
    if labs:
        names = ", ".join(lab.parent.name for lab in labs)
        raise UsageError(
            f"{len(labs)} labs are up ({names}) and no inventory was given",
            wanted="one inventory",
            remedy=f"add -i {labs[0]}, or the path of your site file",
        )
    raise UsageError(
        "no inventory was given, and no lab is up",
        wanted="a site file or any Ansible inventory",
        remedy="add -i SITE.trackbed.yml, set TRACKBED_INVENTORY, or start one: trackbed lab up",
    )


def _labs(lab_dir: Setting[Path]) -> list[Path]:
    return sorted(lab_dir.value.glob("*/inventory"))


def _source(source: str, given_by: str) -> str:
    if "," in source:  # Ansible's own notation for a list of hosts
        return source
    path = Path(source).expanduser()
    if not path.exists():
        raise UsageError(
            f"the inventory {source} does not exist",
            wanted=f"what {given_by} names: a file or directory",
            remedy="correct the path",
        )
    return str(path.resolve())


def load(config: Config, vault: Vault, pattern: str = "all") -> Nodes:
    """Read the inventory and return the nodes that pattern and limit leave.

    Raises UsageError for an inventory that cannot be read, that is empty, or of
    which nothing is left.
    """
    places = sources(config)
    with _ansible_errors(places):
        loader = _loader(vault)
        inventory = _Inventory(loader, places)
        everyone = inventory.list_hosts(pattern)
        if not everyone:
            raise UsageError(
                f"no node in {', '.join(places)}"
                + ("" if pattern == "all" else f" matches {pattern!r}"),
                wanted="at least one node",
                remedy="see what it holds: ansible-inventory --graph -i …",
            )
        if config.limit.value:
            inventory.subset(config.limit.value)
        chosen = inventory.list_hosts(pattern)
        if not chosen:
            raise UsageError(
                f"{config.limit.source} {config.limit.value!r} matches no node",
                wanted=f"some of {_few([host.name for host in everyone])}",
                remedy="correct the pattern; patterns are Ansible's (gpu-00[1:4], rack_a:!gpu-003)",
            )
        manager = VariableManager(loader, inventory)
        variables = {
            host.name: _own(manager.get_vars(host=host, include_hostvars=False)) for host in chosen
        }
    names = tuple(host.name for host in chosen)
    return Nodes(places, names, _journal(config, variables), variables)


class _Inventory(InventoryManager):  # type: ignore[misc]
    """Refuses a source that nobody could read; Ansible would go on without its nodes."""

    def __init__(self, loader: Any, places: Sequence[str]) -> None:
        self.causes: list[str] = []
        super().__init__(loader=loader, sources=list(places), parse=False)
        with _collected_causes(self.causes):
            self.parse_sources()

    def parse_source(self, source: str, cache: bool = False) -> bool:
        before = len(self.causes)
        parsed = bool(super().parse_source(source, cache=cache))
        if not parsed and not Path(source).is_dir():
            raise UsageError(
                f"the inventory {source} could not be read" + _cause(source, self.causes[before:]),
                wanted="a site file (*.trackbed.yml) or an inventory that Ansible reads",
                remedy=f"correct it; ansible-inventory --list -i {source} says more",
            )
        return parsed


def _cause(source: str, causes: Sequence[str]) -> str:
    """Return the cause worth telling: of a site file our own plugin's, which was asked first."""
    if not causes:
        return ""
    return ": " + causes[0 if source.endswith((".trackbed.yml", ".trackbed.yaml")) else -1]


@contextlib.contextmanager
def _collected_causes(causes: list[str]) -> Iterator[None]:
    """Take what Ansible would print as warnings about unreadable sources, for our own error."""
    display = Display()
    quiet = {
        "error_as_warning": lambda msg=None, exception=None, **_: causes.append(
            " ".join(str(exception or msg).split())
        ),
    }
    before = {name: display.__dict__.get(name) for name in quiet}
    display.__dict__.update(quiet)
    try:
        yield
    finally:
        for name, own in before.items():
            if own is None:
                display.__dict__.pop(name, None)
            else:
                display.__dict__[name] = own


@contextlib.contextmanager
def _ansible_errors(places: Sequence[str]) -> Iterator[None]:
    try:
        yield
    except AnsibleError as error:
        raise UsageError(
            f"the inventory {', '.join(places)}: {' '.join(str(error).split())}",
            wanted="an inventory that Ansible reads",
            remedy="correct it; a vaulted file needs --vault-password-file or --vault-id",
        ) from error


def _loader(vault: Vault) -> Any:
    loader = DataLoader()
    if vault.ids or vault.password_files:
        from ansible.cli import CLI  # noqa: PLC0415  (slow to import, and only this needs it)

        # For values that are encrypted singly; a process may set it up only once.
        context = VaultSecretsContext.current(optional=True)
        secrets = CLI.setup_vault_secrets(
            loader,
            list(vault.ids),
            list(vault.password_files),
            auto_prompt=False,
            initialize_context=context is None,
        )
        if context is not None:
            context.secrets = secrets
        loader.set_vault_secrets(secrets)
    return loader


def _own(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Keep what is about us: thousands of nodes share the rest."""
    return {name: value for name, value in variables.items() if name.startswith("trackbed_")}


def _journal(config: Config, variables: dict[str, dict[str, Any]]) -> str | None:
    """Return the place of the journal: the option, else the variable, which all nodes share."""
    if config.journal.value:
        return absolute(config.journal.value)
    places = {str(one[JOURNAL_VARIABLE]) for one in variables.values() if one.get(JOURNAL_VARIABLE)}
    if len(places) > 1:
        raise UsageError(
            f"the nodes name {len(places)} journals: {_few(sorted(places))}",
            wanted="one journal per cluster",
            remedy="limit the command to one cluster, or give --journal",
        )
    return places.pop() if places else None


def absolute(path: str) -> str:
    """Return a path that holds in another working directory too."""
    return str(Path(path).expanduser().resolve())


def require_journal(nodes: Nodes) -> str:
    """Return the place of the journal; raise UsageError where nobody named one."""
    if nodes.journal is None:
        raise UsageError(
            f"no journal is named in {', '.join(nodes.sources)}",
            wanted="one file per cluster, on a local file system",
            remedy="set `journal:` in the site file, the variable trackbed_journal in another "
            "inventory, or give --journal FILE",
        )
    return nodes.journal


def _few(names: Sequence[str], most: int = 5) -> str:
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")
