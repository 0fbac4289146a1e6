"""Ratios of two estimated totals: averages and shares, with Fieller's intervals.

Enters: unbiased estimates of two totals, their variances and covariance. Leaves: `Estimates` of the
ratio. Must not know: SQL, how the totals were estimated. Theory: docs/theory/estimates.md,
"Averages and shares".

R is in the interval if top - R bottom, which has the mean 0 for the true R, is within z standard
errors of 0. Its variance is a quadratic in R, so the ends solve a quadratic equation. Where the
bottom itself cannot be told from 0, every R is possible: the interval has no ends, and the verdict
is `hidden`.

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

# Of the usual level, 0.95.
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


def ratio_estimates(
    unbiased: tuple[Floats, Floats],
    answers: tuple[Estimates, Estimates],
    variance: PairVariance,
    level: float,
    *,
    inside: bool = True,
) -> Estimates:
    """The ratio of two answers, with the interval of the ratio of the unbiased estimates.

    If `inside`, it is moved into the interval.
    """
    top, bottom = answers
    low, high = fieller(*unbiased, variance, level)
    exact = (variance.bottom == 0) & (bottom.std_error == 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = top.estimate / bottom.estimate
        # Of a known bottom, the ratio has the interval of the top: for counts it is asymmetric.
        scaled = [np.where(bottom.estimate > 0, end / bottom.estimate, np.nan) for end in (
            top.low, top.high)]  # fmt: skip
        low, high = np.where(exact, scaled[0], low), np.where(exact, scaled[1], high)
        error = np.sqrt(variance.of_difference(ratio)) / np.abs(bottom.estimate)
        noise = SQUARED_Z * variance.bottom / unbiased[1] ** 2
        error = np.where(noise < 1, error / np.where(noise < 1, 1 - noise, 1.0), error)
        error = np.where(exact, top.std_error / np.abs(bottom.estimate), error)
        if inside:
            ends = np.nan_to_num(low, nan=-np.inf), np.nan_to_num(high, nan=np.inf)
            ratio = np.clip(ratio, *ends)
    known = np.isfinite(ratio) & np.isfinite(error)
    bounded = known & np.isfinite(low) & np.isfinite(high)
    return Estimates(
        np.where(np.isfinite(ratio), ratio, np.nan),
        np.where(known, error, np.nan),
        np.where(bounded, low, -np.inf),
        np.where(bounded, high, np.inf),
    )


def fieller(
    top: Floats, bottom: Floats, variance: PairVariance, level: float
) -> tuple[Floats, Floats]:
    """The ends of the interval; infinite where the bottom may be 0."""
    z2 = NormalDist().inv_cdf(0.5 + level / 2) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        square = bottom**2 - z2 * variance.bottom
        half = top * bottom - z2 * variance.both
        root = np.sqrt(np.maximum(half**2 - square * (top**2 - z2 * variance.top), 0.0))
        bounded = square > 0
        low = np.where(bounded, (half - root) / square, -np.inf)
        high = np.where(bounded, (half + root) / square, np.inf)
    return low, high
