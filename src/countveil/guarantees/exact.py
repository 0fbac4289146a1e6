"""Exact probabilities for the published count of a value.

Enters: the true count f, ell, a relative error. Leaves: probabilities. Must not know: any table.

In f groups of ell tuples each, every tuple publishes the value with probability 1/ell, so the
published count is binomial with f * ell trials and chance 1/ell: mean f, variance f (1 - 1/ell).
"""

from __future__ import annotations

import math
from fractions import Fraction

_TABLE_COUNTS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000, 10000)
_TABLE_ERROR = 0.3


def binomial_pmf(successes: int, trials: int, chance: float) -> float:
    """P(X = successes), through logarithms so that large trials do not overflow."""
    if not 0 <= successes <= trials:
        return 0.0
    log_ways = (
        math.lgamma(trials + 1) - math.lgamma(successes + 1) - math.lgamma(trials - successes + 1)
    )
    log_one = successes * math.log(chance)
    return math.exp(log_ways + log_one + (trials - successes) * math.log1p(-chance))


def chance_within(count: int, ell: int, error: float) -> float:
    """P(the published count is within a relative `error` of the true `count`), ends included."""
    # As a fraction, so that 0.7 * 10 is 7 and not a little more.
    margin = Fraction(repr(error)) * count
    first, last = max(0, math.ceil(count - margin)), math.floor(count + margin)
    return math.fsum(binomial_pmf(x, count * ell, 1 / ell) for x in range(first, last + 1))


def chance_off(count: int, ell: int, error: float) -> float:
    """P(the published count is off by more than a relative `error`): protection of a count."""
    return max(0.0, 1.0 - chance_within(count, ell, error))


def guarantee_table(ell: int, error: float = _TABLE_ERROR) -> list[dict[str, float]]:
    """Rows of the table that a release carries: how likely a count of this size is far off."""
    return [
        {"count": count, "error": error, "chance_off": round(chance_off(count, ell, error), 6)}
        for count in _TABLE_COUNTS
    ]
