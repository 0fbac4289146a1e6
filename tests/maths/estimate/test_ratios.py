"""Fieller's intervals: known answers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from countveil.maths.estimate.estimates import NOT_TOLD, Estimates, verdicts
from countveil.maths.estimate.ratios import (
    PairVariance,
    Supposed,
    fieller,
    fieller_within,
    ratio_estimates,
)
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


@given(
    numbers(-100, 100),
    numbers(-100, 100),
    numbers(0, 50),
    numbers(0, 50),
    numbers(-1, 1),
    numbers(-9, 9),
    numbers(0, 9),
)
@examples(200)
def test_within_bounds_all_that_the_test_allows_lies_between_the_ends(
    top: float,
    bottom: float,
    above: float,
    below: float,
    correlation: float,
    least: float,
    width: float,
) -> None:
    both = correlation * np.sqrt(above * below)
    variance = PairVariance(_array(above), _array(both), _array(below))
    bounds = least, least + width
    low, high = fieller_within(_array(top), _array(bottom), variance, 0.95, bounds)
    assert bounds[0] <= low <= high <= bounds[1]
    z2 = 1.959963984540054**2
    tried = np.linspace(*bounds, 201)
    spread = z2 * np.maximum(above - 2 * tried * both + tried**2 * below, 0.0)
    rounding = 1e-6 * ((top - tried * bottom) ** 2 + spread + 1)
    away = (top - tried * bottom) ** 2
    possible = tried[away <= spread - rounding]
    if possible.size:
        assert low <= possible.min() + 1e-6
        assert possible.max() <= high + 1e-6
        # An end that is not a bound is where the test rejects, if the estimate is within bounds.
        inside = (top - bounds[0] * bottom) * (top - bounds[1] * bottom) <= 0
        for end in (float(low[0, 0]), float(high[0, 0])):
            if inside and bounds[0] < end < bounds[1]:
                rejected = (top - end * bottom) ** 2 - z2 * (
                    above - 2 * end * both + end**2 * below
                )
                scale = top**2 + end**2 * bottom**2 + z2 * (above + end**2 * below) + 1
                assert abs(rejected) <= 1e-5 * scale


def test_a_known_bottom_keeps_the_interval_of_the_top() -> None:
    top = Estimates(_array(10), _array(4), _array(3), _array(25))
    bottom = Estimates(_array(100), _array(0), _array(100), _array(100))
    variance = PairVariance(_array(16), _array(0), _array(0))
    found, told = ratio_estimates((_array(9), _array(100)), (top, bottom), variance, 0.95)
    assert told.all()
    assert [float(array[0, 0]) for array in found.arrays()] == [0.1, 0.04, 0.03, 0.25]


ANSWERS = (
    Estimates(_array(50), _array(5), _array(0), _array(99)),
    Estimates(_array(6), _array(5), _array(0), _array(99)),
)
NOISE = PairVariance(_array(25), _array(0), _array(25))


@pytest.mark.parametrize("bottom", [0.0, 5.0])
def test_where_the_bottom_may_be_zero_nothing_is_claimed(bottom: float) -> None:
    found, told = ratio_estimates((_array(50), _array(bottom)), ANSWERS, NOISE, 0.95)
    assert not told.any()
    assert np.isinf(found.low).all()
    assert np.isinf(found.high).all()
    assert verdicts(found.flat(), np.full(1, NOT_TOLD), 0.1) == ["hidden"]


@pytest.mark.parametrize("bottom", [0.0, 5.0, -30.0])
def test_within_bounds_there_are_ends_but_the_verdict_stays(bottom: float) -> None:
    """A count that came out far below 0 is not told from 0 either."""
    unbiased = _array(50), _array(bottom)
    found, told = ratio_estimates(unbiased, ANSWERS, NOISE, 0.95, (2.0, 9.0), positive=True)
    assert not told.any()
    assert 2 <= found.low <= found.estimate <= found.high <= 9
    assert verdicts(found.flat(), np.where(told, np.inf, NOT_TOLD).ravel(), 0.1) == ["hidden"]


def test_a_bottom_that_is_likely_to_be_small_is_not_told_from_zero() -> None:
    unbiased = _array(90), _array(15)
    none = PairVariance(_array(0), _array(0), _array(0))
    for likely, expected in ((14.0, True), (4.0, False)):
        supposed = Supposed(NOISE, none, _array(likely))
        _, told = ratio_estimates(unbiased, ANSWERS, NOISE, 0.95, supposed=supposed)
        assert told.all() == expected


def test_no_standard_error_is_larger_than_half_of_what_is_possible() -> None:
    unbiased = _array(90), _array(12)
    found, told = ratio_estimates(unbiased, ANSWERS, NOISE, 0.95, (7.0, 8.0))
    assert told.all()
    assert found.std_error == 0.5


def test_an_average_of_equal_numbers_is_hidden_where_nobody_may_be_averaged() -> None:
    """A single row of the predicate: its number is known, but not whether it has the value."""
    unbiased = _array(64 * 0.4), _array(0.4)
    answers = Estimates(*(_array(64 * 0.4),) * 4), Estimates(*(_array(0.4),) * 4)
    spread = PairVariance(_array(64**2), _array(64), _array(1))
    found, told = ratio_estimates(unbiased, answers, spread, 0.95, (64.0, 64.0), positive=True)
    assert not told.any()
    assert found.low == found.high == 64
    assert verdicts(found.flat(), np.where(told, np.inf, NOT_TOLD).ravel(), 0.1) == ["hidden"]
