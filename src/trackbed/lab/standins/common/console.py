"""What a program says, and the question that it asks before it changes something."""

from __future__ import annotations

import sys
from collections.abc import Iterable


def say(text: str) -> None:
    """Print a line, or several in one text."""
    sys.stdout.write(f"{text}\n")


def say_all(lines: Iterable[str]) -> None:
    """Print lines."""
    sys.stdout.writelines(f"{line}\n" for line in lines)


def agreed(question: str, *, yes: bool) -> bool:
    """Ask; return whether the answer is yes. `yes` answers at once, and shows that it does."""
    sys.stdout.write(question)
    sys.stdout.flush()
    if yes:
        say("y")
        return True
    return sys.stdin.readline().strip().lower() in ("y", "yes")
