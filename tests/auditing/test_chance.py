"""p-values and intervals of the audit: exact where they say so, and never too small.

The simulated checks compare how often a p-value falls below 0.05 with 0.05: under a law for which
it is a valid p-value, 2,000 runs exceed 5% + 6 standard errors with a probability below 1e-8.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from countveil.auditing.beliefs import score
from countveil.auditing.chance import bet, hypergeometric_tail, interval
from countveil.auditing.target import AttackedColumn

RUNS = 2_000
MOST = 0.05 + 6 * math.sqrt(0.05 * 0.95 / RUNS)


def test_the_interval_is_clopper_pearsons() -> None:
    assert interval(0, 10) == pytest.approx((0.0, 1 - 0.025**0.1), abs=1e-6)
    assert interval(10, 10) == pytest.approx((0.025**0.1, 1.0), abs=1e-6)
    # 3 of 20: the textbook answer.
    assert interval(3, 20) == pytest.approx((0.0321, 0.3789), abs=1e-4)
    assert interval(0, 0) == (0.0, 1.0)


def dealt(truth: list[int], seen: list[int], n_values: int) -> AttackedColumn:
    counts = np.bincount(truth, minlength=n_values)
    published = np.bincount(seen, minlength=n_values)
    return AttackedColumn(
        "x", 2, "mixed", counts, published, np.array(truth), np.array(seen)
    )  # fmt: skip


@pytest.mark.slow
def test_successes_of_dealt_values_are_bounded() -> None:
    """Rows of two true values get theirs in random order: p-values are rarely small."""
    rng = np.random.default_rng(1)
    truth, false = [0] * 40 + [1] * 30, 0
    values = np.concatenate([np.repeat([0, 1, 2], [15, 5, 20]), np.repeat([0, 1, 2], [5, 20, 5])])
    right = rng.random((70, 3)) < 0.4
    for _ in range(RUNS):
        seen = np.concatenate([rng.permutation(values[:40]), rng.permutation(values[40:])])
        false += score(right, dealt(truth, seen.tolist(), 3)).p_value <= 0.05
    assert false / RUNS <= MOST


def test_values_dealt_to_those_who_are_guessed_right_are_noticed() -> None:
    truth, seen = [0] * 200, [0] * 100 + [1] * 100
    right = np.zeros((200, 2), bool)
    right[:100, 0] = True
    found = score(right, dealt(truth, seen, 2))
    assert (found.successes, found.expected) == (100, 50.0)
    assert found.p_value < 1e-8


def test_sums_of_hypergeometric_counts_are_bounded() -> None:
    rng = np.random.default_rng(2)
    total, marked, drawn = np.array([40, 25]), np.array([10, 20]), np.array([15, 5])
    found = rng.hypergeometric(marked, total - marked, drawn, (RUNS, 2)).sum(axis=1)
    p_values = hypergeometric_tail(
        found.astype(float), np.tile(drawn.astype(float), (RUNS, 1)), marked / total
    )
    assert (p_values <= 0.05).mean() <= MOST
    assert (
        hypergeometric_tail(np.array([20.0]), drawn[None].astype(float), marked / total)[0] < 0.01
    )


@pytest.mark.slow
def test_bets_on_fair_events_win_rarely() -> None:
    rng = np.random.default_rng(3)
    chances = rng.uniform(0, 0.2, 500)
    wins = [bet(rng.random(500) < chances, chances, both_ways=True) for _ in range(RUNS)]
    assert np.mean(np.array(wins) <= 0.05) <= MOST
    assert bet(rng.random(500) < 3 * chances, chances, both_ways=False) < 1e-4
    assert bet(np.zeros(500, bool), chances, both_ways=True) < 1e-4


@pytest.mark.slow
def test_the_bet_on_dealt_values_is_fair_over_all_orders() -> None:
    """Over all orders of a small table, p-values are no smaller than they say."""
    rng = np.random.default_rng(4)
    for _ in range(20):
        right = rng.random((5, 3)) < 0.5
        orders = itertools.permutations([0, 0, 1, 2, 2])
        gains = [score(right, dealt([1] * 5, list(order), 3)).p_value for order in orders]
        for level in (0.2, 0.5, 0.8, 0.99):
            assert np.mean(np.array(gains) <= level) <= level + 1e-12
