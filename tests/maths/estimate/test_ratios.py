"""Fieller's intervals: known answers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from countveil.maths.estimate.estimates import Estimates, verdicts
from countveil.maths.estimate.ratios import PairVariance, fieller, ratio_estimates
from tests.strategies import examples


def _array(number: float) -> np.ndarray:
    return np.array([[float(number)]])


def numbers(least: float, most: float) -> st.SearchStrategy[float]:
    """To six places: totals of rows are 0 or far from the smallest floats."""
    return st.floats(least, most).map(lambda number: round(number, 6))


@given(
    numbers(-100, 100),
    numbers(-100, 100),
    numbers(0, 50),
    numbers(0, 50),
    numbers(-1, 1),
)
@examples(200)
def test_the_ends_are_where_the_test_rejects(
    top: float, bottom: float, above: float, below: float, correlation: float
) -> None:
    both = correlation * np.sqrt(above * below)
    variance = PairVariance(_array(above), _array(both), _array(below))
    low, high = fieller(_array(top), _array(bottom), variance, 0.95)
    z2 = 1.959963984540054**2
    if bottom**2 <= z2 * below:
        assert np.isinf(low).all()
        assert np.isinf(high).all()
        return
    for end in (low, high):
        rejected = (top - end * bottom) ** 2 - z2 * (above - 2 * end * both + end**2 * below)
        scale = top**2 + end**2 * bottom**2 + z2 * (above + end**2 * below) + 1e-9
        assert np.abs(rejected / scale).max() < 1e-6
    # The root of a difference of squares is right to half the digits of a float.
    rounding = 1e-9 + 1e-7 * (np.abs(low) + np.abs(high))
    assert low <= top / bottom + rounding
    assert top / bottom - rounding <= high


def test_a_known_bottom_keeps_the_interval_of_the_top() -> None:
    top = Estimates(_array(10), _array(4), _array(3), _array(25))
    bottom = Estimates(_array(100), _array(0), _array(100), _array(100))
    variance = PairVariance(_array(16), _array(0), _array(0))
    found = ratio_estimates((_array(9), _array(100)), (top, bottom), variance, 0.95)
    assert [float(array[0, 0]) for array in found.arrays()] == [0.1, 0.04, 0.03, 0.25]


@pytest.mark.parametrize("bottom", [0.0, 5.0])
def test_where_the_bottom_may_be_zero_nothing_is_claimed(bottom: float) -> None:
    answers = [Estimates(_array(n), _array(5), _array(0), _array(99)) for n in (50, 6)]
    variance = PairVariance(_array(25), _array(0), _array(25))
    found = ratio_estimates((_array(50), _array(bottom)), (answers[0], answers[1]), variance, 0.95)
    assert np.isinf(found.low).all()
    assert np.isinf(found.high).all()
    assert verdicts(found.flat(), np.array([np.inf]), 0.1) == ["hidden"]
