"""The two numbers of the two-state channel."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray

from countveil.maths.channel import (
    b_exact,
    channel_matrix,
    greedy_templates,
    keep_probability,
    view_of_release,
)
from countveil.maths.paper import b_printed
from tests.strategies import eligible


def test_keep_probability_is_one_over_ell_without_residue() -> None:
    assert keep_probability(1000, 5) == pytest.approx(1 / 5)


def test_keep_probability_with_a_residue_lies_between_the_two_sizes() -> None:
    assert keep_probability(7, 4) == pytest.approx(1 / 7)
    assert 1 / 6 < keep_probability(1003, 5) < 1 / 5


@given(eligible())
def test_keep_probability_is_the_mean_over_the_table(case: tuple[NDArray[np.int64], int]) -> None:
    """Over all tuples, weighted by nothing, each group contributes size * 1/size = 1."""
    counts, ell = case
    whole = channel_matrix(greedy_templates(counts, ell))
    total = int(counts.sum())
    kept = float(counts @ np.diag(whole)) / total
    assert kept == pytest.approx((total // ell) / total)


def test_exact_b_balances_the_published_count() -> None:
    rows, count, keep = 10_000.0, 370.0, 0.2
    assert count * keep + (rows - count) * b_exact(count, rows, keep) == pytest.approx(count)


def test_printed_b_does_not() -> None:
    rows, count, ell = 10_000.0, 370.0, 2
    implied = count / ell + (rows - count) * b_printed(count, rows)
    assert implied == pytest.approx(count * (1 / ell + 1 - count / rows))
    assert implied > 1.4 * count


def test_a_value_at_n_over_ell_cannot_be_separated() -> None:
    view = view_of_release(np.array([500, 300, 200], np.int64), 1000, 2, "anatomy")
    assert view.identifiable.tolist() == [False, True, True]


def test_published_counts_beyond_eligibility_still_give_a_view() -> None:
    """By chance a published count exceeds N/ell; the analyst's re-run must cope."""
    view = view_of_release(np.array([560, 250, 190], np.int64), 1000, 2, "anatomy")
    assert view.whole is not None
    assert np.allclose(view.whole.sum(axis=1), 1)


def test_a_view_without_enough_values_has_no_whole_channel() -> None:
    assert view_of_release(np.array([10, 0, 0], np.int64), 10, 2, "anatomy").whole is None
