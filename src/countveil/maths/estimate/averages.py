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
        if NEVER in pair:
            continue
        sums = _Sums.of(tallies, (top, int(pair[0])), (bottom, int(pair[1])), moment)
        counts = shrunk(int(pair[1]))
        variances = sums.variances(tallies.views[0], counts, bottom.estimate, one.place, cells)
        numbers[:, :, cells] = variances
    supposed = PairVariance(numbers[0] + top.misfit**2, numbers[1], numbers[2] + bottom.misfit**2)
    return Supposed(supposed, PairVariance(*numbers[3:6]), numbers[6])


@dataclass(frozen=True)
class _Sums:
    """Of all rows of each group: their number, sums of t and u, of t^2, t u and u^2."""

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
            some = tallies.moments[number][:, patterns]
            return np.asarray(some.reshape(tallies.n_groups, -1).sum(axis=1, keepdims=True))

        return cls(
            summed(0, below),
            summed(top[0].moment, above),
            summed(bottom[0].moment, below),
            summed(_squares(top[0]), above),
            summed(moment, above & below),
            summed(_squares(bottom[0]), below),
        )

    def variances(
        self,
        view: ChannelView,
        counts: Floats,
        estimate: Floats,
        place: NDArray[np.int64],
        cells: NDArray[np.int64],
    ) -> Floats:
        """By group and cell: both variances as `PairVariance` has them, the likely bottom."""
        counts = np.clip(np.nan_to_num(counts), np.minimum(1.0, self.rows), self.rows)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.nan_to_num(counts / self.rows)
            ratio = np.nan_to_num(self.product / self.bottom_squared)
            scale = np.where(ratio == 0, 1.0, ratio)
            spread = share * np.maximum(self.top_squared - self.product * ratio, 0.0)

            def at(supposed: Floats) -> Floats:
                rest = self.top - supposed * self.bottom
                squares = self.top_squared - supposed * (
                    2 * self.product - supposed * self.bottom_squared
                )
                return view.sum_variance((0 * spread, spread), (rest, squares - spread))

            none, one, minus = (at(times * scale)[:, place[cells]] for times in (0.0, 1.0, -1.0))
            of_others = view.b * (self.rows - counts)
            others = np.nan_to_num(of_others / (view.a * counts + of_others))[:, place[cells]]
            likely = (share * self.bottom)[:, place[cells]]
            beyond = estimate[:, cells] - likely
            chance = _LIKELY * (np.maximum(np.nan_to_num(beyond), 0.0) * others) ** 2
            mean = np.nan_to_num(self.top / self.bottom)
        seen = none, (minus - one) / (4 * scale), (one + minus - 2 * none) / (2 * scale**2)
        return np.stack([*seen, chance * mean**2, chance * mean, chance, likely])


def _squares(total: Total) -> int:
    return 0 if total.argument is None else 2 + 2 * total.argument
