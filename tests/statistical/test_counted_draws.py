"""Draws that are only counted follow the law of draws that are made one by one.

False-alarm rate of every test: at most 1e-6, for any seed.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from countveil.randomness import Randomness, streams
from tests.statistical.bounds import FALSE_ALARM, follows

TIMES = 20_000


@pytest.fixture(params=["in words", "one by one", "in pieces"])
def _way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """All ways of counting, which large numbers would mix."""
    monkeypatch.setattr(streams, "FEW_DRAWS", {"one by one": 1 << 40}.get(request.param, 0))
    if request.param == "in pieces":
        monkeypatch.setattr(streams, "WORDS_AT_ONCE", 1_000)
        monkeypatch.setattr(streams, "DRAWS_AT_ONCE", 1_500)


def multinomial(bound: int, count: int) -> dict[tuple[int, ...], float]:
    outcomes = itertools.product(range(count + 1), repeat=bound)
    return {
        outcome: math.factorial(count)
        / math.prod(map(math.factorial, outcome))
        / float(bound) ** count
        for outcome in outcomes
        if sum(outcome) == count
    }


@pytest.mark.few(2)
@pytest.mark.usefixtures("_way")
@pytest.mark.parametrize(("bound", "count"), [(1, 3), (2, 5), (3, 4), (4, 3), (5, 3)])
def test_counts_are_multinomial(bound: int, count: int, seed: int) -> None:
    law = multinomial(bound, count)
    stream = Randomness(seed).stream("tallies")
    found = stream.tallies(bound, np.full(TIMES, count))
    places = {outcome: place for place, outcome in enumerate(law)}
    seen = np.bincount([places[tuple(row)] for row in found.tolist()], minlength=len(law))
    assert follows(seen, np.array(list(law.values()))) > FALSE_ALARM


@pytest.mark.few(6)
@pytest.mark.usefixtures("_way")
@pytest.mark.parametrize(("bound", "count"), [(5, 200), (7, 63), (40, 64), (300, 3)])
def test_every_outcome_is_as_frequent_and_none_is_lost(bound: int, count: int, seed: int) -> None:
    stream = Randomness(seed).stream("tallies")
    found = stream.tallies(bound, np.full(2_000, count))
    assert (found.sum(axis=1) == count).all()
    assert follows(found.sum(axis=0), np.full(bound, 1 / bound)) > FALSE_ALARM


@pytest.mark.usefixtures("_way")
def test_neighbours_are_independent(seed: int) -> None:
    """Neighbours share words or draws, and yet know nothing of each other."""
    stream = Randomness(seed).stream("tallies")
    first = stream.tallies(3, np.full(2 * TIMES, 2))[:, 0].reshape(TIMES, 2)
    chances = np.array([4 / 9, 4 / 9, 1 / 9])
    seen = np.bincount(first[:, 0] * 3 + first[:, 1], minlength=9)
    assert follows(seen, np.outer(chances, chances).ravel()) > FALSE_ALARM


@pytest.mark.parametrize("coins", [1, 5, 63, 64, 65, 130])
def test_heads_are_binomial(coins: int, seed: int) -> None:
    stream = Randomness(seed).stream("heads")
    found = stream.heads(np.full((TIMES // 2, 2), coins)).ravel()
    law = np.array([math.comb(coins, k) for k in range(coins + 1)], np.float64) / 2.0**coins
    assert follows(np.bincount(found, minlength=coins + 1), law) > FALSE_ALARM


def test_many_coins_and_none(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounded by Hoeffding: 2 exp(-2 t^2 / n) at t = 2.7 sqrt(n) is below 1e-6."""
    monkeypatch.setattr(streams, "WORDS_AT_ONCE", 100)
    coins = np.array([0, 10**6, 0, 7, 10**5, 0])
    found = Randomness(seed).stream("heads").heads(coins)
    assert (found[coins == 0] == 0).all()
    assert (np.abs(found - coins / 2) <= 2.7 * np.sqrt(coins)).all()
    draws = Randomness(seed).stream("draws").tallies(5, coins)
    assert (draws.sum(axis=1) == coins).all()
