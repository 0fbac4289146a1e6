"""The variance with random groups, against runs of the mechanism, where predicates are unlike all.

False-alarm rate: at most 1e-6 for any seed, the estimates being taken as normal; 3% are granted to
the formula, whose terms of relative size ell/N are left out.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from countveil.maths.channel.skewed_views import random_view
from tests.statistical.bounds import FALSE_ALARM, chi_square_band

Floats = NDArray[np.float64]

ROWS, RUNS, GRANTED = 1_000, 4_000, 0.03
# ell, rows with the value, of these in P, rows of P
CASES = [
    (5, 500, 250, 400), (5, 500, 50, 400), (5, 500, 390, 400), (5, 50, 45, 60), (5, 50, 50, 700),
    (5, 800, 100, 300), (4, 100, 0, 500), (2, 900, 450, 500), (5, 200, 200, 1_000),
]  # fmt: skip


def simulated(ell: int, f: int, x: int, n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Rows of P and of all that publish the value, by the definition of the mechanism."""
    has, asked = np.zeros(ROWS, bool), np.zeros(ROWS, bool)
    has[:f] = asked[:x] = asked[f : f + n - x] = True
    order = np.argsort(rng.random((RUNS, ROWS)), axis=1).astype(np.int16)
    groups = has[order].reshape(RUNS, ROWS // ell, ell)
    choice = rng.integers(ell, size=groups.shape)
    published = np.take_along_axis(groups, choice, axis=2)
    inside = published & asked[order].reshape(groups.shape)
    return inside.sum(axis=(1, 2)).astype(float), published.sum(axis=(1, 2)).astype(float)


def band(ratio: float) -> float:
    nearest = min(max(ratio, 1 - GRANTED), 1 + GRANTED)
    return chi_square_band(ratio / nearest, RUNS)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=map(str, CASES))
def test_the_formula_predicts_the_error(case: tuple[int, int, int, int], seed: int) -> None:
    ell, f, x, n = case
    y, g = simulated(ell, f, x, n, np.random.default_rng(seed))
    errors = []
    for inside, published in zip(y, g, strict=True):
        view = random_view(np.array([published, ROWS - published]).astype(np.int64), ROWS, ell)
        errors.append((inside - n * view.b[0]) / view.gap[0] - x)
    truth = random_view(np.array([f, ROWS - f]), ROWS, ell)
    size = np.array([float(n)])
    predicted = float(truth.variance(np.array([float(x), n - x]), size)[0])
    assert band(float(np.square(errors).mean()) / predicted) > FALSE_ALARM
    if case == (4, 100, 0, 500):
        # Without the terms for predicates that are unlike the table it would be 30% too small.
        p = f / ROWS
        plain = ell**2 * n * (1 - 1 / ell) * p * (1 - (1 - 1 / ell) * p)
        plain -= n**2 / ROWS * p * (1 - p) * (ell - 1) * (ell**2 + ell - 1) / ell
        assert band(float(np.square(errors).mean()) / plain) < FALSE_ALARM
