"""Decoy groups in the shape of the other methods, and the figures of a comparison."""

from __future__ import annotations

import numpy as np
import pytest

from countveil.comparing.baselines import DecoyGroups, GlobalRandomisation, Laplace
from countveil.comparing.baselines.measure import (
    Mean,
    Workload,
    answers,
    errors_by_bin,
    measure,
    share_off,
)
from countveil.comparing.baselines.ours import DecoyTable
from countveil.errors import IneligibleError, SettingsError
from countveil.maths.channel import ChannelView
from countveil.maths.paper import bayes_counts
from countveil.randomness import Randomness

CODES = np.repeat(np.arange(10), 120)
ROWS = np.arange(0, CODES.size, 3)


def test_the_two_state_answers_by_hand() -> None:
    """10,000 rows, 300 with the value, ell = 5: a = 1/5, b = 0.8 * 300 / 9,700."""
    view = ChannelView(10_000, 0.2, np.array([300.0, 9_700]), None, two_state_holds=True)
    y = np.array([[50.0, 950]])
    b = 0.8 * 300 / 9_700
    table = DecoyTable(np.zeros(0, np.int64), view, DecoyGroups(5, method="unbiased"))
    assert table.estimated(y)[0, 0] == pytest.approx((50 - 1_000 * b) / (0.2 - b))
    # The other value fills more than 1/5 of the rows: the answer of independence.
    assert table.estimated(y)[0, 1] == pytest.approx(970)
    paper = DecoyTable(np.zeros(0, np.int64), view, DecoyGroups.as_in_the_paper(5))
    said = bayes_counts(y, view.published, [0.2], channel="printed", tolerance=0.01).estimate
    assert paper.estimated(y)[0, 0] == said[0, 0]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["shrunk", "unbiased", "bayes"])
@pytest.mark.parametrize("groups", ["mixed", "anatomy"])
def test_all_choices_answer(groups: str, method: str) -> None:
    table = DecoyGroups(4, groups, method=method).publish(CODES, 10, Randomness(1))
    assert table.totals().tolist() == np.bincount(table.published, minlength=10).tolist()
    found = table.counts_of([ROWS, CODES < 5])
    assert found.shape == (2, 10)
    assert np.isfinite(found).all()
    assert found[0].tolist() == pytest.approx(table.counts(ROWS).tolist())
    belief = table.belief()
    assert belief.posterior.sum(axis=1) == pytest.approx(np.ones(10))
    assert np.diag(belief.posterior) == pytest.approx(np.full(10, 1 / 4), abs=0.02)


@pytest.mark.few(2)
@pytest.mark.parametrize("method", ["shrunk", "unbiased"])
@pytest.mark.parametrize(("groups", "common"), [("random", False), ("mixed", True)])
def test_skewed_columns_answer(groups: str, common: bool, method: str) -> None:
    """700 of 1,000 rows have a value; beliefs are 1/4 + 3/4 p, in others 1/4 with mixed groups."""
    codes = np.concatenate([np.zeros(700, np.int64), 1 + np.arange(300) % 6])
    table = DecoyGroups(4, groups, method=method, common=common).publish(codes, 7, Randomness(1))
    found = table.counts_of([np.arange(codes.size), np.arange(0, codes.size, 2)])
    # The whole table: the estimate is the published count, up to the correction.
    assert found[0] == pytest.approx(table.totals(), abs=8)
    assert np.isfinite(found).all()
    beliefs = np.diag(table.belief().posterior)
    shares = table.totals() / codes.size
    assert beliefs[0] == pytest.approx(shares[0] + (1 - shares[0]) / 4, abs=0.03)
    expected = np.full(6, 0.25) if common else 1 / 4 + 3 / 4 * shares[1:]
    assert beliefs[1:] == pytest.approx(expected, abs=0.02)


def test_the_same_seed_publishes_the_same() -> None:
    one, other, third = (
        DecoyGroups(4).publish(CODES, 10, Randomness(seed)).published for seed in (1, 1, 2)
    )
    assert one.tolist() == other.tolist() != third.tolist()


def test_what_is_refused() -> None:
    with pytest.raises(SettingsError, match="needs method 'bayes'"):
        DecoyGroups(5, channel="printed")
    with pytest.raises(SettingsError, match="groups must be one of"):
        DecoyGroups(5, "wild")
    with pytest.raises(SettingsError, match="'shrunk' or 'unbiased'"):
        DecoyGroups(5, "random", method="bayes")
    with pytest.raises(SettingsError, match="Common values are for mixed groups"):
        DecoyGroups(5, "random", common=True)
    with pytest.raises(
        IneligibleError, match="largest ell that works with groups of different values is 2"
    ):
        DecoyGroups(3).publish(np.array([0, 0, 1, 2]), 3, Randomness(1))
    with pytest.raises(SettingsError, match="has only 10"):
        DecoyGroups(11).publish(CODES, 10, Randomness(1))


def test_errors_and_small_counts_by_hand() -> None:
    true = np.array([[100.0, 200, 0], [10, 4, 1], [2, 3, 150]])
    said = np.array([[110.0, 150, 7], [13, 6, 1], [2, 3.5, 150]])
    # From 5 to 20% of 1,000 rows: 100 and 200 and 150, but these are fewer than five counts.
    assert errors_by_bin(true, said, 1_000, [(0.05, 0.2)]) == [None]
    wide = errors_by_bin(true, said, 1_000, [(0.0, 0.2)])
    assert wide == [pytest.approx((0.1 + 0.25 + 0.3 + 0.5 + 0 + 0 + 0.5 / 3 + 0) / 8)]
    # Of 10, 4, 1, 2 and 3 only the 4 is off by more than 30%: 13 is off by just 30%.
    assert share_off(true, said) == pytest.approx(1 / 5)
    assert share_off(true[:1], said[:1]) is None


def test_a_method_that_tells_the_truth() -> None:
    asked = Workload(CODES, 10, [ROWS, CODES < 5, np.arange(25)])
    found = measure(GlobalRandomisation(1.0), asked, [Randomness(1), Randomness(2)], [(0.0, 1.0)])
    (error,) = found.errors
    assert error is not None
    assert (error.value, error.std_error) == pytest.approx((0, 0), abs=1e-6)
    assert found.belief.value == pytest.approx(1)
    assert found.most_believed.value == pytest.approx(1)
    assert found.candidates.value == pytest.approx(1)


def test_a_mean_and_its_standard_error() -> None:
    assert Mean.of([1.0]) == Mean(1.0, None)
    # Variance 4 with one less than the number of values; 2 over the root of 3.
    found = Mean.of([1.0, 3.0, 5.0])
    assert (found.value, found.std_error) == pytest.approx((3.0, 2 / 3**0.5))


def test_more_predicates_than_the_budget_pays_for_are_asked_of_more_publications() -> None:
    asked = Workload(CODES, 10, [ROWS] * 7)
    found, published = answers(Laplace(1e6, 3), asked, Randomness(1))
    assert found.tolist() == asked.true_counts().tolist()
    assert published.counts(ROWS).tolist() == asked.true_counts()[0].tolist()
