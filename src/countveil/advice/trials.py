"""Publishing tried out: how far off the default estimate is, by the size of the count.

Enters: the histogram of a sensitive column, the codes of some rows, predicates over them, ell, a
stream. Leaves: true counts and estimates of every predicate and value. Must not know: files.

Groups, draws and the dealing are those of a publication. Only the predicates' rows matter, so no
release is written. Of a table that is larger than the rows at hand, every predicate stands for one
of the whole table: a share p[u] of the people with u meets it, the one seen in the sample. The
groups and the table Y are drawn for the whole histogram, and what the x = p f rows publish is drawn
from Y's rows as normal numbers, with mean and variance of drawing without replacement; with so many
rows that is as good as dealing them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from countveil.channel import keep_probability, view_of_release
from countveil.decoys import ColumnSettings, form_groups
from countveil.estimate import shrunk_counts, unbiased_variance
from countveil.mechanism import Dealer, PublishedTable, draw_published
from countveil.randomness import Stream

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]

# Cells within this factor of a size, up and down, tell the error at that size.
_AROUND = 2**0.5
_LEAST_CELLS, _MANY_CELLS, _FURTHER = 5, 400, 4.0
# Counts are hidden while half of the answers are off by more than this.
OFF, HALF = 0.3, 0.5
_BIN_GROWTH, _BIN_CELLS = 1.3, 20


@dataclass(frozen=True, slots=True)
class Task:
    """A column to try out: the whole histogram, and the value and predicates of some rows."""

    counts: Codes
    codes: Codes
    predicates: Sequence[Codes]

    @property
    def rows(self) -> int:
        """Rows of the whole table."""
        return int(self.counts.sum())

    @property
    def sampled(self) -> bool:
        """Whether the rows at hand are only some of them."""
        return self.codes.size < self.rows

    def true_counts(self) -> Floats:
        """x[p, v]: rows of the table that meet p and have v; estimated if the rows are some."""
        x = self._tallies(self.codes)
        if not self.sampled:
            return x
        seen = np.bincount(self.codes, minlength=self.counts.size)
        return x * (self.counts / np.maximum(seen, 1))

    def published(self, drawn: PublishedTable, true: Floats, stream: Stream) -> Floats:
        """y[p, v]: how many rows of p publish v."""
        if not self.sampled:
            return self._tallies(Dealer(drawn, stream).deal(self.codes))
        return normal_tallies(drawn, self.counts, true, stream)

    def _tallies(self, codes: NDArray[np.integer]) -> Floats:
        size = self.counts.size
        found = [np.bincount(codes[rows], minlength=size) for rows in self.predicates]
        return np.array(found, np.float64).reshape(len(found), size)


@dataclass(frozen=True, slots=True)
class Tried:
    """True counts of all cells (predicate, value), and their estimates in each release.

    `std_errors` are those of the unbiased estimate.
    """

    rows: int
    true: Floats
    estimates: Floats
    std_errors: Floats

    def error_at(self, share: float) -> tuple[float | None, int]:
        """The mean relative error of counts of this share, and how many predicates it rests on.

        Few cells of a size tell little about its mean, even in several releases. Then how large
        errors are beside the standard errors of the unbiased estimate is taken from more cells, up
        to four times smaller or larger, and only the standard errors from those of the size.
        """
        near = self._around(share, _AROUND)
        predicates = int(near.any(axis=1).sum())
        cells = np.count_nonzero(near)
        if cells < _LEAST_CELLS:
            return None, predicates
        if cells >= _MANY_CELLS:
            return float(self._relative_errors(near).mean()), predicates
        wide = self._around(share, _FURTHER)
        beside = self._relative_errors(wide).mean() / self._standard_errors(wide).mean()
        return float(beside * self._standard_errors(near).mean()), predicates

    def _around(self, share: float, factor: float) -> NDArray[np.bool_]:
        wished = share * self.rows
        return (self.true >= wished / factor) & (self.true < wished * factor)

    def _relative_errors(self, cells: NDArray[np.bool_]) -> Floats:
        true = self.true[cells]
        found: Floats = np.abs(self.estimates[:, cells] - true) / true
        return found

    def _standard_errors(self, cells: NDArray[np.bool_]) -> Floats:
        # No estimate that is kept between nothing and all is off by much more.
        found: Floats = np.minimum(self.std_errors[cells] / self.true[cells], 1.0)
        return found

    def hidden_up_to(self) -> int | None:
        """The largest count such that, up to it, half of the answers are off by more than 30%.

        Counts of about the same size are looked at together, from the smallest that there are.
        """
        largest, low = None, 1.0
        while low <= self.true.max(initial=0):
            high = max(low + 1, np.floor(low * _BIN_GROWTH))
            inside = (self.true >= low) & (self.true < high)
            if np.count_nonzero(inside) >= _BIN_CELLS:
                true = self.true[inside]
                off = np.abs(self.estimates[:, inside] - true) > OFF * true
                if off.mean() < HALF:
                    return 0 if largest is None else largest
                largest = int(high) - 1
            low = high
        return largest


def try_out(task: Task, ell: int, releases: int, stream: Stream) -> Tried:
    """Publish and estimate so many times, with the same groups.

    Groups are balanced so well that others would make no difference; forming them takes longest.
    """
    true, rows = task.true_counts(), task.rows
    groups = form_groups(task.counts, ColumnSettings(ell), stream)
    estimates = []
    for _ in range(releases):
        drawn = draw_published(groups, stream)
        view = view_of_release(drawn.published(), rows, ell, "mixed")
        estimates.append(shrunk_counts(task.published(drawn, true, stream), [view]))
    known, sizes = task.counts.astype(np.float64), true.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        # Infinite for a value in every group: nobody can tell it from the others.
        variance = unbiased_variance(true, sizes, known, rows, keep_probability(rows, ell))
    errors = np.sqrt(np.where(np.isnan(variance), np.inf, np.maximum(variance, 0.0)))
    return Tried(rows, true, np.array(estimates), errors)


def normal_tallies(drawn: PublishedTable, counts: Codes, true: Floats, stream: Stream) -> Floats:
    """y[p, v] for predicates that true[p, u] of the counts[u] rows meet, as normal numbers."""
    told = np.zeros((counts.size, counts.size))
    owners = np.repeat(np.arange(counts.size), np.diff(drawn.indptr))
    told[owners, drawn.values] = drawn.counts
    known = np.maximum(counts, 1)
    told /= known[:, None]
    mean = true @ told
    variance = (true * np.maximum(1 - true / known, 0.0)) @ (told * (1 - told))
    moved = np.sqrt(variance) * _normal(mean.shape, stream)
    # What is published adds up to the rows of the predicate.
    weight = variance / np.maximum(variance.sum(axis=1, keepdims=True), 1e-300)
    moved -= moved.sum(axis=1, keepdims=True) * weight
    return np.maximum(mean + moved, 0.0)


def _normal(shape: tuple[int, ...], stream: Stream) -> Floats:
    """Standard normal numbers (Box and Muller)."""
    size = int(np.prod(shape))
    radius = np.sqrt(-2 * np.log1p(-stream.uniform(size)))
    found: Floats = (radius * np.cos(2 * np.pi * stream.uniform(size))).reshape(shape)
    return found
