"""Understand the arguments. Imports nothing of Ansible, so that `--help` answers at once."""

from __future__ import annotations

import argparse
from typing import Any, NoReturn

from trackbed import collection
from trackbed.cli import values

EXIT_CODES = """\
exit codes, the first that applies:
  130  interrupted; the journal says so, and the same command goes on
    2  wrong arguments, configuration or inventory; nothing was touched
    1  the run failed on some node
    3  not level: some verdict is fail or warn
    4  unknown or partial: a node was unreachable, a check could not run, changes are pending
    0  level, done
"""

VERBS = {
    "up": "make the nodes as the site file says, then validate them",
    "site": "make the nodes as the site file says",
    "validate": "read the nodes and judge them",
    "facts": "read the nodes and show what was found",
    "drift": "read the nodes and say where they differ, or changed since an earlier run",
    "report": "show a validation again, from the journal",
    "runs": "list, show or prune the runs of the journal",
    "journal": "take the journal to another controller: export, import",
    "status": "say how each node stands, from the journal",
    "read": "understand files that somebody sent: outputs of tools, logs, bug reports, archives",
    "config": "show every setting and where its value came from",
    "lab": "simulated nodes in containers: up, down, status, shell, reboot, fault",
}


class BadArgumentsError(Exception):
    """The command line was not understood (exit code 2)."""

    def __init__(self, found: str, usage: str, remedy: str) -> None:
        """Keep the parts apart for `--json`."""
        super().__init__(found)
        self.found = found
        self.usage = usage
        self.remedy = remedy


class _Parser(argparse.ArgumentParser):
    """Raises instead of printing and exiting: the caller reports errors, also as JSON."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        options.setdefault("allow_abbrev", False)
        super().__init__(**options)

    def error(self, message: str) -> NoReturn:
        usage = " ".join(self.format_usage().split()).removeprefix("usage: ")
        raise BadArgumentsError(message, usage, f"see {self.prog} --help")


def build(*, with_lab: bool = False) -> argparse.ArgumentParser:
    """Return the parser; `with_lab` brings in the lab's own sub-commands (and its modules)."""
    parser = _Parser(
        prog="trackbed",
        description="Take racks of GPU servers to a level training cluster, and keep them there.",
        epilog=EXIT_CODES,
    )
    parser.add_argument("--version", action="version", version=f"trackbed {collection.version()}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True, title="verbs")
    for verb in ("up", "site"):
        _add_apply(verbs, verb)
    for verb in ("validate", "facts"):
        _add_observe(verbs, verb)
    _add_drift(verbs)
    _add_memory(verbs)
    _add_journal(verbs)
    _add_read(verbs)
    _verb(verbs, "config", [_output_options(), _inventory_options()])
    if with_lab:
        from trackbed.lab import cli as lab  # noqa: PLC0415  (needs the active collection)

        lab.add_parser(verbs)
    else:
        verbs.add_parser("lab", help=VERBS["lab"], add_help=False)
    return parser


def _verb(verbs: Any, name: str, parents: list[argparse.ArgumentParser]) -> Any:
    says = VERBS[name]
    return verbs.add_parser(
        name,
        help=says,
        description=says[0].upper() + says[1:] + ".",
        epilog=EXIT_CODES,
        parents=parents,
    )


def _add_apply(verbs: Any, name: str) -> None:
    """Add `up` or `site`: verbs that change nodes."""
    parser = _verb(verbs, name, [_output_options(), _inventory_options(), _run_options()])
    group = parser.add_argument_group("what may change")
    group.add_argument(
        "--check", action="store_true", help="change nothing; list what would change"
    )
    group.add_argument("--diff", action="store_true", help="show each changed setting")
    group.add_argument(
        "--tags",
        type=values.words,
        default=(),
        metavar="TAGS",
        help="only these roles, comma-separated",
    )
    group.add_argument(
        "--allow",
        type=values.allowed_kinds,
        default=(),
        metavar="KINDS",
        help="disruptive steps that may be taken on nodes out of service, comma-separated: "
        + ", ".join(values.DISRUPTIONS),
    )


def _add_observe(verbs: Any, name: str) -> None:
    """Add `validate` or `facts`: verbs that only read nodes."""
    _verb(verbs, name, [_output_options(), _inventory_options(), _run_options()])


def _add_drift(verbs: Any) -> None:
    """Add `drift`, which reads nodes and compares them."""
    parser = _verb(verbs, "drift", [_output_options(), _inventory_options(), _run_options()])
    group = parser.add_argument_group("compared with")
    group.add_argument(
        "--golden", metavar="NODE", help="this node, instead of what most of its SKU have"
    )
    group.add_argument("--since", metavar="RUN", help="also what changed since this run")


def _add_memory(verbs: Any) -> None:
    """Add the verbs that read the journal alone."""
    parents = [_output_options(), _inventory_options()]
    report = _verb(verbs, "report", parents)
    report.add_argument("--run", metavar="ID", help="the run to show (default: last validation)")
    _verb(verbs, "status", parents)
    runs = _verb(verbs, "runs", parents)
    actions = runs.add_subparsers(dest="action", metavar="ACTION", title="actions")
    # A sub-parser's defaults would overwrite what was given before the action.
    again = [_output_options(again=True), _inventory_options(again=True)]
    lists = actions.add_parser("list", help="list the runs, newest first", parents=again)
    lists.add_argument("--last", type=values.positive, default=20, metavar="N", help="how many")
    shows = actions.add_parser("show", help="show one run", parents=again)
    shows.add_argument("run", metavar="ID")
    prunes = actions.add_parser("prune", help="forget the oldest runs", parents=again)
    prunes.add_argument(
        "--keep", type=values.positive, required=True, metavar="N", help="how many runs to keep"
    )


def _add_journal(verbs: Any) -> None:
    """Add `journal`: the file as a whole."""
    journal = _verb(verbs, "journal", [_output_options(), _inventory_options()])
    actions = journal.add_subparsers(dest="action", metavar="ACTION", required=True)
    again = [_output_options(again=True), _inventory_options(again=True)]
    exports = actions.add_parser(
        "export", help="copy it into a new file, and print its sha256", parents=again
    )
    exports.add_argument("file", metavar="FILE")
    imports = actions.add_parser(
        "import", help="make an exported file the journal, where there is none yet", parents=again
    )
    imports.add_argument("file", metavar="FILE")
    imports.add_argument("--sha256", metavar="HEX", help="what `export` printed")


def _add_read(verbs: Any) -> None:
    """Add `read`, which needs neither nodes nor a journal."""
    parser = _verb(verbs, "read", [_output_options()])
    parser.add_argument(
        "files", nargs="*", metavar="FILE", help="file (also gz, xz, bz2), directory or tarball"
    )
    parser.add_argument("--kind", metavar="KIND", help="do not guess: it is of this kind")
    parser.add_argument("--node", metavar="NAME", help="the node that the files are of")
    parser.add_argument("--sku", metavar="SKU", help="what that node is, so that it can be judged")
    parser.add_argument("--kinds", action="store_true", help="list what can be read")
    parser.add_argument("--schema", metavar="KIND", help="print the JSON schema of a kind")


def _parent() -> argparse.ArgumentParser:
    return argparse.ArgumentParser(add_help=False, allow_abbrev=False)


def _unset(again: bool, default: Any = None) -> Any:
    return argparse.SUPPRESS if again else default


def _output_options(*, again: bool = False) -> argparse.ArgumentParser:
    parser = _parent()
    group = parser.add_argument_group("output")
    group.add_argument(
        "--json",
        action="store_true",
        default=_unset(again, False),
        help="one JSON document on stdout (docs/cli.md)",
    )
    group.add_argument(
        "--no-colour",
        "--no-color",
        action="store_true",
        default=_unset(again, False),
        help="no colours (also: NO_COLOR=1)",
    )
    group.add_argument(
        "-v", "--verbose", action="count", default=_unset(again, 0), help="say more on stderr"
    )
    return parser


def _inventory_options(*, again: bool = False) -> argparse.ArgumentParser:
    parser = _parent()
    group = parser.add_argument_group("nodes")
    group.add_argument(
        "-i",
        "--inventory",
        action="append",
        metavar="PATH",
        default=_unset(again),
        help="site file, inventory or directory; repeatable (default: $TRACKBED_INVENTORY, "
        "else the lab, if exactly one is up)",
    )
    group.add_argument("--limit", metavar="PATTERN", default=_unset(again), help="only these nodes")
    group.add_argument(
        "--journal",
        metavar="FILE",
        default=_unset(again),
        help="the journal (default: $TRACKBED_JOURNAL, else `journal:` of the site file)",
    )
    group.add_argument(
        "--vault-id",
        action="append",
        type=values.vault_source,
        metavar="LABEL@FILE",
        default=_unset(again),
        help="where the password of an ansible-vault is; repeatable",
    )
    group.add_argument(
        "--vault-password-file",
        action="append",
        type=values.existing_file,
        metavar="FILE",
        default=_unset(again),
        help="the same without a label; repeatable",
    )
    return parser


def _run_options() -> argparse.ArgumentParser:
    parser = _parent()
    group = parser.add_argument_group("how to run")
    group.add_argument(
        "--show",
        action="store_true",
        help="print the equivalent ansible-playbook command and stop",
    )
    group.add_argument(
        "--forks",
        type=values.positive,
        metavar="N",
        help="nodes at a time (default: $TRACKBED_FORKS, else 20)",
    )
    group.add_argument(
        "-e",
        "--extra-vars",
        action="append",
        default=[],
        type=values.extra_variable,
        metavar="KEY=VALUE|@FILE",
        help="a variable, or a file of them; repeatable. Secrets: in a vault file only",
    )
    group.add_argument(
        "--become-password-file",
        type=values.existing_file,
        metavar="FILE",
        help="file (or program) that holds the sudo password",
    )
    return parser
