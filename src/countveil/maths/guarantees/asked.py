"""What may be asked of a guarantee: two of count, error and probability, in their ranges.

Enters: numbers as a caller wrote them. Leaves: the same, checked, and the name of the third. Must
not know: any formula.
"""

from __future__ import annotations

import math

from countveil.errors import SettingsError
from countveil.maths.guarantees.binomial import MOST_COUNT

MOST_ELL = 100_000
_NAMES = ("count", "error", "probability")
# A smaller error is less than a row of the largest count.
_LEAST = {"error": 1 / MOST_COUNT, "probability": 1e-300}


def check_ell(ell: int) -> int:
    """A whole number of 2 or more."""
    if isinstance(ell, bool) or not isinstance(ell, int):
        raise SettingsError(f"ell must be a whole number from 2 on, got {ell!r}.")
    if not 2 <= ell <= MOST_ELL:
        raise SettingsError(
            f"ell must be from 2 to {MOST_ELL:,}, got {ell:,}: a group of one hides nobody."
        )
    return ell


def wanted(count: int | None, error: float | None, probability: float | None) -> str:
    """Which of the three is to be found; the two others are checked."""
    given = dict(zip(_NAMES, (count, error, probability), strict=True))
    missing = [name for name, value in given.items() if value is None]
    if len(missing) != 1:
        raise SettingsError(
            f"Give two of count, error and probability, and the third is found; given: "
            f"{len(_NAMES) - len(missing)}."
        )
    if count is not None:
        check_count(count)
    for name, value in (("error", error), ("probability", probability)):
        if value is not None:
            check_between(name, value)
            if value < _LEAST[name]:
                raise SettingsError(
                    f"{name} must be at least {_LEAST[name]:g}, which is as far as is computed, "
                    f"got {value!r}."
                )
    return missing[0]


def check_count(count: int, name: str = "count") -> int:
    """A whole number of 1 or more, within what is computed."""
    whole = isinstance(count, int) and not isinstance(count, bool)
    if not whole or not 1 <= count <= MOST_COUNT:
        raise SettingsError(
            f"{name} must be a whole number from 1 to {MOST_COUNT:,}, got {count!r}."
        )
    return count


def check_between(name: str, value: float) -> float:
    """A number between 0 and 1, without either."""
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
