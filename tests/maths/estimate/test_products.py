"""Cells of several columns: what the variance formula must agree with."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from countveil.maths.channel import ChannelView, view_of_release
from countveil.maths.estimate.products import product_likelihood
from countveil.maths.estimate.unbiased import unbiased_likelihood

ROWS = 10_000
FIRST = ChannelView(ROWS, 0.2, np.array([400.0, 1_000, 50, 8_550]), None, two_state_holds=True)
SECOND = ChannelView(ROWS, 0.5, np.array([2_000.0, 3_500, 4_500]), None, two_state_holds=True)


@given(
    st.lists(st.integers(0, 900), min_size=4, max_size=4).filter(any),
    st.floats(0, 1),
)
def test_with_one_column_it_is_the_variance_of_the_unbiased_estimate(
    counts: list[int], share: float
) -> None:
    y = np.array([counts], float)
    n = y.sum(axis=1)
    one, several = unbiased_likelihood(y, n, FIRST), product_likelihood(y, [FIRST], [0 * y])
    true = share * one.size[:, :3]
    assert several.estimate[:, :3] == pytest.approx(one.estimate[:, :3])
    assert several.at(np.arange(3)).variance(true) == pytest.approx(
        one.at(np.arange(3)).variance(true), rel=1e-6, abs=1e-6
    )
    assert np.isnan(several.estimate[0, 3]), "8,550 of 10,000 cannot be separated at ell = 5"


def test_without_noise_the_truth_comes_out() -> None:
    """E[y] = W1^T x W2 for two columns with channels of their own."""
    counts = np.array([2_500, 2_500, 2_500, 2_000, 1_500, 1_000, 500], np.int64)
    other = np.array([4_000, 3_500, 3_000, 2_000], np.int64)
    views = [
        view_of_release(counts, 12_500, 3, "mixed"),
        view_of_release(other, 12_500, 2, "mixed"),
    ]
    assert views[0].whole is not None
    assert views[1].whole is not None
    x = np.random.default_rng(2).uniform(0, 90, (3, 7, 4))
    y = np.einsum("pst,su,tv->puv", x, views[0].whole, views[1].whole)
    likelihood = product_likelihood(y, views, [x.sum(axis=2), x.sum(axis=1)])
    assert np.abs(likelihood.estimate - x).max() < 1
    assert likelihood.size == pytest.approx(x.sum(axis=(1, 2), keepdims=True) + 0 * x)


def test_three_columns_have_a_variance_too() -> None:
    views = [FIRST, SECOND, SECOND]
    y = np.random.default_rng(4).uniform(0, 30, (2, 4, 3, 3))
    margins = [y.sum(axis=(2, 3)), y.sum(axis=(1, 3)), y.sum(axis=(1, 2))]
    result = product_likelihood(y, views, margins).at(np.arange(3))
    assert np.isfinite(result.estimate[:, :3]).all()
    assert (result.variance(np.full((2, 4, 3, 3), 5.0))[:, :3] > 0).all()
