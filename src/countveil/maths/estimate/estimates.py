"""What an estimate is: a number with its standard error, its interval and a verdict in one word.

Enters: estimates, and the variance at every true count. Leaves: `Estimate` (one cell), `Estimates`
(many cells, as arrays), intervals, verdicts. Must not know: which channel, or how many columns, the
numbers come from. Theory: docs/theory/estimates.md, "Intervals".

**Interval.** All true counts t with (estimate - t)^2 <= z^2 Var(t). The variance is taken at the
count that is tested, not at the estimate, so the interval of a small estimate is as asymmetric as
it should be. Var is a quadratic in t, so the ends solve a quadratic equation. There is no
continuity correction for the steps in which published counts move: averaged over predicates the
intervals have the nominal coverage without it, and more with it. But no interval is narrower than
one such step: an estimate far below 0 or above n rejects every possible count, and an interval of
one point would claim a certainty that nobody has.

**Above 95%.** Published counts are skewed, as Poisson counts are: at 99.9% a normal lower end lies
above 0 for one or two in a hundred values that no row has. There the lower end is also one that a
Poisson count of the same variance allows, in steps (`_poisson_low`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countveil.display import readable
from countveil.maths.bounds import HIDDEN_ABOVE

Floats = NDArray[np.float64]

RELIABLE, INDICATIVE, HIDDEN = "reliable", "indicative", "hidden"

# Up to this level, intervals of counts are those of normal errors.
_NORMAL_UP_TO, _HALVINGS = 0.95, 30
# In the place of the rows behind a cell: of a ratio whose bottom is not told from 0.
NOT_TOLD = -1.0


@dataclass(frozen=True, slots=True, repr=False)
class Estimate:
    """One estimated count. Errors are None where the chosen channel gives no honest ones.

    Attributes:
        estimate: The estimate.
        std_error: Its standard error.
        low: The lower end of the interval.
        high: Its upper end.
        verdict: `reliable` (one standard error, over the estimate, is within the requested
            bound), `indicative`, or `hidden`: too uncertain to be used as a number.

    Example:
        >>> nurses = release.count(occupation="nurse")
        >>> nurses
        Estimate(192 ± 12.4, 169 to 218, reliable)
        >>> nurses.verdict, nurses.low < nurses.estimate < nurses.high
        ('reliable', True)
    """

    estimate: float | None
    std_error: float | None
    low: float | None
    high: float | None
    verdict: str | None

    def __repr__(self) -> str:
        return f"Estimate({self})"

    def __str__(self) -> str:
        """For people: a hidden one shows its interval alone."""
        known = self.estimate is not None and self.verdict != HIDDEN
        error = "" if self.std_error is None else f" ± {readable(self.std_error)}"
        parts = [f"{readable(self.estimate)}{error}" if known else HIDDEN]
        if self.low is not None or self.high is not None:
            parts.append(f"{readable(self.low)} to {readable(self.high)}")
        return ", ".join([*parts, *([self.verdict] if known and self.verdict else [])])

    def _repr_html_(self) -> str:
        # Numbers and words of our own: nothing in them has to be escaped.
        first, *others = str(self).split(", ")
        big = f'<b style="font-size:1.3em">{first}</b>'
        return f'<p style="margin:0.5em 0">{" &#xa0; ".join([big, *others])}</p>'


@dataclass(frozen=True, slots=True)
class Estimates:
    """Estimates of many cells; NaN where nothing can be said."""

    estimate: Floats
    std_error: Floats
    low: Floats
    high: Floats

    def arrays(self) -> tuple[Floats, Floats, Floats, Floats]:
        """The four arrays, in order."""
        return self.estimate, self.std_error, self.low, self.high

    def flat(self) -> Estimates:
        """The grid row by row."""
        return Estimates(*(array.ravel() for array in self.arrays()))

    def at(self, cells: Any) -> Estimates:
        """Some cells, by any index of numpy."""
        return Estimates(*(array[cells] for array in self.arrays()))


def symmetric(estimate: Floats, error: Floats, level: float, centre: Floats) -> Estimates:
    """Normal intervals around `centre`; without ends where the error is unknown."""
    z = NormalDist().inv_cdf(0.5 + level / 2)
    known = np.isfinite(error) & np.isfinite(estimate)
    with np.errstate(invalid="ignore"):
        low, high = centre - z * error, centre + z * error
    return Estimates(
        np.where(np.isfinite(estimate), estimate, np.nan),
        np.where(known, error, np.nan),
        np.where(known, low, -np.inf),
        np.where(known, high, np.inf),
    )


def verdicts(cells: Estimates, sizes: Floats, within: float) -> list[str | None]:
    """One word per cell, from its standard error relative to the estimate.

    No count exceeds the rows it is taken from (`sizes`), so the estimate is capped at them before
    it is compared with the error. A sum or a ratio has no such bound (infinite) and may be
    negative. Where a ratio's bottom is not told from 0 (`NOT_TOLD`), nothing is said, even if all
    that could be averaged is the same number. A cell without errors gets no word: nobody knows how
    good it is.
    """
    estimate, error, low, high = cells.arrays()
    with np.errstate(invalid="ignore"):
        size = np.where(np.isfinite(sizes), np.minimum(estimate, sizes), np.abs(estimate))
        cases = [
            (np.isnan(estimate), HIDDEN),
            (np.isnan(error) & np.isnan(low), None),
            (np.isnan(error) | np.isinf(low) | np.isinf(high), HIDDEN),
            (sizes == NOT_TOLD, HIDDEN),
            (error == 0, RELIABLE),
            ((size <= 0) | (error > HIDDEN_ABOVE * size), HIDDEN),
            (error <= within * size, RELIABLE),
        ]
    first = np.full(size.shape, len(cases))
    for number in range(len(cases) - 1, -1, -1):
        first[cases[number][0]] = number
    words = [*(word for _, word in cases), INDICATIVE]
    return [words[number] for number in first.tolist()]


@dataclass(frozen=True, slots=True)
class Likelihood:
    """Unbiased estimates of counts between 0 and `size`, and their variance at every true count t.

    Var(t) = constant + linear t + square t^2. `step` is by how much one published row moves the
    estimate. The estimate is NaN where the value is not identifiable, the constant infinite where
    the error is unknown. All arrays have the shape of the estimate.
    """

    estimate: Floats
    constant: Floats
    linear: Floats
    square: Floats
    size: Floats
    step: Floats

    def variance(self, true: Floats) -> Floats:
        """The variance of the estimate if this is the true count."""
        variance: Floats = self.constant + true * (self.linear + true * self.square)
        return np.maximum(variance, 0.0)

    def at(self, cells: NDArray[np.int64]) -> Likelihood:
        """Some cells (of the last axis) only."""
        return Likelihood(*(array[..., cells] for array in self.arrays()))

    def arrays(self) -> tuple[Floats, Floats, Floats, Floats, Floats, Floats]:
        """All arrays, in order."""
        return self.estimate, self.constant, self.linear, self.square, self.size, self.step

    def widened(self, spread: Floats) -> Likelihood:
        """With one more source of error, of this size."""
        return replace(self, constant=self.constant + spread**2)

    def estimates(self, level: float) -> Estimates:
        """Estimates with errors and intervals; 0 to size where nothing is known."""
        with np.errstate(invalid="ignore"):
            # A count below one gets the error of one: at zero it would claim certainty.
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
            # The interval reaches 0 if the estimate is not positive or a count of 0 is plausible.
            low = np.where((self.estimate <= 0) | (at_zero <= 0), 0.0, (half - root) / lead)
            # A variance that grows like the square of t leaves no upper end.
            high = np.where(lead > 0, (half + root) / lead, np.inf)
        if level > _NORMAL_UP_TO:
            low = self._poisson_low(low, level)
        low, high = np.minimum(low, self.size - self.step), np.maximum(high, self.step)
        # A count lies between 0 and n; an estimate outside still gets an interval inside.
        return np.clip(low, 0, self.size), np.clip(high, 0, self.size)

    def _poisson_low(self, low: Floats, level: float) -> Floats:
        """The smallest count below a lower end at which so many steps are not too many.

        At a true count t the estimate is steps of a Poisson count with the mean Var(t) / step^2.
        That t is possible as long as this mean is above the lower limit for the steps seen, by
        Wilson and Hilferty. The shift makes up for steps; it is measured at 95 to 99.9%.
        """
        z = NormalDist().inv_cdf(0.5 + level / 2)
        shift = 1 - 0.15 * min((level - _NORMAL_UP_TO) / 0.02, 1.0)
        start = np.where(np.isfinite(low), low, 0.0)

        def possible(true: Floats) -> NDArray[np.bool_]:
            mean = self.variance(true) / self.step**2
            steps = np.maximum(mean + (self.estimate - true) / self.step + shift, 1e-9)
            root = np.maximum(1 - 1 / (9 * steps) - z / (3 * np.sqrt(steps)), 0.0)
            return np.asarray(mean >= steps * root**3)

        below, above = np.zeros_like(start), start
        everything = possible(below)
        for _ in range(_HALVINGS):
            middle = (below + above) / 2
            enough = possible(middle)
            below, above = np.where(enough, below, middle), np.where(enough, middle, above)
        return np.where(np.isfinite(low), np.where(everything, 0.0, above), low)
