# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A matrix of `nvidia-smi topo`, as it stands in a text.

Private to trackbed.cluster. The X of each row's own column tells whether its cells
stand where they should.
"""

from __future__ import annotations

import dataclasses
import re

CELL = re.compile(r"^(?:X|[A-Z][A-Z0-9#*/!]{0,11}|\?)$")
_NEAR = 3
PATHS = ("nv", "pix", "pxb", "phb", "node", "sys", "soc", "c2c")
P2P = ("ok", "cns", "gns", "tns", "ns", "dr", "u")
_P2P_CELLS = frozenset(one.upper() for one in P2P)


@dataclasses.dataclass
class Row:
    """A row: the device, the cells of the matrix, and what stands behind them."""

    name: str
    line: int
    words: list[str]
    tabbed: list[str] | None
    """What stands behind tabs, where the line still has them: empty ones count."""
    places: list[int]
    """Where the words begin, tabs made blanks; empty where lines were joined."""
    is_last_line: bool = False
    """The text ends within this line, so its last word may be half of one."""


@dataclasses.dataclass
class Matrix:
    """One matrix as it stands in the text."""

    line: int
    devices: list[str] = dataclasses.field(default_factory=list)
    columns: list[str] = dataclasses.field(default_factory=list)
    places: dict[str, int] = dataclasses.field(default_factory=dict)
    """Where the columns of affinity begin."""
    rows: list[Row] = dataclasses.field(default_factory=list)
    capability: str | None = None
    has_header: bool = True

    def is_p2p(self) -> bool:
        """Tell whether it is of `topo -p2p`: it has no affinity, and other words."""
        if self.columns:
            return False
        cells = {word for row in self.rows for word in row.words}
        return bool(cells & _P2P_CELLS) or self.capability is not None

    def drop_half_word(self, row: Row) -> None:
        """Drop the last word of a row with which the text ends before it is complete."""
        wanted = len(self.devices)
        wanted += len(self.columns) if row.name.startswith("GPU") else 0
        if row.is_last_line and len(row.words) < wanted:
            row.words, row.tabbed = row.words[:-1], None
            row.places = row.places[: len(row.words)]

    def cells(self, row: Row) -> list[str]:
        """Return the cells of a row that stand for devices, at most one for each of them."""
        found = []
        for word in row.words[: len(self.devices)]:
            if not CELL.match(word):
                break
            found.append(word)
        return found

    def has_more_cells(self, row: Row) -> bool:
        """Tell whether a path stands where the affinity should begin."""
        rest = row.words[len(self.devices) :]
        return bool(rest) and rest[0] != "N/A" and bool(CELL.match(rest[0]))

    def behind(self, row: Row) -> dict[str, str] | None:
        """Return the words behind the cells by column; None where their places are not sure."""
        count = len(self.devices)
        tabbed = [one.strip() for one in row.tabbed or []]
        if len(tabbed) > count and tabbed[:count] == row.words[:count]:
            rest = tabbed[count:]
            # NUMA Affinity is two tabs wide where a column follows it.
            if len(rest) > len(self.columns) and len(self.columns) == 3 and not rest[2]:
                del rest[2]
            return dict(zip(self.columns, rest))
        words = row.words[count:]
        if len(words) == len(self.columns):
            return dict(zip(self.columns, words))
        return self._by_place(words, row.places[count:])

    def _by_place(self, words: list[str], places: list[int]) -> dict[str, str] | None:
        """Give each word to the column below whose name it stands."""
        found: dict[str, str] = {}
        if not words or len(places) != len(words) or not self.places:
            return None
        for word, place in zip(words, places):
            near = [one for one, begin in self.places.items() if abs(begin - place) <= _NEAR]
            if len(near) != 1 or near[0] in found:
                return None
            found[near[0]] = word
        return found


@dataclasses.dataclass
class Found:
    """All that was found in a text."""

    matrices: list[Matrix] = dataclasses.field(default_factory=list)
    nic_names: dict[str, tuple[str, str | None]] = dataclasses.field(default_factory=dict)
    strange: list[tuple[int, str]] = dataclasses.field(default_factory=list)
    elided: int | None = None
    """Line where somebody wrote that lines are left out."""
    has_legend: bool = False
