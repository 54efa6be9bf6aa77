"""Results on stdout, messages on stderr, one document with --json."""

from __future__ import annotations

import io
import json

import pytest

from trackbed import output as module
from trackbed.output import Output, paint, wants_colour


class Terminal(io.StringIO):
    """A stream that a person watches."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")


def test_colour_only_on_a_terminal() -> None:
    assert wants_colour(Terminal())
    assert not wants_colour(io.StringIO())
    assert not wants_colour(Terminal(), refused=True)


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_the_environment_refuses_colour(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    assert not wants_colour(Terminal())


def test_results_and_messages_go_apart() -> None:
    output = Output(io.StringIO(), io.StringIO())
    output.text("result\n")
    output.say("message")
    output.emit({"not": "wanted"})
    assert output.out.getvalue() == "result\n"  # type: ignore[attr-defined]
    assert output.err.getvalue() == "message\n"  # type: ignore[attr-defined]


def test_json_is_one_document_and_nothing_else() -> None:
    out = io.StringIO()
    output = Output(out, io.StringIO(), json=True)
    output.text("for a person")
    output.emit({"a": "ä"})
    assert json.loads(out.getvalue()) == {"a": "ä"}
    with pytest.raises(RuntimeError, match="second JSON document"):
        output.emit({"b": 2})


def test_an_error_has_three_parts_on_stderr() -> None:
    output = Output(io.StringIO(), err := io.StringIO())
    assert output.error("it broke", wanted="whole", remedy="mend it", code=2) == 2
    assert err.getvalue() == "trackbed: it broke\n  wanted: whole\n  to do:  mend it\n"
    assert output.out.getvalue() == ""  # type: ignore[attr-defined]


def test_an_error_is_the_document_with_json() -> None:
    output = Output(out := io.StringIO(), io.StringIO(), json=True)
    output.error("it broke", remedy="mend it", code=1)
    assert json.loads(out.getvalue()) == {
        "error": {"found": "it broke", "wanted": "", "remedy": "mend it"},
        "exit_code": 1,
    }


def test_an_error_after_the_document_does_not_spoil_it() -> None:
    output = Output(out := io.StringIO(), err := io.StringIO(), json=True)
    output.emit({"done": True})
    output.error("too late", code=1)
    assert json.loads(out.getvalue()) == {"done": True}
    assert "too late" in err.getvalue()


def test_each_stream_decides_on_its_own_colour() -> None:
    output = Output(io.StringIO(), err := Terminal())
    output.error("red", code=1)
    assert err.getvalue() == "\x1b[31mtrackbed: red\x1b[0m\n"
    assert output.state("fail") == "fail"
    assert Output(Terminal(), io.StringIO()).state("fail") == "\x1b[31mfail\x1b[0m"


def test_every_state_has_a_real_colour() -> None:
    for word, colour in module.STATE_COLOURS.items():
        assert paint(word, colour) != word
    assert paint("odd", "") == "odd"


def test_details_are_for_those_who_ask() -> None:
    quiet = Output(io.StringIO(), io.StringIO())
    quiet.detail("more")
    loud = Output(io.StringIO(), io.StringIO(), verbosity=1)
    loud.detail("more")
    assert (quiet.err.getvalue(), loud.err.getvalue()) == ("", "more\n")  # type: ignore[attr-defined]
