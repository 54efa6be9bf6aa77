"""The command line: `trackbed VERB`. `main` returns the exit code; only this package prints.

Ansible is imported after the arguments are understood, because `--help`,
`--version` and a mistyped option must answer at once, and because the right
collection has to be pinned before anything of it is imported.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Sequence

from trackbed import collection
from trackbed.cli import parser as arguments
from trackbed.output import Output

_USAGE = 2  # the contract's code; its constant lies in the collection, which is not active yet
_INTERRUPTED = 130


def entry() -> None:
    """Run as the program `trackbed`."""
    try:
        code = main(sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of our output (head, less) has gone: nothing is left to say to it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 128 + signal.SIGPIPE
    sys.exit(code)


def main(argv: Sequence[str]) -> int:
    """Run one verb and return its exit code (docs/cli.md)."""
    # Before the arguments are understood, so that an error in them is a document too.
    output = Output(
        sys.stdout,
        sys.stderr,
        json="--json" in argv,
        no_colour=bool({"--no-colour", "--no-color"} & set(argv)),
        verbosity=sum(one in ("-v", "--verbose") for one in argv),
    )
    try:
        return _main(list(argv), output)
    except arguments.BadArgumentsError as error:
        return output.error(error.found, wanted=error.usage, remedy=error.remedy, code=_USAGE)
    except collection.CollectionError as error:
        return output.error(str(error), code=_USAGE)
    except KeyboardInterrupt:
        return output.error(
            "interrupted", remedy="run the same command again to go on", code=_INTERRUPTED
        )


def _main(argv: list[str], output: Output) -> int:
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

    with contextlib.suppress(ValueError):  # not the main thread (a test): leave its handler
        signal.signal(signal.SIGTERM, _terminated)
    return dispatch.run(args, output)


def _terminated(_number: int, _frame: object) -> None:
    """Let SIGTERM end a run in the same orderly way as Ctrl-C."""
    raise KeyboardInterrupt
