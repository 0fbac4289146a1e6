"""Which row publishes what: Y is dealt to the rows block by block.

Enters: Y, a stream, and per block the true value of each row as a code. Leaves: the published code
of each row. Must not know: how Y was drawn, how large the blocks are, how many will come.

Rows are assigned to groups in a uniformly random order, so given Y the published values of the rows
with true value u are a uniformly random arrangement of the multiset Y[u, :]. Shuffle it; the rows
of u take its values from the front, block after block. What a block takes of each published value
is then multivariate hypergeometric, and inside the block every order is equally likely.

The whole multiset is never shuffled at once. Each of its values goes to one of several batches, all
with the same probability, and each batch is shuffled when it is needed: one batch after the other
is a uniformly random order of all. How many values of a kind go to which batch is counted, without
making a single one. Rare true values share their batches, so that many values do not mean many
steps.

**Shuffling a batch.** Each of its values becomes a word: its owner (the true value whose rows it is
for), random bits, the published code. Sorting the words puts each owner's values in random order.
Values of one owner whose random bits tie are ordered once more, by fresh bits, among themselves: a
tie carries no information, so every order is exactly as likely as any other.

`reserve` decides which values a block takes, and must be called block by block;
`Reservation.deal` does the work, and may run in any thread.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countveil.maths.mechanism.draw import PublishedTable
from countveil.randomness import Stream

Counts = NDArray[np.int64]

BATCH_SIZE = 1 << 16
# Tables with more rows than this get larger ranges, so that about this many values are in use.
VALUES_IN_USE = 1 << 26
_FEW_VALUES = 1024
_CHUNK_ROWS = 1 << 16
_HALF_OF_BYTES = 1 << 7
_TOO_MANY = "a block holds more rows of a value than were counted"


class Dealer:
    """Deals the published values of one sensitive column."""

    def __init__(self, table: PublishedTable, stream: Stream) -> None:
        self._table = table
        self._stream = stream
        ends = np.concatenate([[0], np.cumsum(table.counts)])[table.indptr]
        self._left = int(ends[-1])
        self._codes = table.values.astype(narrow_type(table.n_values))
        # Neighbouring true values share a range until it is large enough for its batches.
        enough = BATCH_SIZE * max(1, -(-self._left // VALUES_IN_USE))
        self._range_of = ends[:-1] // enough
        self._ranges: dict[int, _ValueRange] = {}

    @property
    def dtype(self) -> Any:
        """The type of published codes: the narrowest that numbers all values."""
        return self._codes.dtype

    @property
    def rows_left(self) -> int:
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

    def reserve(self, wanted: Counts) -> Reservation:
        """The published values of the next block, which has `wanted` rows of each true value."""
        before = np.cumsum(wanted) - wanted
        reservation = Reservation([], int(wanted.sum()), before, self.dtype)
        # The numbers rise, so equal ones are neighbours.
        numbers = self._range_of[np.flatnonzero(wanted)]
        for number in numbers[np.diff(numbers, prepend=-1) > 0].tolist():
            values = self._ranges.get(number) or self._open(number)
            here = slice(values.first, values.last)
            reservation.slices.extend(values.take(wanted[here], before[here]))
        self._left -= reservation.size
        return reservation

    def _open(self, number: int) -> _ValueRange:
        first, last = np.searchsorted(self._range_of, [number, number + 1]).tolist()
        cells = slice(self._table.indptr[first], self._table.indptr[last])
        owners = np.repeat(np.arange(last - first), np.diff(self._table.indptr[first : last + 1]))
        values = _ValueRange(first, last, self._table.counts[cells], owners, self._codes[cells])
        values.split(self._stream)
        self._ranges[number] = values
        return values


@dataclass(frozen=True, slots=True)
class _Slice:
    """What a block takes from one batch: for each owner, from where, how many, and where to."""

    batch: ShuffledBatch
    start: Counts
    count: Counts
    target: Counts


@dataclass(frozen=True, slots=True)
class Reservation:
    """The published values of one block."""

    slices: list[_Slice]
    size: int
    before: Counts
    dtype: Any

    def deal(self, codes: NDArray[Any]) -> NDArray[Any]:
        """The published code of each row, in the narrowest type."""
        by_value = np.empty(self.size, self.dtype)
        for taken in self.slices:
            values = taken.batch.values()
            if taken.count.size == 1:
                start, count, target = taken.start[0], taken.count[0], taken.target[0]
                by_value[target : target + count] = values[start : start + count]
                continue
            step = np.arange(int(taken.count.sum()))
            step -= np.repeat(np.cumsum(taken.count) - taken.count, taken.count)
            targets, starts = (np.repeat(at, taken.count) for at in (taken.target, taken.start))
            by_value[targets + step] = values[starts + step]
        if self.before.size > _FEW_VALUES:
            dealt = np.empty_like(by_value)
            dealt[np.argsort(codes, kind="stable")] = by_value
            return dealt
        return self._in_chunks(codes, by_value)

    def _in_chunks(self, codes: NDArray[Any], by_value: NDArray[Any]) -> NDArray[Any]:
        """Deal few rows at a time, so that their order stays in the cache."""
        dealt = np.empty_like(by_value)
        at = self.before.copy()
        for first in range(0, self.size, _CHUNK_ROWS):
            chunk = codes[first : first + _CHUNK_ROWS]
            end = at + np.bincount(chunk, minlength=at.size)
            bounds = zip(at.tolist(), end.tolist(), strict=True)
            here = dealt[first : first + _CHUNK_ROWS]
            here[np.argsort(chunk, kind="stable")] = np.concatenate(
                [by_value[a:b] for a, b in bounds]
            )
            at = end
        return dealt


class _ValueRange:
    """Neighbouring true values whose published values are in the same batches."""

    def __init__(
        self, first: int, last: int, counts: Counts, owners: Counts, codes: NDArray[Any]
    ) -> None:
        self.first, self.last = first, last
        self._counts, self._owners, self._codes = counts, owners, codes
        self._served = np.zeros(last - first, np.int64)
        self._batches: list[ShuffledBatch | None] = []
        # Per batch and owner, the values in the batches before.
        self._before = np.zeros((1, last - first), np.int64)
        # The same for a range of one owner, which is most of the work in large tables.
        self._edges: list[int] = []
        self._exhausted = 0

    def split(self, stream: Stream) -> None:
        """Send every published value to a batch."""
        n_owners = self.last - self.first
        n_batches = 1 << max(0, (int(self._counts.sum()) - 1) // BATCH_SIZE).bit_length()
        stream = stream.spawn()
        shares = _spread(self._counts, n_batches, stream)
        self._batches = [
            ShuffledBatch(share, self._owners, self._codes, n_owners, stream.spawn())
            for share in shares
        ]
        sizes = np.stack([np.bincount(self._owners, share, n_owners) for share in shares])
        totals = np.cumsum(sizes.astype(np.int64), axis=0)
        self._before = np.concatenate([self._before, totals])
        if n_owners == 1:
            self._edges = self._before[:, 0].tolist()

    def take(self, wanted: Counts, target: Counts) -> list[_Slice]:
        """The next values of each owner."""
        if len(self._edges):
            return self._take_alone(int(wanted[0]), int(target[0]))
        begin, end = self._served, self._served + wanted
        if np.any(end > self._before[-1]):
            raise ValueError(_TOO_MANY)
        # From each remaining batch, for each owner: from which value on, and how many.
        before, after = self._before[self._exhausted : -1], self._before[self._exhausted + 1 :]
        low = np.maximum(before, begin)
        count = np.minimum(after, end) - low
        taken = count > 0
        slices = []
        for line in np.flatnonzero(taken.any(axis=1)).tolist():
            batch = self._batches[self._exhausted + line]
            assert batch is not None  # noqa: S101 - only batches that are used up are dropped
            some = np.flatnonzero(taken[line])
            sizes = after[line] - before[line]
            start = np.cumsum(sizes) - sizes + low[line] - before[line]
            to = target + low[line] - begin
            slices.append(_Slice(batch, start[some], count[line, some], to[some]))
        self._served = end
        used_up = int(np.all(after <= end, axis=1).sum())
        for number in range(self._exhausted, self._exhausted + used_up):
            self._batches[number] = None
        self._exhausted += used_up
        return slices

    def _take_alone(self, wanted: int, target: int) -> list[_Slice]:
        begin = int(self._served[0])
        end = begin + wanted
        if end > self._edges[-1]:
            raise ValueError(_TOO_MANY)
        self._served[0] = end
        slices = []
        while begin < end:
            number = self._exhausted
            before, after = self._edges[number : number + 2]
            batch, last = self._batches[number], min(end, after)
            if batch is not None and last > begin:
                place = (begin - before, last - begin, target)
                slices.append(_Slice(batch, *(np.array([at]) for at in place)))
            target, begin = target + last - begin, last
            if last == after:
                self._batches[number] = None
                self._exhausted += 1
        return slices


class ShuffledBatch:
    """Published values of one owner or several, put in random order by one sort."""

    def __init__(
        self, counts: Counts, owners: Counts, codes: NDArray[Any], n_owners: int, stream: Stream
    ) -> None:
        self._counts, self._owners, self._codes = counts, owners, codes
        self._n_owners = n_owners
        self._stream = stream
        self._lock = threading.Lock()
        self._shuffled: NDArray[Any] | None = None

    def values(self) -> NDArray[Any]:
        """Published codes: the first owner's in random order, then the next one's."""
        with self._lock:
            if self._shuffled is None:
                self._shuffled = in_random_order(
                    self._counts, self._owners, self._codes, self._n_owners, self._stream
                )
            return self._shuffled


def in_random_order(
    counts: Counts, owners: Counts, codes: NDArray[Any], n_owners: int, stream: Stream
) -> NDArray[Any]:
    """All published codes; `owners` never falls from one cell to the next."""
    total, most = int(counts.sum()), int(np.bincount(owners, counts).max(initial=0))
    code_bits = int(codes.max(initial=0)).bit_length()
    owner_bits = max(n_owners - 1, 0).bit_length()
    # Half words sort in half the time; they serve as long as few values tie.
    narrow = 32 - code_bits - owner_bits >= most.bit_length() + 3
    dtype: Any = np.uint32 if narrow else np.uint64
    random_bits = 8 * np.dtype(dtype).itemsize - code_bits - owner_bits
    marks = codes.astype(dtype)
    if owner_bits:
        marks |= (owners << (random_bits + code_bits)).astype(dtype)
    # In place: arrays of this size would be allocated anew by the system for every step, which
    # costs as much as the step itself.
    words = stream.words(total, dtype)
    words &= dtype(((1 << random_bits) - 1) << code_bits)
    words |= np.repeat(marks, counts)
    words.sort()
    _reorder_ties(words, dtype(1 << code_bits), stream)
    words &= dtype((1 << code_bits) - 1)
    return words.astype(codes.dtype)


def _reorder_ties(words: NDArray[Any], differ: Any, stream: Stream) -> None:
    """Put words that differ by less than `differ`, in their codes alone, in random order."""
    again = np.flatnonzero(words[1:] ^ words[:-1] < differ)
    if not again.size:
        return
    if not np.any(np.diff(again) == 1):
        # Nearly always only pairs tie: a coin decides for each.
        first = again[stream.words(again.size, np.uint8) < _HALF_OF_BYTES]
        words[first], words[first + 1] = words[first + 1], words[first]
        return
    ties = np.zeros(words.size, np.bool_)
    ties[again] = ties[again + 1] = True
    places = np.flatnonzero(ties)
    tied = words[places] // differ
    while True:
        fresh = stream.words(places.size)
        order = np.lexsort((fresh, tied))
        if not np.any((np.diff(fresh[order]) == 0) & (np.diff(tied) == 0)):
            words[places] = words[places[order]]
            return


def _spread(counts: Counts, n_batches: int, stream: Stream) -> Counts:
    """How many values of each cell go to each batch, every value with equal chances.

    A fair coin for each value halves them, and halves each half: `n_batches` is a power of two.
    """
    shares = counts[None]
    while len(shares) < n_batches:
        heads = stream.heads(shares)
        shares = np.concatenate([heads, shares - heads])
    return shares


def narrow_type(n_values: int) -> Any:
    """The smallest unsigned type that numbers this many values."""
    return np.uint8 if n_values <= 1 << 8 else np.uint16 if n_values <= 1 << 16 else np.uint32
