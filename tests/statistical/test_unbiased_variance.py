"""The variance of the unbiased estimate, against runs of the mechanism on well-mixed groups.

Groups are made by random trades between random pairs of groups until nothing is left of the order
they began with; then the project draws, deals and estimates. The formula is first order, so 3% are
granted to it (`tests/theory/test_variance.py` shows, without sampling, how far off it is); the rest
is sampling. False-alarm rate: at most 1e-6 for any seed, the estimates being taken as normal.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from countveil.channel import ChannelView, Templates
from countveil.estimate import unbiased_counts, unbiased_variance
from countveil.mechanism import draw_published
from countveil.randomness import Randomness
from tests.statistical.bounds import FALSE_ALARM, chi_square_band
from tests.statistical.runs import deal_in_blocks

Floats = NDArray[np.float64]

ELL, VALUES, EACH = 4, 16, 60
ROWS, GROUPS = VALUES * EACH, VALUES * EACH // ELL
COPIES, BATCH, SWEEPS = 2_400, 600, 12
GRANTED = 0.03

# Predicates as the share of rows they take of the first eight values and of the last eight.
PREDICATES = [(0.05, 0.05), (0.2, 0.2), (0.5, 0.5), (0.8, 0.8), (0.1, 0.3), (0.4, 0.6), (1.0, 1.0)]


def mixed_groups(copies: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """has[copy, group, value]: `copies` random compositions of groups of ELL different values.

    Tuple i of the tuples in order of value goes to group i mod GROUPS; then groups meet in random
    pairs and deal the values that only one of them has among themselves anew, at random.
    """
    has = np.zeros((copies, GROUPS, VALUES), bool)
    tuples = np.arange(ROWS)
    has[:, tuples % GROUPS, tuples // EACH] = True
    for _ in range(SWEEPS):
        order = np.argsort(rng.random((copies, GROUPS), np.float32), axis=1)
        has = np.take_along_axis(has, order[:, :, None], axis=1)
        one, other = has[:, : GROUPS // 2], has[:, GROUPS // 2 :]
        either = one ^ other
        # Half of the values that only one of the two has, chosen by random rank, go to the first.
        score = np.where(either, rng.random(either.shape, np.float32), np.float32(2))
        rank = np.argsort(np.argsort(score, axis=2), axis=2)
        first = either & (rank < either.sum(axis=2, keepdims=True) // 2)
        shared = one & other
        has = np.concatenate([shared | first, shared | (either & ~first)], axis=1)
    return has


def _estimates(seed: int) -> tuple[Floats, Floats, Floats]:
    """Estimates [copy, predicate, value], the truth [predicate, value], the rows [predicate]."""
    rng = np.random.default_rng(seed)
    # The first rows of every value meet the predicate: groups know nothing of it.
    x = np.array([np.repeat(np.round(np.array(p) * EACH), VALUES // 2) for p in PREDICATES])
    codes = np.repeat(np.arange(VALUES), EACH)
    meets = np.tile(np.arange(EACH), VALUES) < x[:, codes]
    found = []
    for batch in range(COPIES // BATCH):
        members = np.nonzero(mixed_groups(BATCH, rng))
        groups = Templates(
            BATCH * VALUES,
            ELL * np.arange(BATCH * GROUPS + 1),
            members[0] * VALUES + members[2],
            np.ones(BATCH * GROUPS, np.int64),
        )
        randomness = Randomness(seed * COPIES + batch)
        table = draw_published(groups, randomness.stream("draw", "column"))
        shift = VALUES * np.arange(BATCH)[:, None]
        published = deal_in_blocks(table, codes + shift, [ROWS // 3] * 3, randomness) - shift
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
    variance = unbiased_variance(np.array(x), np.array(n), np.array(float(EACH)), ROWS, 1 / ELL)
    predicted = float(variance)
    assert _band(float((error**2).mean()) / predicted) > FALSE_ALARM
    if n == ROWS:
        assert predicted == pytest.approx(EACH * (1 - 1 / ELL))
    elif n > ROWS / 3:
        # Taking b as known, the variance would be far larger, and would be refused.
        a, b = 1 / ELL, (1 - 1 / ELL) * EACH / (ROWS - EACH)
        plain = (n * b * (1 - b) + x * (a * (1 - a) - b * (1 - b))) / (a - b) ** 2
        assert _band(float((error**2).mean()) / plain) < FALSE_ALARM


def test_the_groups_of_this_test_are_well_mixed(seed: int) -> None:
    """Every pair of values meets as often as any other: C = 60 * 3 / 15 = 12 on average.

    A composition's C has a standard deviation of about 3, the mean of 600 about 0.12: a mean that
    is off by 1 would be eight standard deviations away.
    """
    has = mixed_groups(600, np.random.default_rng(seed))
    assert np.all(has.sum(axis=2) == ELL)
    assert np.all(has.sum(axis=1) == EACH)
    meetings = (has[:, :, :1] & has[:, :, 1:]).sum(axis=1)
    mean = EACH * (ELL - 1) / (VALUES - 1)
    assert np.all(np.abs(meetings.mean(axis=0) - mean) < 1)
