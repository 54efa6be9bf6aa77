"""The command line: `trackbed VERB`. `main` returns the exit code; only this package prints.

Ansible is imported after the arguments are understood, because `--help`,
`--version` and a mistyped option must answer at once, and because the right
collection has to be pinned before anything of it is imported.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import traceback
from collections.abc import Sequence
from typing import TYPE_CHECKING

from trackbed import collection
from trackbed.cli import parser as arguments
from trackbed.output import Output

if TYPE_CHECKING:
    from trackbed.runner import Player

# The contract's codes; its constants lie in the collection, which is not active yet.
_FAILED = 1
_USAGE = 2
_INTERRUPTED = 130
_VERBOSE = re.compile("-v+")


def entry() -> None:
    """Run as the program `trackbed`."""
    signal.signal(signal.SIGTERM, _terminated)
    try:
        code = main(sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of our output (head, less) has gone: nothing is left to say to it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 128 + signal.SIGPIPE
    sys.exit(code)


def main(argv: Sequence[str], player: Player | None = None) -> int:
    """Run one verb and return its exit code (docs/cli.md); `player` replaces the runner."""
    # Before the arguments are understood, so that an error in them is a document too. What
    # stands behind "--" is for another program.
    own = list(argv)[: list(argv).index("--")] if "--" in argv else argv
    output = Output(
        sys.stdout,
        sys.stderr,
        json="--json" in own,
        no_colour=bool({"--no-colour", "--no-color"} & set(own)),
        verbosity=sum(one == "--verbose" or bool(_VERBOSE.fullmatch(one)) for one in own),
    )
    try:
        return _main(list(argv), output, player)
    except arguments.BadArgumentsError as error:
        return output.error(error.found, wanted=error.usage, remedy=error.remedy, code=_USAGE)
    except collection.CollectionError as error:
        return output.error(str(error), code=_USAGE)
    except KeyboardInterrupt:
        return output.error(
            "interrupted", remedy="run the same command again to go on", code=_INTERRUPTED
        )
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001  (a defect of ours is a document too)
        output.say(traceback.format_exc())
        return output.error(
            f"unexpected {type(error).__name__}: {error}",
            remedy="this is a defect of Trackbed: report it with the lines above",
            code=_FAILED,
        )


def _main(argv: list[str], output: Output, player: Player | None) -> int:
    is_lab = argv[:1] == ["lab"]
    if is_lab:
        # The lab brings its own sub-commands, and its modules import from the collection.
        collection.activate()
    parsed = arguments.build(with_lab=is_lab)
    try:
        args = parsed.parse_args(argv)
    except SystemExit as stop:  # --help and --version have printed; errors raise BadArgumentsError
        return int(stop.code or 0)
    collection.activate()
    from trackbed.cli import dispatch  # noqa: PLC0415  (imports from the collection)

    return dispatch.run(args, output, player)


def _terminated(_number: int, _frame: object) -> None:
    """Let SIGTERM end a run in the same orderly way as Ctrl-C."""
    raise KeyboardInterrupt
