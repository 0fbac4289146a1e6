"""How likely a figure is by chance: exact probabilities, or bounds that are proven for any sample.

Enters: counts and what is claimed of them. Leaves: p-values and intervals. Must not know: attacks.

- `interval`                           Clopper-Pearson, exact
- `ratio_p_value`                      two binomial counts, exact: of chances whose ratio is bounded
- `hypergeometric_tail`                a sum of independent hypergeometric counts: none has a larger
                                       exponential moment than the binomial one (Hoeffding 1963)
- `bounded_tail`                       the same for one sum, with chances known within bounds
- `bet`                                a sum of events whose chances, given the past, are known:
                                       betting on them at fair odds multiplies the stake by x or
                                       more with probability at most 1/x (Ville)
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from countveil.maths.guarantees.binomial import binomial_lower, binomial_upper

Floats = NDArray[np.float64]

LEVEL = 0.95
TILTS = np.concatenate([-np.geomspace(5.0, 1e-3, 40), np.geomspace(1e-3, 5.0, 40)])
_STAKES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)


def interval(successes: int, trials: int, level: float = LEVEL) -> tuple[float, float]:
    """Clopper-Pearson: the chances that the observation does not contradict."""
    if trials == 0:
        return 0.0, 1.0
    outside = (1 - level) / 2
    low = _solve(lambda chance: binomial_upper(successes, trials, chance) < outside)
    high = _solve(lambda chance: binomial_lower(successes, trials, chance) >= outside)
    return (low if successes else 0.0), (high if successes < trials else 1.0)


def _solve(below: Callable[[float], bool]) -> float:
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        if below(middle):
            low = middle
        else:
            high = middle
    return (low + high) / 2


def ratio_p_value(often: int, seldom: int, trials: int, most: float) -> float:
    """Of two counts among so many trials each: is the first chance at most `most` x the second?

    A lower bound of the first chance contradicts an upper one of the second, each with half of the
    probability of an error. With r the second chance, P(often or more | most x r) rises with r and
    P(seldom or fewer | r) falls.
    """
    tails = 1.0, 1.0

    def below(chance: float) -> bool:
        nonlocal tails
        high = binomial_upper(often, trials, min(1.0, most * chance))
        tails = high, binomial_lower(seldom, trials, chance)
        return tails[0] < tails[1]

    _solve(below)
    return min(1.0, 2 * max(tails))


def hypergeometric_tail(successes: Floats, drawn: Floats, chances: Floats) -> Floats:
    """Two-sided bounds for sums over the last axis of counts of `drawn` that succeed by `chances`.

    `successes` has one entry per sum, `drawn` one row.
    """
    bounds = np.zeros(successes.size)
    for tilt in TILTS.tolist():
        moments = drawn @ np.log1p(chances * math.expm1(tilt))
        bounds = np.minimum(bounds, moments - tilt * successes)
    p_values: Floats = np.minimum(1.0, 2 * np.exp(bounds))
    return p_values


def bounded_tail(successes: int, drawn: Floats, least: Floats, most: Floats) -> float:
    """Two-sided: a sum of counts of `drawn` whose chances are between `least` and `most`."""
    bound = 0.0
    for tilt in TILTS.tolist():
        chances = most if tilt > 0 else least
        moment = float(drawn @ np.log1p(np.clip(chances, 0.0, 1.0) * math.expm1(tilt)))
        bound = min(bound, moment - tilt * successes)
    return min(1.0, 2 * math.exp(bound))


def bet(happened: NDArray[np.bool_], chances: Floats, *, both_ways: bool) -> float:
    """p-value of events with these chances given the past, or smaller ones if not `both_ways`."""
    signs = (1, -1) if both_ways else (1,)
    gains = [
        tilt * float(happened.sum()) - float(np.log1p(chances * math.expm1(tilt)).sum())
        for tilt in (sign * stake for sign in signs for stake in _STAKES)
    ]
    most = max(gains)
    # The stake is split evenly over the tilts.
    log_wealth = most + math.log(sum(math.exp(gain - most) for gain in gains) / len(gains))
    return min(1.0, math.exp(-log_wealth)) if log_wealth > 0 else 1.0
