"""What the command line understands."""

from __future__ import annotations

import subprocess
import sys

import pytest

from trackbed import collection
from trackbed.cli import parser


@pytest.mark.parametrize("verb", [verb for verb in parser.VERBS if verb != "lab"])
def test_every_verb_has_help_with_the_exit_codes(
    verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        parser.build().parse_args([verb, "--help"])
    assert stop.value.code == 0
    assert "exit codes, the first that applies:" in capsys.readouterr().out


def test_help_and_version_need_no_ansible() -> None:
    """A person who asks for help must not wait for a second, nor need a sound installation."""
    code = (
        "import sys, trackbed.cli as c\n"
        "assert c.main(['--version']) == 0 and c.main(['up', '--help']) == 0\n"
        "assert not [m for m in sys.modules if m.split('.')[0].startswith('ansible')]\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"trackbed {collection.version()}\n")


def test_options_of_runs_may_stand_before_and_after_the_action() -> None:
    args = parser.build().parse_args(["runs", "--json", "--journal", "/j", "list", "-v"])
    assert (args.json, args.journal, args.verbose, args.action) == (True, "/j", 1, "list")
    args = parser.build().parse_args(["runs", "list", "--json"])
    assert (args.json, args.journal) == (True, None)


def test_abbreviations_are_refused_so_that_new_options_break_nothing() -> None:
    with pytest.raises(parser.BadArgumentsError) as caught:
        parser.build().parse_args(["site", "--che"])
    assert "--che" in caught.value.found
    assert caught.value.remedy == "see trackbed --help"


@pytest.mark.parametrize("verb", ["validate", "facts"])
@pytest.mark.parametrize("option", ["--check", "--allow=reboot"])
def test_verbs_that_only_read_take_no_option_of_change(verb: str, option: str) -> None:
    with pytest.raises(parser.BadArgumentsError):
        parser.build().parse_args([verb, option])


def test_nothing_disruptive_is_allowed_by_default() -> None:
    assert parser.build().parse_args(["up"]).allow == ()


def test_no_verb_is_an_error() -> None:
    with pytest.raises(parser.BadArgumentsError, match="VERB"):
        parser.build().parse_args([])
