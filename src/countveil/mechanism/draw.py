"""How many tuples with true value u publish v: the table Y, drawn from the groups.

Enters: group templates, a stream. Leaves: Y, sparse. Must not know: rows.

Every tuple publishes one of its group's values, each with probability exactly one over the size of
the group. Which tuple of a value sits in which group does not matter for the totals, so they are
drawn for each template and each of its values at once. The choices are uniform integers, made one
per tuple, in chunks: nothing goes through floating point.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from countveil.channel import Templates
from countveil.randomness import Stream

_CHUNK = 1 << 22
_DENSE_CELLS = 1 << 22


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """Y by rows: true value u publishes `values[i]` for `counts[i]` tuples, i in its range."""

    indptr: NDArray[np.int64]
    values: NDArray[np.int64]
    counts: NDArray[np.int64]

    @property
    def n_values(self) -> int:
        """Size of the domain."""
        return self.indptr.size - 1

    def published(self) -> NDArray[np.int64]:
        """The published histogram, g."""
        totals = np.zeros(self.n_values, np.int64)
        np.add.at(totals, self.values, self.counts)
        return totals


def draw_published(groups: Templates, stream: Stream) -> PublishedTable:
    """Draw Y for a groups."""
    n_values = groups.n_values
    tally = _Tally(n_values)
    for size in np.unique(groups.sizes).tolist():
        chosen = groups.sizes == size
        starts = groups.indptr[:-1][chosen]
        templates = groups.members[starts[:, None] + np.arange(size)]
        for rows, columns in _tuples(groups.multiplicity[chosen], size):
            true = templates[rows, columns]
            published = templates[rows, stream.below(size, rows.size)]
            tally.add(true * n_values + published)
    return tally.table()


def _tuples(
    multiplicity: NDArray[np.int64], size: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """The (template, place) of every tuple, at most about `_CHUNK` at a time."""
    ends = np.cumsum(np.repeat(multiplicity, size))
    total = int(ends[-1])
    for first in range(0, total, _CHUNK):
        tuples = np.arange(first, min(first + _CHUNK, total))
        entries = np.searchsorted(ends, tuples, side="right")
        yield entries // size, entries % size


class _Tally:
    """Counts of (true, published) pairs: a plain array for small domains, sorted keys else."""

    def __init__(self, n_values: int) -> None:
        self._n_values = n_values
        dense = n_values * n_values <= _DENSE_CELLS
        self._dense = np.zeros(n_values * n_values, np.int64) if dense else None
        self._keys = np.zeros(0, np.int64)
        self._counts = np.zeros(0, np.int64)

    def add(self, keys: NDArray[np.int64]) -> None:
        if self._dense is not None:
            self._dense += np.bincount(keys, minlength=self._dense.size)
            return
        keys, counts = np.unique(keys, return_counts=True)
        merged = np.concatenate([self._keys, keys])
        weights = np.concatenate([self._counts, counts])
        self._keys, inverse = np.unique(merged, return_inverse=True)
        self._counts = np.zeros(self._keys.size, np.int64)
        np.add.at(self._counts, inverse, weights)

    def table(self) -> PublishedTable:
        if self._dense is not None:
            self._keys = np.flatnonzero(self._dense)
            self._counts = self._dense[self._keys]
        rows, columns = np.divmod(self._keys, self._n_values)
        indptr = np.searchsorted(rows, np.arange(self._n_values + 1)).astype(np.int64)
        return PublishedTable(indptr, columns, self._counts)
