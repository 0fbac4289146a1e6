"""Survey weights: whether a column can be one, and whether its values find people.

Enters: the counted values of a column. Leaves: an error that says what is wrong, or a suggestion to
round. Must not know: other columns, files. No value of the table is quoted.

A weight is published as it is. One with many decimals is different in every row, and whoever has
another file with the same weights (last year's release, the frame of the survey) finds the row by
it. Rounded weights do not do this, and change weighted totals little: rounding up and down cancel.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from countveil.errors import InputError, UnsafeError, option
from countveil.tables.encoded.survey import Histogram

Floats = NDArray[np.float64]

# A weight finds people if more than this share of the rows has one that no other row has; rounding
# is suggested down to the second.
IDENTIFYING, HARMLESS = 0.05, 0.01
_LARGEST_CHANGE = 0.2


@dataclass(frozen=True, slots=True)
class WeightRounding:
    """Multiples of `step`: the share of unique rows that is left, and how the total changes."""

    step: float
    unique: float
    change: float


def check_weight(column: str, histogram: Histogram, *, keep: bool) -> None:
    """Refuse what cannot be a weight, and weights that find people unless they are kept."""
    rows = int(histogram.counts.sum())
    missing = sum(
        int(count)
        for value, count in zip(histogram.values, histogram.counts, strict=True)
        if value is None or (isinstance(value, float) and math.isnan(value))
    )
    if missing:
        raise InputError(
            f"The weight {column!r} is missing in {missing:,} of {rows:,} rows. Every row needs a "
            f"weight: complete them, or leave these rows out with {option('where')}."
        )
    numbers = np.array([float(value) for value in histogram.values])
    wrong = int(histogram.counts[~np.isfinite(numbers) | (numbers < 0)].sum())
    if wrong:
        raise InputError(
            f"The weight {column!r} is negative or infinite in {wrong:,} of {rows:,} rows. A "
            f"weight is how many people a row stands for: a number of 0 or more."
        )
    if not numbers.any():
        raise InputError(f"The weight {column!r} is 0 in every row, so that no row would count.")
    unique = unique_share(numbers, histogram.counts)
    if unique > IDENTIFYING and not keep:
        rounding = rounding_sentence(column, numbers, histogram.counts)
        raise UnsafeError(
            f"Nothing was published, because people could be found: {unique:.0%} of the rows have "
            f"a weight in {column!r} that no other row has. Whoever has another file with the same "
            f"weights finds these rows by it. {rounding}If you have made sure that "
            f"it harms nobody, publish it with {option('keep', [column])}."
        )


def rounding_sentence(column: str, numbers: Floats, counts: NDArray[np.int64]) -> str:
    """What rounding would do, in words; empty if none would help."""
    rounding = suggested_rounding(numbers, counts)
    if rounding is None:
        return ""
    return (
        f"Round them: {option('round', {column: rounding.step})} leaves {rounding.unique:.1%} of "
        f"the rows unique and changes the sum of all weights by {rounding.change:.2%}. "
    )


def unique_share(numbers: Floats, counts: NDArray[np.int64]) -> float:
    """The share of rows whose number no other row has."""
    _, places = np.unique(numbers, return_inverse=True)
    together = np.bincount(places.reshape(-1), counts)
    return float(np.count_nonzero(together == 1) / max(counts.sum(), 1))


def suggested_rounding(numbers: Floats, counts: NDArray[np.int64]) -> WeightRounding | None:
    """The smallest round step that leaves few unique weights; None if all cost too much."""
    total = float(numbers @ counts)
    mean = total / max(float(counts.sum()), 1.0)
    for step in _steps(mean):
        rounded = np.rint(numbers / step) * step
        change = abs(float(rounded @ counts) / total - 1)
        unique = unique_share(rounded, counts)
        if unique <= HARMLESS and change <= _LARGEST_CHANGE:
            return WeightRounding(step, unique, change)
    return None


def _steps(mean: float) -> Iterator[float]:
    """1, 2 and 5 times powers of ten, from a ten-thousandth of the mean up to it."""
    power = math.floor(math.log10(mean)) - 4
    while 10.0**power <= mean:
        for digit in (1, 2, 5):
            step = digit * 10.0**power
            if step <= mean:
                yield int(step) if step >= 1 else round(step, 12)
        power += 1
