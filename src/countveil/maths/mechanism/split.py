"""Y, split over the partitions of a table, each of which is dealt independently.

Enters: Y, how many rows of each value every partition has, a stream. Leaves: a table like Y for
every partition. Must not know: what a partition is, or where it is dealt.

Given Y, the published values of the rows with true value u are a uniformly random arrangement of
the multiset Y[u, :]. Partitions take theirs one after the other, so what each gets is multivariate
hypergeometric. It is drawn without floating point and without making a single published value:
each tosses fair coins, which order it as the digits of a random number would, and the coins are
only counted. If no more values fall heads than are wanted, all of these come first and the rest is
taken from the others; otherwise the wanted ones are among those that fell heads. Half of the values
remain after each toss, so the whole split takes two tosses a value, 64 in a word.

Partitions are split in halves, and halves again: the table of one partition costs the tosses on its
path alone. `Shares` makes use of that: many partitions share a table that is split where it is
needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from countveil.maths.mechanism.draw import PublishedTable
from countveil.randomness import Stream, TaskKey

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Shares:
    """A run of partitions: the counts of its cells of Y, and `rows[partition, value]`."""

    counts: Counts
    rows: Counts


def share_out(table: PublishedTable, rows: Counts, most: int, key: TaskKey) -> Iterator[Shares]:
    """Split Y over at most `most` runs of neighbouring partitions, in order."""
    owners = owners_of(table)
    edges = np.linspace(0, len(rows), min(most, len(rows)) + 1).astype(np.int64)
    together = np.add.reduceat(rows, edges[:-1], axis=0)
    splitting = _Splitting(owners, together, key, ("shares",))
    for number, counts in splitting.walk(table.counts):
        yield Shares(counts, rows[edges[number] : edges[number + 1]])


def partition_share(
    table: PublishedTable, shares: Shares, partition: int, run: int, key: TaskKey
) -> PublishedTable:
    """The table of one partition of a run, independent of when the others are computed."""
    rows, counts = shares.rows.astype(np.int64), shares.counts.astype(np.int64)
    splitting = _Splitting(owners_of(table), rows, key, ("run", str(run)))
    return PublishedTable(table.indptr, table.values, splitting.descend(counts, partition))


def owners_of(table: PublishedTable) -> Counts:
    """The true value that each cell of Y belongs to."""
    return np.repeat(np.arange(table.n_values), np.diff(table.indptr))


class _Splitting:
    """A tree of partitions. Each node has its own stream, so every task computes the same."""

    def __init__(self, owners: Counts, rows: Counts, key: TaskKey, label: tuple[str, ...]) -> None:
        self._owners, self._rows, self._key, self._label = owners, rows, key, label

    def walk(self, counts: Counts) -> Iterator[tuple[int, Counts]]:
        """All partitions with their cells, in order."""
        stack = [(0, len(self._rows), counts)]
        while stack:
            first, last, cells = stack.pop()
            if last - first == 1:
                yield first, cells
                continue
            middle, taken = self._halve(first, last, cells)
            stack += [(middle, last, cells - taken), (first, middle, taken)]

    def descend(self, counts: Counts, partition: int) -> Counts:
        """The cells of one partition."""
        first, last = 0, len(self._rows)
        while last - first > 1:
            middle, taken = self._halve(first, last, counts)
            if partition < middle:
                last, counts = middle, taken
            else:
                first, counts = middle, counts - taken
        return counts

    def _halve(self, first: int, last: int, counts: Counts) -> tuple[int, Counts]:
        middle = (first + last) // 2
        wanted = self._rows[first:middle].sum(axis=0)
        stream = self._key.stream(*self._label, str(first), str(last))
        return middle, take_first(counts, self._owners, wanted, stream)


def take_first(counts: Counts, owners: Counts, wanted: Counts, stream: Stream) -> Counts:
    """How many values of each cell are among the first `wanted` of their owners.

    `counts` has the values of each cell, `owners` the true value that each cell belongs to.
    """
    n_owners = wanted.size
    available = np.bincount(owners, counts, n_owners).astype(np.int64)
    if np.any((wanted < 0) | (wanted > available)):
        raise ValueError("a partition holds more rows of a value than were counted")
    taken = np.zeros_like(counts)
    whole = wanted == available
    taken[whole[owners]] = counts[whole[owners]]
    cells = np.flatnonzero(((wanted > 0) & ~whole)[owners] & (counts > 0))
    left, missing = counts[cells], wanted.copy()
    while cells.size:
        owner = owners[cells]
        heads = stream.heads(left)
        fallen = np.bincount(owner, heads, n_owners).astype(np.int64)
        # Owners that want at least as many as fell heads take all of these, and some of the others.
        more = fallen <= missing
        taken[cells[more[owner]]] += heads[more[owner]]
        missing[more] -= fallen[more]
        left = np.where(more[owner], left - heads, heads)
        available = np.bincount(owner, left, n_owners).astype(np.int64)
        whole = missing == available
        taken[cells[whole[owner]]] += left[whole[owner]]
        going_on = ((missing > 0) & ~whole)[owner] & (left > 0)
        cells, left = cells[going_on], left[going_on]
    return taken
