"""Views of random groups and of common values: unbiased whatever the skew."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from countveil.maths.channel.common import frequent_values
from countveil.maths.channel.skewed_views import common_view, random_view

Counts = NDArray[np.int64]


def skewed(share: float, size: int = 12, rows: int = 20_000) -> Counts:
    others = np.arange(size - 1, 0, -1) ** 2.0
    shares = np.append(share, (1 - share) * others / others.sum())
    counts = np.round(shares * rows).astype(np.int64)
    counts[0] += rows - counts.sum()
    return counts


@given(st.lists(st.integers(0, 500), min_size=2, max_size=9), st.integers(2, 7))
def test_random_groups_send_rows_as_they_should(counts: list[int], ell: int) -> None:
    """W by hand: one's own place, or any other row of the table."""
    table = np.array([*counts, 50])
    rows = int(table.sum())
    view = random_view(table, rows, ell)
    keep = (rows // ell) / rows
    whole = np.empty((table.size, table.size))
    for u, v in np.ndindex(*whole.shape):
        others = (table[v] - (u == v)) / (rows - 1)
        whole[u, v] = keep * (u == v) + (1 - keep) * others
    occurs = table > 0
    assert view.whole is not None
    assert view.whole[occurs] == pytest.approx(whole[occurs])
    assert view.sent(table.astype(float)) == pytest.approx(table)
    x = np.arange(table.size, dtype=float) * occurs
    assert view.sent(x) == pytest.approx(x @ whole)
    assert view.returned(x)[occurs] == pytest.approx((whole @ x)[occurs])
    # Unbiased: the weights undo the channel.
    assert view.weights @ whole.T[:, occurs] == pytest.approx(np.eye(table.size)[:, occurs])


@pytest.mark.parametrize("axis", [1, 2])
def test_sending_works_along_any_axis(axis: int) -> None:
    view = random_view(np.array([30, 20, 10]), 60, 3)
    grid = np.random.default_rng(1).random((4, 3, 3))
    assert view.whole is not None
    other = "puv,ut->ptv" if axis == 1 else "pvu,ut->pvt"
    assert view.sent(grid, axis) == pytest.approx(np.einsum(other, grid, view.whole))
    back = "puv,tu->ptv" if axis == 1 else "pvu,tu->pvt"
    assert view.returned(grid, axis) == pytest.approx(np.einsum(back, grid, view.whole))


def test_a_set_of_values_has_the_channel_of_one_value() -> None:
    """Merging values and asking for them together is the same: nothing explodes."""
    counts = np.array([500, 300, 150, 50])
    apart, merged = random_view(counts, 1_000, 5), random_view(np.array([500, 500]), 1_000, 5)
    assert apart.b[1:].sum() == pytest.approx(merged.b[1])
    assert apart.gap[0] == pytest.approx(merged.gap[1])


@pytest.mark.parametrize("share", [0.3, 0.5, 0.83, 0.95, 0.99])
def test_common_values_are_told_apart(share: float) -> None:
    counts = skewed(share)
    view = common_view(counts, 20_000, 5, tuple(frequent_values(counts, 5).tolist()))
    assert view.identifiable.all()
    assert view.informative.all()
    assert view.whole is not None
    assert counts @ view.whole == pytest.approx(counts, rel=1e-6)
    x = counts * np.random.default_rng(3).random(counts.size)
    # After the corrections, what the design sends comes back to within a thousandth.
    estimate = view.weights @ (x @ view.whole)
    assert estimate == pytest.approx(x, abs=2e-3 * x.sum())


def test_the_variance_of_a_common_value_includes_what_correcting_it_costs() -> None:
    """Beside a value near N / (2 ell), its estimate takes over noise of that one."""
    shares = np.array([0.84, 0.045, *[0.115 / 28] * 28])
    rows, ell = 10_000_000, 10
    counts = np.round(shares * rows).astype(np.int64)
    counts[0] += rows - counts.sum()
    view = common_view(counts, rows, ell, (0,))
    assert view.whole is not None
    # A predicate so small that its rows hardly meet: each publishes by itself.
    x = 1_000 * view.shares
    weights = view.weights[0]
    drawn = x @ (view.whole @ weights**2 - (view.whole @ weights) ** 2)
    two_states = x[0] * view.a[0] * (1 - view.a[0]) + (1_000 - x[0]) * view.b[0] * (1 - view.b[0])
    assert drawn > 1.1 * two_states / view.gap[0] ** 2
    predicted = view.variance(x, np.array([1_000.0]))
    assert predicted[0] == pytest.approx(drawn, rel=0.01)
    # Of the whole table nothing is corrected.
    whole_table = view.variance(counts.astype(np.float64), np.array([1.0 * rows]))
    assert whole_table[0] == pytest.approx(counts[0] * (1 - view.a[0]))


def test_no_value_is_too_frequent_for_random_groups() -> None:
    view = random_view(np.array([9_999, 1]), 10_000, 5)
    assert view.identifiable.all()
    whole_table = view.variance(np.array([9_999.0, 1]), np.array([10_000.0]))
    assert whole_table == pytest.approx(1 * 0.9999 * 0.8, rel=0.01)


def test_one_group_tells_nothing() -> None:
    view = random_view(np.array([2, 2]), 4, 4)
    assert not view.identifiable.any()
    assert np.isnan(view.weights).all()


def test_what_the_promise_about_other_values_costs_beside_random_groups() -> None:
    """docs/theory/frontier.md: (1 - p) / (1 - ell p)^2 times the variance, for small counts."""
    ell, counts = 5, np.array([5_000_000, *[100_000] * 10, *[200_000] * 5, *[300_000] * 10])
    rows, others = int(counts.sum()), counts[1:] / counts.sum()
    n = np.full((1, counts.size), 2_000.0)
    common = common_view(counts, rows, ell, (0,)).variance(0 * n, n)
    random = random_view(counts, rows, ell).variance(0 * n, n)
    expected = (1 - others) / (1 - ell * others) ** 2
    assert (common / random)[0, 1:] == pytest.approx(expected, rel=2e-3)
