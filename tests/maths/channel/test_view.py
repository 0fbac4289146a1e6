"""The correction of two-state estimates by the channel of the whole domain."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from numpy.typing import NDArray

from countveil.maths.channel import ChannelView, view_of_release
from countveil.maths.channel.view import two_state_weights
from countveil.maths.estimate import unbiased_counts
from tests.strategies import eligible, examples

COUNTS = np.array(
    [9_000, 8_700, 5_000, 4_200, 3_000, 3_000, 1_500, 900, 400, 200, 70, 30], np.int64
)


def some_truths(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    shares = np.random.default_rng(1).uniform(0, 0.6, (20, counts.size))
    return shares * counts


def test_without_noise_the_truth_comes_out() -> None:
    """E[y] = W^T x: two states alone are off by dozens of rows, the corrected ones by none."""
    for ell in (2, 3):
        view = view_of_release(COUNTS, int(COUNTS.sum()), ell, "mixed")
        assert view.whole is not None
        x = some_truths(COUNTS)
        y = x @ view.whole
        estimates = unbiased_counts(y, y.sum(axis=1), view, 0.95).estimate
        alone = y @ two_state_weights(view.a, view.b).T
        assert np.abs(estimates - x).max() < 0.05 * np.abs(alone - x).max()
        assert np.abs(estimates - x).max() < 1


def test_the_weights_give_the_same_answers() -> None:
    view = view_of_release(COUNTS, int(COUNTS.sum()), 3, "mixed")
    y = some_truths(COUNTS)
    estimates = unbiased_counts(y, y.sum(axis=1), view, 0.95).estimate
    assert np.allclose(y @ view.weights.T, estimates)


def test_all_weights_of_a_row_add_up_to_one() -> None:
    """Every row has exactly one true value."""
    view = view_of_release(COUNTS, int(COUNTS.sum()), 3, "mixed")
    assert np.allclose(view.weights.sum(axis=0), 1, atol=1e-3)


def test_the_whole_table_is_its_published_histogram() -> None:
    view = view_of_release(COUNTS, int(COUNTS.sum()), 4, "mixed")
    estimates = unbiased_counts(
        COUNTS[None, :].astype(np.float64), np.array([COUNTS.sum() * 1.0]), view, 0.95
    )
    assert np.allclose(estimates.estimate, COUNTS)


def test_values_that_cannot_be_separated_widen_the_errors_of_the_others() -> None:
    counts = np.array([25_000, 9_000, 8_000, 5_000, 2_000, 1_000], np.int64)
    view = view_of_release(counts, 50_000, 2, "mixed")
    assert view.identifiable.tolist() == [False, True, True, True, True, True]
    assert view.whole is not None
    x = some_truths(counts)
    y = x @ view.whole
    estimates = unbiased_counts(y, y.sum(axis=1), view, 0.95)
    assert np.isnan(estimates.estimate[:, 0]).all()
    # The first value is in every group, so how many rows of a predicate have it is unknown.
    # The error of the others contains what that does to them.
    error = np.abs(estimates.estimate - x)[:, 1:] / estimates.std_error[:, 1:]
    assert np.sqrt(np.mean(error**2)) < 1.2


def test_a_value_that_was_published_nowhere() -> None:
    counts = np.append(COUNTS, 0)
    view = view_of_release(counts, int(counts.sum()), 3, "mixed")
    y = np.append(some_truths(COUNTS)[0], 0.0)[None, :]
    estimates = unbiased_counts(y, y.sum(axis=1), view, 0.95)
    assert estimates.estimate[0, -1] == 0
    assert np.isfinite(estimates.estimate).all()


@examples(80)
@given(eligible(most_values=12, most=2000))
def test_estimates_are_finite_wherever_values_are_separable(
    case: tuple[NDArray[np.int64], int],
) -> None:
    counts, ell = case
    view = view_of_release(counts, int(counts.sum()), ell, "mixed")
    y = np.floor(some_truths(counts))
    estimates = unbiased_counts(y, y.sum(axis=1), view, 0.95)
    usable = view.identifiable & (counts > 0)
    assert np.isfinite(estimates.estimate[:, usable]).all()


def test_greedy_groups_are_left_alone() -> None:
    view = view_of_release(COUNTS, int(COUNTS.sum()), 3, "anatomy")
    assert isinstance(view, ChannelView)
    assert not view.two_state_holds
    weights = view.weights
    assert np.allclose(weights, two_state_weights(view.a, view.b))
