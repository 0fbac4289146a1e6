"""Trial publications: how far off the default estimate is, by the size of the count.

Enters: the histogram of a sensitive column, the codes of some rows, predicates over them, ell, a
stream. Leaves: true counts and estimates of every predicate and value. Must not know: files.

Groups, draws and the dealing are those of a publication. Only the predicates' rows matter, so no
release is written. Of a table that is larger than the rows at hand, every predicate represents
one of the whole table: a share p[u] of the people with u meets it, as in the sample. The
groups and the table Y are drawn for the whole histogram, and what the x = p f rows publish is drawn
from Y's rows as normal numbers, with mean and variance of drawing without replacement; with so many
rows that is as good as dealing them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from countveil.maths.channel import view_of_release
from countveil.maths.channel.common import frequent_values
from countveil.maths.estimate import shrunk_counts
from countveil.maths.groups import ColumnSettings, form_groups
from countveil.maths.mechanism import Dealer, PublishedTable, draw_published
from countveil.randomness import Stream

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]

# The error at a size is measured on cells within this factor of it, up and down.
_AROUND = 2**0.5
_LEAST_CELLS, _MANY_CELLS = 5, 200
# Counts are hidden while half of the answers are off by more than this.
OFF, HALF = 0.3, 0.5
_BIN_GROWTH, _BIN_CELLS = 1.25, 100


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
        """x[p, v]: rows of the table that meet p and have v; estimated if the rows are a sample."""
        x = self._tallies(self.codes)
        if not self.sampled:
            return x
        sampled = np.bincount(self.codes, minlength=self.counts.size)
        return x * (self.counts / np.maximum(sampled, 1))

    def published(self, drawn: PublishedTable, true: Floats, stream: Stream) -> Floats:
        """y[p, v]: how many rows of p publish v."""
        if not self.sampled:
            return self._tallies(Dealer(drawn, stream).deal(self.codes))
        return normal_tallies(drawn, self.counts, true, stream)

    def _tallies(self, codes: NDArray[np.integer]) -> Floats:
        size = self.counts.size
        tallies = [np.bincount(codes[rows], minlength=size) for rows in self.predicates]
        return np.array(tallies, np.float64).reshape(len(tallies), size)


@dataclass(frozen=True, slots=True)
class Trial:
    """True counts of all cells (predicate, value), and their estimates in each release.

    `more` are further releases of the predicates with one of the few cells of a size in question.
    """

    rows: int
    true: Floats
    estimates: Floats
    more: Trial | None = None

    def error_at(self, share: float) -> tuple[float | None, int]:
        """The mean relative error of counts of this share, and how many predicates it is from."""
        near = self.near(share)
        predicates = int(near.any(axis=1).sum())
        cells = np.count_nonzero(near)
        if cells < _LEAST_CELLS:
            return None, predicates
        if cells < _MANY_CELLS and self.more is not None:
            return self.more.error_at(share)
        true = self.true[near]
        return float((np.abs(self.estimates[:, near] - true) / true).mean()), predicates

    def near(self, share: float) -> NDArray[np.bool_]:
        """The cells whose count is about this share of the table."""
        size = share * self.rows
        return (self.true >= size / _AROUND) & (self.true < size * _AROUND)

    def hidden_up_to(self) -> int | None:
        """The largest count such that, up to it, half of the answers are off by more than 30%.

        Counts of about the same size are looked at together, from the smallest that there are, so
        many that chance decides little.
        """
        order = np.argsort(self.true, axis=None)
        true = self.true.ravel()[order]
        estimates = self.estimates.reshape(self.estimates.shape[0], -1)[:, order]
        first = int(np.searchsorted(true, 1))
        largest = None
        while true.size - first >= _BIN_CELLS:
            most = max(true[first + _BIN_CELLS - 1], np.floor(true[first] * _BIN_GROWTH))
            last = int(np.searchsorted(true, most, side="right"))
            off = np.abs(estimates[:, first:last] - true[first:last]) > OFF * true[first:last]
            if off.mean() < HALF:
                return 0 if largest is None else largest
            largest, first = int(most), last
        return largest


@dataclass(frozen=True, slots=True)
class Groups:
    """How a column is published; the values `common`, by number, may repeat in a group.

    `gamma` is the chance that a row first took any of the values at random.
    """

    settings: ColumnSettings
    common: tuple[int, ...]
    draw: Callable[[Stream], PublishedTable]
    gamma: float = 0.0

    @classmethod
    def of(
        cls, counts: Codes, settings: ColumnSettings, common: tuple[int, ...], stream: Stream
    ) -> Groups:
        """Groups that serve for many draws; random ones are drawn anew every time."""
        if settings.odds is not None:
            return cls._after_noise(counts, settings, stream)
        if settings.groups == "random":
            from countveil.maths.mechanism.random_groups import draw_random_groups

            return cls(
                settings, (), lambda s: draw_random_groups(counts, settings.ell, s.task_key())
            )
        groups = form_groups(counts, settings, stream, common=common)
        return cls(settings, common, lambda s: draw_published(groups, s))

    @classmethod
    def _after_noise(cls, counts: Codes, settings: ColumnSettings, stream: Stream) -> Groups:
        """One draw of the noise; groups, and which values are common, follow from what it left."""
        # Loaded only where odds are bounded.
        from countveil.maths.mechanism.noise import after_noise, draw_noise
        from countveil.publishing.bounded_odds import gamma_of

        gamma = gamma_of(settings, counts.size)
        noise = draw_noise(counts, gamma, stream)
        noised = noise.published()
        common = tuple(frequent_values(noised, settings.ell)) if settings.common_auto else ()
        inner = cls.of(noised, replace(settings, odds=None), common, stream)
        return cls(settings, common, lambda s: after_noise(noise, inner.draw(s), s), gamma)


def try_out(
    task: Task,
    ell: int,
    releases: int,
    shares: Sequence[float],
    stream: Stream,
    more: int = 5,
    settings: ColumnSettings | None = None,
    common: tuple[int, ...] = (),
) -> Trial:
    """Publish and estimate several times, with the same groups, for counts of these shares.

    Groups are balanced so well that others would make no difference, and forming them takes long.
    Where few cells have a size, their predicates are published `more` times as often. Without
    `settings` groups are mixed; the values `common`, by number, may repeat in them.
    """
    groups = Groups.of(task.counts, settings or ColumnSettings(ell), common, stream)
    trial = _estimated(task, groups, releases, stream)
    few = np.zeros(len(task.predicates), bool)
    for share in shares:
        near = trial.near(share)
        if np.count_nonzero(near) < _MANY_CELLS:
            few |= near.any(axis=1)
    if not few.any():
        return trial
    chosen = [task.predicates[place] for place in np.flatnonzero(few).tolist()]
    some = Task(task.counts, task.codes, chosen)
    return replace(trial, more=_estimated(some, groups, more * releases, stream))


def _estimated(task: Task, groups: Groups, releases: int, stream: Stream) -> Trial:
    true, estimates, chosen = task.true_counts(), [], groups.settings
    for _ in range(releases):
        drawn = groups.draw(stream)
        noise = (groups.gamma, task.counts.size) if groups.gamma else None
        view = view_of_release(
            drawn.published(), task.rows, chosen.ell, chosen.groups, groups.common, noise
        )
        estimates.append(shrunk_counts(task.published(drawn, true, stream), [view]))
    return Trial(task.rows, true, np.array(estimates))


def normal_tallies(drawn: PublishedTable, counts: Codes, true: Floats, stream: Stream) -> Floats:
    """y[p, v] for predicates that true[p, u] of the counts[u] rows meet, as normal numbers."""
    shares = np.zeros((counts.size, counts.size))
    true_values = np.repeat(np.arange(counts.size), np.diff(drawn.indptr))
    shares[true_values, drawn.values] = drawn.counts
    known = np.maximum(counts, 1)
    shares /= known[:, None]
    mean = true @ shares
    variance = (true * np.maximum(1 - true / known, 0.0)) @ (shares * (1 - shares))
    moved = np.sqrt(variance) * _normal(mean.shape, stream)
    # The published counts add up to the rows of the predicate.
    weight = variance / np.maximum(variance.sum(axis=1, keepdims=True), 1e-300)
    moved -= moved.sum(axis=1, keepdims=True) * weight
    return np.maximum(mean + moved, 0.0)


def _normal(shape: tuple[int, ...], stream: Stream) -> Floats:
    """Standard normal numbers (Box and Muller)."""
    size = int(np.prod(shape))
    radius = np.sqrt(-2 * np.log1p(-stream.uniform(size)))
    normal: Floats = (radius * np.cos(2 * np.pi * stream.uniform(size))).reshape(shape)
    return normal
