"""Exact probabilities for the published count of a value.

Enters: the true count f, ell, a relative error. Leaves: probabilities. Must not know: any table.

An error is taken as the decimal number that was written: 0.7 * 10 is 7 and not a little more.
"""

from __future__ import annotations

import math
from fractions import Fraction

from countveil.maths.guarantees.binomial import chance_far, chance_near

_TABLE_COUNTS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000, 10000)
_TABLE_ERROR = 0.3


def as_written(number: float) -> Fraction:
    """The decimal number that was written."""
    return Fraction(repr(float(number)))


def chance_within(count: int, ell: int, error: float) -> float:
    """P(the published count is within a relative `error` of the true `count`), ends included."""
    return chance_near(count, ell, _steps_beyond(count, error))


def chance_off(count: int, ell: int, error: float) -> float:
    """P(the published count is off by more than a relative `error`): protection of a count."""
    return min(1.0, chance_far(count, ell, _steps_beyond(count, error)))


def chance_failing(count: int, ell: int, error: float) -> float:
    """P(the published count is off by a relative `error` or more): what utility must bound."""
    return min(1.0, chance_far(count, ell, math.ceil(as_written(error) * count)))


def guarantee_table(ell: int, error: float = _TABLE_ERROR) -> list[dict[str, float]]:
    """Rows of the table that a release carries: how likely a count of this size is far off."""
    return [
        {"count": count, "error": error, "chance_off": round(chance_off(count, ell, error), 6)}
        for count in _TABLE_COUNTS
    ]


def _steps_beyond(count: int, error: float) -> int:
    """The smallest distance that is more than the relative error."""
    return math.floor(as_written(error) * count) + 1
