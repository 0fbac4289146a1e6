"""Several columns as one: the combinations of their values that occur, each with a number.

Enters: for every row, the place of its value in each column. Leaves: the vectors that occur, with
their counts, and the number of each row's vector. Must not know: names, values, draws.

A vector is known by one whole number, its key: the places as digits, each column's number of values
as the base. Memory grows with the vectors that occur, never with the product of the columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countveil.errors import InputError

Places = NDArray[np.int64]

_MOST_KEYS = 1 << 62
_TOGETHER = 1 << 20


@dataclass(frozen=True, slots=True)
class Vectors:
    """The vectors that occur, in the order of their keys; `sizes` are the columns' bases."""

    sizes: tuple[int, ...]
    keys: Places
    counts: Places

    def only(self, chosen: NDArray[np.bool_]) -> Vectors:
        """Some of them."""
        return Vectors(self.sizes, self.keys[chosen], self.counts[chosen])

    @property
    def columns(self) -> list[Places]:
        """For each column, the place of every vector's value."""
        return [place.astype(np.int64) for place in np.unravel_index(self.keys, self.sizes)]

    def numbers(self, places: Sequence[NDArray[Any]]) -> Places:
        """The number of each row's vector; -1 where no counted row had it."""
        keys = vector_keys(places, self.sizes)
        at = np.searchsorted(self.keys, keys)
        at = np.minimum(at, self.keys.size - 1)
        numbers: Places = np.where(self.keys[at] == keys, at, -1)
        return numbers


class VectorSurvey:
    """Counts vectors batch by batch."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self._sizes = tuple(sizes)
        product = 1
        for size in self._sizes:
            product *= max(1, size)
        if product > _MOST_KEYS:
            raise InputError(
                f"The columns to publish together have {product:.3g} combinations of values, more "
                f"than can be numbered. Merge rare values, or put fewer columns together."
            )
        self._keys = np.zeros(0, np.int64)
        self._counts = np.zeros(0, np.int64)
        self._added: list[tuple[Places, Places]] = []
        self._n_added = 0

    def add(self, places: Sequence[NDArray[Any]]) -> None:
        """Take some rows into account."""
        keys, counts = np.unique(vector_keys(places, self._sizes), return_counts=True)
        self._added.append((keys, counts))
        self._n_added += keys.size
        if self._n_added > max(_TOGETHER, self._keys.size):
            self._merge()

    def vectors(self) -> Vectors:
        """What was added."""
        self._merge()
        return Vectors(self._sizes, self._keys, self._counts)

    def _merge(self) -> None:
        merged = np.concatenate([self._keys, *(keys for keys, _ in self._added)])
        weights = np.concatenate([self._counts, *(counts for _, counts in self._added)])
        self._keys, place = np.unique(merged, return_inverse=True)
        self._counts = np.bincount(place, weights, self._keys.size).astype(np.int64)
        self._added, self._n_added = [], 0


def vector_keys(places: Sequence[NDArray[Any]], sizes: Sequence[int]) -> Places:
    """The key of each row's vector."""
    keys = np.zeros(places[0].size, np.int64)
    for place, size in zip(places, sizes, strict=True):
        keys *= max(1, size)
        keys += place
    return keys
