"""A bound on the odds: how much noise before the groups holds every factor below K.

Enters: the number V of declared values, ell, gamma or K. Leaves: epsilon of local differential
privacy, the largest factor of a linked row, gamma. Must not know: the table. Theory:
docs/theory/odds.md.

With gamma the chance that a row takes one of the V values at random, q = gamma / V:

- Whatever anybody knows, groups included, the whole release changes the odds between two values of
  a row by at most exp(epsilon) = 1 + (1 - gamma) V / gamma: it only depends on the noised value.
- A linked row alone, its group unknown, changes them by at most K. The worst is a value that nobody
  has before the noise. Noised rows keep it with probability a = 1/ell, and other rows publish it
  with probability b: (1 - a) q / (1 - q) with groups of different values, (1 - a) q with random
  ones. The factor is [(1 - gamma + q) a + (gamma - q) b] / [q a + (1 - q) b].
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

_GRID = 1 << 24


def epsilon_of(gamma: float, values: int) -> float:
    """Epsilon of local differential privacy of every row's value."""
    return math.log1p((1 - gamma) * values / gamma) if gamma > 0 else math.inf


def largest_odds(gamma: float, values: int, ell: int, *, different: bool = True) -> float:
    """The largest factor by which a linked row changes the odds of a value.

    `different`: whether groups hold different values, or are random.
    """
    if gamma <= 0:
        return math.inf
    q, a = gamma / values, 1 / ell
    if different:
        b = (1 - a) * q / (1 - q) if q < 1 else 1.0
        return ((1 - gamma + q) * a + (gamma - q) * b) / (q * a + (1 - q) * b)
    return 1 + (1 - gamma) * a / q


def gamma_for(odds: float, values: int, ell: int, *, different: bool = True) -> float:
    """The least noise for which no factor exceeds `odds`, a multiple of 2^-24."""
    if not 1 < odds < math.inf:
        raise ValueError("a bound on the odds is a number above 1")
    low, high = 0, _GRID
    while high - low > 1:
        middle = (low + high) // 2
        if largest_odds(middle / _GRID, values, ell, different=different) <= odds:
            high = middle
        else:
            low = middle
    return high / _GRID


@dataclass(frozen=True, slots=True)
class OddsCost:
    """What a bound on the odds costs.

    Estimates divide by 1 - gamma, so errors grow by about 1 / (1 - gamma), and a little more for
    small counts in large selections, to which noise adds rows of its own.

    Attributes:
        odds: The bound K.
        gamma: With which probability a row takes a declared value at random.
        epsilon: That of local differential privacy in the value of a row.
        error_times: By how much errors grow.
    """

    odds: float
    gamma: float
    epsilon: float
    error_times: float


def cost_of(odds: float, values: int, ell: int, *, different: bool = True) -> OddsCost:
    """The cost of a bound, for so many declared values and this ell."""
    gamma = gamma_for(odds, values, ell, different=different)
    times = 1 / (1 - gamma) if gamma < 1 else math.inf
    return OddsCost(odds, gamma, epsilon_of(gamma, values), times)


def noised_guarantee(
    counts: Sequence[int], rows: int, ell: int, gamma: float, values: int, error: float = 0.3
) -> list[dict[str, float]]:
    """How likely the estimated count of a value is off by more than `error`, by its true count.

    The estimate of a count of the whole table is nearly normal: it has the noise of all rows.
    """
    lines = []
    for count in counts:
        deviation = noised_std_error(count, rows, ell, gamma, values)
        off = math.erfc(error * count / deviation / math.sqrt(2)) if deviation else 0.0
        lines.append({"count": count, "error": error, "chance_off": off})
    return lines


def noised_std_error(count: float, rows: int, ell: int, gamma: float, values: int) -> float:
    """Of the estimate, over the whole table, of the count of a value that `count` rows have.

    With groups of different values; frequent ones of other groups have a smaller error.
    """
    noised, variance = after_noise(count, rows, gamma, values)
    drawn = noised * (1 - 1 / ell)
    return math.sqrt(variance + drawn) / (1 - gamma) if gamma < 1 else math.inf


def after_noise(count: float, rows: int, gamma: float, values: int) -> tuple[float, float]:
    """How many rows have a value after the noise, if `count` had it: the mean and the variance."""
    kept, q, others = 1 - gamma + gamma / values, gamma / values, max(rows - count, 0.0)
    return kept * count + q * others, count * kept * (1 - kept) + others * q * (1 - q)
