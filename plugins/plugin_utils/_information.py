# Copyright: (c) 2026, The Trackbed developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How much one partition of the nodes says about another. Pure arrays. Private to trackbed.cluster.

The adjusted mutual information (Vinh, Epps and Bailey, JMLR 11, 2010): 1 for the same partition,
about 0 for what agrees by chance. It does not favour facts with many values, as plain information
gain does, which puts serial numbers first.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from ansible_collections.trackbed.cluster.plugins.plugin_utils._numpy import Array, Ints, np

UNREAD = -1
"""The code of a value that could not be read."""
# With more distinct values than this share of the nodes a fact is an identity (a serial number):
# the chance correction would divide nothing by nothing.
_IDENTITY = 0.5
_SHUFFLES = 200
_SEED = 20261201
_LUCK = 0.95
# From so many nodes on, luck is a table: the best of sixty facts reaches 10 / n in one fleet of
# twenty (0.16 at 64 nodes, 0.04 at 256), measured with `make bench-judge`.
_TABLE_FROM, _TABLE = 64, 10.0


def codes(values: Iterable[Hashable | None]) -> Ints:
    """Number the values by first appearance, so that equal partitions have equal codes."""
    known: dict[Hashable, int] = {}
    return np.array(
        [UNREAD if value is None else known.setdefault(value, len(known)) for value in values],
        dtype=np.int64,
    )


def agreement(one: Ints, other: Ints) -> float:
    """Return the AMI of two partitions of the same nodes, over those where both were read."""
    both = (one >= 0) & (other >= 0)
    table = _table(one[both], other[both])
    count = int(table.sum())
    if min(table.shape) < 2 or max(table.shape) > _IDENTITY * count:
        return 0.0
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    information = _information(table, count)
    chance = _chance(rows, columns)
    room = (_entropy(rows) + _entropy(columns)) / 2 - chance
    return float((information - chance) / room) if room > 1e-9 else 0.0


def luck(labels: Ints, facts: Sequence[Ints]) -> float:
    """Return the AMI that the best of these facts reaches by luck in one fleet of twenty.

    Below 64 nodes by shuffling the labels 200 times (the same shuffles each time), above by a
    table. A value that could not be read counts as a value here.
    """
    count = len(labels)
    if count >= _TABLE_FROM:
        return _TABLE / count
    varying = [again for one in facts if 1 < len(np.unique(again := one + 1)) <= _IDENTITY * count]
    if not varying or len(np.unique(labels)) < 2:
        return 0.0
    best = _shuffled(labels, [np.unique(one, return_inverse=True)[1] for one in varying])
    return float(max(0.0, np.quantile(best, _LUCK)))


def _shuffled(labels: Ints, facts: Sequence[Ints]) -> Array:
    """Return the best AMI over all facts of each shuffle; all tables are one product."""
    count, sizes = len(labels), [int(one.max()) + 1 for one in facts]
    parts = np.unique(labels, return_inverse=True)[1]
    rows = np.bincount(parts)
    columns = [np.bincount(one) for one in facts]
    starts = np.concatenate([[0], np.cumsum(sizes)])[:-1]
    holds = np.zeros((count, sum(sizes)))
    for start, one in zip(starts, facts, strict=True):
        holds[np.arange(count), start + one] = 1
    rng = np.random.default_rng(_SEED)
    order = np.array([rng.permutation(parts) for _shuffle in range(_SHUFFLES)])
    # x log x of every count that can be
    logs = _x_log_x(np.arange(count + 1, dtype=float))
    joint = np.zeros((_SHUFFLES, sum(sizes)))
    for part in range(len(rows)):
        joint += logs[np.rint((order == part) @ holds).astype(int)]
    together = np.add.reduceat(joint, starts, axis=1) / count
    apart = np.array([logs[one].sum() for one in columns]) + logs[rows].sum()
    information = together - (apart - logs[count]) / count
    chance = np.array([_chance(rows, one) for one in columns])
    room = (_entropy(rows) + np.array([_entropy(one) for one in columns])) / 2 - chance
    best: Array = ((information - chance) / np.maximum(room, 1e-9)).max(axis=1)
    return best


def _table(one: Ints, other: Ints) -> Ints:
    """Return how many nodes have each pair of values, without rows and columns of zeros."""
    if not len(one):
        return np.zeros((0, 0), dtype=np.int64)
    wide = int(other.max()) + 1
    table = np.bincount(one * wide + other, minlength=(int(one.max()) + 1) * wide)
    table = table.reshape(-1, wide)
    return table[table.any(axis=1)][:, table.any(axis=0)]


def _x_log_x(x: Array) -> Array:
    return x * np.log(np.maximum(x, 1))


def _entropy(counts: Ints) -> float:
    total = counts.sum()
    return float(np.log(total) - _x_log_x(counts.astype(float)).sum() / total)


def _information(table: Ints, count: int) -> float:
    joint = _x_log_x(table.astype(float)).sum()
    rows = _x_log_x(table.sum(axis=1).astype(float)).sum()
    columns = _x_log_x(table.sum(axis=0).astype(float)).sum()
    return float((joint - rows - columns) / count + np.log(count))


def _chance(rows: Ints, columns: Ints) -> float:
    """Return the expected mutual information of partitions with these sizes (Vinh 2010, eq. 24).

    Equal sizes have equal terms, so that each pair of sizes is reckoned once.
    """
    count = int(rows.sum())
    log_factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, count + 1)))])
    total = 0.0
    for row, times in zip(*np.unique(rows, return_counts=True), strict=True):
        for column, again in zip(*np.unique(columns, return_counts=True), strict=True):
            both = np.arange(max(1, row + column - count), min(row, column) + 1)
            ways = (
                log_factorial[row]
                + log_factorial[column]
                + log_factorial[count - row]
                + log_factorial[count - column]
                - log_factorial[count]
                - log_factorial[both]
                - log_factorial[row - both]
                - log_factorial[column - both]
                - log_factorial[count - row - column + both]
            )
            terms = both / count * np.log(count * both / (row * column)) * np.exp(ways)
            total += float(terms.sum()) * int(times) * int(again)
    return total
