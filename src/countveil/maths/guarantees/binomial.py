"""Exact probabilities: of the published count of a value, and of what one published value reveals.

Enters: the true count f of a value, ell, distances or relative errors; a prior belief. Leaves:
probabilities with about twelve correct digits, from 1 down to 1e-300, for f up to 10^10. Must not
know: what they promise, any table.

In f groups of ell rows each, every row publishes the value with probability 1/ell, so the published
count g is binomial with f ell trials and chance 1/ell: mean f, variance f (1 - 1/ell).

- One probability is Stirling's formula with its exact correction, and two deviances (Loader 2000):
  nothing of the size of f is subtracted, as it would be with logarithms of factorials.
- A tail is the probability at its edge times 1 + r + r r' + ..., with r the ratio of neighbours.
  The terms fall from the edge outwards, and after some forty standard deviations over the distance
  (nine at most) nothing is left: a few thousandths of a second for f = 10^9.
- Edges need not be whole. Between whole numbers the same sum is the incomplete beta function, which
  falls smoothly; searches use it as a bound without steps.

A relative error is taken as the decimal number that was written: 0.7 * 10 is 7 and not a little
more.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

import numpy as np

MOST_COUNT = 10**10
MOST_TRIALS = 2**53

_FIRST_CHUNK, _LARGEST_CHUNK = 64, 1 << 16
_NEGLIGIBLE = 1e-18
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188)
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
    """The table that a release carries: how likely a count of each size is far off."""
    return [
        {"count": count, "error": error, "chance_off": round(chance_off(count, ell, error), 6)}
        for count in _TABLE_COUNTS
    ]


def odds_factor(share: float, ell: int) -> float:
    """The factor a / b: seeing a value of this share multiplies the odds that it is true by it."""
    return (1 - share) / ((ell - 1) * share)


def average_belief(counts: Iterable[int], ell: int) -> float:
    """The belief in a person's true value, on average, of somebody who knows the shares alone.

    One in ell publishes the own value, which is then believed at 1/ell. Of the others, a value of
    share p is believed at about p (1 - 1/ell) / (1 - p).
    """
    values = np.fromiter(counts, np.float64)
    share, keep = values / values.sum(), 1 / ell
    rest = np.minimum(share * (1 - keep) / np.maximum(1 - share, 1e-9), 1.0)
    return float(keep**2 + (1 - keep) * (share * rest).sum())


def belief(prior: float, factor: float) -> float:
    """The belief after evidence that multiplies the odds by `factor`.

    With epsilon-differential privacy the factor may be e^epsilon: for epsilon = ln 3 a prior of one
    half becomes 0.75, the example of section 2.1 of the paper.
    """
    return prior * factor / (prior * factor + 1 - prior)


def binomial_pmf(successes: float, trials: int, ell: float) -> float:
    """P(X = successes) with chance 1/ell for each trial."""
    if not 0 <= successes <= trials:
        return 0.0
    failures = trials - successes
    if successes == 0:
        return math.exp(trials * math.log1p(-1 / ell))
    if failures == 0:
        return math.exp(-trials * math.log(ell))
    mean = trials / ell
    exponent = (
        _stirling_error(trials)
        - _stirling_error(successes)
        - _stirling_error(failures)
        - _deviance(successes, mean)
        - _deviance(failures, trials - mean)
    )
    return math.exp(exponent) * math.sqrt(trials / (2 * math.pi * successes * failures))


def binomial_upper(successes: int, trials: int, chance: float) -> float:
    """P(X >= successes), X binomial."""
    if successes <= 0 or (chance >= 1 and successes <= trials):
        return 1.0
    if successes > trials or chance <= 0:
        return 0.0
    if successes <= trials * chance:
        return max(0.0, 1.0 - binomial_lower(successes - 1, trials, chance))
    if chance > 0.5:
        # 1/chance - 1 would lose digits: the same tail, by the number of failures.
        return min(1.0, _falling(trials - successes, -1, trials, 1 / (1 - chance)))
    return min(1.0, _falling(successes, 1, trials, 1 / chance))


def binomial_lower(successes: int, trials: int, chance: float) -> float:
    """P(X <= successes), X binomial."""
    return binomial_upper(trials - successes, trials, 1 - chance)


def chance_far(count: int, ell: int, distance: float) -> float:
    """P(|g - count| >= distance) for the published count g."""
    if distance <= 0:
        return 1.0
    trials = count * ell
    above, below = count + distance, count - distance
    return _falling(above, 1, trials, ell) + _falling(below, -1, trials, ell)


def chance_near(count: int, ell: int, distance: int) -> float:
    """P(|g - count| < distance): the complement, exact also where it is small."""
    if distance <= 0:
        return 0.0
    trials, terms = count * ell, distance - 1
    upwards = _falling(count + 1, 1, trials, ell, terms)
    return upwards + _falling(count, -1, trials, ell, terms + 1)


def _steps_beyond(count: int, error: float) -> int:
    """The smallest distance that is more than the relative error."""
    return math.floor(as_written(error) * count) + 1


def _falling(edge: float, step: int, trials: int, ell: float, terms: int = MOST_TRIALS) -> float:
    """The sum of P(X = edge), P(X = edge + step), ..., at most `terms` terms, all falling."""
    first = binomial_pmf(edge, trials, ell)
    if first == 0 or terms < 1:
        return 0.0
    total, last, done, chunk = 1.0, 1.0, 1, _FIRST_CHUNK
    while done < terms and last > _NEGLIGIBLE * total:
        size = min(chunk, terms - done)
        at = edge + step * np.arange(done - 1, done - 1 + size, dtype=np.float64)
        if step > 0:
            ratios = (trials - at) / ((at + 1) * (ell - 1))
        else:
            ratios = at * (ell - 1) / (trials - at + 1)
        # Beyond 0 and the number of trials all probabilities are 0.
        products = last * np.cumprod(np.maximum(ratios, 0.0))
        total += float(products.sum())
        last = float(products[-1])
        done += size
        chunk = min(2 * chunk, _LARGEST_CHUNK)
    return first * total


def _stirling_error(number: float) -> float:
    """log(n!) minus Stirling's formula for it."""
    if number < 16:
        stirling = (number + 0.5) * math.log(number) - number + 0.5 * math.log(2 * math.pi)
        return math.lgamma(number + 1) - stirling
    square = number * number
    correction = 0.0
    for coefficient in reversed(_STIRLING):
        correction = coefficient + correction / square
    return correction / number


def _deviance(number: float, mean: float) -> float:
    """The deviance, n log(n / mean) + mean - n, without cancellation where n is near the mean."""
    difference = number - mean
    if abs(difference) >= 0.1 * (number + mean):
        return number * math.log(number / mean) - difference
    ratio = difference / (number + mean)
    total, term, odd = difference * ratio, 2 * number * ratio, 1
    while True:
        term *= ratio * ratio
        odd += 2
        larger = total + term / odd
        if larger == total:
            return total
        total = larger
