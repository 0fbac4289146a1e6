"""Which row publishes what: Y is dealt to the rows block by block.

Enters: Y, a stream, and per block the true value of each row as a code. Leaves: the published code
of each row. Must not know: how Y was drawn, how large the blocks are, how many will come.

Tuples sit in the groups in a uniformly random order, so given Y the published values of the rows
with true value u are a uniformly random arrangement of the multiset Y[u, :]. Think of Y[u, :] as
tickets. A block's rows draw tickets without replacement; what is left serves the later blocks. How
many tickets of each kind a block takes is then multivariate hypergeometric, and inside the block
every order is as likely: the split and the arrangement in one step, in integers, exactly.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from countveil.mechanism.draw import PublishedTable
from countveil.randomness import Stream

# A value whose rows in the block ask for more than this share of its tickets has all of its
# tickets put in random order; below it, drawing again on a clash is cheaper.
_DENSE_SHARE = 0.25


class Dealer:
    """Deals the published values of one sensitive column."""

    def __init__(self, table: PublishedTable, stream: Stream) -> None:
        self._table = table
        self._left = table.counts.copy()
        self._stream = stream

    @property
    def tickets_left(self) -> int:
        """Rows still to come."""
        return int(self._left.sum())

    def deal(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """The published code of each row of a block."""
        ends = np.concatenate([[0], np.cumsum(self._left)])
        first = ends[self._table.indptr[:-1]]
        available = ends[self._table.indptr[1:]] - first
        wanted = np.bincount(codes, minlength=available.size)
        if np.any(wanted > available):
            raise ValueError("a block holds more rows of a value than were counted")
        dense = wanted > _DENSE_SHARE * available
        tickets = np.empty(codes.size, np.int64)
        in_dense = dense[codes]
        rows = np.flatnonzero(in_dense)
        tickets[rows] = self._in_random_order(codes[rows], first, np.where(dense, available, 0))
        rows = np.flatnonzero(~in_dense)
        tickets[rows] = self._without_clash(first[codes[rows]], available[codes[rows]])
        cells = np.searchsorted(ends, tickets, side="right") - 1
        self._left -= np.bincount(cells, minlength=self._left.size)
        return self._table.values[cells]

    def _in_random_order(
        self, codes: NDArray[np.int64], first: NDArray[np.int64], available: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Put all tickets of these values in random order; rows take theirs from the front."""
        owner = np.repeat(np.arange(available.size), available)
        offset = np.cumsum(available) - available
        shuffled = self._stream.permutation(owner.size)
        by_value = shuffled[np.argsort(owner[shuffled], kind="stable")]
        order = np.argsort(codes, kind="stable")
        ordered = codes[order]
        place = np.arange(codes.size) - np.searchsorted(ordered, ordered)
        local = by_value[offset[ordered] + place]
        tickets = np.empty(codes.size, np.int64)
        tickets[order] = local - offset[ordered] + first[ordered]
        return tickets

    def _without_clash(
        self, first: NDArray[np.int64], available: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Draw a ticket for every row; rows that find theirs taken draw again.

        Which of two clashing rows keeps the ticket depends on the rows only, never on the ticket.
        So renaming tickets changes nothing, and every assignment of different tickets is as likely.
        """
        tickets = first + self._stream.below_each(available)
        order = np.argsort(tickets, kind="stable")
        again = np.sort(order[1:][tickets[order][1:] == tickets[order][:-1]])
        keep = np.ones(tickets.size, bool)
        keep[again] = False
        taken = np.sort(tickets[keep])
        while again.size:
            drawn = first[again] + self._stream.below_each(available[again])
            fresh = np.zeros(again.size, bool)
            fresh[np.unique(drawn, return_index=True)[1]] = True
            near = np.minimum(np.searchsorted(taken, drawn), taken.size - 1)
            fresh &= taken[near] != drawn
            tickets[again[fresh]] = drawn[fresh]
            taken = np.sort(np.concatenate([taken, drawn[fresh]]))
            again = again[~fresh]
        return tickets
