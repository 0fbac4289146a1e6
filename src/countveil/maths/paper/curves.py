"""The curves of section 6 of the paper: as printed, and as they are.

Enters: an error, the ell of interest. Leaves: named curves, points as plain numbers. Must not know:
charts, files. It stands above `guarantees`, whose correct curves it puts beside the printed ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from countveil.maths.guarantees import chance_off
from countveil.maths.guarantees.binomial import smallest_count, worst_failure
from countveil.maths.guarantees.guarantee import chebyshev_probability
from countveil.maths.paper.printed import printed_probability

LOWEST_PROBABILITY = 1e-4
"""Probabilities below it are not drawn."""

_USUAL_ELLS = (2, 5, 10)
_POINTS = 90
_SMALL_COUNTS = range(1, 61)


@dataclass(frozen=True, slots=True)
class Curve:
    """Probabilities by count, for one ell, computed in one way."""

    ell: int
    computed: str
    counts: Sequence[int]
    probabilities: Sequence[float]


def utility_curves(error: float, ell: int) -> list[Curve]:
    """T_E against T_f: the probability of this error or more, from a count on."""
    ells = _with_usual(ell)
    most = max(smallest_count(each, error, 2 * LOWEST_PROBABILITY) for each in ells)
    counts = _spread(max(1_000, most))
    return [
        *_curves("exact", ells, counts, lambda n, each: worst_failure(n, each, error)),
        *_curves("Chebyshev", ells, counts, lambda n, each: chebyshev_probability(each, n, error)),
        *_curves("as printed", ells, counts, lambda n, each: printed_probability(each, n, error)),
    ]


def privacy_curves(error: float, ell: int) -> list[Curve]:
    """The probability that the published value of a small count is off by more than the error."""
    ells, counts = _with_usual(ell), _SMALL_COUNTS
    return [
        *_curves("exact", ells, counts, lambda n, each: chance_off(n, each, error)),
        *_curves(
            "(4) as printed", ells, counts, lambda n, each: printed_probability(each, n, error)
        ),
    ]


def _curves(
    computed: str,
    ells: Sequence[int],
    counts: Sequence[int],
    probability: Callable[[int, int], float],
) -> list[Curve]:
    return [Curve(ell, computed, counts, [probability(n, ell) for n in counts]) for ell in ells]


def _with_usual(ell: int) -> list[int]:
    return sorted({*_USUAL_ELLS, ell})


def _spread(most: int) -> list[int]:
    """Counts from 1 on, evenly spread on a logarithmic scale."""
    return sorted({round(math.exp(math.log(most) * step / _POINTS)) for step in range(_POINTS + 1)})
