"""Which row publishes what: Y is dealt to the rows block by block.

Enters: Y, a stream, and per block the true value of each row as a code. Leaves: the published code
of each row. Must not know: how Y was drawn, how large the blocks are, how many will come.

Tuples sit in the groups in a uniformly random order, so given Y the published values of the rows
with true value u are a uniformly random arrangement of the multiset Y[u, :]. Think of Y[u, :] as
tickets, put in random order; the rows of u take theirs from the front, block after block. What a
block takes of each kind is then multivariate hypergeometric, and inside the block every order is as
likely.

The tickets are never all in order at once. Each is sent to one of several parts, all with the same
probability, and each part is put in random order when it is wanted: one part after the other is a
uniformly random order of all. How many tickets of a kind go to which part is counted, not made.
Rare values share their parts, so that many values do not mean many steps.

`reserve` says which tickets a block takes, and must be called block by block; `Hand.deal` does the
work, and may run in any thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countveil.maths.mechanism.draw import PublishedTable
from countveil.maths.mechanism.shuffled_values import Part
from countveil.randomness import Stream

Counts = NDArray[np.int64]

_PART_TICKETS = 1 << 16
# With more tickets than this, rare values are split too: the parts in use stay about this many.
_IN_USE = 1 << 26
_FEW_VALUES = 1024
_CHUNK_ROWS = 1 << 16
_TOO_MANY = "a block holds more rows of a value than were counted"


class Dealer:
    """Deals the published values of one sensitive column."""

    def __init__(self, table: PublishedTable, stream: Stream) -> None:
        self._table = table
        self._stream = stream
        ends = np.concatenate([[0], np.cumsum(table.counts)])[table.indptr]
        self._left = int(ends[-1])
        self.says = table.values.astype(narrow_type(table.n_values))
        # Neighbours share a group until it holds enough tickets for its parts.
        enough = _PART_TICKETS * max(1, -(-self._left // _IN_USE))
        self._group_of = ends[:-1] // enough
        self._groups: dict[int, _Group] = {}

    @property
    def tickets_left(self) -> int:
        """Rows still to come."""
        return self._left

    @property
    def published(self) -> Counts:
        """How often each value will have been published when all rows are served."""
        return self._table.published()

    def deal(self, codes: NDArray[Any]) -> Counts:
        """The published code of each row of a block."""
        return self.reserve(self.count(codes)).deal(codes).astype(np.int64)

    def count(self, codes: NDArray[Any]) -> Counts:
        """How many rows of a block have each value."""
        return np.bincount(codes, minlength=self._table.n_values)

    def reserve(self, wanted: Counts) -> Hand:
        """The tickets of a block with so many rows of each value."""
        before = np.cumsum(wanted) - wanted
        hand = Hand([], int(wanted.sum()), before, self.says.dtype)
        for number in np.unique(self._group_of[np.flatnonzero(wanted)]).tolist():
            group = self._groups.get(number) or self._open(number)
            own = slice(group.first, group.last)
            hand.pieces.extend(group.take(wanted[own], before[own]))
        self._left -= hand.size
        return hand

    def _open(self, number: int) -> _Group:
        first, last = np.searchsorted(self._group_of, [number, number + 1]).tolist()
        cells = slice(self._table.indptr[first], self._table.indptr[last])
        owners = np.repeat(np.arange(last - first), np.diff(self._table.indptr[first : last + 1]))
        group = _Group(first, last, self._table.counts[cells], owners, self.says[cells])
        group.split(self._stream)
        self._groups[number] = group
        return group


@dataclass(frozen=True, slots=True)
class _Piece:
    """Tickets that a block takes from one part: of each owner, from where, how many, for where."""

    part: Part
    start: Counts
    count: Counts
    target: Counts


@dataclass(frozen=True, slots=True)
class Hand:
    """The tickets of one block."""

    pieces: list[_Piece]
    size: int
    before: Counts
    dtype: Any

    def deal(self, codes: NDArray[Any]) -> NDArray[Any]:
        """The published code of each row, in the narrowest type."""
        by_value = np.empty(self.size, self.dtype)
        for piece in self.pieces:
            tickets = piece.part.tickets()
            if piece.count.size == 1:
                start, count, target = piece.start[0], piece.count[0], piece.target[0]
                by_value[target : target + count] = tickets[start : start + count]
                continue
            step = np.arange(int(piece.count.sum()))
            step -= np.repeat(np.cumsum(piece.count) - piece.count, piece.count)
            targets, starts = (np.repeat(at, piece.count) for at in (piece.target, piece.start))
            by_value[targets + step] = tickets[starts + step]
        if self.before.size > _FEW_VALUES:
            dealt = np.empty_like(by_value)
            dealt[np.argsort(codes, kind="stable")] = by_value
            return dealt
        return self._in_chunks(codes, by_value)

    def _in_chunks(self, codes: NDArray[Any], by_value: NDArray[Any]) -> NDArray[Any]:
        """Few rows at a time, so that their order stays in the cache."""
        dealt = np.empty_like(by_value)
        at = self.before.copy()
        for first in range(0, self.size, _CHUNK_ROWS):
            chunk = codes[first : first + _CHUNK_ROWS]
            end = at + np.bincount(chunk, minlength=at.size)
            bounds = zip(at.tolist(), end.tolist(), strict=True)
            own = dealt[first : first + _CHUNK_ROWS]
            own[np.argsort(chunk, kind="stable")] = np.concatenate(
                [by_value[a:b] for a, b in bounds]
            )
            at = end
        return dealt


class _Group:
    """Neighbouring values whose tickets lie in the same parts."""

    def __init__(
        self, first: int, last: int, counts: Counts, owners: Counts, says: NDArray[Any]
    ) -> None:
        self.first, self.last = first, last
        self._counts, self._owners, self._says = counts, owners, says
        self._served = np.zeros(last - first, np.int64)
        self._parts: list[Part | None] = []
        # Per part and owner, the tickets in the parts before.
        self._before = np.zeros((1, last - first), np.int64)
        # The same for an owner without company, which is most of the work in large tables.
        self._edges: list[int] = []
        self._exhausted = 0

    def split(self, stream: Stream) -> None:
        """Send every ticket to a part."""
        n_owners = self.last - self.first
        n_parts = 1 << max(0, (int(self._counts.sum()) - 1) // _PART_TICKETS).bit_length()
        own = stream.spawn()
        shares = _spread(self._counts, n_parts, own)
        self._parts = [
            Part(share, self._owners, self._says, n_owners, own.spawn()) for share in shares
        ]
        held = np.stack([np.bincount(self._owners, share, n_owners) for share in shares])
        totals = np.cumsum(held.astype(np.int64), axis=0)
        self._before = np.concatenate([self._before, totals])
        if n_owners == 1:
            self._edges = self._before[:, 0].tolist()

    def take(self, wanted: Counts, target: Counts) -> list[_Piece]:
        """The next tickets of each owner."""
        if len(self._edges):
            return self._take_alone(int(wanted[0]), int(target[0]))
        begin, end = self._served, self._served + wanted
        if np.any(end > self._before[-1]):
            raise ValueError(_TOO_MANY)
        # From each part that is left, of each owner: from which ticket on, and how many.
        before, after = self._before[self._exhausted : -1], self._before[self._exhausted + 1 :]
        low = np.maximum(before, begin)
        count = np.minimum(after, end) - low
        wanted_of = count > 0
        pieces = []
        for line in np.flatnonzero(wanted_of.any(axis=1)).tolist():
            part = self._parts[self._exhausted + line]
            assert part is not None  # noqa: S101 - only parts that are used up are let go
            some = np.flatnonzero(wanted_of[line])
            held = after[line] - before[line]
            start = np.cumsum(held) - held + low[line] - before[line]
            to = target + low[line] - begin
            pieces.append(_Piece(part, start[some], count[line, some], to[some]))
        self._served = end
        used_up = int(np.all(after <= end, axis=1).sum())
        for number in range(self._exhausted, self._exhausted + used_up):
            self._parts[number] = None
        self._exhausted += used_up
        return pieces

    def _take_alone(self, wanted: int, target: int) -> list[_Piece]:
        begin = int(self._served[0])
        end = begin + wanted
        if end > self._edges[-1]:
            raise ValueError(_TOO_MANY)
        self._served[0] = end
        pieces = []
        while begin < end:
            number = self._exhausted
            before, after = self._edges[number : number + 2]
            part, last = self._parts[number], min(end, after)
            if part is not None and last > begin:
                place = (begin - before, last - begin, target)
                pieces.append(_Piece(part, *(np.array([at]) for at in place)))
            target, begin = target + last - begin, last
            if last == after:
                self._parts[number] = None
                self._exhausted += 1
        return pieces


def _spread(counts: Counts, n_parts: int, stream: Stream) -> Counts:
    """How many tickets of each cell go to each part, every ticket with equal chances.

    A fair coin for each ticket parts them in two, and so on: `n_parts` is a power of two.
    """
    shares = counts[None]
    while len(shares) < n_parts:
        heads = stream.heads(shares)
        shares = np.concatenate([heads, shares - heads])
    return shares


def narrow_type(n_values: int) -> Any:
    """The smallest unsigned type that numbers so many values."""
    return np.uint8 if n_values <= 1 << 8 else np.uint16 if n_values <= 1 << 16 else np.uint32
