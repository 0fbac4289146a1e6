"""The limit that is solved for is the one that the paper's iteration reaches."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from countveil.maths.paper import (
    bayes_counts,
    counts_of_known_channel,
    resting_counts,
    resting_counts_of_known_channel,
)
from countveil.maths.paper.iteration import bayes_step
from tests.strategies import examples

ROUNDS = 1_500


def iterated(y: np.ndarray, rows: float, keep: float, channel: str) -> tuple[np.ndarray, bool]:
    """The plain iteration of one cell, by its four states, and whether it came to rest."""
    x = y
    for _ in range(ROUNDS):
        after = bayes_step(x, y, rows, [keep], channel)
        if np.abs(after - x).max() <= 1e-13 * rows:
            return after, True
        x = after
    return x, False


COUNTS = st.lists(st.integers(1, 60), min_size=3, max_size=6)


@pytest.mark.slow
@examples(40)
@given(
    inside=COUNTS,
    outside=COUNTS,
    ell=st.integers(2, 4),
    channel=st.sampled_from(["exact", "printed"]),
)
def test_the_plain_iteration_ends_there(
    inside: list[int], outside: list[int], ell: int, channel: str
) -> None:
    size = min(len(inside), len(outside))
    published, others = np.array(inside[:size], float), np.array(outside[:size], float)
    everybody = published + others
    rows, n, y, total = everybody.sum(), published.sum(), published[0], everybody[0]
    result = resting_counts(published[None], everybody, 1 / ell, np.arange(1), channel)
    if result.rounds.iterations[0, 0] > 60:
        return  # no such limit: it was iterated
    states = np.array([[rows - n - total + y], [total - y], [n - y], [y]])
    limit, rests = iterated(states, rows, 1 / ell, channel)
    solved = float(result.estimate[0, 0])
    if rests:
        assert solved == pytest.approx(float(limit[-1, 0]), rel=1e-6, abs=1e-6)
    else:  # not there yet, but on the way
        assert abs(limit[-1, 0] - solved) <= abs(y - solved) + 1e-9


@pytest.mark.slow
@examples(40)
@given(
    counts=st.lists(st.integers(0, 200), min_size=2, max_size=6),
    a=st.floats(0.3, 0.9),
    b=st.floats(0.0, 0.25),
)
def test_with_a_known_channel_too(counts: list[int], a: float, b: float) -> None:
    inside, size = np.array([counts], float), len(counts)
    chances = np.full(size, a), np.full(size, b)
    only = np.arange(size)
    solved = resting_counts_of_known_channel(inside, chances, only)
    plain = counts_of_known_channel(inside, [chances], only, tolerance=1e-12)
    rests = plain.rounds.iterations < 1_000  # the later ones stop before they are there
    assert solved.estimate[rests] == pytest.approx(plain.estimate[rests], abs=1e-4)


def test_a_cell_without_such_a_limit_is_iterated() -> None:
    """More rows publish the value than one of ell: a > b does not hold."""
    inside, everybody = np.array([[7.0, 2.0, 2.0]]), np.array([30.0, 8.0, 12.0])
    result = resting_counts(inside, everybody, 1 / 2, np.arange(3))
    plain = bayes_counts(inside, everybody, [1 / 2], only=np.arange(1))
    assert result.estimate[0, 0] == plain.estimate[0, 0]
    assert result.rounds.iterations[0, 0] == plain.rounds.iterations[0, 0]
    known = resting_counts_of_known_channel(
        inside, (np.array([0.2, 0.5, 0.5]), np.full(3, 0.2)), np.arange(3)
    )
    assert known.estimate[0, 0] == pytest.approx(7.0)  # nothing is learnt: the start is the end
    assert known.estimate[0, 1] == 0.0


def test_values_that_creep_towards_nothing_take_a_few_rounds() -> None:
    """Rare values in a small predicate, for which the plain iteration needs thousands of rounds."""
    rng = np.random.default_rng(4)
    everybody = rng.integers(20, 2_000, 46).astype(float)
    inside = rng.binomial(everybody.astype(int), 0.01).astype(float)[None]
    result = resting_counts(inside, everybody, 1 / 5, np.arange(46))
    assert result.rounds.converged.all()
    assert result.rounds.iterations.max() < 30
