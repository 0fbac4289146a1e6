"""Y, split over parts of a table that are dealt on their own.

Enters: Y, how many rows of each value every part has, a stream. Leaves: a table like Y for every
part. Must not know: what a part is, or where it is dealt.

Given Y, the published values of the rows with true value u are a uniformly random arrangement of
the multiset Y[u, :]: tickets in random order. Parts take theirs one after the other, so what each
gets is multivariate hypergeometric. It is drawn without floating point and without making a single
ticket: every ticket tosses fair coins, which order it as the digits of a random number would, and
the coins are only counted. If the tickets that fall heads are no more than are wanted, all of them
come first and the rest is found among the others; else the wanted ones are found among them. Half
of the tickets are left after each toss, so all takes two tosses a ticket, 64 in a word.

Parts are split in halves, and halves again: a part's own table costs the tosses on its path alone.
That is what `Shares` is for: many parts share a table that is split where it is needed.
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
    """Neighbouring parts and the tickets of all of them: `rows[part, value]` has their rows."""

    tickets: Counts
    rows: Counts


def share_out(table: PublishedTable, rows: Counts, most: int, key: TaskKey) -> Iterator[Shares]:
    """Split Y over at most `most` runs of neighbouring parts, the first parts first."""
    owners = owners_of(table)
    edges = np.linspace(0, len(rows), min(most, len(rows)) + 1).astype(np.int64)
    together = np.add.reduceat(rows, edges[:-1], axis=0)
    splitting = _Splitting(owners, together, key, ("shares",))
    for number, tickets in splitting.walk(table.counts):
        yield Shares(tickets, rows[edges[number] : edges[number + 1]])


def own_share(
    table: PublishedTable, shares: Shares, part: int, run: int, key: TaskKey
) -> PublishedTable:
    """The table of one part of a run; every part of it finds its own and disturbs no other."""
    rows, tickets = shares.rows.astype(np.int64), shares.tickets.astype(np.int64)
    splitting = _Splitting(owners_of(table), rows, key, ("run", str(run)))
    return PublishedTable(table.indptr, table.values, splitting.descend(tickets, part))


def owners_of(table: PublishedTable) -> Counts:
    """The true value that each cell of Y belongs to."""
    return np.repeat(np.arange(table.n_values), np.diff(table.indptr))


class _Splitting:
    """A tree of parts. Each node has a stream of its own, whoever comes along."""

    def __init__(self, owners: Counts, rows: Counts, key: TaskKey, label: tuple[str, ...]) -> None:
        self._owners, self._rows, self._key, self._label = owners, rows, key, label

    def walk(self, tickets: Counts) -> Iterator[tuple[int, Counts]]:
        """All parts with their tickets, in order."""
        waiting = [(0, len(self._rows), tickets)]
        while waiting:
            first, last, own = waiting.pop()
            if last - first == 1:
                yield first, own
                continue
            middle, taken = self._halve(first, last, own)
            waiting += [(middle, last, own - taken), (first, middle, taken)]

    def descend(self, tickets: Counts, part: int) -> Counts:
        """The tickets of one part."""
        first, last = 0, len(self._rows)
        while last - first > 1:
            middle, taken = self._halve(first, last, tickets)
            if part < middle:
                last, tickets = middle, taken
            else:
                first, tickets = middle, tickets - taken
        return tickets

    def _halve(self, first: int, last: int, tickets: Counts) -> tuple[int, Counts]:
        middle = (first + last) // 2
        wanted = self._rows[first:middle].sum(axis=0)
        stream = self._key.stream(*self._label, str(first), str(last))
        return middle, take_first(tickets, self._owners, wanted, stream)


def take_first(tickets: Counts, owners: Counts, wanted: Counts, stream: Stream) -> Counts:
    """How many tickets of each cell are among the first `wanted` of their owners.

    `tickets` counts the tickets of each cell, `owners` says whose they are.
    """
    n_owners = wanted.size
    held = np.bincount(owners, tickets, n_owners).astype(np.int64)
    if np.any((wanted < 0) | (wanted > held)):
        raise ValueError("a part holds more rows of a value than were counted")
    taken = np.zeros_like(tickets)
    whole = wanted == held
    taken[whole[owners]] = tickets[whole[owners]]
    cells = np.flatnonzero(((wanted > 0) & ~whole)[owners] & (tickets > 0))
    left, missing = tickets[cells], wanted.copy()
    while cells.size:
        own = owners[cells]
        heads = stream.heads(left)
        fallen = np.bincount(own, heads, n_owners).astype(np.int64)
        # Those owners who want more than fell: all these tickets, and some of the others.
        more = fallen <= missing
        taken[cells[more[own]]] += heads[more[own]]
        missing[more] -= fallen[more]
        left = np.where(more[own], left - heads, heads)
        held = np.bincount(own, left, n_owners).astype(np.int64)
        whole = missing == held
        taken[cells[whole[own]]] += left[whole[own]]
        going_on = ((missing > 0) & ~whole)[own] & (left > 0)
        cells, left = cells[going_on], left[going_on]
    return taken
