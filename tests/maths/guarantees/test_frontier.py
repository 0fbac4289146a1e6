"""No channel is more accurate than the frontier allows; random groups are on it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from countveil.maths.channel import design_channel
from countveil.maths.guarantees.frontier import least_variance, random_channel, standing

Floats = NDArray[np.float64]

SHAPES: dict[str, Callable[[int], Floats]] = {
    "even": lambda size: np.full(size, 1 / size),
    "falling": lambda size: np.arange(size, 0, -1) / np.arange(size + 1).sum(),
    "skewed": lambda size: np.append(0.8, np.full(size - 1, 0.2 / (size - 1))),
    "geometric": lambda size: 0.5 ** np.arange(size) / (0.5 ** np.arange(size)).sum(),
    "two kinds": lambda size: np.where(np.arange(size) < size / 2, 9.0, 1.0) / (
        9 * -(-size // 2) + size // 2
    ),
}  # fmt: skip


def some_channel(rng: np.random.Generator, values: int, outputs: int, sharp: float) -> Floats:
    channel: Floats = rng.dirichlet(np.full(outputs, sharp), values)
    return channel


def rounding(belief: float, shares: NDArray[np.float64]) -> float:
    """Variance and bound divide by how much the belief exceeds the shares': known to some 1e-16."""
    return 1e-6 + 1e-15 / max(belief - float(shares @ shares), 1e-15)


@given(
    st.integers(2, 12),
    st.integers(0, 12),
    st.floats(0.02, 20),
    st.sampled_from(sorted(SHAPES)),
    st.integers(0, 2**32 - 1),
)
def test_no_random_channel_beats_the_bound(
    values: int, more: int, sharp: float, shape: str, seed: int
) -> None:
    """With as many outputs as values or more; fewer cannot tell the values apart."""
    channel = some_channel(np.random.default_rng(seed), values, values + more, sharp)
    shares = SHAPES[shape](values)
    here = standing(channel, shares)
    assert here.variance >= here.bound * (1 - rounding(here.belief, shares)) - 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("values", "outputs"), [(2, 2), (2, 5), (3, 3), (3, 6), (5, 5), (6, 8)])
def test_no_optimised_channel_beats_the_bound(values: int, outputs: int, shape: str) -> None:
    """A search that lowers the variance at a given belief comes near the bound and stops there."""
    shares = SHAPES[shape](values)
    h = float(shares @ shares)
    rng = np.random.default_rng(values * 100 + outputs)
    nearest = np.inf
    for _ in range(3):
        logits = rng.normal(size=(values, outputs))
        logits[:, :values] += np.eye(values)
        best, step = standing(_normalised(logits), shares), 0.5
        for _ in range(600):
            trial = logits + step * rng.normal(size=logits.shape)
            here = standing(_normalised(trial), shares)
            assert here.variance >= here.bound * (1 - 1e-6) - 1e-9
            # Where nearly nothing or nearly all is told, every channel is near.
            between = 0.02 < (here.belief - h) / (1 - h) < 0.7
            if between and here.distance < best.distance:
                logits, best, step = trial, here, step * 1.3
            else:
                step *= 0.95
                step = max(step, 1e-4)
        nearest = min(nearest, best.distance)
    # The search is no check at all unless it comes near.
    assert nearest < 1.1


def _normalised(logits: Floats) -> Floats:
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    channel: Floats = powers / powers.sum(axis=1, keepdims=True)
    return channel


@pytest.mark.few(4)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("values", [9, 15])
def test_no_small_change_of_the_best_channel_beats_the_bound(values: int, shape: str) -> None:
    """Beside random groups, with more outputs than values: any step leads away, however small."""
    shares = SHAPES[shape](values)
    best = np.log(np.maximum(random_channel(shares, 3), 1e-12))
    # Every output twice: what is told is the same.
    twice = np.concatenate([best, best], axis=1)
    rng = np.random.default_rng(values)
    assert standing(_normalised(twice), shares).distance == pytest.approx(1, abs=1e-9)
    for size in (0.3, 0.03, 0.003):
        for start in (best, twice):
            for _ in range(25):
                here = standing(_normalised(start + size * rng.normal(size=start.shape)), shares)
                assert here.variance >= here.bound * (1 - 1e-9)


@given(
    st.integers(2, 9),
    st.floats(0.01, 1),
    st.integers(2, 8),
    st.sampled_from(sorted(SHAPES)),
)
def test_noise_before_groups_leaves_the_frontier(
    values: int, gamma: float, ell: int, shape: str
) -> None:
    """Noise mixes in even shares; where shares are even it is on the bound, elsewhere above."""
    shares = SHAPES[shape](values)
    noise = (1 - gamma) * np.eye(values) + gamma / values
    noised = shares @ noise
    here = standing(noise @ random_channel(noised, ell), shares)
    assert here.variance >= here.bound * (1 - rounding(here.belief, shares)) - 1e-9
    if shape == "even" and gamma < 0.9:
        assert here.distance == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("ell", [2, 3.5, 5, 40])
def test_random_groups_attain_it(shape: str, ell: float) -> None:
    shares = SHAPES[shape](9)
    here = standing(random_channel(shares, ell), shares)
    h = float(shares @ shares)
    assert here.belief == pytest.approx(1 / ell**2 + h * (1 - 1 / ell**2))
    assert here.variance == pytest.approx((1 - h) * (ell**2 - 1))
    assert here.distance == pytest.approx(1, abs=1e-9)


def test_mixed_groups_are_near_it_until_a_value_comes_near_one_in_ell() -> None:
    counts = np.array([180, 160, 150, 140, 130, 120, 120], np.int64)
    shares = counts / counts.sum()
    distances = [standing(design_channel(counts, ell), shares).distance for ell in (2, 3, 4, 5)]
    assert distances[0] < 1.01
    assert distances == sorted(distances)
    assert distances[-1] > 1.3


def test_what_tells_nothing_and_what_tells_all() -> None:
    shares = SHAPES["falling"](4)
    nothing = standing(np.tile(shares, (4, 1)), shares)
    assert nothing.belief == pytest.approx(float(shares @ shares))
    assert nothing.variance == np.inf
    everything = standing(np.eye(4), shares)
    assert everything.belief == pytest.approx(1)
    assert everything.variance == pytest.approx(0, abs=1e-12)
    assert least_variance(shares, 1.0) == 0


def test_values_that_nobody_has_take_no_part() -> None:
    shares = np.array([0.5, 0.0, 0.5])
    channel = np.array([[0.75, 0.0, 0.25], [0.0, 1.0, 0.0], [0.25, 0.0, 0.75]])
    here = standing(channel, shares)
    assert here.belief == pytest.approx(0.625)
    # By hand: x = (4 y - n) / 2 for one of two values; each has the variance n (16 * 3/16) / 4.
    assert here.variance == pytest.approx(2 * 0.75)
