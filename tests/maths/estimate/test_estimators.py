"""Estimators on plain arrays: known answers, invariants, and what they refuse to say."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from countveil.errors import SettingsError
from countveil.maths.channel import ChannelView, b_exact
from countveil.maths.estimate import Estimates, check_method, unbiased_counts, verdicts
from countveil.maths.paper.iteration import PAPER_TOLERANCE, BayesResult, bayes_counts

ROWS, KEEP = 10_000, 0.2
PUBLISHED = np.array([400.0, 1000.0, 50.0, 1999.0])


def view(published: np.ndarray = PUBLISHED, keep: float = KEEP) -> ChannelView:
    return ChannelView(ROWS, keep, published, None, two_state_holds=True)


def bayes_of(
    y: float, n: float, published: float, keep: float = KEEP, **options: Any
) -> BayesResult:
    """One value; the other one stands for all others."""
    inside, everybody = np.array([[y, n - y]]), np.array([published, ROWS - published])
    return bayes_counts(inside, everybody, [keep], **options)


def test_the_expected_tally_gives_back_the_true_counts() -> None:
    x, n = np.array([[100.0, 300.0, 10.0]]), np.array([2_000.0])
    published = PUBLISHED[:3]
    b = b_exact(published, ROWS, KEEP)
    y = KEEP * x + b * (n[:, None] - x)
    estimates = unbiased_counts(y, n, view(published), 0.95)
    assert np.allclose(estimates.estimate, x)


def test_the_whole_table_gives_the_published_count() -> None:
    estimates = unbiased_counts(PUBLISHED[None], np.array([float(ROWS)]), view(), 0.95)
    assert np.allclose(estimates.estimate[0], PUBLISHED)
    assert np.allclose(estimates.std_error[0], np.sqrt(PUBLISHED * (1 - KEEP)))


def test_a_value_that_cannot_be_separated_is_not_divided_by_nothing() -> None:
    estimates = unbiased_counts(np.array([[10.0, 10, 10, 10]]), np.array([100.0]), view(), 0.95)
    assert np.isnan(estimates.estimate[0, 3])
    assert (estimates.low[0, 3], estimates.high[0, 3]) == (0, 100)
    assert verdicts(estimates.flat(), np.full(4, 100.0), 0.1)[3] == "hidden"


@given(
    st.lists(st.integers(0, 100), min_size=3, max_size=3),
    st.integers(0, 9_000),
    st.sampled_from([0.5, 0.8, 0.95, 0.99]),
    st.sampled_from([0.5, 0.2, 0.1]),
)
def test_intervals_stay_inside_what_is_possible(
    counts: list[int], others: int, level: float, keep: float
) -> None:
    n = float(sum(counts) + others)
    published = np.array([400.0, 900.0, 100.0])
    estimates = unbiased_counts(
        np.array([counts], float), np.array([n]), view(published, keep), level
    )
    assert (estimates.low >= 0).all()
    assert (estimates.high <= n).all()
    assert (estimates.low <= estimates.high).all()
    said = ~np.isnan(estimates.estimate)
    assert said.all() or keep == 0.1, "900 of 10,000 cannot be separated at ell = 10"
    inside = np.clip(estimates.estimate, 0, n)
    assert (estimates.low <= inside + 1e-9)[said].all()
    assert (inside <= estimates.high + 1e-9)[said].all()
    assert (estimates.std_error > 0)[said].all() or n == 0


def test_a_higher_level_gives_a_wider_interval() -> None:
    y, n = np.array([[60.0, 100, 10, 5]]), np.array([500.0])
    narrow, wide = (unbiased_counts(y, n, view(), level) for level in (0.8, 0.99))
    assert (wide.low <= narrow.low)[0, :3].all()
    assert (wide.high >= narrow.high)[0, :3].all()


def test_greedy_groups_widen_the_error_and_say_so() -> None:
    """Where the two-state channel is only an average, its misfit enters the error."""
    whole = np.full((3, 3), 0.4) - 0.2 * np.eye(3)
    mixed = ChannelView(900, 0.2, np.full(3, 100.0), whole, two_state_holds=True)
    greedy = ChannelView(900, 0.2, np.full(3, 100.0), whole, two_state_holds=False)
    y, n = np.array([[40.0, 5.0, 5.0]]), np.array([50.0])
    assert (
        unbiased_counts(y, n, greedy, 0.95).std_error > unbiased_counts(y, n, mixed, 0.95).std_error
    ).all()


def test_without_a_whole_channel_greedy_groups_give_no_error_at_all() -> None:
    unknown = ChannelView(900, 0.2, np.full(3, 100.0), None, two_state_holds=False)
    estimates = unbiased_counts(np.array([[40.0, 5.0, 5.0]]), np.array([50.0]), unknown, 0.95)
    assert np.isnan(estimates.std_error).all()
    assert verdicts(estimates.flat(), np.full(3, 50.0), 0.1) == ["hidden"] * 3


@given(st.integers(0, 60), st.integers(60, 4_000), st.sampled_from([0.5, 0.2, 0.1]))
@pytest.mark.slow
def test_converged_bayes_with_the_exact_channel_is_the_unbiased_answer_where_it_is_possible(
    y: int, n: int, keep: float
) -> None:
    published = np.array([400.0])
    counts, sizes = np.array([[float(y)]]), np.array([float(n)])
    plain = unbiased_counts(counts, sizes, view(published, keep), 0.95).estimate[0, 0]
    # Outside of 0 to n, or above the published count, one of the four states is at its bound.
    assume(1 <= plain <= min(n, 400) - 1)
    result = bayes_of(float(y), float(n), 400.0, keep)
    assert result.estimate[0, 0] == pytest.approx(plain, abs=0.5, rel=0.005)


def test_the_papers_stop_is_early() -> None:
    early = bayes_of(60.0, 1_000.0, 300.0, tolerance=PAPER_TOLERANCE)
    late = bayes_of(60.0, 1_000.0, 300.0)
    assert early.rounds.iterations[0, 0] < late.rounds.iterations[0, 0]
    assert bool(late.rounds.converged[0, 0])


def test_an_iteration_limit_is_reported() -> None:
    result = bayes_of(60.0, 1_000.0, 300.0, max_iterations=3)
    assert result.rounds.iterations.tolist() == [[3, 3]]
    assert not result.rounds.converged[0, 0]
    assert "2 of 2 cells" in result.rounds.sentences()[1]


def test_bayes_keeps_the_four_totals() -> None:
    from countveil.maths.paper.iteration import bayes_step

    y = np.array([[5_000.0], [700.0], [4_200.0], [100.0]])
    after = bayes_step(y, y, ROWS, [KEEP], "exact")
    assert after.sum() == pytest.approx(ROWS)
    assert after[2:].sum() == pytest.approx(4_300)


@pytest.mark.parametrize(
    ("method", "channel", "level", "says"),
    [
        ("magic", "exact", 0.95, "shrunk, unbiased, bayes"),
        ("bayes", "loud", 0.95, "exact, printed"),
        ("unbiased", "printed", 0.95, "bayes"),
        ("shrunk", "printed", 0.95, "bayes"),
        ("unbiased", "exact", 95, "between 0 and 1"),
        ("unbiased", "exact", math.nan, "between 0 and 1"),
    ],
)
def test_what_does_not_go_together_is_refused(
    method: str, channel: str, level: float, says: str
) -> None:
    with pytest.raises(SettingsError, match=says):
        check_method(method, channel, level)


def cells(estimate: float, error: float, low: float, high: float) -> Estimates:
    return Estimates(*(np.array([number]) for number in (estimate, error, low, high)))


@pytest.mark.parametrize(
    ("cell", "size", "word"),
    [
        (cells(100, 10, 80, 120), 1_000, "reliable"),
        (cells(100, 10.1, 80, 120), 1_000, "indicative"),
        (cells(100, 50, 10, 190), 1_000, "indicative"),
        (cells(100, 50.1, 10, 190), 1_000, "hidden"),
        (cells(-3, 2, 0, 5), 1_000, "hidden"),
        (cells(0, 0.9, 0, 3), 1_000, "hidden"),
        (cells(0, 0, 0, 0), 0, "reliable"),
        (cells(20, 8.9, 3, 5), 5, "hidden"),
    ],
)
def test_verdicts(cell: Estimates, size: float, word: str) -> None:
    assert verdicts(cell, np.array([float(size)]), 0.10) == [word]


def test_an_estimate_of_more_than_all_rows_is_no_certainty() -> None:
    """Three of five rows publish a value of 50 rows in 10,000: the estimate is 15 of 5."""
    estimates = unbiased_counts(np.array([[3.0]]), np.array([5.0]), view(np.array([50.0])), 0.95)
    assert estimates.estimate[0, 0] > 14
    assert estimates.low[0, 0] == 0
    assert estimates.high[0, 0] == 5
    assert verdicts(estimates.flat(), np.full(1, 5.0), 0.1) == ["hidden"]


def test_an_estimate_far_below_nothing_is_no_certainty() -> None:
    """None of 2,000 rows publishes a value that 7.6 would publish by chance."""
    estimates = unbiased_counts(np.zeros((1, 1)), np.array([2_000.0]), view(np.array([47.0])), 0.95)
    assert estimates.estimate[0, 0] < -35
    assert estimates.low[0, 0] == 0
    assert estimates.high[0, 0] == pytest.approx(5, rel=0.05)
    assert verdicts(estimates.flat(), np.full(1, 2_000.0), 0.1) == ["hidden"]


def test_only_what_has_no_error_is_certain() -> None:
    assert verdicts(cells(0, 0, 0, 0), np.zeros(1), 0.1) == ["reliable"]
    assert verdicts(cells(5, 4.4, 5, 5), np.full(1, 5.0), 0.1) == ["hidden"]
