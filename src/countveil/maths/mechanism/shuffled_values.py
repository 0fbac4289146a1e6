"""Published values in random order, shuffled when they are first needed.

Enters: cells of Y (how often a true value publishes a value), the true value that owns each cell, a
stream. Leaves: for each owner, its published values in uniformly random order. Must not know: rows,
blocks.

Each published value becomes a word: its owner, random bits, the published code. Sorting the words
puts each owner's values in random order. Values of one owner whose random bits tie are ordered once
more, by fresh bits, among themselves: a tie carries no information, so every order is exactly as
likely as any other.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countveil.randomness import Stream

Cells = NDArray[np.int64]

_HALF_OF_BYTES = 1 << 7


class ShuffledBatch:
    """Published values of one owner or several, put in random order by one sort."""

    def __init__(
        self, counts: Cells, owners: Cells, codes: NDArray[Any], n_owners: int, stream: Stream
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
                self._shuffled = _in_random_order(
                    self._counts, self._owners, self._codes, self._n_owners, self._stream
                )
            return self._shuffled


def _in_random_order(
    counts: Cells, owners: Cells, codes: NDArray[Any], n_owners: int, stream: Stream
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
    places = np.unique(np.concatenate([again, again + 1]))
    tied = words[places] // differ
    while True:
        fresh = stream.words(places.size)
        order = np.lexsort((fresh, tied))
        if not np.any((np.diff(fresh[order]) == 0) & (np.diff(tied) == 0)):
            words[places] = words[places[order]]
            return
