"""The two figures of section 6 of the paper, with its printed curves and the correct ones.

Enters: an error, the ell of interest. Leaves: charts. Must not know: files, the command line.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from countveil.maths.guarantees import chance_off
from countveil.maths.guarantees.searches import (
    chebyshev_probability,
    smallest_count,
    worst_failure,
)
from countveil.maths.paper.printed import printed_probability
from countveil.report import Axis, Chart, Line

_USUAL = (2, 5, 10)
_LOWEST = 1e-4
_PLACES = 90
_SMALL_COUNTS = range(1, 61)


def utility_figure(error: float, ell: int) -> Chart:
    """T_E against T_f: the probability of this error or more, from a count on."""
    ells = _with_usual(ell)
    most = max(smallest_count(each, error, 2 * _LOWEST) for each in ells)
    counts = _spread(max(1_000, most))
    lines = [
        *_lines("exact", "solid", ells, counts, lambda n, each: worst_failure(n, each, error)),
        *_lines(
            "Chebyshev",
            "dotted",
            ells,
            counts,
            lambda n, each: chebyshev_probability(each, n, error),
        ),
        *_lines(
            "as printed",
            "dashed",
            ells,
            counts,
            lambda n, each: printed_probability(each, n, error),
        ),
    ]
    return Chart(
        f"Utility of large counts: being off by {error:.4g} of the count or more",
        "count T_f",
        "probability T_E",
        lines,
        description=f"From a count on (horizontal), the largest probability that the published "
        f"count of it or of any larger count is off by a relative error of {error:.4g} or more "
        f"(vertical), for ell = {_listed(ells)}. Solid: exact. Dotted: Chebyshev's bound, which "
        f"lies above. Dashed: the formula that the paper prints, which is not a bound and far too "
        f"small for small counts.",
        x_axis=Axis(1, counts[-1], log=True),
        y_axis=Axis(_LOWEST, 1, log=True),
    )


def privacy_figure(error: float, ell: int) -> Chart:
    """The probability that the published value of a small count is off by more than the error."""
    ells, low, high = _with_usual(ell), 1 - error, 1 + error
    lines = [
        *_lines(
            "exact",
            "solid",
            ells,
            _SMALL_COUNTS,
            lambda n, each: chance_off(n, each, error),
        ),
        *_lines(
            "(4) as printed",
            "dashed",
            ells,
            _SMALL_COUNTS,
            lambda n, each: printed_probability(each, n, error),
        ),
    ]
    return Chart(
        f"Privacy of small counts: published outside {low:.4g} f to {high:.4g} f",
        "true count f",
        "probability of a larger error",
        lines,
        description=f"The probability (vertical) that the published count of a value that f rows "
        f"have (horizontal) lies outside {low:.4g} f to {high:.4g} f, for ell = "
        f"{_listed(ells)}. Solid: exact, one minus the sum of binomial probabilities; it goes up "
        f"and down because counts are whole. Dashed: what the paper's inequality (4) would say, "
        f"far below.",
        x_axis=Axis(0, _SMALL_COUNTS[-1]),
        y_axis=Axis(0, 1),
    )


def _lines(
    name: str,
    dash: str,
    ells: Sequence[int],
    counts: Sequence[int],
    chance: Callable[[int, int], float],
) -> list[Line]:
    """One way to compute, a line for each ell; a colour is an ell."""
    return [
        Line(f"ell = {ell}, {name}", counts, [chance(n, ell) for n in counts], hue=hue, dash=dash)
        for hue, ell in enumerate(ells)
    ]


def _with_usual(ell: int) -> list[int]:
    return sorted({*_USUAL, ell})


def _listed(ells: Sequence[int]) -> str:
    return ", ".join(map(str, ells))


def _spread(most: int) -> list[int]:
    """Counts from 1 on, evenly spread on a logarithmic scale."""
    return sorted({round(math.exp(math.log(most) * step / _PLACES)) for step in range(_PLACES + 1)})
