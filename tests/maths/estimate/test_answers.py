"""Estimates of whole answers, from tallies: complements, sets, and what becomes of shrunk ones."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from countveil.maths.channel import view_of_release
from countveil.maths.estimate import ALWAYS, NEVER, Estimates, Tallies, make_estimator
from countveil.maths.estimate.estimates import Likelihood
from countveil.maths.estimate.shrunk import adding_up
from countveil.maths.estimate.unbiased import misfits

Floats = NDArray[np.float64]

COUNTS = np.array([4_000, 3_600, 3_000, 2_600, 2_000, 1_500, 900, 400, 200, 70, 30], np.int64)
ROWS, ELL = int(COUNTS.sum()), 3
VIEW = view_of_release(COUNTS, ROWS, ELL, "mixed")


def answered(y: Floats, counted: NDArray[np.bool_], method: str) -> Estimates:
    """The count of these values among rows that publish y."""
    truths = np.zeros((1, 0), bool)
    tallies = Tallies(truths, y[None, None, None], np.zeros(0), [VIEW], [False])
    total = tallies.total(np.where(counted, ALWAYS, NEVER), None)
    return make_estimator(method, "exact", 0.95).total(tallies, total, is_count=True)


def some_rows(seed: int) -> Floats:
    """What a tenth of the rows publish."""
    rng = np.random.default_rng(seed)
    return rng.poisson(COUNTS * rng.uniform(0.02, 0.2, COUNTS.size)).astype(np.float64)


@pytest.mark.parametrize("method", ["shrunk", "unbiased"])
@pytest.mark.parametrize("value", [0, 5, 10])
def test_all_but_one_value_are_the_rows_less_those_of_the_value(method: str, value: int) -> None:
    y = some_rows(value)
    one = np.arange(COUNTS.size) == value
    estimate, error, low, high = (array[0, 0] for array in answered(y, one, method).arrays())
    rest = [array[0, 0] for array in answered(y, ~one, method).arrays()]
    n = y.sum()
    expected = [n - estimate, error, n - high, n - low]
    assert rest == pytest.approx(expected), "a complement has other ends than its value"
    assert rest[2] <= rest[3]


@pytest.mark.parametrize("seed", range(20))
def test_no_shrunk_count_lies_outside_of_its_interval(seed: int) -> None:
    """Also where a value is much more frequent than independence has it."""
    y = some_rows(seed)
    y[seed % COUNTS.size] += 40 * np.sqrt(y.sum())
    for value in range(COUNTS.size):
        counted = np.arange(COUNTS.size) == value
        made = answered(y, counted, "shrunk")
        assert made.low[0, 0] - 1e-9 <= made.estimate[0, 0] <= made.high[0, 0] + 1e-9, (
            f"the estimate {made.estimate} leaves its interval, {made.low} to {made.high}"
        )


def test_a_count_that_is_known_does_not_pay_for_others() -> None:
    """By hand: 50 rows too many. The errors are .1 and 50, of which a fifth of 100 counts: 20."""
    means = np.array([[1_000.0, 100.0]])
    zero = np.zeros_like(means)
    likelihood = Likelihood(means, np.array([[0.01, 2_500.0]]), zero, zero, zero + 1_050, zero + 1)
    added = adding_up(means, np.array([[1_050.0]]), likelihood)
    assert added.sum() == pytest.approx(1_050)
    assert added[0, 0] == pytest.approx(1_000 - 50 * 0.1 / 20.1, abs=0.01), (
        "a count that is well known was moved as far as one that is not"
    )


def test_a_set_under_a_condition_is_not_called_exact() -> None:
    """Rows that do not meet the condition count with nothing, whatever they publish."""
    met, other = some_rows(1), some_rows(2)
    counted = np.isin(np.arange(COUNTS.size), [0, 3, 6])
    truths = np.array([[True], [False]])
    moments = np.stack([met, other])[None, None]
    tallies = Tallies(truths, moments, np.zeros(0), [VIEW], [False])
    total = tallies.total(np.where(counted, 0, NEVER), None)
    made = make_estimator("unbiased", "exact", 0.95).total(tallies, total, is_count=True)
    alone = answered(met, counted, "unbiased")
    assert made.estimate == pytest.approx(alone.estimate)
    assert made.std_error == pytest.approx(alone.std_error, rel=0.05), (
        "the error of a set depends on rows that it does not count"
    )
    assert made.std_error[0, 0] > 10


def test_the_bias_that_greedy_groups_may_cause_is_what_they_cause() -> None:
    """From the counts that a predicate is expected to publish, for a strong association."""
    view = view_of_release(COUNTS, ROWS, ELL, "anatomy")
    assert view.whole is not None
    x = COUNTS * np.linspace(0.4, 0.05, COUNTS.size)
    y = (x @ view.whole)[None]
    n = np.array([[x.sum()]])
    caused = (y - n * view.b)[0] / view.gap - x
    implied = misfits(y, n, view)[0][0]
    assert np.abs(caused).max() > 100
    assert np.abs(implied - caused).sum() < 0.2 * np.abs(caused).sum(), (
        "what greedy groups mislead by is guessed from what is published, not from what is true"
    )
