"""An unbiased estimate and its variance at every true count it could come from.

Enters: estimates, and three numbers that give the variance at a true count t. Leaves: standard
errors and intervals; `shrunk` reads the same numbers as a likelihood. Must not know: which channel
or how many columns they come from.

**Interval.** All t with (estimate - t)^2 <= z^2 Var(t): the variance is taken at the count that is
tested, not at the estimate, so the interval of a small estimate is as lopsided as it should be. Var
is a quadratic in t, so the ends solve a quadratic equation. Nothing is added for the steps in which
published counts move: averaged over predicates the intervals cover what they promise without it,
and with it too much. But no interval is narrower than one such step: an estimate far below 0 or
above n rejects every possible count, and an interval of one point would claim what nobody knows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from countveil.maths.estimate.estimates import Estimates

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Signal:
    """Estimates of counts between 0 and `size`; Var(t) = constant + linear t + square t^2.

    `step` is by how much one published row moves the estimate. The estimate is NaN where the value
    cannot be separated, the constant infinite where nobody knows the error. All arrays have the
    shape of the estimate.
    """

    estimate: Floats
    constant: Floats
    linear: Floats
    square: Floats
    size: Floats
    step: Floats

    def variance(self, true: Floats) -> Floats:
        """The variance of the estimate if this is the true count."""
        found: Floats = self.constant + true * (self.linear + true * self.square)
        return np.maximum(found, 0.0)

    def at(self, cells: NDArray[np.int64]) -> Signal:
        """Some cells (of the last axis) only."""
        return Signal(*(part[..., cells] for part in self.parts()))

    def parts(self) -> tuple[Floats, Floats, Floats, Floats, Floats, Floats]:
        """All arrays, in order."""
        return self.estimate, self.constant, self.linear, self.square, self.size, self.step

    def widened(self, spread: Floats) -> Signal:
        """With one more source of error, of this size."""
        return replace(self, constant=self.constant + spread**2)

    def estimates(self, level: float) -> Estimates:
        """Estimates with errors and intervals; 0 to size where nothing is known."""
        with np.errstate(invalid="ignore"):
            # A count below one is given the error of one: at zero it would claim certainty.
            at = np.where(self.size > 0, np.maximum(self.estimate, 1.0), 0.0)
            error = np.sqrt(self.variance(at))
            low, high = self._interval(level)
        known = np.isfinite(self.estimate) & np.isfinite(error)
        return Estimates(
            np.where(np.isfinite(self.estimate), self.estimate, np.nan),
            np.where(known, error, np.nan),
            np.where(known, low, 0.0),
            np.where(known, high, self.size),
        )

    def _interval(self, level: float) -> tuple[Floats, Floats]:
        z2 = NormalDist().inv_cdf(0.5 + level / 2) ** 2
        with np.errstate(divide="ignore", over="ignore"):
            lead = 1 - z2 * self.square
            half = self.estimate + z2 * self.linear / 2
            at_zero = self.estimate**2 - z2 * self.constant
            root = np.sqrt(np.maximum(half**2 - lead * at_zero, 0.0))
            # An estimate that is not positive, or a zero that is not rejected: no lower end.
            low = np.where((self.estimate <= 0) | (at_zero <= 0), 0.0, (half - root) / lead)
            # A variance that grows like the square of t leaves no upper end.
            high = np.where(lead > 0, (half + root) / lead, np.inf)
        low, high = np.minimum(low, self.size - self.step), np.maximum(high, self.step)
        # n rows cannot hold more; an estimate outside of 0 to n still gets an interval inside.
        return np.clip(low, 0, self.size), np.clip(high, 0, self.size)


def quadratic(variance: Callable[[Floats], Floats], size: Floats) -> tuple[Floats, Floats, Floats]:
    """The three numbers of a variance that is a quadratic in the true count, from 0 to size."""
    size = np.maximum(size, 1.0)
    none, half, all_ = variance(np.array([0.0, 0.5, 1.0]).reshape(3, *(1,) * size.ndim) * size)
    square = 2 * (none - 2 * half + all_) / size**2
    return none, (all_ - none) / size - square * size, square
