"""P-values against known ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from countveil.maths.estimate.covariances.hypotheses import (
    adjusted,
    chi_square_tail,
    goodness_of_fit,
    independence,
    two_sided,
)


@pytest.mark.parametrize(
    ("statistic", "degrees", "tail"),
    [
        (3.841458820694124, 1, 0.05),
        (18.307038053275146, 10, 0.05),
        (2.0, 2, 0.36787944117144233),
        (0.0, 3, 1.0),
        (200.0, 2, 3.720075976020836e-44),
        (124.3421134, 100, 0.05),
    ],
)
def test_tails_of_chi_square(statistic: float, degrees: float, tail: float) -> None:
    assert chi_square_tail(statistic, degrees) == pytest.approx(tail, rel=1e-6)


def test_without_a_draw_it_is_the_test_of_pearson() -> None:
    table = np.array([[30.0, 20.0, 50.0], [20.0, 40.0, 40.0]])
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    pearson = float(((table - expected) ** 2 / expected).sum())
    test = independence(table, np.zeros((6, 6)))
    assert test.degrees == pytest.approx(2)
    assert test.statistic == pytest.approx(pearson)
    fit = goodness_of_fit(table[0], np.zeros((3, 3)), np.array([0.3, 0.3, 0.4]))
    assert fit.degrees == pytest.approx(2)
    assert fit.statistic == pytest.approx(100 / 30 + 100 / 40)


def test_holm_and_benjamini_hochberg() -> None:
    given_values = [0.01, None, 0.04, 0.03]
    assert adjusted(given_values, None) == given_values
    assert adjusted(given_values, "holm") == [pytest.approx(0.03), None, 0.06, 0.06]
    assert adjusted(given_values, "fdr") == [pytest.approx(0.03), None, 0.04, 0.04]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_adjusting_never_makes_a_finding(p_values: list[float]) -> None:
    holm, fdr = adjusted(p_values, "holm"), adjusted(p_values, "fdr")
    for p, strict, mild in zip(p_values, holm, fdr, strict=True):
        assert strict is not None
        assert mild is not None
        assert p <= mild + 1e-12
        assert mild <= strict + 1e-12
        assert strict <= 1


def test_two_sided() -> None:
    assert two_sided(1.959963984540054, 1.0) == pytest.approx(0.05)
    assert two_sided(0.0, 0.0) == 1
    assert two_sided(1.0, 0.0) == 0
    assert two_sided(None, 1.0) is None
