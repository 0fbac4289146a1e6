"""The tickets of some values in random order, made when they are first wanted.

Enters: how many tickets of each cell there are, whom each cell belongs to, a stream. Leaves: per
owner, what its tickets say, in uniformly random order. Must not know: rows, blocks.

A ticket is a word: its owner, random bits, what it says. Sorting the words puts each owner's
tickets in random order. Tickets of one owner whose random bits are equal are put in order once
more, by fresh bits, among themselves: keys that tie are as good as none, so every order is as
likely, exactly.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countveil.randomness import Stream

Cells = NDArray[np.int64]

_HALF_OF_BYTES = 1 << 7


class Part:
    """Tickets of one owner or several, which one sort puts in order."""

    def __init__(
        self, counts: Cells, owners: Cells, says: NDArray[Any], n_owners: int, stream: Stream
    ) -> None:
        self._counts, self._owners, self._says = counts, owners, says
        self._n_owners = n_owners
        self._stream = stream
        self._lock = threading.Lock()
        self._tickets: NDArray[Any] | None = None

    def tickets(self) -> NDArray[Any]:
        """What the tickets say: the first owner's in random order, then the next one's."""
        with self._lock:
            if self._tickets is None:
                self._tickets = _in_random_order(
                    self._counts, self._owners, self._says, self._n_owners, self._stream
                )
            return self._tickets


def _in_random_order(
    counts: Cells, owners: Cells, says: NDArray[Any], n_owners: int, stream: Stream
) -> NDArray[Any]:
    """What each ticket says; `owners` never falls from one cell to the next."""
    total, most = int(counts.sum()), int(np.bincount(owners, counts).max(initial=0))
    say_bits = int(says.max(initial=0)).bit_length()
    owner_bits = max(n_owners - 1, 0).bit_length()
    # Half words sort in half the time; they serve as long as few tickets tie.
    narrow = 32 - say_bits - owner_bits >= most.bit_length() + 3
    dtype: Any = np.uint32 if narrow else np.uint64
    random_bits = 8 * np.dtype(dtype).itemsize - say_bits - owner_bits
    marks = says.astype(dtype)
    if owner_bits:
        marks |= (owners << (random_bits + say_bits)).astype(dtype)
    # In place: these arrays are just large enough that the system would hand out new ones each
    # time, which costs as much as what is done to them.
    words = stream.words(total, dtype)
    words &= dtype(((1 << random_bits) - 1) << say_bits)
    words |= np.repeat(marks, counts)
    words.sort()
    _reorder_ties(words, dtype(1 << say_bits), stream)
    words &= dtype((1 << say_bits) - 1)
    return words.astype(says.dtype)


def _reorder_ties(words: NDArray[Any], differ: Any, stream: Stream) -> None:
    """Put words that differ by less than `differ`, in what they say, in random order."""
    again = np.flatnonzero(words[1:] ^ words[:-1] < differ)
    if not again.size:
        return
    if not np.any(np.diff(again) == 1):
        # Nearly always only pairs tie: for each a coin decides.
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
