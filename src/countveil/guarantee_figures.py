"""The two figures of section 6 of the paper, with its printed curves and the correct ones.

Enters: an error, the ell of interest. Leaves: SVG text. Must not know: files, the command line.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from countveil.guarantees import chance_off
from countveil.guarantees.bounds import chebyshev_probability, printed_probability
from countveil.guarantees.searches import smallest_count, worst_failure
from countveil.report.curves import Axis, Curve, line_chart

_USUAL = (2, 5, 10)
_LOWEST = 1e-4
_PLACES = 90
_SMALL_COUNTS = range(1, 61)


def utility_figure(error: float, ell: int) -> str:
    """T_E against T_f: the probability of this error or more, from a count on."""
    ells = _with_usual(ell)
    most = max(smallest_count(each, error, 2 * _LOWEST) for each in ells)
    counts = _spread(max(1_000, most))
    curves = []
    for hue, each in enumerate(ells):
        exact = [(count, worst_failure(count, each, error)) for count in counts]
        curves.append(Curve(f"ell = {each}, exact", exact, hue))
    for hue, each in enumerate(ells):
        bound = [(count, chebyshev_probability(each, count, error)) for count in counts]
        curves.append(Curve(f"ell = {each}, Chebyshev", bound, hue, "dotted"))
    for hue, each in enumerate(ells):
        printed = [(count, printed_probability(each, count, error)) for count in counts]
        curves.append(Curve(f"ell = {each}, as printed", printed, hue, "dashed"))
    return line_chart(
        f"Utility of large counts: being off by {error:.4g} of the count or more",
        f"From a count on (horizontal), the largest probability that the published count of it or "
        f"of any larger count is off by a relative error of {error:.4g} or more (vertical), for "
        f"ell = {_listed(ells)}. Solid: exact. Dotted: Chebyshev's bound, which lies above. "
        f"Dashed: the formula that the paper prints, which is no bound and far too small for small "
        f"counts.",
        Axis("count T_f", 1, counts[-1], log=True),
        Axis("probability T_E", _LOWEST, 1, log=True),
        curves,
    )


def privacy_figure(error: float, ell: int) -> str:
    """The probability that the estimate of a small count is off by more than the error."""
    ells = _with_usual(ell)
    curves = []
    for hue, each in enumerate(ells):
        exact = [(count, chance_off(count, each, error)) for count in _SMALL_COUNTS]
        curves.append(Curve(f"ell = {each}, exact (the paper's sum)", exact, hue))
    for hue, each in enumerate(ells):
        printed = [(count, printed_probability(each, count, error)) for count in _SMALL_COUNTS]
        curves.append(Curve(f"ell = {each}, inequality (4) as printed", printed, hue, "dashed"))
    low, high = 1 - error, 1 + error
    return line_chart(
        f"Privacy of small counts: published outside of {low:.4g} f to {high:.4g} f",
        f"The probability (vertical) that the published count of a value that f rows have "
        f"(horizontal) lies outside of {low:.4g} f to {high:.4g} f, for ell = {_listed(ells)}. "
        f"Solid: exact, one minus the sum of binomial probabilities; it goes up and down because "
        f"counts are whole. Dashed: what the paper's inequality (4) would say, far below.",
        Axis("true count f", 0, _SMALL_COUNTS[-1]),
        Axis("probability of a larger error", 0, 1),
        curves,
    )


def _with_usual(ell: int) -> list[int]:
    return sorted({*_USUAL, ell})


def _listed(ells: Sequence[int]) -> str:
    return ", ".join(map(str, ells))


def _spread(most: int) -> list[int]:
    """Counts from 1 on, evenly spread on a logarithmic scale."""
    return sorted({round(math.exp(math.log(most) * step / _PLACES)) for step in range(_PLACES + 1)})
