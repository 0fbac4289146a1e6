"""The count, error or probability at which a guarantee begins or ends.

Enters: ell and two of count, error, probability. Leaves: the third, exactly or by Chebyshev's
inequality, or an error that says what may be asked. Must not know: how probabilities are summed.

**Why no step is missed.** Let S be the published minus the true count f. P(|S| >= m) for a fixed
whole number m grows with f: S then gets one more independent term D >= -1 with mean 0, and since
P(S = k) falls on both sides of 0, what D carries across m outweighs what it brings back. A relative
error e means m = ceil(e f), which is the same for all counts of a *block*, from (m-1)/e to m/e.
So failure grows within a block, and the worst count of a block is its last, floor(m/e); protection
(more than e: m = floor(e f) + 1) is least at the first. From block to block the worst counts go
down, and up a little, because m/e is not whole. They lie under the curve with the real distance e f
in the place of m, which falls without steps (`chance_far` takes it): bisection finds where that
curve passes, and a few blocks beside it settle the rest. Below `_SMALL` every block is checked.

**Chebyshev.** The published count has the mean f and the variance f (1 - 1/ell), so

    P(|g - f| >= e f)  <=  (1 - 1/ell) / (e^2 f).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from countveil.errors import SettingsError
from countveil.maths.guarantees.binomial import (
    MOST_COUNT,
    as_written,
    chance_failing,
    chance_far,
    chance_off,
)

MOST_ELL = 100_000
_NAMES = ("count", "error", "probability")
# A smaller error is less than a row of the largest count.
_LEAST = {"error": 1 / MOST_COUNT, "probability": 1e-300}
_SMALL = 200
# Probabilities have about twelve correct digits; ties are decided in favour of the request.
_LEEWAY = 1e-12


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


def chebyshev_probability(ell: int, count: float, error: float) -> float:
    """Chebyshev's bound on P(off by `error` or more), at most 1."""
    return min(1.0, (1 - 1 / ell) / (error**2 * count))


def chebyshev_count(ell: int, error: float, probability: float) -> Fraction:
    """The count at which Chebyshev's bound is `probability`."""
    return (1 - Fraction(1, ell)) / (as_written(error) ** 2 * as_written(probability))


def chebyshev_error(ell: int, count: float, probability: float) -> float:
    """The error at which Chebyshev's bound is `probability`."""
    return math.sqrt((1 - 1 / ell) / (probability * count))


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
