"""The curves of section 6: the paper's formula beside what is exact."""

from __future__ import annotations

import pytest

from countveil.maths.paper.curves import LOWEST_PROBABILITY, Curve, privacy_curves, utility_curves


def at(curves: list[Curve], computed: str, ell: int, count: int) -> float:
    [curve] = [each for each in curves if (each.computed, each.ell) == (computed, ell)]
    return curve.probabilities[list(curve.counts).index(count)]


def test_small_counts_by_hand() -> None:
    """Five rows, ell 10: the published count is binomial (50, 1/10); 4 to 6 lie within 30%."""
    curves = privacy_curves(0.3, 10)
    assert at(curves, "exact", 10, 5) == pytest.approx(0.480067, abs=1e-6)
    assert at(curves, "(4) as printed", 10, 5) == pytest.approx(1 / (10 * 0.09 * 25))


@pytest.mark.slow
def test_the_ell_of_interest_joins_the_usual_ones() -> None:
    assert {curve.ell for curve in privacy_curves(0.3, 7)} == {2, 5, 7, 10}
    assert {curve.ell for curve in utility_curves(0.2, 5)} == {2, 5, 10}


@pytest.mark.slow
def test_chebyshev_bounds_what_is_exact_and_the_printed_formula_does_not() -> None:
    curves = utility_curves(0.2, 5)
    exact, bound, printed = (
        next(c for c in curves if (c.computed, c.ell) == (computed, 5))
        for computed in ("exact", "Chebyshev", "as printed")
    )
    pairs = zip(exact.probabilities, bound.probabilities, strict=True)
    assert all(true <= above + 1e-12 for true, above in pairs)
    assert any(
        true > claimed
        for true, claimed in zip(exact.probabilities, printed.probabilities, strict=True)
    )
    assert exact.probabilities[-1] < 10 * LOWEST_PROBABILITY
    assert list(exact.probabilities) == sorted(exact.probabilities, reverse=True)
