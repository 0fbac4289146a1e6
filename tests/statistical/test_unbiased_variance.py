"""The variance of the unbiased estimate, against runs of the mechanism on well-mixed groups.

Groups are made by random trades between random pairs of groups until nothing is left of the order
they began with; then the project draws, deals and estimates. The formula is first order, so 3% are
granted to it (`tests/maths/theory/test_variance.py` shows, without sampling, how far off it is);
the rest is sampling. False-alarm rate: at most 1e-6 for any seed, the estimates being taken as
normal.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from countveil.maths.channel import ChannelView
from countveil.maths.estimate import unbiased_counts
from countveil.randomness import Randomness
from tests.statistical.bounds import FALSE_ALARM, chi_square_band
from tests.statistical.runs import mixed_groups, publish_groups

Floats = NDArray[np.float64]

ELL, VALUES, EACH = 4, 16, 60
ROWS = VALUES * EACH
COPIES, BATCH = 2_400, 600
GRANTED = 0.03

# Predicates as the share of rows they take of the first eight values and of the last eight.
PREDICATES = [(0.05, 0.05), (0.2, 0.2), (0.5, 0.5), (0.8, 0.8), (0.1, 0.3), (0.4, 0.6), (1.0, 1.0)]


def _estimates(seed: int) -> tuple[Floats, Floats, Floats]:
    """Estimates [copy, predicate, value], the truth [predicate, value], the rows [predicate]."""
    rng = np.random.default_rng(seed)
    # The first rows of every value meet the predicate: groups know nothing of it.
    x = np.array([np.repeat(np.round(np.array(p) * EACH), VALUES // 2) for p in PREDICATES])
    codes = np.repeat(np.arange(VALUES), EACH)
    meets = np.tile(np.arange(EACH), VALUES) < x[:, codes]
    found = []
    for batch in range(COPIES // BATCH):
        has = mixed_groups(BATCH, VALUES, EACH, ELL, rng)
        published = publish_groups(has, codes, Randomness(seed * COPIES + batch))
        for row in published:
            y = np.array([np.bincount(row[rows], minlength=VALUES) for rows in meets], np.float64)
            view = ChannelView(ROWS, 1 / ELL, y[-1], None, two_state_holds=True)
            found.append(unbiased_counts(y, x.sum(axis=1), view, 0.95).estimate)
    return np.array(found), x, x.sum(axis=1)


@pytest.fixture(scope="module")
def estimates() -> dict[int, tuple[Floats, Floats, Floats]]:
    """Simulations by seed: made once, looked at by several tests."""
    return {}


def _band(ratio: float) -> float:
    """p-value of "the ratio is within what is granted to the formula".

    The eight values of a class are exchangeable; that their counts add up costs one of eight.
    """
    nearest = min(max(ratio, 1 - GRANTED), 1 + GRANTED)
    return chi_square_band(ratio / nearest, COPIES * (VALUES // 2 - 1))


@pytest.mark.slow
@pytest.mark.parametrize("predicate", range(len(PREDICATES)), ids=map(str, PREDICATES))
@pytest.mark.parametrize("later", [False, True], ids=["first values", "last values"])
def test_the_variance_formula_predicts_the_error(
    predicate: int, later: bool, seed: int, estimates: dict[int, tuple[Floats, Floats, Floats]]
) -> None:
    if seed not in estimates:
        estimates[seed] = _estimates(seed)
    found, truth, sizes = estimates[seed]
    values = slice(VALUES // 2, None) if later else slice(VALUES // 2)
    x, n = float(truth[predicate, values][0]), float(sizes[predicate])
    error = found[:, predicate, values] - x
    view = ChannelView(ROWS, 1 / ELL, np.array(float(EACH)), None, two_state_holds=True)
    predicted = float(view.variance(np.array(x), np.array(n)))
    assert _band(float((error**2).mean()) / predicted) > FALSE_ALARM
    if n == ROWS:
        assert predicted == pytest.approx(EACH * (1 - 1 / ELL))
    elif n > ROWS / 3:
        # Taking b as known, the variance would be far larger, and would be refused.
        a, b = 1 / ELL, (1 - 1 / ELL) * EACH / (ROWS - EACH)
        plain = (n * b * (1 - b) + x * (a * (1 - a) - b * (1 - b))) / (a - b) ** 2
        assert _band(float((error**2).mean()) / plain) < FALSE_ALARM


@pytest.mark.slow
def test_the_groups_of_this_test_are_well_mixed(seed: int) -> None:
    """Every pair of values meets as often as any other: C = 60 * 3 / 15 = 12 on average.

    A composition's C has a standard deviation of about 3, the mean of 600 about 0.12: a mean that
    is off by 1 would be eight standard deviations away.
    """
    has = mixed_groups(600, VALUES, EACH, ELL, np.random.default_rng(seed))
    assert np.all(has.sum(axis=2) == ELL)
    assert np.all(has.sum(axis=1) == EACH)
    meetings = (has[:, :, :1] & has[:, :, 1:]).sum(axis=1)
    mean = EACH * (ELL - 1) / (VALUES - 1)
    assert np.all(np.abs(meetings.mean(axis=0) - mean) < 1)
