"""Two columns, apart and together: beliefs and variances, by hand and with the whole channel."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from countveil.maths.adversary.two_columns import apart, association, together
from countveil.maths.channel.whole import expected_after, whole_channel
from countveil.maths.guarantees.frontier import random_channel, standing


def pairs(seed: int, rows: int = 4, columns: int = 3) -> np.ndarray:
    rng = np.random.default_rng(seed)
    counts = rng.integers(5, 40, (rows, columns))
    return counts.astype(np.int64)


def channels(counts: np.ndarray, ell: int, groups: str) -> tuple[np.ndarray, np.ndarray]:
    return (
        whole_channel(counts.sum(axis=1), ell, groups),
        whole_channel(counts.sum(axis=0), ell, groups),
    )


def test_two_columns_that_say_the_same_are_believed_at_three_quarters() -> None:
    """50 values at ell 5, both own: 1/25 against 49 others of (4/5 / 49)^2."""
    shares = np.eye(50) / 50
    channel = np.full((50, 50), 0.8 / 49)
    np.fill_diagonal(channel, 0.2)
    by_hand = 0.04 / (0.04 + 49 * (0.8 / 49) ** 2)
    found = apart(shares, channel, channel)
    assert by_hand == pytest.approx(0.754, abs=5e-4)
    assert found.largest == pytest.approx(by_hand)
    assert found.columns is not None
    for column in found.columns:
        assert column.largest == pytest.approx(by_hand)
        # Both columns publish the true value in 1 of 25 rows; both another same one in 49 cases.
        assert column.above == pytest.approx(0.04 + 49 * (0.8 / 49) ** 2)
    assert association(shares * 10_000) == pytest.approx(1.0, abs=0.01)


@given(st.integers(0, 1_000), st.sampled_from(["mixed", "random", "anatomy"]))
def test_apart_is_the_product_of_both_channels(seed: int, groups: str) -> None:
    counts = pairs(seed, 5, 4)
    if max(counts.sum(axis=0).max(), counts.sum(axis=1).max()) * 2 > counts.sum():
        return
    shares, (one, two) = counts / counts.sum(), channels(counts, 2, groups)
    found = apart(shares, one, two)
    whole, flat = np.kron(one, two), shares.ravel()
    assert found.mean == pytest.approx(standing(whole, flat).belief)
    outputs = flat @ whole
    belief = flat * np.diag(whole) / outputs
    assert found.largest == pytest.approx(belief.max())
    posterior = (flat[:, None] * whole / outputs).reshape(5, 4, -1)
    assert found.columns is not None
    of_one = (flat[:, None] * whole).reshape(5, 4, -1) * posterior.sum(axis=1)[:, None]
    assert found.columns[0].mean == pytest.approx(of_one.sum())
    assert found.columns[1].largest == pytest.approx(posterior.sum(axis=0).max())
    if np.linalg.cond(whole) < 1e8:
        inverse = np.linalg.inv(whole)
        expected = outputs @ inverse**2 - flat
        np.testing.assert_allclose(found.variance.ravel(), expected, rtol=1e-6)
        # No other unbiased estimate has product weights: this is the channel's place.
        assert found.variance.sum() == pytest.approx(standing(whole, flat).variance, rel=1e-6)
        assert found.distance >= 1 - 1e-9


@given(st.integers(0, 1_000), st.integers(2, 9))
def test_together_is_one_column_of_pairs(seed: int, ell: int) -> None:
    counts = pairs(seed)
    shares = counts / counts.sum()
    found, flat = together(shares, ell), shares.ravel()
    whole = random_channel(flat, ell)
    place = standing(whole, flat)
    assert found.mean == pytest.approx(place.belief)
    assert found.variance.sum() == pytest.approx(place.variance)
    assert found.distance == pytest.approx(1.0)
    assert found.largest == pytest.approx((flat * np.diag(whole) / (flat @ whole)).max())
    alone = random_channel(shares.sum(axis=1), ell)
    assert found.columns is not None
    assert found.columns[0].mean == pytest.approx(standing(alone, shares.sum(axis=1)).belief)
    assert found.columns[0].above == 0


def test_columns_that_are_not_associated_say_nothing_about_each_other() -> None:
    one, two = np.array([40, 30, 20, 10]), np.array([50, 30, 20])
    counts = np.outer(one, two)
    shares = counts / counts.sum()
    first, second = channels(counts, 2, "mixed")
    found = apart(shares, first, second)
    assert association(counts.astype(float)) == 0
    assert found.columns is not None
    assert found.columns[0].mean == pytest.approx(standing(first, one / 100).belief)
    assert found.columns[0].above == 0
    assert found.columns[1].largest == pytest.approx(0.5)


def test_errors_are_those_of_pairs_of_a_size() -> None:
    shares = np.array([[0.3, 0.2], [0.1, 0.4]])
    found = together(shares, 3)
    # ell^2 p (1 - 2 c p + c^2 p) - p with c = 2/3 and p = 0.3, in 1,000 rows.
    variance = 9 * 0.3 * (1 - 0.4 + 0.3 * 4 / 9) - 0.3
    expected = np.sqrt(2 / np.pi) * np.sqrt(1_000 * variance) / 300
    assert found.error(np.where(shares == 0.3, 0.3, 0.001), 0.3, 1_000) == pytest.approx(expected)
    assert found.error(shares, 0.005, 1_000) is None


def test_the_channel_after_noise() -> None:
    """Half of 60, 30 and 10 rows, and half of 100 in thirds: 47, 32 and 22 rows."""
    counts = np.array([60, 30, 10])
    noised = expected_after(counts, 0.5)
    assert noised.tolist() == [47, 32, 22]
    whole = whole_channel(counts, 3, "random", gamma=0.5)
    inner = np.eye(3) / 3 + 2 / 3 * noised / noised.sum()
    np.testing.assert_allclose(whole, (0.5 * np.eye(3) + 0.5 / 3) @ inner)
    np.testing.assert_allclose(whole.sum(axis=1), 1)
