"""The variance of the unbiased estimate against its exact value, without sampling.

In well-mixed groups the number E of rows of P whose group contains s is x plus a hypergeometric
number: of the N - f rows without s, f (ell - 1) sit with an s, and n - x of them are in P. Given E,
the published count in P is binomial (E, 1/ell), that of the others (f ell - E, 1/ell), independent.
Summing over all three gives the exact variance of (y - n b(g)) / (a - b(g)). The formula is of
first order in 1/N; shown is how near it comes, and where it errs on which side.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from countveil.maths.channel import ChannelView

Floats = NDArray[np.float64]


def formula(x: float, n: float, f: float, rows: int, ell: int) -> float:
    view = ChannelView(rows, 1 / ell, np.array(f), None, two_state_holds=True)
    return float(view.variance(np.array(x), np.array(n)))


def log_choose(n: int, k: NDArray[np.int64]) -> Floats:
    factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))])
    result: Floats = factorials[n] - factorials[k] - factorials[n - k]
    return result


def binomial(trials: int, chance: float) -> Floats:
    k = np.arange(trials + 1)
    logs = log_choose(trials, k) + k * math.log(chance) + (trials - k) * math.log1p(-chance)
    result: Floats = np.exp(logs)
    return result


def rows_with_s(rows: int, ell: int, f: int, n: int, x: int) -> tuple[list[int], Floats]:
    """The values of E and their probabilities, but for the last 1e-12 of them."""
    others, beside, drawn = rows - f, f * (ell - 1), n - x
    k = np.arange(max(0, drawn - (others - beside)), min(beside, drawn) + 1)
    logs = log_choose(beside, k) + log_choose(others - beside, drawn - k)
    chances = np.exp(logs - log_choose(others, np.array([drawn])))
    likely = chances > 1e-12
    return (k[likely] + x).tolist(), chances[likely]


def exact_moments(rows: int, ell: int, f: int, n: int, x: int) -> tuple[float, float]:
    """Mean and variance of the estimate's error."""
    a, first, second = 1 / ell, 0.0, 0.0
    for inside, chance in zip(*rows_with_s(rows, ell, f, n, x), strict=True):
        in_p, outside = binomial(inside, a), binomial(f * ell - inside, a)
        weight = chance * in_p[:, None] * outside[None, :]
        y = np.arange(in_p.size)[:, None]
        g = y + np.arange(outside.size)[None, :]
        # g so large that a and b cannot be told apart: less likely than 1e-12 in these tables.
        g = np.minimum(g, math.ceil(0.98 * rows / ell))
        b = g * (1 - a) / (rows - g)
        error = (y - n * b) / (a - b) - x
        first += float((weight * error).sum())
        second += float((weight * error**2).sum())
    return first, second - first**2


@pytest.mark.few(8)
@pytest.mark.parametrize(
    ("rows", "ell", "f"), [(960, 4, 20), (960, 4, 60), (1000, 2, 40), (1000, 2, 200), (1000, 5, 10)]
)
@pytest.mark.parametrize("share", [0.05, 0.2, 0.5, 0.8])
def test_the_formula_is_within_one_percent_for_an_independent_predicate(
    rows: int, ell: int, f: int, share: float
) -> None:
    n, x = round(share * rows), round(share * f)
    bias, variance = exact_moments(rows, ell, f, n, x)
    assert formula(x, n, f, rows, ell) == pytest.approx(variance, rel=0.011)
    assert abs(bias) < 0.01 * math.sqrt(variance)


@pytest.mark.parametrize(("f", "most"), [(20, 0.03), (50, 0.1)])
def test_what_is_missing_shrinks_with_the_table(f: int, most: float) -> None:
    """ell = 10, where it is largest: half as much for twice the rows."""
    missing = []
    for times in (1, 2):
        rows, count = 1000 * times, f * times
        _, variance = exact_moments(rows, 10, count, rows // 5, count // 5)
        missing.append(variance / formula(count // 5, rows // 5, count, rows, 10) - 1)
    assert 0 < missing[0] < most
    assert missing[1] == pytest.approx(missing[0] / 2, rel=0.2)


@pytest.mark.few(2)
@pytest.mark.parametrize(("rows", "ell", "f"), [(960, 4, 60), (1000, 2, 40), (1000, 2, 200)])
@pytest.mark.parametrize("share", [0.2, 0.5])
def test_a_value_that_is_rarer_or_commoner_in_the_predicate(
    rows: int, ell: int, f: int, share: float
) -> None:
    """H uses 1 - n/N where 1 - (n - x)/(N - f) would be exact: on the safe side for a value that is
    rarer in P than elsewhere, up to 3% too small for one that is half as common again."""
    n = round(share * rows)
    for lift, low, high in ((0.0, 0.9, 1.02), (0.5, 0.95, 1.02), (1.5, 0.99, 1.03)):
        x = round(lift * share * f)
        _, variance = exact_moments(rows, ell, f, n, x)
        assert low < variance / formula(x, n, f, rows, ell) < high


@pytest.mark.parametrize("ell", [2, 5, 10])
@pytest.mark.parametrize("f", [0, 1, 40, 80, 100])
def test_for_the_whole_table_it_is_the_variance_of_the_published_count(f: int, ell: int) -> None:
    assert formula(f, 1000, f, 1000, ell) == pytest.approx(f * (1 - 1 / ell))
    if 0 < f < 100:
        # And not only by decree: just below n = N the formula itself leads there.
        nearly = formula(f, 1000 - 1e-6, f, 1000, ell)
        assert nearly == pytest.approx(f * (1 - 1 / ell), rel=1e-4)


@pytest.mark.parametrize(("share", "ratio"), [(0.1, 0.92), (0.4, 0.66), (0.6, 0.49), (0.8, 0.32)])
def test_taking_b_as_known_would_overstate_the_variance(share: float, ratio: float) -> None:
    """The histogram of the same release is a control variate: true over plain, 40 of 1,000 rows."""
    rows, ell, f = 1000, 2, 40
    n, x = round(share * rows), round(share * f)
    a, b = 1 / ell, f * (1 - 1 / ell) / (rows - f)
    plain = (n * b * (1 - b) + x * (a * (1 - a) - b * (1 - b))) / (a - b) ** 2
    assert exact_moments(rows, ell, f, n, x)[1] / plain == pytest.approx(ratio, abs=0.01)
