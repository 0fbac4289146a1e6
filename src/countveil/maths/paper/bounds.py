"""The bound that the paper prints, in closed form.

Enters: ell and two of count, error, probability. Leaves: the third. Must not know: exact
probabilities.

The published count has the mean f and the variance f (1 - 1/ell). The paper's inequality (4) and
Lemma 4 divide by the number of trials twice and drop a factor:

    P(|g - f| >= e f)  <=  1 / (ell e^2 f^2).

That is not a bound. It is kept to be shown beside the correct ones (`maths/guarantees/searches`).
"""

from __future__ import annotations

import math


def printed_probability(ell: int, count: float, error: float) -> float:
    """What inequality (4) says, at most 1."""
    return min(1.0, 1 / (ell * error**2 * count**2))


def printed_count(ell: int, error: float, probability: float) -> int:
    """What Lemma 4 says; the paper rounds to the nearest whole number."""
    return max(1, round(math.sqrt(1 / (ell * error**2 * probability))))


def printed_error(ell: int, count: float, probability: float) -> float:
    """What inequality (4) says."""
    return math.sqrt(1 / (ell * probability)) / count
