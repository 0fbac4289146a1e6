"""Columns apart, columns together and noise first behind the interface of the baselines."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from countveil.comparing.baselines import DecoyGroups, InvariantPram, RandomisedResponse
from countveil.comparing.baselines.apart import ColumnsApart
from countveil.comparing.baselines.known_channel import most_likely, uniform_channel
from countveil.comparing.baselines.matching import (
    pram_believed,
    response_belief,
    response_believed,
)
from countveil.comparing.baselines.pram import invariant_matrix
from countveil.comparing.baselines.through import AnyChannel, Kept, through
from countveil.errors import SettingsError
from countveil.maths.guarantees.frontier import largest_factor, mean_belief, standing
from countveil.randomness import Randomness

COUNTS = np.array([400, 300, 150, 100, 50])
# Student's t with 39 degrees of freedom is beyond 9 with a probability below 1e-10.
_FAR = 9.0


@given(
    st.lists(st.integers(1, 200), min_size=2, max_size=8),
    st.floats(0.05, 0.95),
)
def test_the_matched_belief_is_the_asked_one(counts: list[int], place: float) -> None:
    table = np.array(counts)
    shares = table / table.sum()
    h = float(shares @ shares)
    belief = h + place * (1 - h)
    pram = pram_believed(table, belief)
    assert mean_belief(pram.chances(table), shares) == pytest.approx(belief, abs=1e-9)
    response = response_believed(table, belief)
    assert mean_belief(response.chances(table), shares) == pytest.approx(belief, abs=1e-6)
    assert response_belief(shares, response.epsilon) == pytest.approx(belief, abs=1e-6)


def test_the_mean_belief_is_that_of_the_standing() -> None:
    shares = COUNTS / COUNTS.sum()
    for method in (InvariantPram(0.3), RandomisedResponse(1.0), DecoyGroups(2)):
        chances = method.chances(COUNTS)
        assert mean_belief(chances, shares) == pytest.approx(standing(chances, shares).belief)


def test_the_largest_factor_by_hand() -> None:
    """Randomised response: exp(epsilon), whatever the shares, and for a value nobody has."""
    shares = np.array([0.5, 0.5, 0.0])
    assert largest_factor(RandomisedResponse(np.log(7)).chances(np.array([5, 5, 0])), shares) == (
        pytest.approx(7)
    )
    assert largest_factor(np.eye(3), shares) == np.inf


@given(st.integers(2, 7), st.floats(0.02, 0.98), st.booleans())
def test_channels_of_one_form_are_recognised(size: int, keep: float, uniform: bool) -> None:
    shares = np.arange(1, size + 1) / (size * (size + 1) / 2)
    channel = uniform_channel(size, max(keep, 1 / size + 0.01)) if uniform else (
        invariant_matrix(shares, keep)
    )  # fmt: skip
    quick, slow = through(channel), AnyChannel(channel)
    assert isinstance(quick, Kept)
    counts = np.arange(2.0 * size).reshape(2, size)
    assert quick.sent(counts) == pytest.approx(slow.sent(counts))
    assert quick.returned(counts) == pytest.approx(slow.returned(counts))
    if quick.gap > 0.01:
        undone = quick.undone(slow.sent(counts))
        assert undone == pytest.approx(counts, abs=1e-6)


def test_other_channels_are_not() -> None:
    """One cell is another: the answer is that of the whole matrix."""
    channel = uniform_channel(4, 0.7)
    channel[2] = [0.3, 0.0, 0.6, 0.1]
    assert isinstance(through(channel), AnyChannel)
    true = np.array([[40.0, 10.0, 30.0, 20.0]])
    assert most_likely(true @ channel, channel, np.full(4, 0.25)) == pytest.approx(true, abs=1e-2)


def test_columns_apart_are_drawn_apart() -> None:
    """Equal columns: drawn with one key they would publish equal values in every row.

    Each publishes the own value for one row in two, else one of five other ones. Drawn apart both
    are equal with probability 1/4 + 1/4 * 1/5 = 0.3, with a standard deviation below 0.01 in 4,000
    rows: beyond 0.45 with a probability far below 1e-6.
    """
    codes = np.arange(4_000) % 6
    pairs = np.ravel_multi_index((codes, codes), (6, 6))
    method = ColumnsApart((DecoyGroups(2), DecoyGroups(2)), (6, 6))
    table = method.publish(pairs, 36, Randomness(5))
    first, second = (column.published for column in table.columns)
    assert np.mean(first == second) < 0.45
    assert table.totals().sum() == pytest.approx(4_000, rel=0.05)
    assert table.belief().in_truth(pairs).mean() < 0.6


@pytest.mark.few(1)
@pytest.mark.parametrize("method", ["shrunk", "unbiased"])
def test_together_estimates_pairs(method: str) -> None:
    """The unbiased answer over 40 releases is near the truth; false alarms below 1e-8."""
    stream = np.random.default_rng(1)
    codes = stream.choice(12, 3_000, p=np.arange(1, 13) / 78)
    rows = np.flatnonzero(stream.random(3_000) < 0.4 + 0.03 * (codes % 4))
    true = np.bincount(codes[rows], minlength=12)
    together = DecoyGroups(3, "random", method=method, shape=(3, 4))
    answers = np.array(
        [together.publish(codes, 12, Randomness(seed)).counts(rows) for seed in range(40)]
    )
    if method == "shrunk":
        assert np.abs(answers.mean(axis=0) - true).max() < 60
        return
    errors = answers.std(axis=0, ddof=1) / np.sqrt(40)
    assert np.all(np.abs(answers.mean(axis=0) - true) < _FAR * errors)


@pytest.mark.slow
def test_noise_first_is_undone() -> None:
    """Over 60 releases the whole-table estimates are near the truth, also of a value nobody has."""
    counts = np.array([500, 300, 200, 0])
    codes = np.repeat(np.arange(4), counts)
    method = DecoyGroups(2, odds=8.0, method="unbiased")
    found = np.array([method.publish(codes, 4, Randomness(s)).totals() for s in range(60)])
    errors = found.std(axis=0, ddof=1) / np.sqrt(60)
    assert np.all(np.abs(found.mean(axis=0) - counts) < _FAR * errors)
    factor = largest_factor(method.chances(counts), counts / 1_000)
    assert factor <= 8 * (1 + 1e-5)


def test_what_does_not_go_together() -> None:
    with pytest.raises(SettingsError, match="random groups"):
        DecoyGroups(3, shape=(2, 3))
    with pytest.raises(SettingsError, match="'bayes'"):
        DecoyGroups(3, odds=5.0, method="bayes")
