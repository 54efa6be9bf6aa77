"""How often the statistics of the judge are right, on fleets whose truth is known.

Every cell is simulated with fleets of its own seed; shares come with Wilson's 95 % interval
(JASA 22, 1927). `--write` puts the table into docs/judge.md.
usage: bench/judge.py [--fleets N] [--jobs N] [--only TEXT] [--write]
exit code: 1 where a wanted share lies above the whole interval, else 0
"""

from __future__ import annotations

import argparse
import functools
import multiprocessing
import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

# The fleets are small, and the cells run side by side.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from fleets import rng_of
from judge_cells import Cell, Counts, cells, percent, scale

PAGE = Path(__file__).resolve().parent.parent / "docs/judge.md"
MARKS = ("<!-- bench-judge: begin -->", "<!-- bench-judge: end -->")
# Two-sided 95 %.
_Z = 1.959964


def wilson(hits: int, total: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share; all of it where nothing was counted."""
    if not total:
        return 0.0, 1.0
    share, square = hits / total, _Z * _Z
    middle = (share + square / (2 * total)) / (1 + square / total)
    half = _Z * (share * (1 - share) / total + square / (4 * total * total)) ** 0.5
    half /= 1 + square / total
    return max(0.0, middle - half), min(1.0, middle + half)


def run(cell: Cell, fleets: int) -> Counts:
    """Simulate one cell."""
    rng = rng_of(cell.name)
    total: Counts = Counter()
    for _fleet in range(fleets):
        total.update(cell.trial(rng))
    return total


def rows(cell: Cell, counts: Counts) -> Iterator[tuple[str, bool]]:
    """Return the table's rows of a cell, each with whether what is wanted can be true."""
    for share, limit in cell.wanted:
        hits, total = counts[share], counts[f"{share} of"]
        low, high = wilson(hits, total)
        wanted = (
            "" if limit is None else f"≥ {percent(limit)}" if limit > 0 else f"≤ {percent(-limit)}"
        )
        good = limit is None or (high >= limit if limit > 0 else low <= -limit)
        value = percent(hits / total, 2) if total else "none"
        interval = f"{percent(low, 2)} to {percent(high, 2)}"
        cells_ = (cell.section, cell.what, share, value, interval, f"{total:,}", wanted)
        yield f"| {' | '.join(cells_)} |", good


def main() -> int:
    """Simulate, print and perhaps write the table."""
    parser = argparse.ArgumentParser(description="simulate the judge's statistics")
    parser.add_argument("--fleets", type=int, default=1000, help="fleets of each cell")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", default="", help="only cells whose name has this text")
    parser.add_argument("--write", action="store_true", help="write the table into docs/judge.md")
    args = parser.parse_args()
    chosen = [cell for cell in cells() if args.only in cell.name]
    lines = [
        "| Part | Fleet | Share | Found | 95 % interval | Of | Wanted |",
        "|---|---|---|---|---|---|---|",
    ]
    good = True
    size = scale()
    with multiprocessing.get_context("fork").Pool(args.jobs) as pool:
        simulate = functools.partial(run, fleets=args.fleets)
        for cell, counts in zip(chosen, pool.imap(simulate, chosen), strict=True):
            for line, fine in rows(cell, counts):
                lines.append(line)
                good = good and fine
                sys.stdout.write(line + "\n")
                sys.stdout.flush()
    sys.stdout.write(size + "\n")
    if args.write:
        write(f"{args.fleets:,} fleets a cell. Time and memory of one machine: {size}.", lines)
    return 0 if good else 1


def write(head: str, lines: list[str]) -> None:
    """Put the table between the marks of the page; rows of cells that were not chosen stay."""
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(MARKS[0])
    old, after = rest.split(MARKS[1])
    made = {key(line): line for line in [*old.splitlines(), *lines] if line.startswith("| ")}
    order = [(cell.section, cell.what, share) for cell in cells() for share, _limit in cell.wanted]
    table = [*lines[:2], *(made[one] for one in order if one in made)]
    parts = [before + MARKS[0], head, "", *table, MARKS[1] + after]
    PAGE.write_text("\n".join(parts), encoding="utf-8")


def key(line: str) -> tuple[str, ...]:
    """Return which share of which cell a row is about."""
    return tuple(one.strip() for one in line.split("|")[1:4])


if __name__ == "__main__":
    sys.exit(main())
