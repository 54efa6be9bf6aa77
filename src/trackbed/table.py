"""Text in columns and in paragraphs, for a terminal of a given width. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence

GAP = "  "
MIN_WIDTH = 40
INDENT = "  "

Paint = Callable[[str], str]
"""Colours a cell by its word; the identity where nobody asked for colour."""


def plain(text: str) -> str:
    """Return the text as it is."""
    return text


def columns(
    header: Sequence[str], rows: Sequence[Sequence[str]], paint: Paint = plain
) -> list[str]:
    """Return the lines of a table; every column but the first may be painted."""
    widths = [max(len(row[place]) for row in (header, *rows)) for place in range(len(header))]
    head = GAP.join(cell.ljust(size) for cell, size in zip(header, widths, strict=True)).rstrip()
    return [head, *(_line(row, widths, paint) for row in rows)]


def columns_that_fit(labels: int, names: Sequence[str], cells: int, width: int) -> list[list[str]]:
    """Split column names into blocks that fit the width beside a label column.

    `labels` and `cells` are the widest label and cell. A block holds one column at least.
    """
    blocks: list[list[str]] = []
    used = width
    for name in names:
        size = max(len(name), cells) + len(GAP)
        if used + size > width:
            blocks.append([])
            used = labels
        blocks[-1].append(name)
        used += size
    return blocks


def fields(pairs: Sequence[tuple[str, str | None]], width: int) -> list[str]:
    """Return `label  words` lines, wrapped with a hanging indent; empty words are left out."""
    size = max((len(label) for label, words in pairs if words), default=0)
    lines: list[str] = []
    for label, words in pairs:
        if words:
            lead = f"{INDENT}{label.ljust(size)}{GAP}"
            lines += wrap(words, width, lead, " " * len(lead))
    return lines


def wrap(text: str, width: int, first: str = "", rest: str = "") -> list[str]:
    """Return the text in lines; long words (paths, node lists) are kept whole."""
    return textwrap.wrap(
        " ".join(text.split()),
        max(width, MIN_WIDTH),
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    ) or [first.rstrip()]


def plural(count: int, noun: str) -> str:
    """Return `1 node`, `2 nodes`, `1,000 nodes`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _line(row: Sequence[str], widths: Sequence[int], paint: Paint) -> str:
    cells = [row[0].ljust(widths[0])]
    # Painted first and padded after: escape sequences have no width.
    cells += [
        paint(cell) + " " * (size - len(cell))
        for cell, size in zip(row[1:], widths[1:], strict=True)
    ]
    return GAP.join(cells).rstrip()
