"""Covariances of totals: against the variance of single values, against each other, and simulated.

The simulated standard deviation of 200 releases is off by 5% (one standard error); a departure of
28% has a chance below 1e-7.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from countveil.maths.channel import ChannelView, view_of_release
from countveil.maths.estimate import ALWAYS, NEVER, Tallies
from countveil.maths.estimate.covariances.draw import SharedDraw
from countveil.maths.estimate.covariances.one_column import set_likelihood
from countveil.maths.groups import ColumnSettings
from tests.repeated_releases import releases

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

COUNTS = np.array([450, 400, 380, 350, 320, 300, 250, 150, 100, 60, 30, 10])
SETS = [[0, 3], [1, 4, 5, 9], list(range(1, 12)), [7, 8, 9, 10]]


def table() -> tuple[Codes, Codes]:
    """A column, and a plain one with two values that is associated with it."""
    rng = np.random.default_rng(8)
    codes = rng.permutation(np.repeat(np.arange(COUNTS.size), COUNTS))
    return codes, (rng.random(codes.size) < 0.3 + 0.04 * codes).astype(np.int64)


def tallied(published: Codes, plain: Codes, rows: NDArray[np.bool_] | None = None) -> Floats:
    chosen = slice(None) if rows is None else rows
    flat = plain[chosen] * COUNTS.size + published[chosen]
    return np.bincount(flat, minlength=2 * COUNTS.size).reshape(2, -1).astype(np.float64)


def influences(draw: SharedDraw, view: ChannelView, groups: int = 2) -> Floats:
    """The covariance of every set in every group."""
    counting = np.zeros((len(SETS) * groups, groups, COUNTS.size))
    for number, values in enumerate(SETS):
        for group in range(groups):
            counting[number * groups + group, group, values] = 1
    weights = counting @ view.weights
    one = draw.influence(counting, weights, None)
    return draw.covariance(one, one)


@pytest.mark.parametrize("groups", ["mixed", "random"])
@pytest.mark.parametrize("ell", [2, 4])
@pytest.mark.slow
def test_simulated_errors_and_correlations_are_those_computed(groups: str, ell: int) -> None:
    codes, plain = table()
    estimates, covariances = [], []
    for published in releases(codes, ColumnSettings(ell, groups), 200):
        y = tallied(published, plain)
        view = view_of_release(y.sum(axis=0).astype(np.int64), codes.size, ell, groups)
        covariances.append(influences(SharedDraw(view, lambda *_, y=y: y[None]), view))
        x = y @ view.weights.T
        estimates.append([x[group, values].sum() for values in SETS for group in range(2)])
    true = np.cov(np.array(estimates).T)
    computed = np.mean(covariances, axis=0)
    assert np.sqrt(np.diag(computed)) == pytest.approx(np.sqrt(np.diag(true)), rel=0.28)
    scale = np.sqrt(np.outer(np.diag(true), np.diag(true)))
    # A correlation from 200 releases is off by at most 0.07 (one standard error).
    assert np.abs((computed - true) / scale).max() < 0.4


@pytest.mark.parametrize("groups", ["mixed", "random"])
def test_single_values_have_the_variance_they_have_alone(groups: str) -> None:
    codes, plain = table()
    histogram = np.bincount(codes)
    view = view_of_release(histogram, codes.size, 4, groups)
    true = tallied(codes, plain)[None, :1]
    draw = SharedDraw(view, lambda _one, _two: true, true)
    counting = np.eye(COUNTS.size)[:, None]
    one = draw.influence(counting, counting @ view.weights, None)
    alone = view.variance(true[0, 0], np.full(COUNTS.size, true.sum()))
    assert np.sqrt(draw.variance(one)) == pytest.approx(np.sqrt(alone), rel=0.06)


@pytest.mark.parametrize("groups", ["mixed", "random"])
def test_a_set_and_its_complement_have_the_same_error(groups: str) -> None:
    codes, plain = table()
    (published,) = releases(codes, ColumnSettings(4, groups), 1)
    view = view_of_release(np.bincount(published), codes.size, 4, groups)
    for rows in (plain == 1, np.ones(codes.size, bool)):
        y = np.bincount(published[rows], minlength=COUNTS.size).astype(np.float64)
        tallies = Tallies(np.zeros((1, 0), bool), y[None, None, None], np.zeros(0), [view], [False])
        errors = []
        for values in ([0, 3, 5], [1, 2, 4, 6, 7, 8, 9, 10, 11]):
            chosen = np.isin(np.arange(COUNTS.size), values)
            total = tallies.total(np.where(chosen, ALWAYS, NEVER), None)
            errors.append(set_likelihood(total).estimates(0.95).std_error[0, 0])
        assert errors[0] == pytest.approx(errors[1], rel=0.05)


def test_all_values_are_counted_without_error() -> None:
    codes, _ = table()
    view = view_of_release(np.bincount(codes), codes.size, 4, "mixed")
    moments = np.bincount(codes).astype(np.float64)[None, None, None]
    tallies = Tallies(np.zeros((1, 0), bool), moments, np.zeros(0), [view], [False])
    total = tallies.total(np.full(COUNTS.size, ALWAYS), None)
    assert total.variance[0, 0] == 0
    assert total.estimate[0, 0] == codes.size
