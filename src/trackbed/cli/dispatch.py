"""From understood arguments to a verb, and from an error to its exit code."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

from ansible_collections.trackbed.cluster.plugins.plugin_utils._finding import EXIT_USAGE
from ansible_collections.trackbed.cluster.plugins.plugin_utils._journal_rows import JournalError

from trackbed import config
from trackbed.cli import apply, drift, memory, observe
from trackbed.cli.context import Context
from trackbed.errors import TrackbedError
from trackbed.output import Output

if TYPE_CHECKING:
    from trackbed.runner import Player

Verb = Callable[[Context], int]

VERBS: dict[str, Verb] = {
    "up": apply.up,
    "site": apply.site,
    "validate": observe.validate,
    "facts": observe.facts,
    "drift": drift.drift,
    "report": memory.report,
    "runs": memory.runs,
    "journal": memory.journal,
    "status": memory.status,
    "config": memory.settings,
}


def run(args: argparse.Namespace, output: Output, player: Player | None = None) -> int:
    """Run the verb that was asked for and return its exit code."""
    try:
        if args.verb == "lab":
            from trackbed.lab import cli as lab  # noqa: PLC0415  (only this verb needs the lab)

            return lab.run(args, output.say, output.emit, output.text)
        if args.verb == "read":
            from trackbed.cli import read  # noqa: PLC0415  (brings in every reader)

            return read.read(args, output)
        return VERBS[args.verb](Context(args, config.load(args), output, player))
    except TrackbedError as error:
        return output.error(error.found, wanted=error.wanted, remedy=error.remedy, code=error.code)
    except JournalError as error:
        # A journal that fails while a run writes to it is that run's failure (see `play`).
        return output.error(error.found, wanted=error.wanted, remedy=error.remedy, code=EXIT_USAGE)
