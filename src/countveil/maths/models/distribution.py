"""Quantiles, variances and extremes of a plain number, among rows whose true values are estimated.

Enters: the different values of the number, the unbiased estimate of how many rows have each, and
its variance. Leaves: estimates with errors and intervals. Must not know: channels, SQL. Theory:
docs/theory/models.md, "Order and spread".

Rows with different numbers are different rows, so the estimates at different values are (nearly)
independent. Each statistic is, to first order, a sum over rows of a function h of the number, its
influence; its variance is the sum over values of h^2 times the variance of the count there.

**Quantiles.** The estimated distribution function F may fall where an estimated count is negative;
the mean of its running maximum and of its running minimum from the right does not. A value x is in
the interval of the p-quantile if p is not clearly below F just before x, nor clearly above F at x
(Woodruff's interval, by the test at every x).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Numbers = tuple[float, float, float, float]

UNKNOWN: Numbers = (np.nan, np.nan, np.nan, np.nan)
# With fewer rows than so many standard errors of their number, nothing is said of the rows.
_ENOUGH = 2.0


@dataclass(frozen=True)
class Distribution:
    """Different values in ascending order, estimated rows with each, and the variances of these."""

    values: Floats
    rows: Floats
    variances: Floats

    @property
    def total(self) -> float:
        """Estimated rows."""
        return float(self.rows.sum())

    @property
    def exact(self) -> bool:
        """Whether all counts are known."""
        return not self.variances.any()

    @property
    def known(self) -> bool:
        """Whether there are enough rows to say anything."""
        return self.total > _ENOUGH * float(np.sqrt(self.variances.sum())) and self.total > 0

    def quantile(self, share: float, z: float) -> Numbers:
        """Estimate, standard error, low and high of a quantile: the first value that reaches it."""
        if not self.known:
            return UNKNOWN
        up_to = np.cumsum(self.rows) / self.total
        rising = np.maximum.accumulate(up_to)
        falling = np.minimum.accumulate(up_to[::-1])[::-1]
        up_to = np.clip((rising + falling) / 2, 0.0, 1.0)
        below = np.concatenate([[0.0], up_to[:-1]])
        errors = z * self._errors(up_to)
        errors_below = np.concatenate([[0.0], errors[:-1]])
        tiny = 1e-12
        estimate = self.values[min(int(np.argmax(up_to >= share - tiny)), self.values.size - 1)]
        if share > up_to.max() - tiny:
            estimate = self.values[int(np.argmax(up_to))]
        inside = (up_to + errors >= share - tiny) & (below - errors_below <= share + tiny)
        if self.exact:
            return exactly(float(estimate))
        low, high = self.values[inside].min(), self.values[inside].max()
        low, high = min(low, estimate), max(high, estimate)
        return float(estimate), float(high - low) / (2 * z), float(low), float(high)

    def interpolated(self, share: float) -> Numbers:
        """A quantile of rows that are all known, as SQL defines it: between two of them."""
        if not self.known:
            return UNKNOWN
        up_to = np.cumsum(self.rows)
        place = share * (self.total - 1)
        ends = np.searchsorted(up_to, [np.floor(place), np.ceil(place)], side="right")
        low, high = self.values[np.minimum(ends, self.values.size - 1)]
        return exactly(float(low + (high - low) * (place - np.floor(place))))

    def _errors(self, up_to: Floats) -> Floats:
        """The standard error of F at every value."""
        before = np.cumsum(self.variances)
        after = before[-1] - before
        variance = before * (1 - up_to) ** 2 + after * up_to**2
        errors: Floats = np.sqrt(np.maximum(variance, 0.0)) / self.total
        return errors

    def variance(self, z: float, *, sample: bool) -> Numbers:
        """Estimate, standard error, low and high of the variance."""
        if not self.known or (sample and self.total <= 1):
            return UNKNOWN
        mean = float(self.values @ self.rows) / self.total
        squares = (self.values - mean) ** 2
        variance = float(squares @ self.rows) / self.total
        error = float(np.sqrt(self.variances @ (squares - variance) ** 2)) / self.total
        if variance < 0:
            return UNKNOWN
        factor = self.total / (self.total - 1) if sample else 1.0
        low, high = max(variance - z * error, 0.0), variance + z * error
        return factor * variance, factor * error, factor * low, factor * high

    def deviation(self, z: float, *, sample: bool) -> Numbers:
        """Estimate, standard error, low and high of the standard deviation."""
        variance, error, low, high = self.variance(z, sample=sample)
        if not variance > 0:
            return (variance, error, low, high) if variance == 0 else UNKNOWN
        root = float(np.sqrt(variance))
        return root, error / (2 * root), float(np.sqrt(low)), float(np.sqrt(high))

    def extreme(self, *, largest: bool) -> Numbers:
        """The smallest or largest value that a row has; all counts are known."""
        present = self.values[self.rows > 0]
        if present.size == 0:
            return UNKNOWN
        return exactly(float(present[-1] if largest else present[0]))


def exactly(value: float) -> Numbers:
    """A number without error."""
    return value, 0.0, value, value
