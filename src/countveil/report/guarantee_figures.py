"""The two figures of section 6 of the paper, with its printed curves and the correct ones.

Enters: an error, the ell of interest. Leaves: charts. Must not know: files, the command line, how
a curve is computed (`maths/paper/curves.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from countveil.maths.paper.curves import (
    LOWEST_PROBABILITY,
    Curve,
    privacy_curves,
    utility_curves,
)
from countveil.report.chart import Axis, Chart, Line

_DASHES = {
    "exact": "solid",
    "Chebyshev": "dotted",
    "as printed": "dashed",
    "(4) as printed": "dashed",
}


def utility_figure(error: float, ell: int) -> Chart:
    """T_E against T_f: the probability of this error or more, from a count on."""
    curves = utility_curves(error, ell)
    return Chart(
        f"Utility of large counts: being off by {error:.4g} of the count or more",
        "count T_f",
        "probability T_E",
        _lines(curves),
        description=f"From a count on (horizontal), the largest probability that the published "
        f"count of it or of any larger count is off by a relative error of {error:.4g} or more "
        f"(vertical), for ell = {_listed(curves)}. Solid: exact. Dotted: Chebyshev's bound, which "
        f"lies above. Dashed: the formula that the paper prints, which is not a bound and far too "
        f"small for small counts.",
        x_axis=Axis(1, curves[0].counts[-1], log=True),
        y_axis=Axis(LOWEST_PROBABILITY, 1, log=True),
    )


def privacy_figure(error: float, ell: int) -> Chart:
    """The probability that the published value of a small count is off by more than the error."""
    curves, low, high = privacy_curves(error, ell), 1 - error, 1 + error
    return Chart(
        f"Privacy of small counts: published outside {low:.4g} f to {high:.4g} f",
        "true count f",
        "probability of a larger error",
        _lines(curves),
        description=f"The probability (vertical) that the published count of a value that f rows "
        f"have (horizontal) lies outside {low:.4g} f to {high:.4g} f, for ell = "
        f"{_listed(curves)}. Solid: exact, one minus the sum of binomial probabilities; it goes up "
        f"and down because counts are whole. Dashed: what the paper's inequality (4) would say, "
        f"far below.",
        x_axis=Axis(0, curves[0].counts[-1]),
        y_axis=Axis(0, 1),
    )


def _lines(curves: Sequence[Curve]) -> list[Line]:
    """A colour is an ell, a dash the way it was computed."""
    hues = {ell: hue for hue, ell in enumerate(_ells(curves))}
    return [
        Line(
            f"ell = {curve.ell}, {curve.computed}",
            curve.counts,
            curve.probabilities,
            hue=hues[curve.ell],
            dash=_DASHES[curve.computed],
        )
        for curve in curves
    ]


def _ells(curves: Sequence[Curve]) -> list[int]:
    return sorted({curve.ell for curve in curves})


def _listed(curves: Sequence[Curve]) -> str:
    return ", ".join(map(str, _ells(curves)))
