"""How many rows with true value u publish v: the table Y, drawn from the groups.

Enters: counts and settings, or group templates; streams. Leaves: Y, sparse. Must not know: rows.

Every row publishes one of its group's values, each with probability exactly one over the size of
the group. Which row of a value is in which group does not matter for the totals, so they are drawn
for each template and each of its values at once. Nothing goes through floating point: the choices
are uniform integers, one per row, or, where a template occurs many times, fair coins that are only
counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from countveil.maths.channel import Templates
from countveil.maths.groups import ColumnSettings, form_groups
from countveil.randomness import Stream

CHUNK = 1 << 20
_OFTEN = 16
DENSE_CELLS = 1 << 22


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """Y by rows: true value u publishes `values[i]` for `counts[i]` rows, i in its range."""

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


def draw_column(
    counts: NDArray[np.int64],
    settings: ColumnSettings,
    streams: tuple[Stream, Stream],
    common: Sequence[int] = (),
    progress: Callable[[float], None] = lambda _share: None,
) -> PublishedTable:
    """Draw Y for a column with these settings; the streams are for the groups and for the draw.

    `common` values, by number, may fill several places of a group.
    """
    if settings.groups == "random":
        # Loaded only where groups are random.
        from countveil.maths.mechanism.random_groups import draw_random_groups

        return draw_random_groups(counts, settings.ell, streams[1].task_key(), progress)
    groups = form_groups(counts, settings, streams[0], progress, common)
    return draw_published(groups, streams[1])


def draw_published(groups: Templates, stream: Stream) -> PublishedTable:
    """Draw Y for these groups."""
    n_values = groups.n_values
    tally = Tally(n_values)
    for size in np.flatnonzero(np.bincount(groups.sizes)).tolist():
        chosen = groups.sizes == size
        starts = groups.indptr[:-1][chosen]
        templates = groups.members[starts[:, None] + np.arange(size)]
        multiplicity = groups.multiplicity[chosen]
        often = multiplicity >= _OFTEN
        many, times = templates[often], multiplicity[often]
        step = max(1, CHUNK // (size * size))
        for first in range(0, times.size, step):
            members = many[first : first + step]
            pairs = members[:, :, None] * n_values + members[:, None, :]
            counts = stream.tallies(size, np.repeat(times[first : first + step], size))
            tally.add_counts(pairs.ravel(), counts.ravel())
        flat = templates[~often].ravel()
        for starts, places in _members(multiplicity[~often], size):
            published = flat.take(starts + stream.below(size, starts.size))
            tally.add(flat.take(starts + places) * n_values + published)
    return tally.table()


def _members(
    multiplicity: NDArray[np.int64], size: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Where its template starts and its place in it, for every row, about `CHUNK` at a time."""
    ends = np.cumsum(multiplicity * size)
    first = 0
    while first < multiplicity.size:
        start = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, start + CHUNK, side="right")))
        starts = np.repeat(np.arange(first, last) * size, multiplicity[first:last] * size)
        yield starts, np.tile(np.arange(size), starts.size // size)
        first = last


class Tally:
    """Counts of (true, published) pairs: a plain array for small domains, otherwise sorted keys."""

    def __init__(self, n_values: int) -> None:
        self._n_values = n_values
        dense = n_values * n_values <= DENSE_CELLS
        self._dense = np.zeros(n_values * n_values, np.int64) if dense else None
        self._keys = np.zeros(0, np.int64)
        self._counts = np.zeros(0, np.int64)
        self._unmerged: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
        self._n_unmerged = 0

    def add(self, keys: NDArray[np.int64]) -> None:
        if self._dense is not None:
            self._dense += np.bincount(keys, minlength=self._dense.size)
            return
        self.add_counts(*np.unique(keys, return_counts=True))

    def add_counts(self, keys: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
        if self._dense is not None:
            np.add.at(self._dense, keys, counts)
            return
        self._unmerged.append((keys[counts > 0], counts[counts > 0]))
        self._n_unmerged += keys.size
        if self._n_unmerged > self._keys.size + CHUNK:
            self._merge()

    def _merge(self) -> None:
        merged = np.concatenate([self._keys, *(keys for keys, _ in self._unmerged)])
        weights = np.concatenate([self._counts, *(counts for _, counts in self._unmerged)])
        self._unmerged, self._n_unmerged = [], 0
        self._keys, inverse = np.unique(merged, return_inverse=True)
        self._counts = np.zeros(self._keys.size, np.int64)
        np.add.at(self._counts, inverse, weights)

    def table(self) -> PublishedTable:
        if self._dense is not None:
            self._keys = np.flatnonzero(self._dense)
            self._counts = self._dense[self._keys]
        else:
            self._merge()
        rows, columns = np.divmod(self._keys, self._n_values)
        indptr = np.searchsorted(rows, np.arange(self._n_values + 1)).astype(np.int64)
        return PublishedTable(indptr, columns, self._counts)
