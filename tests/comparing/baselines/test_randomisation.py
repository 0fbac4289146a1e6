"""Mechanism A, randomised response and PRAM: rows sent through a known matrix."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from countveil.comparing.baselines import (
    GlobalRandomisation,
    InvariantPram,
    PublishingMethod,
    RandomisedResponse,
)
from countveil.comparing.baselines.known_channel import (
    RandomisedTable,
    most_likely,
    randomise,
    stopped,
    uniform_channel,
)
from countveil.comparing.baselines.pram import invariant_matrix, matched_alpha
from countveil.comparing.baselines.randomised_response import matched_epsilon
from countveil.errors import CountveilError, IneligibleError, InputError, SettingsError
from countveil.maths.paper import bayes_counts
from countveil.randomness import Randomness
from tests.statistical.bounds import (
    FALSE_ALARM,
    bernstein,
    bonferroni,
    chi_square_band,
    follows,
)

Floats = NDArray[np.float64]


def table_of(counts: list[int], estimate: str) -> RandomisedTable:
    """Published codes with these counts; three values, kept with probability 1/2."""
    return RandomisedTable(np.repeat([0, 1, 2], counts), uniform_channel(3, 0.5), estimate)


def test_the_channel_by_hand() -> None:
    assert uniform_channel(3, 0.5).tolist() == [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25],
                                                [0.25, 0.25, 0.5]]  # fmt: skip


def test_estimates_by_hand() -> None:
    # x = (y - n q) / (p - q) with q = 1/4: (4 - 2.5) / 0.25 = 6, (3 - 2.5) / 0.25 = 2.
    for estimate in ("unbiased", "bayes"):
        assert table_of([4, 3, 3], estimate).totals() == pytest.approx([6, 2, 2], abs=1e-4)
    # (4 - 1.5) / 0.25 = 10 of 6 rows, and twice (1 - 1.5) / 0.25 = -2. Most likely: all six.
    assert table_of([4, 1, 1], "unbiased").totals() == pytest.approx([10, -2, -2])
    assert table_of([4, 1, 1], "bayes").totals() == pytest.approx([6, 0, 0], abs=1e-3)


def test_beliefs_by_hand() -> None:
    # The shares are 0.6, 0.2, 0.2. Seen 0: 0.6 / 2 against 2 * 0.2 / 4, so 0.3 of 0.4.
    belief = table_of([4, 3, 3], "unbiased").belief()
    assert belief.posterior[0] == pytest.approx([0.75, 0.125, 0.125], abs=1e-4)
    # Seen 1: 0.6 / 4, 0.2 / 2, 0.2 / 4, of 0.3 together.
    assert belief.posterior[1] == pytest.approx([1 / 2, 1 / 3, 1 / 6], abs=1e-4)
    truth = np.zeros(10, np.int64)
    assert belief.in_truth(truth).mean() == pytest.approx((4 * 0.75 + 6 * 0.5) / 10, abs=1e-4)
    assert belief.candidates()[9] == pytest.approx(math.exp(1.0114043), abs=1e-3)


def paper_rounds(y: float, n: float, g: float, rows: float, a: float, b: float) -> float:
    """The paper's iteration, state by state, for one value."""
    seen = [rows - n - (g - y), g - y, n - y, y]
    step = [[1 - b, b, 0, 0], [1 - a, a, 0, 0], [0, 0, 1 - b, b], [0, 0, 1 - a, a]]
    x = list(seen)
    while True:
        after = []
        for i in range(4):
            total = 0.0
            for j in range(4):
                down = sum(step[r][j] * x[r] for r in range(4))
                total += seen[j] * step[i][j] * x[i] / down if down else 0.0
            after.append(total)
        moved = any(abs(p - q) > max(0.01 * q, 1e-7) for p, q in zip(after, x, strict=True))
        x = after
        if not moved:
            return x[3]


def test_the_stopped_iteration_is_the_papers() -> None:
    everybody, inside = np.array([400.0, 350, 250]), np.array([[90.0, 20, 10], [1, 0, 60]])
    found = stopped(inside, everybody, uniform_channel(3, 0.5))
    for p, line in enumerate(inside):
        for v, y in enumerate(line):
            expected = paper_rounds(y, line.sum(), everybody[v], 1_000, 0.5, 0.25)
            assert found[p, v] == pytest.approx(expected, rel=1e-9)
    # Its first round, by hand, for all rows: 4 of 10, a = 1/2, b = 1/4 leads to 4.13, up by 3%.
    first = 4 * (2 / 3.5) + 6 * (2 / 6.5)
    assert first == pytest.approx(4.1318681)
    assert stopped(np.array([[4.0, 3, 3]]), np.array([4.0, 3, 3]), uniform_channel(3, 0.5))[
        0, 0
    ] == pytest.approx(paper_rounds(4, 10, 4, 10, 0.5, 0.25))


def test_printed_treats_the_rows_as_decoy_groups() -> None:
    codes = np.repeat([0, 1, 2], [400, 350, 250])
    table = RandomisedTable(codes, uniform_channel(3, 0.5), "printed")
    rows = np.arange(300, 420)
    y = np.bincount(codes[rows], minlength=3)[None].astype(float)
    same = bayes_counts(
        y, np.array([400.0, 350, 250]), [0.5], channel="printed", tolerance=0.01
    ).estimate
    assert table.counts(rows).tolist() == same[0].tolist()


@example([40, 128, 131, 131, 132, 167, 235, 255], 0.04067913047974763)
@given(
    st.lists(st.integers(0, 300), min_size=2, max_size=8),
    st.floats(0.02, 0.98),
)
def test_nothing_is_more_likely_than_the_most_likely(counts: list[int], keep: float) -> None:
    y = np.array([counts], float)
    n, size = y.sum(), len(counts)
    channel = uniform_channel(size, keep)
    x = most_likely(y, channel, np.full(size, 1 / size))
    assert x.sum() == pytest.approx(n)
    assert np.all(x >= 0)

    def likelihood(z: Floats) -> float:
        return float((y * np.log(np.maximum(z @ channel, 1e-300))).sum())

    best = likelihood(x)
    for value in range(size):
        moved = 0.98 * x
        moved[0, value] += 0.02 * n
        assert likelihood(moved) <= best + 1e-2


@pytest.mark.parametrize("keep", [0.0, 0.2, 1 / 3, 1.0])
def test_rows_follow_the_matrix(keep: float, seed: int) -> None:
    """False alarms: 1e-6 over all lines."""
    codes = np.repeat([0, 1, 2], [5_000, 3_000, 1_000])
    channel = uniform_channel(3, keep)
    published = randomise(codes, channel, Randomness(seed).stream("x"))
    found = [follows(np.bincount(published[codes == u], minlength=3), channel[u]) for u in range(3)]
    assert bonferroni(found) > FALSE_ALARM


COUNTS = np.array([120, 90, 60, 30])
CODES = np.repeat(np.arange(4), COUNTS)
ROWS = np.flatnonzero(np.arange(CODES.size) % 4 != 1)
TRUE = np.bincount(CODES[ROWS], minlength=4)
RUNS = 1_500


def _runs(method: PublishingMethod, seed: int) -> Floats:
    sources = (Randomness(seed * RUNS + run) for run in range(RUNS))
    return np.array([method.publish(CODES, 4, source).counts(ROWS) for source in sources])


def linear_moments(weights: Floats, chances: Floats) -> tuple[float, float]:
    """Mean and variance of a sum over rows of weights[i] * [row i publishes v]."""
    return float((weights * chances).sum()), float((weights**2 * chances * (1 - chances)).sum())


@pytest.mark.slow
def test_mechanism_a_is_unbiased_with_its_variance(seed: int) -> None:
    """False alarms: 1e-6; for the variance, estimates are taken as normal, with 3% granted."""
    keep = 0.4
    channel = uniform_channel(4, keep)
    method = GlobalRandomisation(keep, "unbiased")
    found = _runs(method, seed)
    undo = np.linalg.inv(channel)
    spread = np.zeros((4, 4))
    for u, x in enumerate(TRUE):
        spread += x * (np.diag(channel[u]) - np.outer(channel[u], channel[u]))
    variance = np.diag(undo.T @ spread @ undo)
    largest = 2 * np.abs(undo).max()
    deviations = (found - TRUE).sum(axis=0)
    assert bonferroni(
        bernstein(d, RUNS * v, largest) for d, v in zip(deviations, variance, strict=True)
    ) > FALSE_ALARM  # fmt: skip
    assert _near(((found - TRUE) ** 2).mean(axis=0) / variance)


@pytest.mark.slow
def test_pram_is_unbiased_with_its_variance(seed: int) -> None:
    """The published histogram stands in the matrix: still exactly unbiased.

    x = sum over rows of ([row in P] - (1 - alpha) n / N) [row publishes v] / alpha. False alarms:
    1e-6; for the variance, estimates are taken as normal, with 3% granted.
    """
    method = InvariantPram.matched(COUNTS, 3, "unbiased")
    alpha, true = method.alpha, invariant_matrix(COUNTS / CODES.size, method.alpha)
    found = _runs(method, seed)
    weights = np.full(CODES.size, -(1 - alpha) * ROWS.size / CODES.size)
    weights[ROWS] += 1
    weights /= alpha
    p_values, ratios = [], []
    for v in range(4):
        mean, variance = linear_moments(weights, true[CODES, v])
        assert mean == pytest.approx(TRUE[v])
        deviation = float((found[:, v] - mean).sum())
        p_values.append(bernstein(deviation, RUNS * variance, float(np.abs(weights).max())))
        ratios.append(((found[:, v] - mean) ** 2).mean() / variance)
    assert bonferroni(p_values) > FALSE_ALARM
    assert _near(np.array(ratios))


def _near(ratios: Floats) -> bool:
    granted = np.where(ratios > 1, np.maximum(ratios / 1.03, 1.0), np.minimum(ratios * 1.03, 1.0))
    return bonferroni(chi_square_band(float(ratio), RUNS) for ratio in granted) > FALSE_ALARM


def test_randomised_response_at_the_same_average_belief_is_mechanism_a() -> None:
    method = RandomisedResponse.matched(COUNTS, 3)
    assert method.epsilon == pytest.approx(math.log(3 / 2))
    assert method.keep(4) == pytest.approx(1 / 3)
    one = method.publish(CODES, 4, Randomness(5))
    other = GlobalRandomisation.at(3).publish(CODES, 4, Randomness(5))
    assert one.channel == pytest.approx(other.channel)
    assert np.mean(one.published == other.published) > 0.99
    # What epsilon means: no value is more than exp(epsilon) times as likely to publish another.
    assert one.channel.max() / one.channel.min() == pytest.approx(math.exp(method.epsilon))


def test_randomised_response_at_the_same_largest_belief() -> None:
    method = RandomisedResponse.matched(COUNTS, 2, "largest")
    # The most frequent value has 0.4 of the rows: odds of 2/3 times exp(epsilon) are 1 to 1.
    assert method.epsilon == pytest.approx(math.log(1.5))
    joint = uniform_channel(4, method.keep(4)) * (COUNTS / COUNTS.sum())[:, None]
    assert (np.diag(joint) / joint.sum(axis=0)).max() == pytest.approx(1 / 2)


def test_pram_by_hand() -> None:
    counts = np.array([2, 1, 1])
    # h = 1/4 + 1/16 + 1/16 = 3/8, alpha = (1/2 - 3/8) / (5/8) = 1/5.
    assert matched_alpha(counts, 2) == pytest.approx(0.2)
    matrix = invariant_matrix(counts / 4, 0.2)
    assert matrix[0] == pytest.approx([0.6, 0.2, 0.2])
    assert matrix[1] == pytest.approx([0.4, 0.4, 0.2])
    assert counts @ matrix == pytest.approx(counts)
    assert (counts / 4) @ np.diag(matrix) == pytest.approx(1 / 2)


@given(st.lists(st.integers(1, 50), min_size=2, max_size=9), st.integers(2, 6))
def test_pram_is_invariant_and_matched_wherever_groups_exist(counts: list[int], ell: int) -> None:
    f = np.array(counts)
    if f.max() > f.sum() / ell:
        return
    alpha = matched_alpha(f, ell)
    matrix = invariant_matrix(f / f.sum(), alpha)
    assert f @ matrix == pytest.approx(f)
    assert matrix.sum(axis=1) == pytest.approx(np.ones(f.size))
    assert (f / f.sum()) @ np.diag(matrix) == pytest.approx(1 / ell)


def test_the_totals_of_pram_are_the_published_histogram() -> None:
    for estimate in ("unbiased", "bayes"):
        table = InvariantPram(0.4, estimate).publish(CODES, 4, Randomness(2))
        published = np.bincount(table.published, minlength=4)
        assert table.totals() == pytest.approx(published, abs=0.05)


def test_pure_noise_is_answered_by_independence() -> None:
    """Two values, half and half, at ell = 2: alpha is 0, and rows tell nothing."""
    codes = np.repeat([0, 1], 200)
    table = InvariantPram.matched(np.array([200, 200]), 2).publish(codes, 2, Randomness(1))
    published = np.bincount(table.published)
    assert table.counts(np.arange(100)) == pytest.approx(100 * published / 400, rel=1e-6)


@pytest.mark.parametrize("keep", [-0.1, 1.1, math.nan])
def test_a_probability_is_a_probability(keep: float) -> None:
    with pytest.raises(SettingsError, match="between 0 and 1"):
        GlobalRandomisation(keep)
    with pytest.raises(SettingsError, match="between 0 and 1"):
        InvariantPram(keep)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf])
def test_epsilon_is_positive(epsilon: float) -> None:
    with pytest.raises(SettingsError, match="above 0"):
        RandomisedResponse(epsilon)


def test_what_is_refused() -> None:
    with pytest.raises(SettingsError, match="bayes, unbiased, stopped, printed"):
        GlobalRandomisation(0.2, "best")
    with pytest.raises(SettingsError, match="pure noise"):
        GlobalRandomisation(0.25, "unbiased").publish(CODES, 4, Randomness(1))
    with pytest.raises(SettingsError, match="alpha = 0"):
        InvariantPram(0.0, "unbiased")
    with pytest.raises(IneligibleError, match="one time in 4"):
        matched_epsilon(COUNTS, 4)
    with pytest.raises(IneligibleError, match="most frequent value"):
        matched_epsilon(COUNTS, 3, "largest")
    with pytest.raises(SettingsError, match="average, largest"):
        matched_epsilon(COUNTS, 2, "median")
    with pytest.raises(IneligibleError, match="The largest ell that works is 3"):
        matched_alpha(COUNTS, 4)
    with pytest.raises(IneligibleError, match="same value"):
        matched_alpha(np.array([5, 0]), 2)
    for method in (GlobalRandomisation(0.5), RandomisedResponse(1.0), InvariantPram(0.5)):
        with pytest.raises(InputError, match="1 different value:"):
            method.publish(np.zeros(4, np.int64), 1, Randomness(1))
    with pytest.raises(CountveilError):
        GlobalRandomisation.at(0)
