"""Averages over the rows with one true value: their variance at every supposed average.

Enters: two totals over the same value, shrunk counts. Leaves: variances of top - R bottom, which
are quadratic in R. Must not know: SQL, intervals. Theory: docs/theory/estimates.md, "Averages and
shares".

With t and u the numbers that the two totals sum (u is 1 where the bottom is a count), top - R
bottom is the unbiased sum of t - R u over the rows with the value. At the true R that sum is 0, so
all rows of P together tell its variance: their sums of t^2, t u and u^2 are known, and only how the
rows with the value are spread is not. The variance that published rows show is noisier, and may be
nothing where hardly a row publishes the value.

**A bottom that came out large by chance** did so by rows without the value, whose mean is that of
P. They pull the ratio towards it, by their share of the published rows. How many they are is not
known; the shrunk count says how many are likely.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from countveil.maths.channel import ChannelView
from countveil.maths.estimate.methods import single_cells
from countveil.maths.estimate.ratios import PairVariance, Supposed
from countveil.maths.estimate.totals import NEVER, Tallies, Total

Floats = NDArray[np.float64]

# Of what the bottom exceeds the shrunk count by, squared, as much is counted as chance: measured.
_LIKELY = 0.6


def average_variance(
    top: Total, bottom: Total, moment: int, shrunk: Callable[[int], Floats]
) -> Supposed | None:
    """What is known beside the variance that published rows show.

    `moment` sums the product of both arguments; `shrunk` gives shrunk counts under a condition.
    None if the totals are not about one value of one column, drawn at once.
    """
    tallies = top.tallies
    one, two = single_cells(top), single_cells(bottom)
    if len(tallies.views) != 1 or tallies.in_batches or tallies.blocks is not None:
        return None
    if one is None or two is None or one.complement or two.complement:
        return None
    if not np.array_equal(one.place, two.place):
        return None
    numbers = np.zeros((7, tallies.n_groups, one.place.size))
    pairs = np.stack([one.condition, two.condition], axis=1)
    for pair in np.unique(pairs, axis=0):
        cells = np.flatnonzero((pairs == pair).all(axis=1))
        if NEVER not in pair:
            sums = _Sums.of(tallies, (top, int(pair[0])), (bottom, int(pair[1])), moment)
            variances = sums.variances(tallies.views[0], shrunk(int(pair[1])))
            numbers[:, :, cells] = variances[:, :, one.place[cells]]
    supposed = PairVariance(numbers[0] + top.misfit**2, numbers[1], numbers[2] + bottom.misfit**2)
    return Supposed(supposed, PairVariance(*numbers[3:6]), numbers[6])


@dataclass(frozen=True)
class _Sums:
    """By group and published value: rows, sums of t and u, of t^2, t u and u^2."""

    rows: Floats
    top: Floats
    bottom: Floats
    top_squared: Floats
    product: Floats
    bottom_squared: Floats

    @classmethod
    def of(
        cls, tallies: Tallies, top: tuple[Total, int], bottom: tuple[Total, int], moment: int
    ) -> _Sums:
        above, below = tallies.holds(top[1]), tallies.holds(bottom[1])

        def summed(number: int, patterns: NDArray[np.bool_]) -> Floats:
            return np.asarray(tallies.moments[number][:, patterns].sum(axis=1))

        return cls(
            summed(0, below),
            summed(top[0].moment, above),
            summed(bottom[0].moment, below),
            summed(_squares(top[0]), above),
            summed(moment, above & below),
            summed(_squares(bottom[0]), below),
        )

    def arrays(self) -> tuple[Floats, ...]:
        """In order."""
        return (
            self.rows, self.top, self.bottom,
            self.top_squared, self.product, self.bottom_squared,
        )  # fmt: skip

    def about(self, ratio: Floats) -> Floats:
        """The sum of (t - ratio u)^2."""
        squares: Floats = self.top_squared - ratio * (
            2 * self.product - ratio * self.bottom_squared
        )
        return squares

    def variances(self, view: ChannelView, counts: Floats) -> Floats:
        """By group and value: both variances as `PairVariance` has them, the likely bottom."""
        every = _Sums(*(array.sum(axis=1, keepdims=True) for array in self.arrays()))
        counts = np.clip(np.nan_to_num(counts), np.minimum(1.0, every.rows), every.rows)
        with np.errstate(divide="ignore", invalid="ignore"):
            likely = np.nan_to_num(counts / every.rows) * every.bottom
            slope = np.nan_to_num(every.product / every.bottom_squared)
            scale = np.where(slope == 0, 1.0, slope)
            true = _Sums(*map(view.undone, self.arrays()))
            spread = self._spread(every, true, view, likely, slope)

            def at(supposed: Floats) -> Floats:
                rest = every.top - supposed * every.bottom
                return view.sum_variance(
                    (0 * spread, spread), (rest, every.about(supposed) - spread)
                )

            none, one, minus = (at(times * scale) for times in (0.0, 1.0, -1.0))
            of_others = view.b * (every.rows - counts)
            others = np.nan_to_num(of_others / (view.a * counts + of_others))
            beyond = np.maximum(np.nan_to_num(true.bottom - likely), 0.0)
            chance = _LIKELY * (beyond * others) ** 2
            mean = np.nan_to_num(every.top / every.bottom)
        seen = none, (minus - one) / (4 * scale), (one + minus - 2 * none) / (2 * scale**2)
        return np.stack([*seen, chance * mean**2, chance * mean, chance, likely])

    def _spread(
        self, every: _Sums, true: _Sums, view: ChannelView, likely: Floats, slope: Floats
    ) -> Floats:
        """Of the rows with each value: the sum of (t - R u)^2 about their own R.

        As the rows of P are spread, or as the release shows where the bottom is known well.
        """
        share = np.nan_to_num(likely / every.bottom)
        widest = np.maximum(every.about(slope), 0.0)
        noise = view.sum_variance(
            (likely, share * every.bottom_squared),
            (every.bottom - likely, (1 - share) * every.bottom_squared),
        )
        trust = np.clip(np.nan_to_num(1 - 4 * np.maximum(noise, 0.0) / likely**2), 0.0, 1.0)
        shown = np.clip(np.nan_to_num(true.about(true.top / true.bottom)), 0.0, widest)
        return trust * shown + (1 - trust) * share * widest


def _squares(total: Total) -> int:
    return 0 if total.argument is None else 2 + 2 * total.argument
