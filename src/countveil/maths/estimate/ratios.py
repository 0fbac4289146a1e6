"""Ratios of two estimated totals: averages and shares, with Fieller's intervals.

Enters: unbiased estimates of two totals, their variances and covariance, between which numbers the
ratio must lie. Leaves: `Estimates` of the ratio, and whether its bottom is told from 0. Must not
know: SQL, how the totals were estimated. Theory: docs/theory/estimates.md, "Averages and shares".

R is in the interval if top - R bottom, which has the mean 0 for the true R, is within z standard
errors of 0. Its variance is a quadratic in R, so the ends solve a quadratic equation. Where the
bottom itself cannot be told from 0, very small and very large R are possible, and what lies between
may be or not: the interval is all from the smallest to the largest R that is possible and lies
within the bounds of the ratio, and the verdict is `hidden`.

The standard error is that of first derivatives, over 1 - g with g the share of the bottom's square
that is noise (at 95%), as in Fieller's interval: a bottom that came out large by chance would make
it too small, and its verdict too good.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from countveil.maths.estimate.estimates import Estimates

Floats = NDArray[np.float64]
# Estimates, and which of them have a bottom that is told from 0.
Told = tuple[Estimates, NDArray[np.bool_]]
# The smallest and the largest number that is possible.
Bounds = tuple[Floats | float, Floats | float]

# Of the usual level, 0.95: what is told from 0 does not depend on the level of an interval.
SQUARED_Z = 3.841458820694124


@dataclass(frozen=True, slots=True)
class PairVariance:
    """The variances of two unbiased totals and their covariance, by plain group and cell."""

    top: Floats
    both: Floats
    bottom: Floats

    def of_difference(self, ratio: Floats) -> Floats:
        """The variance of top - ratio * bottom."""
        variance: Floats = self.top - 2 * ratio * self.both + ratio**2 * self.bottom
        return np.maximum(variance, 0.0)

    def plus(self, other: PairVariance) -> PairVariance:
        """With another source of error."""
        return PairVariance(
            self.top + other.top, self.both + other.both, self.bottom + other.bottom
        )


@dataclass(frozen=True, slots=True)
class Supposed:
    """What is known of a ratio beside the variance that published rows show.

    `variance`: of top - R bottom, if R were the ratio. `chance`: what is added to it where the
    bottom may have come out large by chance. `bottom`: how large it is likely to be.
    """

    variance: PairVariance
    chance: PairVariance
    bottom: Floats


def ratio_estimates(
    unbiased: tuple[Floats, Floats],
    answers: tuple[Estimates, Estimates],
    variance: PairVariance,
    level: float,
    possible: Bounds = (-np.inf, np.inf),
    *,
    supposed: Supposed | None = None,
    positive: bool = False,
    inside: bool = True,
) -> Told:
    """The ratio of two answers, with the interval of the ratio of the unbiased estimates.

    `positive`: the bottom cannot be negative. If `inside`, the ratio is moved into the interval.
    """
    top, bottom = answers
    noise = variance.bottom
    exact = (noise == 0) & (bottom.std_error == 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        told = np.where(exact, bottom.estimate > 0, unbiased[1] ** 2 > SQUARED_Z * noise)
        told &= (unbiased[1] > 0) | (not positive)
        if supposed is not None:
            # Of many counts near 0, some are far above it by chance: what is likely counts too.
            told &= exact | (supposed.bottom**2 > noise)
        ends = _interval(unbiased, variance, supposed, told, level, possible)
        ratio = top.estimate / bottom.estimate
        # Of a known bottom, the ratio has the interval of the top: for counts it is asymmetric.
        scaled = [np.where(told, end / bottom.estimate, np.nan) for end in (top.low, top.high)]
        low, high = (np.where(exact, one, two) for one, two in zip(scaled, ends, strict=True))
        low, high = (np.clip(end, *possible) for end in (low, high))
        error = np.sqrt(_largest(variance, supposed, ratio)) / np.abs(bottom.estimate)
        share = SQUARED_Z * noise / unbiased[1] ** 2
        error = np.where(share < 1, error / np.where(share < 1, 1 - share, 1.0), error)
        error = np.where(exact, top.std_error / np.abs(bottom.estimate), error)
        widest = (possible[1] - np.asarray(possible[0])) / 2
        error = np.where(told & np.isfinite(widest), np.minimum(error, widest), error)
        if inside:
            ratio = np.clip(ratio, np.nan_to_num(low, nan=-np.inf), np.nan_to_num(high, nan=np.inf))
    known = np.isfinite(ratio) & np.isfinite(error)
    bounded = known & np.isfinite(low) & np.isfinite(high)
    estimates = Estimates(
        np.where(np.isfinite(ratio), ratio, np.nan),
        np.where(known, error, np.nan),
        np.where(bounded, low, possible[0]),
        np.where(bounded, high, possible[1]),
    )
    return estimates, told


def _largest(variance: PairVariance, supposed: Supposed | None, ratio: Floats) -> Floats:
    """The variance at a ratio: of both that are known the larger one."""
    if supposed is None:
        return variance.of_difference(ratio)
    both = [
        each.plus(supposed.chance).of_difference(ratio) for each in (variance, supposed.variance)
    ]
    return np.maximum(both[0], both[1])


def _interval(
    unbiased: tuple[Floats, Floats],
    variance: PairVariance,
    supposed: Supposed | None,
    told: NDArray[np.bool_],
    level: float,
    possible: Bounds,
) -> tuple[Floats, Floats]:
    """Where the bottom is told from 0, every ratio that one of both variances allows."""
    if supposed is None:
        return fieller_within(*unbiased, variance, level, possible)
    chance, alone = supposed.chance, supposed.variance
    each = variance.plus(chance), alone.plus(chance), alone
    (one, two), (three, four), (five, six) = (
        fieller_within(*unbiased, pair, level, possible) for pair in each
    )
    low, high = np.minimum(one, three), np.maximum(two, four)
    return np.where(told, low, five), np.where(told, high, six)


def fieller(
    top: Floats, bottom: Floats, variance: PairVariance, level: float
) -> tuple[Floats, Floats]:
    """The ends of the interval; infinite where the bottom may be 0."""
    square, _, first, second = _solved(top, bottom, variance, _squared_z(level))
    bounded = square > 0
    return np.where(bounded, first, -np.inf), np.where(bounded, second, np.inf)


def fieller_within(
    top: Floats, bottom: Floats, variance: PairVariance, level: float, possible: Bounds
) -> tuple[Floats, Floats]:
    """The smallest and the largest ratio within bounds that is possible.

    If the estimate lies outside, ratios are compared with the bound that fits best.
    """
    least, most = possible
    z2 = _squared_z(level) + _best_fit(top, bottom, variance, possible)
    square, crosses, first, second = _solved(top, bottom, variance, z2)
    with np.errstate(invalid="ignore"):
        # Else all ratios are possible, or all but those between two numbers.
        bounded = square > 0
        hole = ~bounded & (square < 0) & crosses
        low = np.where(
            bounded, first, np.where(hole & (least > second) & (least < first), first, least)
        )
        high = np.where(
            bounded, second, np.where(hole & (most > second) & (most < first), second, most)
        )
        none = (low > most) | (high < least) | (low > high)
        low, high = np.where(none, least, low), np.where(none, most, high)
    return np.clip(low, least, most), np.clip(high, least, most)


def _squared_z(level: float) -> float:
    return NormalDist().inv_cdf(0.5 + level / 2) ** 2


def _best_fit(
    top: Floats, bottom: Floats, variance: PairVariance, possible: Bounds
) -> Floats | float:
    """How many squared standard errors the best ratio within bounds is away: 0 if any is best."""
    ends = [np.asarray(end, np.float64) for end in possible]
    if not all(np.isfinite(end).any() for end in ends):
        return 0.0
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        away = [(top - end * bottom) ** 2 / variance.of_difference(end) for end in ends]
        inside = (top - ends[0] * bottom) * (top - ends[1] * bottom) <= 0
        least = np.minimum(*away)
        return np.where(inside | ~np.isfinite(least), 0.0, least)


def _solved(
    top: Floats, bottom: Floats, variance: PairVariance, z2: Floats | float
) -> tuple[Floats, NDArray[np.bool_], Floats, Floats]:
    """The first coefficient of the equation, whether it has two roots, and these.

    If the coefficient is negative, the first root is the larger one.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        square = bottom**2 - z2 * variance.bottom
        half = top * bottom - z2 * variance.both
        under = half**2 - square * (top**2 - z2 * variance.top)
        root = np.sqrt(np.maximum(under, 0.0))
        return square, under > 0, (half - root) / square, (half + root) / square
