"""Formulas as the paper prints them.

Enters: numbers. Leaves: what the paper's formulas give. Must not know: estimators, releases. They
are kept to be shown beside the correct ones. Theory: docs/theory/channel.md.

**The channel.** b, the chance that a row without s publishes s, is printed as f / N. With it the
published count would have the mean f (1/ell + 1 - f/N), against the paper's own E[g] = f.
`maths.channel.b_exact` is the correct one.

**The bound.** The published count has the mean f and the variance f (1 - 1/ell). The paper's
inequality (4) and Lemma 4 divide by the number of trials twice and drop a factor:

    P(|g - f| >= e f)  <=  1 / (ell e^2 f^2).

That is not a bound. `maths/guarantees/guarantee.py` has the correct ones.
"""

from __future__ import annotations

import math
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Numbers = TypeVar("Numbers", float, NDArray[np.float64])


def b_printed(count: Numbers, rows: float) -> Numbers:
    """The paper's chance that a row without s publishes s."""
    return count / rows


def printed_probability(ell: int, count: float, error: float) -> float:
    """The probability by inequality (4), at most 1."""
    return min(1.0, 1 / (ell * error**2 * count**2))


def printed_count(ell: int, error: float, probability: float) -> int:
    """The count by Lemma 4; the paper rounds to the nearest whole number."""
    return max(1, round(math.sqrt(1 / (ell * error**2 * probability))))


def printed_error(ell: int, count: float, probability: float) -> float:
    """The error by inequality (4)."""
    return math.sqrt(1 / (ell * probability)) / count
