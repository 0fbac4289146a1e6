"""Intervals of counts and sums: by hand, and how often they cover, on arrays.

Statistical tests: a false alarm once in 10^6 at most; each says which mistake it would notice.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest

from countveil.maths.estimate.estimates import Likelihood, symmetric, verdicts
from countveil.randomness import Randomness
from tests.statistical.bounds import FALSE_ALARM

Z95 = 1.959963984540054
LEVELS = [0.5, 0.9, 0.95, 0.99]


def likelihood(
    estimate: float, constant: float, linear: float, size: float = 10_000.0
) -> Likelihood:
    numbers = (estimate, constant, linear, 0.0, size, 1e-6)
    return Likelihood(*(np.array([number]) for number in numbers))


@pytest.mark.parametrize("level", LEVELS)
def test_ends_are_where_the_estimate_is_just_plausible(level: float) -> None:
    """(x - t)^2 = z^2 Var(t) at both ends, with the variance at the end and not at the estimate."""
    x, constant, linear = 300.0, 400.0, 9.0
    z = NormalDist().inv_cdf(0.5 + level / 2)
    made = likelihood(x, constant, linear).estimates(level)
    low, high = float(made.low[0]), float(made.high[0])
    for end in (low, high):
        assert abs(x - end) == pytest.approx(z * math.sqrt(constant + linear * end)), (
            "an end is not z standard errors away, with the error of a true count there"
        )
    assert high - x > x - low, "the variance grows with the count: the upper part is longer"


def test_95_percent_by_hand() -> None:
    """Without a linear part: 500 +- 1.96 x 30; a symmetric interval is the same."""
    for estimates in (
        likelihood(500.0, 900.0, 0.0).estimates(0.95),
        symmetric(np.array([500.0]), np.array([30.0]), 0.95, np.array([500.0])),
    ):
        assert estimates.low[0] == pytest.approx(500 - Z95 * 30), "not the quantile of 95%"
        assert estimates.high[0] == pytest.approx(500 + Z95 * 30), "not the quantile of 95%"


@pytest.mark.parametrize("true", [20.0, 150.0, 3_000.0])
def test_they_cover_as_often_as_they_say(true: float) -> None:
    """Normal estimates with Var(t) = 100 + 4 t. 40,000 of them cover .95 within .0055 (5 sigma).

    With the quantile of 90% they would cover .90; with the variance at the estimate, .935 or less
    at the smallest count.
    """
    draws = 40_000
    uniform = Randomness().stream("coverage").uniform(draws)
    normal = np.array([NormalDist().inv_cdf(min(max(u, 1e-12), 1 - 1e-12)) for u in uniform])
    estimate = true + normal * math.sqrt(100 + 4 * true)
    arrays = np.broadcast_arrays(estimate, 100.0, 4.0, 0.0, 1e6, 1e-6)
    made = Likelihood(*arrays).estimates(0.95)
    covered = float(np.mean((made.low <= true) & (true <= made.high)))
    allowed = NormalDist().inv_cdf(1 - FALSE_ALARM / 2) * math.sqrt(0.05 * 0.95 / draws)
    assert abs(covered - 0.95) < allowed, f"intervals of 95% cover {covered:.3f}"


@pytest.mark.parametrize("estimate", [-30.0, 0.0, 0.4])
def test_a_count_near_zero_has_the_error_of_one(estimate: float) -> None:
    made = likelihood(estimate, 1.0, 24.0).estimates(0.95)
    assert made.std_error[0] == pytest.approx(5.0), "an estimate of 0 would be called certain"
    assert made.low[0] == 0


@pytest.mark.parametrize("estimate", [-500.0, 10_400.0])
def test_intervals_end_at_what_is_possible(estimate: float) -> None:
    made = likelihood(estimate, 10_000.0, 0.0).estimates(0.95)
    assert made.low[0] >= 0, "fewer than no rows"
    assert made.high[0] <= 10_000, "more rows than there are"
    assert made.low[0] < made.high[0]


def test_what_has_no_error_is_hidden() -> None:
    """Without an estimate, an error or an end, and where the error is as large as the count."""
    numbers = [
        (np.nan, np.nan, 0.0, 1_000.0, "hidden"),
        (100.0, np.nan, 0.0, 1_000.0, "hidden"),
        (100.0, 10.0, -np.inf, 120.0, "hidden"),
        (100.0, 10.0, 80.0, np.inf, "hidden"),
        (100.0, 90.0, 0.0, 280.0, "hidden"),
        (-5.0, 9.0, 0.0, 13.0, "hidden"),
        (100.0, 20.0, 60.0, 140.0, "indicative"),
        (100.0, 5.0, 90.0, 110.0, "reliable"),
    ]
    *columns, words = zip(*numbers, strict=True)
    estimates = type(symmetric(*(np.zeros(1),) * 2, 0.9, np.zeros(1)))(*map(np.array, columns))
    assert verdicts(estimates, np.full(len(words), 1_000.0), 0.1) == list(words), (
        "something is shown of which too little is known"
    )
