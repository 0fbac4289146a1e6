"""Quantiles and variances of estimated distributions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from countveil.maths.models.distribution import Distribution
from tests.strategies import examples

NUMBERS = st.lists(st.integers(0, 9), min_size=2, max_size=30)


def of_rows(rows: list[int]) -> Distribution:
    values, counts = np.unique(rows, return_counts=True)
    return Distribution(values.astype(float), counts.astype(float), np.zeros(values.size))


@given(NUMBERS, st.floats(0, 1))
@examples(60)
def test_of_known_rows_they_are_those_of_numpy(rows: list[int], share: float) -> None:
    known = of_rows(rows)
    assert known.interpolated(share)[0] == pytest.approx(np.quantile(rows, share))
    assert known.variance(1.96, sample=True)[0] == pytest.approx(np.var(rows, ddof=1))
    assert known.deviation(1.96, sample=False)[0] == pytest.approx(np.std(rows))
    assert known.extreme(largest=True)[0] == max(rows)
    assert known.extreme(largest=False)[0] == min(rows)


@given(st.floats(0.01, 0.99), st.lists(st.floats(-3, 30), min_size=10, max_size=10))
@examples(60)
def test_intervals_hold_the_estimate_and_grow_with_the_level(
    share: float, noisy: list[float]
) -> None:
    counts = np.array(noisy)
    estimated = Distribution(np.arange(10.0), counts, np.full(10, 2.0))
    narrow, wide = (estimated.quantile(share, z) for z in (1.0, 2.0))
    if not np.isnan(narrow[0]):
        assert wide[2] <= narrow[2] <= narrow[0] <= narrow[3] <= wide[3]
    spread = estimated.deviation(1.96, sample=False)
    if spread[0] > 0:
        assert spread[2] <= spread[0] <= spread[3]


def test_rows_that_may_not_be_there_have_no_quantile() -> None:
    few = Distribution(np.arange(3.0), np.array([1.0, -1.0, 2.0]), np.full(3, 5.0))
    assert np.isnan(few.quantile(0.5, 1.96)).all()
    assert np.isnan(few.variance(1.96, sample=False)).all()
