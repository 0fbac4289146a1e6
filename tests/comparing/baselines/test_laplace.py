"""Laplace noise: OpenDP's law, the budget, and what is refused."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest

from countveil.comparing.baselines import Laplace
from countveil.comparing.baselines.laplace import laplace_noise
from countveil.errors import InputError, MissingExtraError, QueryError, SettingsError
from countveil.randomness import Randomness
from tests.statistical.bounds import FALSE_ALARM, follows

CODES = np.repeat([0, 1, 2], [50, 30, 20])


@pytest.mark.slow
def test_the_noise_follows_the_discrete_law() -> None:
    """P(k) = (1 - q) / (1 + q) q^|k| with q = exp(-1 / scale), so mean 0. False alarms: 1e-6."""
    method = Laplace(epsilon=2.0, queries=4)
    assert method.scale == 2
    published = method.publish(np.zeros(1, np.int64), 20_000, Randomness(1))
    noise = published.counts(np.zeros(0, np.int64)).astype(np.int64)
    q = math.exp(-1 / 2)
    places = np.arange(-8, 9)
    inner = (1 - q) / (1 + q) * q ** np.abs(places)
    outer = (1 - inner.sum()) / 2
    law = np.concatenate([[outer], inner, [outer]])
    found = np.bincount(np.clip(noise, -9, 9) + 9, minlength=19)
    assert follows(found, law) > FALSE_ALARM


def test_a_query_costs_its_part_of_the_budget() -> None:
    for epsilon, queries in ((0.05, 100), (0.01, 10), (3.0, 1)):
        noise = laplace_noise(Laplace(epsilon, queries).scale)
        cost = noise.map(1)  # type: ignore[attr-defined]
        assert queries * cost == pytest.approx(epsilon, rel=1e-9)


def test_with_a_huge_budget_the_answers_are_true() -> None:
    published = Laplace(1e6, 3).publish(CODES, 3, Randomness(1))
    assert published.totals().tolist() == [50, 30, 20]
    assert published.counts(np.arange(40, 60)).tolist() == [10, 10, 0]
    assert published.counts(CODES == 2).tolist() == [0, 0, 20]


def test_so_many_queries_and_no_more() -> None:
    published = Laplace(1.0, 3).publish(CODES, 3, Randomness(1))
    published.counts(np.arange(5))
    with pytest.raises(QueryError, match=r"3 queries were asked, and of 3 .* 2 are left"):
        published.counts_of([np.arange(5)] * 3)
    # What was refused cost nothing.
    assert published.queries_left == 2
    published.counts_of([np.arange(5), np.arange(6)])
    for ask in (published.totals, lambda: published.counts(np.arange(3))):
        with pytest.raises(QueryError, match=r"1 query was asked, and of 3 .* 0 are left"):
            ask()


def test_beliefs_move_by_twice_the_budget_at_most() -> None:
    belief = Laplace(math.log(2) / 2, 10).publish(CODES, 3, Randomness(1)).belief()
    # The odds of the first value are 1 to 1, those of the last 1 to 4; twice that is the bound.
    assert belief.in_truth(CODES)[[0, -1]] == pytest.approx([2 / 3, 1 / 3])
    shares = np.array([0.5, 0.3, 0.2])
    moved = belief.posterior / shares
    assert (moved.max(axis=1) / moved.min(axis=1)).max() <= 2 + 1e-9


@pytest.mark.parametrize("epsilon", [0, -0.1, math.nan, math.inf])
def test_epsilon_is_positive(epsilon: float) -> None:
    with pytest.raises(SettingsError, match="above 0"):
        Laplace(epsilon)


@pytest.mark.parametrize("queries", [0, -3, 2.5, True])
def test_queries_are_counted_in_whole_numbers(queries: int) -> None:
    with pytest.raises(SettingsError, match="whole number of at least 1"):
        Laplace(1.0, queries)


def test_one_value_is_refused() -> None:
    with pytest.raises(InputError, match="nothing to hide among"):
        Laplace(1.0).publish(np.zeros(4, np.int64), 1, Randomness(1))


def test_without_opendp_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    with pytest.raises(MissingExtraError, match=r"OpenDP.*pip install '\.\[study\]'"):
        Laplace(1.0).publish(CODES, 3, Randomness(1))
