"""The variance of the estimate for two columns, against runs of the mechanism.

Both columns have well-mixed groups of their own in every copy. The formula is first order, so 4%
are granted to it; the rest is sampling. False-alarm rate: at most 1e-6 for any seed, the estimates
being taken as normal.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from countveil.maths.channel import ChannelView
from countveil.maths.estimate.products import product_likelihood
from countveil.randomness import Randomness
from tests.statistical.bounds import FALSE_ALARM, chi_square_band
from tests.statistical.runs import mixed_groups, publish_groups

Floats = NDArray[np.float64]

VALUES, EACH, ELLS = 12, 60, (3, 4)
ROWS = VALUES * EACH
COPIES, GRANTED = 1_500, 0.04
# Rows 0 to 59 have the first value of the first column, and so on. Of these the first `together`
# have the same value of the second column, the others the following ones in turn.
TOGETHER = 30
SHARES = [0.2, 0.6, 1.0]


def table() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    first = np.repeat(np.arange(VALUES), EACH)
    place = np.tile(np.arange(EACH), VALUES)
    second = np.where(place < TOGETHER, first, (first + 1 + place % (VALUES - 1)) % VALUES)
    # These groups need every value equally often.
    assert set(np.bincount(second).tolist()) == {EACH}
    return first, second


@pytest.fixture(scope="module")
def errors() -> dict[int, list[tuple[Floats, Floats]]]:
    """By seed: for each predicate, the errors of all copies and the predicted variance."""
    return {}


def simulate(seed: int) -> list[tuple[Floats, Floats]]:
    rng = np.random.default_rng(seed)
    first, second = table()
    columns = [
        publish_groups(
            mixed_groups(COPIES, VALUES, EACH, ell, rng), codes, Randomness(2 * seed + number)
        )
        for number, (codes, ell) in enumerate(zip((first, second), ELLS, strict=True))
    ]
    found = []
    for share in SHARES:
        inside = np.tile(np.arange(EACH), VALUES) % 10 < 10 * share
        truth = np.zeros((VALUES, VALUES))
        np.add.at(truth, (first[inside], second[inside]), 1)
        estimates = np.empty((COPIES, VALUES, VALUES))
        for copy in range(COPIES):
            one, other = columns[0][copy], columns[1][copy]
            views = [
                ChannelView(
                    ROWS,
                    1 / ell,
                    np.bincount(codes, minlength=VALUES).astype(np.float64),
                    None,
                    two_state_holds=True,
                )
                for codes, ell in zip((one, other), ELLS, strict=True)
            ]
            y = np.zeros((1, VALUES, VALUES))
            np.add.at(y[0], (one[inside], other[inside]), 1)
            margins = [truth.sum(axis=1)[None], truth.sum(axis=0)[None]]
            signal = product_likelihood(y, views, margins)
            estimates[copy] = signal.estimate[0]
        even = [
            ChannelView(ROWS, 1 / ell, np.full(VALUES, float(EACH)), None, two_state_holds=True)
            for ell in ELLS
        ]
        at_truth = product_likelihood(truth[None], even, margins)
        found.append((estimates - truth, at_truth.variance(truth[None])[0]))
    return found


@pytest.mark.parametrize("predicate", range(len(SHARES)), ids=map(str, SHARES))
@pytest.mark.parametrize("cell", [(0, 0), (3, 3), (2, 7)], ids=["common", "common too", "rare"])
@pytest.mark.slow
def test_the_variance_formula_predicts_the_error(
    predicate: int,
    cell: tuple[int, int],
    seed: int,
    errors: dict[int, list[tuple[Floats, Floats]]],
) -> None:
    if seed not in errors:
        errors[seed] = simulate(seed)
    error, variance = errors[seed][predicate]
    ratio = float((error[:, *cell] ** 2).mean()) / float(variance[cell])
    nearest = min(max(ratio, 1 - GRANTED), 1 + GRANTED)
    assert chi_square_band(ratio / nearest, COPIES) > FALSE_ALARM
