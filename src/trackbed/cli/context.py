"""What every verb has at hand: arguments, settings, output, the nodes, the journal, the runner."""

from __future__ import annotations

import argparse
import shutil
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ansible_collections.trackbed.cluster.plugins.plugin_utils._journal import Journal

from trackbed import collection
from trackbed.cli import command
from trackbed.cli.nodes import Nodes, absolute, load, require_journal
from trackbed.cli.summary import SCHEMA
from trackbed.config import Config
from trackbed.output import Output

if TYPE_CHECKING:
    from trackbed.runner import Player

# Where the width of the terminal is not known (a pipe, a file).
_WIDTH = 100


@dataclass
class Context:
    """One command."""

    args: argparse.Namespace
    config: Config
    output: Output
    given_runner: Player | None = None
    """In place of the real one (a test)."""

    @cached_property
    def nodes(self) -> Nodes:
        """The nodes of this command. Raises UsageError (see `trackbed.cli.nodes.load`)."""
        return load(self.config, command.vault(self.args), command.pattern(self.args))

    @cached_property
    def runner(self) -> Player:
        """What runs playbooks; imported only by the verbs that do."""
        from trackbed.runner import Runner  # noqa: PLC0415  (0.3 s)

        return self.given_runner or Runner()

    @cached_property
    def width(self) -> int:
        """The width of the terminal in columns."""
        return shutil.get_terminal_size((_WIDTH, 24)).columns

    def journal(self, *, read_only: bool = False) -> Journal:
        """Open the journal, to be closed by `with`. Raises JournalError, UsageError."""
        return Journal.open(self.journal_place(), read_only=read_only)

    def journal_place(self) -> str:
        """Return where the journal is; the inventory is asked only where the option is silent."""
        given = self.config.journal.value
        return absolute(given) if given else require_journal(self.nodes)

    @property
    def asks_inventory(self) -> bool:
        """Whether the inventory says which nodes are meant (`--journal` alone means all of it)."""
        config = self.config
        return bool(config.inventory.value or config.limit.value or not config.journal.value)

    def document(self, exit_code: int, **keys: Any) -> dict[str, Any]:
        """Return a document of this verb in the form of docs/cli.md."""
        return {"schema": SCHEMA, "verb": self.args.verb, "exit_code": exit_code, **keys}

    def show(self) -> int:
        """Print the plain command that does the same, and run nothing."""
        nodes = self.nodes
        line = command.line(self.args.verb, self.args, self.config, nodes.sources)
        env = command.environment(
            nodes.journal if self.config.journal.value else None, collection.search_path()
        )
        self.output.text(command.as_text(line, env))
        self.output.emit(self.document(0, command=line, environment=env))
        return 0
