"""The tickets of some values in random order, made when they are first wanted.

Enters: how many tickets of each cell there are, whom each cell belongs to, a stream. Leaves: per
owner, what its tickets say, in uniformly random order. Must not know: rows, blocks.

A ticket is a word: its owner, random bits, its cell. Sorting the words puts each owner's tickets in
random order. Tickets of one owner whose random bits are equal are put in order once more, by fresh
bits, among themselves: keys that tie are as good as none, so every order is as likely, exactly.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countveil.randomness import Stream

Cells = NDArray[np.int64]


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
                cells = _in_random_order(self._counts, self._owners, self._n_owners, self._stream)
                self._tickets = self._says.take(cells)
            return self._tickets


def _in_random_order(counts: Cells, owners: Cells, n_owners: int, stream: Stream) -> NDArray[Any]:
    """The cell of each ticket; `owners` never falls from one cell to the next."""
    total, most = int(counts.sum()), int(np.bincount(owners, counts).max(initial=0))
    cell_bits, owner_bits = (max(n - 1, 0).bit_length() for n in (counts.size, n_owners))
    # Half words sort in half the time; they serve as long as few tickets tie.
    narrow = 32 - cell_bits - owner_bits >= most.bit_length() + 3
    dtype: Any = np.uint32 if narrow else np.uint64
    random_bits = 8 * np.dtype(dtype).itemsize - cell_bits - owner_bits
    marks = np.arange(counts.size, dtype=dtype)
    marks |= (owners << (random_bits + cell_bits)).astype(dtype) if owner_bits else dtype(0)
    words = stream.words(total, dtype) >> dtype(owner_bits + cell_bits) << dtype(cell_bits)
    words |= np.repeat(marks, counts)
    words.sort()
    _reorder_ties(words, dtype(cell_bits), stream)
    cells: NDArray[Any] = words & dtype((1 << cell_bits) - 1)
    return cells


def _reorder_ties(words: NDArray[Any], cell_bits: Any, stream: Stream) -> None:
    """Put words that differ in nothing but their cells in random order among themselves."""
    keys = words >> cell_bits
    again = np.flatnonzero(keys[1:] == keys[:-1])
    if not again.size:
        return
    places = np.unique(np.concatenate([again, again + 1]))
    tied = keys[places]
    while True:
        fresh = stream.words(places.size)
        order = np.lexsort((fresh, tied))
        if not np.any((np.diff(fresh[order]) == 0) & (np.diff(tied) == 0)):
            words[places] = words[places[order]]
            return
