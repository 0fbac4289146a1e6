"""p-values and intervals of the audit: exact where they say so, and never too small.

The simulated checks compare how often a p-value falls below 0.05 with 0.05: under a law for which
it is a valid p-value, 2,000 runs exceed 5% + 6 standard errors with a probability below 1e-8.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from countveil.adversaries.chance import (
    bet,
    binomial_lower,
    binomial_upper,
    dealt_upper,
    interval,
    parts_tail,
)

RUNS = 2_000
MOST = 0.05 + 6 * math.sqrt(0.05 * 0.95 / RUNS)


@pytest.mark.parametrize(("trials", "chance"), [(1, 0.3), (10, 0.2), (40, 0.5), (60, 0.9)])
def test_binomial_tails_are_exact(trials: int, chance: float) -> None:
    terms = [math.comb(trials, k) * chance**k * (1 - chance) ** (trials - k) for k in range(trials)]
    terms.append(chance**trials)
    for k in range(trials + 1):
        assert binomial_upper(k, trials, chance) == pytest.approx(sum(terms[k:]), rel=1e-9)
        assert binomial_lower(k, trials, chance) == pytest.approx(sum(terms[: k + 1]), rel=1e-9)


def test_the_interval_is_clopper_pearsons() -> None:
    assert interval(0, 10) == pytest.approx((0.0, 1 - 0.025**0.1), abs=1e-6)
    assert interval(10, 10) == pytest.approx((0.025**0.1, 1.0), abs=1e-6)
    # 3 of 20: the textbook answer.
    assert interval(3, 20) == pytest.approx((0.0321, 0.3789), abs=1e-4)
    assert interval(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize("kind", ["fixed points", "by value"])
def test_successes_of_dealt_values_are_bounded(kind: str) -> None:
    rng = np.random.default_rng(1)
    n, false = 60, 0
    right = np.eye(n, dtype=bool) if kind == "fixed points" else rng.random((n, n)) < 0.3
    expected = right.mean(axis=1).sum()
    for _ in range(RUNS):
        found = right[np.arange(n), rng.permutation(n)].sum()
        false += dealt_upper(int(found), float(expected)) <= 0.05
    assert false / RUNS <= MOST
    assert dealt_upper(n, 0.3 * n) < 1e-4


def test_sums_of_hypergeometric_counts_are_bounded() -> None:
    rng = np.random.default_rng(2)
    total, marked, drawn = np.array([40, 25]), np.array([10, 20]), np.array([15, 5])
    found = rng.hypergeometric(marked, total - marked, drawn, (RUNS, 2)).sum(axis=1)
    p_values = parts_tail(
        found.astype(float), np.tile(drawn.astype(float), (RUNS, 1)), marked / total
    )
    assert (p_values <= 0.05).mean() <= MOST
    assert parts_tail(np.array([20.0]), drawn[None].astype(float), marked / total)[0] < 0.01


def test_bets_on_fair_events_win_rarely() -> None:
    rng = np.random.default_rng(3)
    chances = rng.uniform(0, 0.2, 500)
    wins = [bet(rng.random(500) < chances, chances, both_ways=True) for _ in range(RUNS)]
    assert np.mean(np.array(wins) <= 0.05) <= MOST
    assert bet(rng.random(500) < 3 * chances, chances, both_ways=False) < 1e-4
    assert bet(np.zeros(500, bool), chances, both_ways=True) < 1e-4


def test_all_orders_of_a_small_table_obey_the_bound_on_dealt_values() -> None:
    right = np.array([[1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 1, 1]], bool)
    orders = list(itertools.permutations(range(4)))
    found = [int(right[np.arange(4), list(order)].sum()) for order in orders]
    expected = float(np.mean(found))
    for successes in range(5):
        share = sum(value >= successes for value in found) / len(orders)
        assert share <= dealt_upper(successes, expected) + 1e-12
