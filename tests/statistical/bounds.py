"""p-values that are exact or proven upper bounds, for finite samples; no scipy.

A test asserts `p_value > FALSE_ALARM`. Under the law that it claims, the p-value falls to
FALSE_ALARM or below with probability at most FALSE_ALARM: that is its false-alarm rate.

- one cell          exact binomial tails
- a sample          `follows`: every cell on its own (Bonferroni) and all cells together (relative
                    entropy, Agrawal 2020), each given half of the alarm rate
- two samples       `same_law`: given the pooled counts, each cell is exactly hypergeometric
- a sum             `bernstein`, for bounded summands with a known variance
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from countveil.maths.guarantees.binomial import binomial_lower, binomial_upper

FALSE_ALARM = 1e-6

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]


def bonferroni(p_values: Iterable[float]) -> float:
    """One p-value for several checks, however they depend on each other."""
    found = list(p_values)
    return min(1.0, len(found) * min(found))


def binomial_two_sided(successes: int, trials: int, chance: float) -> float:
    """Twice the smaller tail."""
    lower = binomial_lower(successes, trials, chance)
    return min(1.0, 2 * min(lower, binomial_upper(successes, trials, chance)))


def hypergeometric_upper(found: int, total: int, marked: int, drawn: int) -> float:
    """P(X >= found), X = marked ones among `drawn` of `total` that hold `marked`."""
    least, most = max(0, drawn - (total - marked)), min(marked, drawn)
    if found <= least:
        return 1.0
    if found > most:
        return 0.0
    if found <= marked * drawn / total:
        # The marked ones that were left behind are hypergeometric too, and above their mean.
        return 1.0 - hypergeometric_upper(marked - found + 1, total, marked, total - drawn)
    log_first = (
        _log_choose(marked, found)
        + _log_choose(total - marked, drawn - found)
        - _log_choose(total, drawn)
    )
    place = np.arange(found, most, dtype=np.float64)
    ratios = (
        (marked - place) * (drawn - place) / ((place + 1) * (total - marked - drawn + place + 1))
    )
    return min(1.0, math.exp(log_first) * (1.0 + float(np.cumprod(ratios).sum())))


def hypergeometric_two_sided(found: int, total: int, marked: int, drawn: int) -> float:
    """Twice the smaller tail."""
    lower = hypergeometric_upper(marked - found, total, marked, total - drawn)
    return min(1.0, 2 * min(lower, hypergeometric_upper(found, total, marked, drawn)))


def divergence_bound(counts: Counts, probabilities: Floats) -> float:
    """Bound on P(the relative entropy of a sample to its law is as large as this one).

    Agrawal (2020, Finite-sample concentration of the multinomial in relative entropy): with k
    cells and n draws, n times the divergence has a moment generating function below that of a gamma
    variable with shape k - 1, so P(n D >= t) <= exp(-t) (e t / (k - 1))^(k - 1) for t > k - 1.
    All probabilities must be positive.
    """
    n, freedom = int(counts.sum()), counts.size - 1
    seen = counts > 0
    t = float(np.sum(counts[seen] * np.log(counts[seen] / (n * probabilities[seen]))))
    if freedom == 0 or t <= freedom:
        return 1.0
    return math.exp(-t + freedom * (1 + math.log(t / freedom)))


def follows(counts: Counts, probabilities: Floats) -> float:
    """p-value of "these are the cell counts of independent draws from this law"."""
    possible = probabilities > 0
    if np.any(counts[~possible]):
        return 0.0
    counts, probabilities, n = counts[possible], probabilities[possible], int(counts.sum())
    pairs = zip(counts.tolist(), probabilities.tolist(), strict=True)
    cells = bonferroni(binomial_two_sided(count, n, chance) for count, chance in pairs)
    return bonferroni([cells, divergence_bound(counts, probabilities)])


def same_law(one: Counts, other: Counts) -> float:
    """p-value of "both samples of independent draws come from one law", whatever that law."""
    drawn, total = int(one.sum()), int(one.sum() + other.sum())
    cells = zip(one.tolist(), (one + other).tolist(), strict=True)
    return bonferroni(hypergeometric_two_sided(found, total, both, drawn) for found, both in cells)


def bernstein(deviation: float, variance: float, largest: float) -> float:
    """Bound on P(|S - E S| >= deviation) for a sum S of independent terms.

    `variance` is that of S; no term is further than `largest` from its mean.
    """
    t = abs(deviation)
    if t == 0:
        return 1.0
    return min(1.0, 2 * math.exp(-(t**2) / (2 * (variance + largest * t / 3))))


def chi_square_band(mean_square: float, freedom: int) -> float:
    """Chernoff bound, either side, for the mean of `freedom` squared standard normal variables."""
    excess = mean_square - 1 - math.log(mean_square)
    return min(1.0, 2 * math.exp(-freedom / 2 * excess))


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
