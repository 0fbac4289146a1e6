"""The published count of a value, exactly: its probabilities, and where these pass a bound.

Enters: the true count f of a value, ell, distances or relative errors. Leaves: probabilities with
about twelve correct digits, from 1 down to 1e-300, for f up to 10^10; of count, error and
probability the third if two are given, or an error that says what may be asked. Must not know: what
is promised, any table.

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

**Why no step is missed.** Let S be the published minus the true count f. P(|S| >= m) for a fixed
whole number m grows with f: S then gets one more independent term D >= -1 with mean 0, and since
P(S = k) falls on both sides of 0, what D carries across m outweighs what it brings back. A relative
error e means m = ceil(e f), which is the same for all counts of a *block*, from (m-1)/e to m/e.
So failure grows within a block, and the worst count of a block is its last, floor(m/e); protection
(more than e: m = floor(e f) + 1) is least at the first. From block to block the worst counts go
down, and up a little, because m/e is not whole. They lie under the curve with the real distance e f
in the place of m, which falls without steps (`chance_far` takes it): bisection finds where that
curve passes, and a few blocks beside it settle the rest. Below `_SMALL` every block is checked.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from countveil.errors import SettingsError

MOST_COUNT = 10**10
MOST_TRIALS = 2**53
MOST_ELL = 100_000
_NAMES = ("count", "error", "probability")
# A smaller error is less than a row of the largest count.
_LEAST = {"error": 1 / MOST_COUNT, "probability": 1e-300}
_SMALL = 200
# Probabilities have about twelve correct digits; ties are decided in favour of the request.
_LEEWAY = 1e-12

_FIRST_CHUNK, _LARGEST_CHUNK = 64, 1 << 16
_NEGLIGIBLE = 1e-18
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188)


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


def check_ell(ell: int) -> int:
    """A whole number of 2 or more."""
    if isinstance(ell, bool) or not isinstance(ell, int):
        raise SettingsError(f"ell must be a whole number of at least 2, got {ell!r}.")
    if not 2 <= ell <= MOST_ELL:
        raise SettingsError(
            f"ell must be from 2 to {MOST_ELL:,}, got {ell:,}: a group of one hides nobody."
        )
    return ell


def unknown_of(count: int | None, error: float | None, probability: float | None) -> str:
    """Which of the three is unknown; the two others are checked."""
    given = dict(zip(_NAMES, (count, error, probability), strict=True))
    missing = [name for name, value in given.items() if value is None]
    if len(missing) != 1:
        raise SettingsError(
            f"Give two of count, error and probability to get the third; given: "
            f"{len(_NAMES) - len(missing)}."
        )
    if count is not None:
        check_count(count)
    for name, value in (("error", error), ("probability", probability)):
        if value is not None:
            check_between(name, value)
            if value < _LEAST[name]:
                raise SettingsError(
                    f"{name} must be at least {_LEAST[name]:g}, the smallest that is computed, got "
                    f"{value!r}."
                )
    return missing[0]


def check_count(count: int, name: str = "count") -> int:
    """A whole number of 1 or more, up to the largest that is computed."""
    whole = isinstance(count, int) and not isinstance(count, bool)
    if not whole or not 1 <= count <= MOST_COUNT:
        raise SettingsError(
            f"{name} must be a whole number from 1 to {MOST_COUNT:,}, got {count!r}."
        )
    return count


def check_between(name: str, value: float) -> float:
    """A number between 0 and 1, both excluded."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
        percent = (
            f" {value:g}% is {value / 100:g}."
            if isinstance(value, int | float) and math.isfinite(value) and 1 < value < 100
            else ""
        )
        raise SettingsError(
            f"{name} must be more than 0 and less than 1, such as 0.1, got {value!r}.{percent}"
        )
    return float(value)


def worst_failure(count: int, ell: int, error: float) -> float:
    """The largest P(off by `error` or more) of this and every larger count."""
    written = as_written(error)
    if written > max(1, ell - 1):
        # A count is never negative, and no more rows publish a value than its groups hold.
        return 0.0
    worst, steps = 0.0, math.ceil(written * count)
    while True:
        last = math.floor(steps / written)
        worst = max(worst, chance_failing(last, ell, error))
        if last >= _SMALL and _curve(last + 1, ell, written) <= worst:
            return worst
        # The next distance, or for errors beyond 1 the next count.
        steps = math.ceil(written * (last + 1))


def smallest_count(ell: int, error: float, probability: float) -> int:
    """The count from which P(off by `error` or more) stays at or below `probability`."""
    written, allowed = as_written(error), probability * (1 + _LEEWAY)
    # Bernstein's inequality is rigorous and a few times too large.
    enough = 2 * (1 + written / 3) * Fraction(math.log(2 / probability)) / written**2
    highest = min(MOST_COUNT, max(_SMALL, math.ceil(enough)))
    if _curve(highest, ell, written) > allowed:
        raise SettingsError(
            f"An error of {error:g} with probability {probability:g} needs a count of more than "
            f"{MOST_COUNT:,}, the largest that is computed. Ask for a larger error or a larger "
            f"probability."
        )
    safe = _first(_SMALL, highest, lambda count: _curve(count, ell, written) <= allowed)
    for steps in range(math.ceil(written * safe) - 1, 0, -1):
        last = math.floor(steps / written)
        if chance_failing(last, ell, error) > allowed:
            return last + 1
    return 1


def smallest_error(count: int, ell: int, probability: float) -> float:
    """The error that this and every larger count reaches with at most this probability."""
    allowed = probability * (1 + _LEEWAY)
    steps = _last_distance(count, lambda m: chance_far(count, ell, m) > allowed)
    largest = Fraction(steps, count)
    while True:
        steps += 1
        # Larger counts reach one more step; the first of them has the largest such error.
        first = _first_count_beyond(count, ell, steps, allowed)
        if first is None:
            break
        largest = max(largest, Fraction(steps, first))
        if Fraction(steps, first - 1) <= largest:
            break
    return _just_beyond(largest, math.inf)


def hidden_up_to(ell: int, error: float, probability: float) -> int:
    """The largest count such that it and all smaller ones are likely enough off by more."""
    written, wished = as_written(error), probability * (1 - _LEEWAY)
    steps = first = 1
    while first < _SMALL:
        if chance_off(first, ell, error) < wished:
            return first - 1
        steps += 1
        first = math.ceil((steps - 1) / written)

    def falls_short(count: int) -> bool:
        return chance_far(count, ell, float(written * count + 1)) < wished

    if not falls_short(MOST_COUNT):
        raise SettingsError(
            f"An error of {error:g} is exceeded with probability {probability:g} by counts of more "
            f"than {MOST_COUNT:,}, the largest that is computed. Ask for a larger error or "
            f"a larger probability."
        )
    steps = math.floor(written * (_first(first, MOST_COUNT, falls_short) - 1)) + 1
    while True:
        first = math.ceil((steps - 1) / written)
        if chance_off(first, ell, error) < wished:
            return first - 1
        steps += 1


def largest_error(count: int, ell: int, probability: float) -> float:
    """The error that this count exceeds with at least this probability; 0 if there is none."""
    wished = probability * (1 - _LEEWAY)
    steps = _last_distance(count, lambda m: chance_far(count, ell, m) >= wished)
    return _just_beyond(Fraction(steps, count), 0.0) if steps else 0.0


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


def _curve(count: int, ell: int, error: Fraction) -> float:
    """P(off by `error` or more) without steps: never below it, and falling with the count."""
    return chance_far(count, ell, float(error * count))


def _first(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The first number from `low` on for which it holds, as it does for `high` and in between."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return high


def _last_distance(count: int, holds: Callable[[int], bool]) -> int:
    """The last distance for which it holds, as it does for 0 and all smaller ones."""
    high = max(1, math.isqrt(count))
    while holds(high):
        high *= 2
    return _first(1, high, lambda distance: not holds(distance)) - 1


def _first_count_beyond(count: int, ell: int, steps: int, allowed: float) -> int | None:
    """The first count above this one with P(|S| >= steps) > allowed; None if it is too large."""
    high = 2 * count
    while chance_far(high, ell, steps) <= allowed:
        high *= 2
        if high > MOST_COUNT:
            return None
    return _first(count + 1, high, lambda larger: chance_far(larger, ell, steps) > allowed)


def _just_beyond(bound: Fraction, towards: float) -> float:
    """The number next to the bound on that side, as it is written."""
    number = float(bound)
    while (as_written(number) <= bound) if towards > bound else (as_written(number) >= bound):
        number = math.nextafter(number, towards)
    return number
