"""Binomial probabilities, exact far out into the tails.

Enters: the true count f of a value, ell, distances. Leaves: probabilities with about twelve right
digits, from 1 down to 1e-300, for f to 10^10. Must not know: what they promise.

In f groups of ell tuples each, every tuple publishes the value with probability 1/ell, so the
published count g is binomial with f ell trials and chance 1/ell: mean f, variance f (1 - 1/ell).

- One probability is Stirling's formula with its exact correction, and two deviances (Loader 2000):
  nothing of the size of f is subtracted, as logarithms of factorials would have to be.
- A tail is that probability at its edge times 1 + r + r r' + ..., with r the ratio of neighbours.
  The terms fall from the edge outwards, and after some forty standard deviations over the distance
  (nine at most) nothing is left: a few thousandths of a second for f = 10^9.
- Edges need not be whole. Between whole numbers the same sum is the incomplete beta function, which
  falls smoothly; searches use it as a bound without steps.
"""

from __future__ import annotations

import math

import numpy as np

MOST_COUNT = 10**10
MOST_TRIALS = 2**53

_FIRST_CHUNK, _LARGEST_CHUNK = 64, 1 << 16
_NEGLIGIBLE = 1e-18
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188)


def binomial_pmf(successes: float, trials: int, ell: int) -> float:
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


def chance_far(count: int, ell: int, distance: float) -> float:
    """P(|g - count| >= distance) for the published count g."""
    if distance <= 0:
        return 1.0
    trials = count * ell
    above, below = count + distance, count - distance
    return _falling(above, 1, trials, ell) + _falling(below, -1, trials, ell)


def chance_near(count: int, ell: int, distance: int) -> float:
    """P(|g - count| < distance): the same from the other side, exact where it is small."""
    if distance <= 0:
        return 0.0
    trials, terms = count * ell, distance - 1
    upwards = _falling(count + 1, 1, trials, ell, terms)
    return upwards + _falling(count, -1, trials, ell, terms + 1)


def _falling(edge: float, step: int, trials: int, ell: int, terms: int = MOST_TRIALS) -> float:
    """The sum of P(X = edge), P(X = edge + step), ..., at most so many terms, all falling."""
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
        # Beyond 0 and the number of trials there is nothing.
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
    """Number log(number / mean) + mean - number, without cancellation where both are close."""
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
