"""What an answer is: an estimate with its error, and a verdict in one word.

Enters: numbers. Leaves: `Estimate` (one cell) and `Estimates` (many cells, as arrays).
Must not know: how the numbers were found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

RELIABLE, INDICATIVE, HIDDEN = "reliable", "indicative", "hidden"
HIDDEN_ABOVE = 0.5


@dataclass(frozen=True, slots=True)
class Estimate:
    """One estimated count. Errors are None where the chosen channel gives no honest ones.

    `verdict` is `reliable` (relative error within the wished bound), `indicative`, or `hidden`: too
    small to say anything, by design.
    """

    estimate: float | None
    std_error: float | None
    low: float | None
    high: float | None
    verdict: str | None


@dataclass(frozen=True, slots=True)
class Rounds:
    """How long an iteration took in every cell, and whether it came to rest there."""

    iterations: NDArray[np.int64]
    converged: NDArray[np.bool_]

    @classmethod
    def together(cls, several: Sequence[Rounds]) -> Rounds:
        """Those of all cells."""
        return cls(
            np.concatenate([np.zeros(0, np.int64), *(r.iterations.ravel() for r in several)]),
            np.concatenate([np.zeros(0, bool), *(r.converged.ravel() for r in several)]),
        )

    def sentences(self) -> list[str]:
        """What an analyst should know of it."""
        if not self.iterations.size:
            return []
        median, mean = np.median(self.iterations), self.iterations.mean()
        most, cells = self.iterations.max(), self.iterations.size
        taken = f"median {median:,.0f}, mean {mean:,.0f}, most {most:,} (cells: {cells:,})"
        said = [f"Iterations: {taken}."]
        restless = int(np.count_nonzero(~self.converged))
        if restless:
            said.append(
                f"The iteration was stopped before it came to rest in {restless:,} of "
                f"{cells:,} cells: their values are hard to separate. Method "
                f"'shrunk' does not iterate."
            )
        return said


@dataclass(frozen=True, slots=True)
class Estimates:
    """Estimates of many cells; NaN marks what cannot be said."""

    estimate: NDArray[np.float64]
    std_error: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    def flat(self) -> Estimates:
        """The grid row by row."""
        return Estimates(*(part.ravel() for part in self.parts()))

    def parts(self) -> tuple[Floats, Floats, Floats, Floats]:
        """The four arrays."""
        return self.estimate, self.std_error, self.low, self.high


@dataclass(frozen=True, slots=True)
class IteratedEstimates(Estimates):
    """Estimates that took some rounds to come to rest."""

    rounds: Rounds


def verdicts(cells: Estimates, sizes: NDArray[np.float64], within: float) -> list[str | None]:
    """One word per cell, from its error relative to the estimate.

    No count exceeds the rows it is a part of (`sizes`), so neither does the estimate that the error
    is compared with; a sum or a ratio has no such bound (infinite) and may be negative. A cell
    without errors gets no word: nobody can tell how good it is.
    """
    found, error, low, _ = cells.parts()
    with np.errstate(invalid="ignore"):
        estimate = np.where(np.isfinite(sizes), np.minimum(found, sizes), np.abs(found))
        kinds = [
            (np.isnan(found), HIDDEN),
            (np.isnan(error) & np.isnan(low), None),
            (np.isnan(error), HIDDEN),
            (error == 0, RELIABLE),
            ((estimate <= 0) | (error > HIDDEN_ABOVE * estimate), HIDDEN),
            (error <= within * estimate, RELIABLE),
        ]
    words = [word for _, word in kinds]
    first = np.select([met for met, _ in kinds], list(range(len(kinds))), len(kinds))
    every = [*words, INDICATIVE]
    return [every[number] for number in first.tolist()]
