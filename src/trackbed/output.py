"""Where words go: results on stdout, messages on stderr, with `--json` one document and no more."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, TextIO

_COLOURS = {"red": "31", "green": "32", "yellow": "33", "cyan": "36", "dim": "2", "bold": "1"}
# What a verdict or a node's state looks like; everything else stays plain.
STATE_COLOURS = {
    "pass": "green",
    "ok": "green",
    "level": "green",
    "warn": "yellow",
    "changed": "yellow",
    "partial": "yellow",
    "unknown": "yellow",
    "unreachable": "yellow",
    "interrupted": "yellow",
    "fail": "red",
    "failed": "red",
    "not level": "red",
    "skip": "dim",
}


def wants_colour(stream: TextIO, *, refused: bool = False) -> bool:
    """Return whether to colour: a terminal, and neither --no-colour nor NO_COLOR nor TERM=dumb."""
    if refused or os.environ.get("NO_COLOR"):
        return False
    return is_terminal(stream) and os.environ.get("TERM") != "dumb"


def paint(text: str, colour: str) -> str:
    """Return the text in this colour; an unknown colour leaves it as it is."""
    return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m" if colour in _COLOURS else text


def is_terminal(stream: TextIO) -> bool:
    """Return whether a person watches this stream."""
    return bool(getattr(stream, "isatty", lambda: False)())


class Output:
    """The only thing that writes for a verb."""

    def __init__(
        self,
        out: TextIO,
        err: TextIO,
        *,
        json: bool = False,
        no_colour: bool = False,
        verbosity: int = 0,
    ) -> None:
        """Write results to `out` and messages to `err`; `json` keeps plain text off `out`."""
        self.out = out
        self.err = err
        self.json = json
        self.verbosity = verbosity
        # Apart, because one of them is often a pipe or a file.
        self.colour = wants_colour(out, refused=no_colour)
        self.colour_messages = wants_colour(err, refused=no_colour)
        self._emitted = False

    def text(self, text: str) -> None:
        """Print a result for a person; with --json the document takes its place."""
        if not self.json:
            self.out.write(text.rstrip("\n") + "\n")
            self.out.flush()

    def emit(self, document: Mapping[str, Any]) -> None:
        """Print the one JSON document of this command; without --json do nothing."""
        if not self.json:
            return
        if self._emitted:
            raise RuntimeError("a second JSON document for one command")
        self._emitted = True
        self.out.write(json.dumps(document, indent=2, ensure_ascii=False, default=str) + "\n")
        self.out.flush()

    def say(self, text: str) -> None:
        """Print a message on stderr."""
        self.err.write(text.rstrip("\n") + "\n")
        self.err.flush()

    def detail(self, text: str) -> None:
        """Print a message that only -v asks for."""
        if self.verbosity:
            self.say(text)

    def error(self, found: str, *, wanted: str = "", remedy: str = "", code: int) -> int:
        """Report an error in its three parts, as text and (with --json) as the document."""
        head = "trackbed: " + found
        self.say(paint(head, "red") if self.colour_messages else head)
        if wanted:
            self.say(f"  wanted: {wanted}")
        if remedy:
            self.say(f"  to do:  {remedy}")
        if self.json and not self._emitted:
            parts = {"found": found, "wanted": wanted, "remedy": remedy}
            self.emit({"error": parts, "exit_code": code})
        return code

    def state(self, word: str) -> str:
        """Return a verdict or state in its colour."""
        return paint(word, STATE_COLOURS.get(word, "")) if self.colour else word
