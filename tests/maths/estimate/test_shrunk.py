"""The default estimate: invariants, limits where the answer is known, and less noise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from countveil.maths.channel import ChannelView, view_of_release
from countveil.maths.channel.skewed_views import joint_view
from countveil.maths.estimate import shrunk_counts, unbiased_counts
from countveil.maths.estimate.estimates import Likelihood
from countveil.maths.estimate.shrunk import components, likelihood_and_centre, mixture, shrink
from tests.strategies import eligible, examples

COUNTS = np.array([9_000, 8_700, 5_000, 4_200, 3_000, 1_500, 900, 400, 200, 70, 30], np.int64)
ROWS = int(COUNTS.sum())


def view(ell: int = 3) -> ChannelView:
    return view_of_release(COUNTS, ROWS, ell, "mixed")


@examples(60)
@given(eligible(), st.data())
def test_it_is_never_negative_and_adds_up(
    table: tuple[np.ndarray, int], data: st.DataObject
) -> None:
    counts, ell = table
    known = view_of_release(counts, int(counts.sum()), ell, "mixed")
    y = np.array([[data.draw(st.integers(0, int(count))) for count in counts]], float)
    shrunk = shrunk_counts(y, [known])
    assert np.isfinite(shrunk).all()
    assert (shrunk >= 0).all()
    assert shrunk.sum() == pytest.approx(y.sum())


def test_no_rows_give_no_counts() -> None:
    assert not shrunk_counts(np.zeros((2, COUNTS.size)), [view()]).any()
    assert not shrunk_counts(np.zeros((2, COUNTS.size, COUNTS.size)), [view(), view(2)]).any()


def test_the_whole_table_is_its_published_histogram() -> None:
    shrunk = shrunk_counts(COUNTS[None].astype(float), [view()])
    assert shrunk[0].tolist() == COUNTS.tolist()


def test_many_predicates_at_once_are_one_by_one() -> None:
    y = np.random.default_rng(1).poisson(COUNTS * 0.02, (7, COUNTS.size)).astype(float)
    together = shrunk_counts(y, [view()])
    alone = np.concatenate([shrunk_counts(row[None], [view()]) for row in y])
    assert together == pytest.approx(alone)


def test_cells_in_pieces_are_cells_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    y = np.random.default_rng(1).poisson(COUNTS * 0.02, (7, COUNTS.size)).astype(float)
    together = shrunk_counts(y, [view()])
    monkeypatch.setattr("countveil.maths.estimate.shrunk.CELLS_AT_ONCE", 5)
    assert shrunk_counts(y, [view()]) == pytest.approx(together)


def test_a_precise_estimate_is_left_alone() -> None:
    """With much evidence, departures from independence are believed as they are."""
    big = COUNTS * 10_000
    known = view_of_release(big, int(big.sum()), 3, "mixed")
    assert known.whole is not None
    x = big * np.linspace(0.05, 0.4, COUNTS.size)
    y = (x @ known.whole)[None]
    assert shrunk_counts(y, [known])[0] == pytest.approx(x, rel=0.01)


def test_pure_noise_is_brought_back_to_independence() -> None:
    """P has nothing to do with the value: the error falls far below that of the unbiased one.

    Averaged over 400 predicates of 300 rows; the ratio of the errors is about 0.2.
    """
    known = view(3)
    assert known.whole is not None
    rng = np.random.default_rng(8)
    x = rng.multinomial(300, COUNTS / ROWS, 400)
    y = np.stack(
        [sum(rng.multinomial(k, w) for k, w in zip(row, known.whole, strict=True)) for row in x]
    )
    shrunk = shrunk_counts(y.astype(float), [known])
    plain = unbiased_counts(y.astype(float), np.full(400, 300.0), known, 0.95).estimate
    expected = 300 * COUNTS / ROWS
    assert np.abs(shrunk - expected).sum() < 0.25 * np.abs(plain - expected).sum()


def test_a_value_that_cannot_be_separated_is_given_by_independence() -> None:
    counts = np.array([2_500, 2_000, 1_500, 1_500, 1_250, 1_250], np.int64)
    known = view_of_release(counts, 10_000, 4, "mixed")
    assert not known.identifiable[0]
    y = np.array([[120.0, 100, 80, 70, 60, 50]])
    shrunk = shrunk_counts(y, [known])
    assert shrunk[0, 0] == pytest.approx(y.sum() * 0.25, rel=0.15)


def test_a_domain_too_large_for_its_channel_still_adds_up() -> None:
    wide = ChannelView(ROWS, 1 / 3, COUNTS.astype(float), None, two_state_holds=True)
    y = np.random.default_rng(1).poisson(COUNTS * 0.02, (3, COUNTS.size)).astype(float)
    assert shrunk_counts(y, [wide]).sum(axis=1) == pytest.approx(y.sum(axis=1))


def test_greedy_groups_are_shrunk_by_their_wider_error() -> None:
    whole = view().whole
    trusted = ChannelView(ROWS, 1 / 3, COUNTS.astype(float), whole, two_state_holds=True)
    doubted = ChannelView(ROWS, 1 / 3, COUNTS.astype(float), whole, two_state_holds=False)
    y = COUNTS[None].astype(np.float64) / 20
    y[0, 3] *= 3
    expected = y.sum() * COUNTS[3] / ROWS
    near = shrunk_counts(y, [doubted])[0, 3] - expected
    far = shrunk_counts(y, [trusted])[0, 3] - expected
    assert 0 < near < far


@given(st.floats(-50, 400), st.floats(0.5, 60), st.floats(1, 200))
def test_the_posterior_mean_lies_between_independence_and_the_estimate(
    estimate: float, error: float, centre: float
) -> None:
    """One cell that nothing else is known of; the absent component may pull below both.

    An estimate of two to three errors beside a large centre is pulled by up to 2.5 of them.
    """
    one = np.ones((1, 1))
    signal = Likelihood(estimate * one, error**2 * one, 0 * one, 0 * one, 1_000 * one, one)
    result = float(shrink(signal, centre * one)[0, 0])
    assert 0 <= result <= max(estimate, centre) + 2 * error
    assert result >= min(0.5 * centre, max(estimate, 0.0)) - 3 * error


@pytest.mark.parametrize("groups", ["random", "mixed"])
def test_values_beside_a_frequent_one_are_expected_in_what_it_leaves(groups: str) -> None:
    """P has a third of the frequent value's usual rows, and all others in their usual shares."""
    counts = np.array([60_000, 8_000, 8_000, 8_000, 6_000, 6_000, 4_000], np.int64)
    known = view_of_release(counts, 100_000, 5, groups, (0,) if groups == "mixed" else ())
    x = np.array([[2_000.0, 3_200, 3_200, 3_200, 2_400, 2_400, 1_600]])
    y = known.sent(x)
    assert y is not None
    centre = likelihood_and_centre(y, [known])[1]
    assert centre[0, 1:] == pytest.approx(x[0, 1:], rel=0.01)
    assert centre[0, 0] == pytest.approx(x.sum() * 0.6)
    # What chance may do moves nothing.
    usual = 0.18 * counts[None].astype(np.float64)
    usual[0, :2] += 20, -20
    y = known.sent(usual)
    assert y is not None
    centre = likelihood_and_centre(y, [known])[1]
    assert centre[0] == pytest.approx(counts * 0.18)


def test_what_a_column_shows_is_expected_of_the_other_through_the_table() -> None:
    """Two columns that mostly agree: P has few rows of the first value of one, so of the other."""
    size = 12
    table = np.full((size, size), 60.0)
    np.fill_diagonal(table, 8_000.0)
    rows = int(table.sum())
    known = joint_view(table, rows, 4)
    departure = np.repeat([0.5, 1.5], size // 2)
    x = 0.3 * table * departure[:, None]
    y = known.sent(x.reshape(1, -1))
    centre = likelihood_and_centre(y, [known])[1]
    assert centre.sum() == pytest.approx(x.sum())
    by_margins = centre.reshape(size, size)
    # Multiplying the departures of both columns would give 0.25 and 2.25 on the diagonal.
    assert np.diag(by_margins) == pytest.approx(np.diag(x), rel=0.03)
    shrunk = shrunk_counts(y, [known])
    assert np.diag(shrunk.reshape(size, size)) == pytest.approx(np.diag(x), rel=0.03)
    assert shrunk.sum() == pytest.approx(x.sum())


@pytest.mark.parametrize(("component", "width"), [(0, 0.0), (3, 0.2), (5, 0.8)])
def test_exact_counts_show_how_far_they_depart(component: int, width: float) -> None:
    """2,000 departures of one width: the weights settle on it. (A false alarm needs ten sigma.)"""
    rng = np.random.default_rng(3)
    centre = np.full((1, 2_000), 1e6)
    true = centre * rng.lognormal(-(width**2) / 2, width, centre.shape)
    none = np.zeros_like(true)
    exact = Likelihood(true, none + 1, none, none, none + 1e9, none + 1)
    evidence, _, known = components(exact, centre)
    weights = mixture(evidence, known, 100)[0, :, 0]
    assert known.all()
    assert weights.argmax() == component
    assert weights[component] > 0.9
