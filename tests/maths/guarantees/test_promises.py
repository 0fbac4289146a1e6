"""What may be asked, predicates, beliefs, figures."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import countveil as cv
from countveil.errors import SettingsError
from countveil.maths.channel import ChannelView, keep_probability, view_of_release
from countveil.maths.estimate import unbiased_counts
from countveil.maths.guarantees import belief, odds_factor


def test_the_contract_of_the_python_name() -> None:
    found = cv.guarantee(ell=10).privacy(count=5, error=0.3)
    assert found == pytest.approx(0.4800, abs=1e-4)


def test_epsilon_of_ln_3_is_a_belief_of_three_quarters() -> None:
    """Section 2.1 of the paper, with a prior of one half; a better prior gives more."""
    assert belief(0.5, math.exp(math.log(3))) == pytest.approx(0.75)
    assert belief(0.9, 3) == pytest.approx(27 / 28)


@given(st.floats(1e-6, 0.4), st.integers(2, 50))
def test_with_its_share_as_prior_a_published_value_is_believed_at_one_in_ell(
    share: float, ell: int
) -> None:
    assert belief(share, odds_factor(share, ell)) == pytest.approx(1 / ell)


@pytest.mark.parametrize(
    ("ell", "asked", "words"),
    [
        (1, {}, "ell must be from 2"),
        (2.5, {}, "whole number"),
        (10, {"count": 5}, "Give two of count, error and probability"),
        (10, {"count": 5, "error": 0.1, "probability": 0.1}, "given: 3"),
        (10, {"count": 0, "error": 0.1}, "count must be a whole number from 1"),
        (10, {"count": 10**11, "error": 0.1}, "10,000,000,000"),
        (10, {"count": 5, "error": 30}, "30% is 0.3"),
        (10, {"count": 5, "error": 0}, "error must be more than 0"),
        (10, {"count": 5, "error": math.nan}, "error must be"),
        (10, {"count": 5, "probability": 0}, "probability must be more than 0"),
        (10, {"error": 0.3, "probability": 1}, "probability must be"),
        (10, {"error": 1e-7, "probability": 0.1}, "that is computed"),
    ],
)
def test_what_cannot_be_asked_is_refused(ell: Any, asked: dict[str, Any], words: str) -> None:
    for name in ("utility", "privacy"):
        with pytest.raises(SettingsError, match=words):
            getattr(cv.guarantee(ell), name)(**asked)


def test_a_predicate_has_the_errors_of_the_estimator() -> None:
    rows, size, share, ell = 100_000, 20_000, 0.02, 5
    found = cv.guarantee(ell).predicate(rows=rows, size=size, share=share)
    keep = keep_probability(rows, ell)
    view = ChannelView(rows, keep, np.array([share * rows]), None, two_state_holds=True)
    for count in (1, 200, 400, 1_500):
        y = keep * count + view.b * (size - count)
        said = unbiased_counts(y[None], np.array([float(size)]), view, 0.95)
        assert found.std_error(count) == pytest.approx(float(said.std_error[0, 0]), rel=1e-6)


@pytest.mark.parametrize("share", [0.001, 0.3, 0.9])
def test_random_groups_have_the_errors_of_their_estimator(share: float) -> None:
    rows, size, ell = 100_003, 20_000, 5
    found = cv.guarantee(ell).predicate(rows=rows, size=size, share=share, groups="random")
    published = np.array([round(share * rows), rows - round(share * rows)])
    view = view_of_release(published, rows, ell, "random")
    for count in (50, found.most // 2, found.most):
        x = np.array([count, size - count])
        y = view.gap * x + size * view.b
        said = unbiased_counts(y[None], np.array([float(size)]), view, 0.95)
        assert found.std_error(count) == pytest.approx(float(said.std_error[0, 0]), rel=1e-3)


def test_where_a_predicate_is_reliable_and_where_hidden() -> None:
    found = cv.guarantee(5).predicate(rows=100_000, size=20_000, share=0.02)
    sure, below = found.reliable_from(), found.hidden_below()
    assert sure is not None
    assert found.std_error(sure) <= 0.1 * sure
    assert found.std_error(sure - 1) > 0.1 * (sure - 1)
    assert found.std_error(below - 1) > 0.5 * (below - 1)
    assert found.std_error(below) <= 0.5 * below
    assert cv.guarantee(8).predicate(rows=100_000, size=20_000, share=0.02).hidden_below() > below
    assert cv.guarantee(10).predicate(rows=5_000, size=2_000, share=0.01).reliable_from() is None


@given(st.integers(2, 12), st.integers(1, 900), st.floats(0.01, 0.9))
def test_two_of_three_give_the_third(ell: int, count: int, error: float) -> None:
    found = cv.guarantee(ell).predicate(rows=100_000, size=30_000, share=0.01)
    chance = found.privacy(count=count, error=error)
    assert chance <= (found.utility(count=count, error=error).chebyshev or 0) + 1e-12
    if 1e-6 < chance < 1 - 1e-6:
        assert found.utility(count=count, probability=float(chance)) == pytest.approx(error)
        again = found.privacy(error=error, probability=float(chance) * (1 - 1e-9))
        assert again >= count


@pytest.mark.parametrize(
    ("rows", "size", "share", "words"),
    [
        (1_000, 1_000, 0.1, "whole table needs no predicate"),
        (1_000, 100, 0.3, "too frequent for ell = 5"),
        (1_000, 100, 0.195, "so near to 1/ell"),
        (1_000, 100, 0, "share must be"),
        (3, 2, 0.1, "ell = 5 needs at least as many rows"),
        (0, 2, 0.1, "rows must be a whole number"),
    ],
)
def test_impossible_predicates_are_refused(rows: int, size: int, share: float, words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        cv.guarantee(5).predicate(rows=rows, size=size, share=share)
