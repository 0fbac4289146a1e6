"""The two bounds in closed form: Chebyshev's, and the one that the paper prints.

Enters: ell and two of count, error, probability. Leaves: the third. Must not know: exact
probabilities.

The published count has the mean f and the variance f (1 - 1/ell), so by Chebyshev

    P(|g - f| >= e f)  <=  (1 - 1/ell) / (e^2 f).

The paper's inequality (4) and Lemma 4 divide by the number of trials twice and drop a factor:

    1 / (ell e^2 f^2).

That is no bound. It is kept to be shown beside the others.
"""

from __future__ import annotations

import math
from fractions import Fraction

from countveil.maths.guarantees.exact import as_written


def chebyshev_probability(ell: int, count: float, error: float) -> float:
    """Its bound on P(off by `error` or more), at most 1."""
    return min(1.0, (1 - 1 / ell) / (error**2 * count))


def chebyshev_count(ell: int, error: float, probability: float) -> Fraction:
    """Where the bound is `probability`."""
    return (1 - Fraction(1, ell)) / (as_written(error) ** 2 * as_written(probability))


def chebyshev_error(ell: int, count: float, probability: float) -> float:
    """Where the bound is `probability`."""
    return math.sqrt((1 - 1 / ell) / (probability * count))


def printed_probability(ell: int, count: float, error: float) -> float:
    """What inequality (4) says, at most 1."""
    return min(1.0, 1 / (ell * error**2 * count**2))


def printed_count(ell: int, error: float, probability: float) -> int:
    """What Lemma 4 says; the paper rounds to the nearest whole number."""
    return max(1, round(math.sqrt(1 / (ell * error**2 * probability))))


def printed_error(ell: int, count: float, probability: float) -> float:
    """What inequality (4) says."""
    return math.sqrt(1 / (ell * probability)) / count
