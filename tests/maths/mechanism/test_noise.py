"""Noise before groups: rows are neither lost nor made, and the tables fit together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from countveil.maths.mechanism import noise as module
from countveil.maths.mechanism.draw import PublishedTable
from countveil.maths.mechanism.noise import after_noise, draw_noise
from countveil.maths.mechanism.random_groups import draw_random_groups
from countveil.randomness import Randomness
from tests.statistical.bounds import FALSE_ALARM, follows


def dense(table: PublishedTable) -> np.ndarray:
    matrix = np.zeros((table.n_values, table.n_values), np.int64)
    owners = np.repeat(np.arange(table.n_values), np.diff(table.indptr))
    np.add.at(matrix, (owners, table.values), table.counts)
    return matrix


@given(
    st.lists(st.integers(0, 300), min_size=2, max_size=8),
    st.floats(1e-6, 1),
    st.integers(0, 2**32),
)
def test_every_row_takes_one_value(counts: list[int], gamma: float, seed: int) -> None:
    table = np.array([*counts, 10])
    noised = dense(draw_noise(table, gamma, Randomness(seed).stream("noise")))
    assert np.array_equal(noised.sum(axis=1), table)
    assert noised.min() >= 0


@given(st.integers(0, 2**32), st.sampled_from([7, 1 << 20]))
def test_the_two_tables_fit_together(seed: int, chunk: int) -> None:
    randomness = Randomness(seed)
    table = np.array([40, 0, 25, 3])
    noise = draw_noise(table, 0.4, randomness.stream("noise"))
    noised = dense(noise).sum(axis=0)
    drawn = draw_random_groups(noised, 3, randomness.task_key("groups"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "CHUNK", chunk)
        whole = dense(after_noise(noise, drawn, randomness.stream("deal")))
    assert np.array_equal(whole.sum(axis=1), table)
    assert np.array_equal(whole.sum(axis=0), dense(drawn).sum(axis=0))


def test_noise_alone_can_be_told_from_none() -> None:
    table = np.array([1_000, 1_000])
    none = draw_noise(table, 2.0**-24, Randomness(1).stream("noise"))
    all_of_them = draw_noise(table, 1.0, Randomness(1).stream("noise"))
    assert dense(none)[0, 0] >= 998
    assert 400 < dense(all_of_them)[0, 1] < 600


@pytest.mark.statistical
@pytest.mark.parametrize("gamma", [0.3, 0.015625, 0.9])
def test_rows_take_values_with_the_chances_that_are_promised(gamma: float) -> None:
    """False-alarm rate 1e-6, for any seed."""
    rows, values = 200_000, 5
    seed = int.from_bytes(np.random.default_rng().bytes(6), "big")
    table = np.array([rows, 0, 0, 0, 0])
    taken = dense(draw_noise(table, gamma, Randomness(seed).stream("noise")))[0]
    chances = np.full(values, gamma / values)
    chances[0] += 1 - gamma
    assert follows(taken, chances) > FALSE_ALARM, seed


def test_the_least_noise_is_some() -> None:
    """A gamma below 2^-24 becomes 2^-24: of 2^29 rows 32 take a value at random, on average.

    Half of them take the other one; none does once in eight million times. Rounded down, the bound
    on the odds would not be kept.
    """
    noise = draw_noise(np.array([1 << 29, 0]), 2.0**-30, Randomness().stream("noise"))
    assert noise.counts.sum() == 1 << 29
    assert noise.published()[1] > 0, "gamma is rounded down"
