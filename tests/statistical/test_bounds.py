"""The bounds themselves: exact where they claim to be, never too small where they are bounds.

No sampling here. Tails are compared with exact fractions; for the tests of samples, every possible
sample is enumerated, and the chance of a p-value of alpha or less is shown to be at most alpha.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
import pytest

from countveil.maths.guarantees.binomial import binomial_upper
from tests.statistical.bounds import (
    bernstein,
    binomial_two_sided,
    bonferroni,
    chi_square_band,
    divergence_bound,
    follows,
    hypergeometric_upper,
    same_law,
)

LAWS = [
    (Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)),
    (Fraction(1, 3), Fraction(1, 3), Fraction(1, 3)),
    (Fraction(9, 10), Fraction(1, 20), Fraction(1, 20)),
]


def _binomial(trials: int, chance: Fraction) -> list[Fraction]:
    return [
        math.comb(trials, x) * chance**x * (1 - chance) ** (trials - x) for x in range(trials + 1)
    ]


def _samples(n: int, law: tuple[Fraction, ...]) -> Iterator[tuple[tuple[int, int, int], Fraction]]:
    """Every table of three counts that n draws can give, with its probability."""
    for first in range(n + 1):
        for second in range(n + 1 - first):
            counts = (first, second, n - first - second)
            ways = math.comb(n, first) * math.comb(n - first, second)
            chance = math.prod((p**c for p, c in zip(law, counts, strict=True)), start=Fraction(1))
            yield counts, ways * chance


def _never_too_often(p_values: list[tuple[float, Fraction]]) -> bool:
    """P(p-value <= alpha) <= alpha, for every alpha that occurs."""
    sums = 0.0
    for p_value, chance in sorted(p_values):
        sums += float(chance)
        if sums > p_value * (1 + 1e-9):
            return False
    return True


@pytest.mark.parametrize("chance", [Fraction(1, 2), Fraction(1, 10), Fraction(6, 7)])
def test_binomial_tails_are_exact(chance: Fraction) -> None:
    law = _binomial(40, chance)
    for successes in range(-1, 43):
        exact = float(sum(law[max(successes, 0) :], Fraction(0)))
        assert binomial_upper(successes, 40, float(chance)) == pytest.approx(exact, rel=1e-10)


@pytest.mark.parametrize(("chance", "below_or_equal"), [(0.0, 1.0), (1.0, 0.0)])
def test_binomial_tails_of_a_sure_thing(chance: float, below_or_equal: float) -> None:
    assert binomial_upper(1, 10, chance) == 1 - below_or_equal
    assert binomial_two_sided(round(10 * chance), 10, chance) == 1
    assert binomial_two_sided(5, 10, chance) == 0


def test_a_binomial_tail_of_millions_agrees_with_the_normal_one() -> None:
    """Five standard deviations above the mean of 4 million throws: 2.87e-7, skewness aside."""
    trials, chance = 4_000_000, 0.5
    successes = math.ceil(trials * chance + 5 * math.sqrt(trials * chance * (1 - chance)))
    assert binomial_upper(successes, trials, chance) == pytest.approx(2.867e-7, rel=0.02)


@pytest.mark.parametrize(("total", "marked", "drawn"), [(30, 12, 9), (30, 20, 25), (12, 12, 5)])
def test_hypergeometric_tails_are_exact(total: int, marked: int, drawn: int) -> None:
    ways = [
        math.comb(marked, x) * math.comb(total - marked, drawn - x) if x <= drawn else 0
        for x in range(marked + 1)
    ]
    for found in range(-1, marked + 3):
        exact = Fraction(sum(ways[max(found, 0) :]), math.comb(total, drawn))
        assert hypergeometric_upper(found, total, marked, drawn) == pytest.approx(
            float(exact), rel=1e-10
        )


@pytest.mark.few(3)
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("test", [follows, divergence_bound])
def test_a_sample_of_the_law_is_refused_as_seldom_as_claimed(
    law: tuple[Fraction, ...], test: Callable[..., float]
) -> None:
    expected = np.array([float(p) for p in law])
    found = [(test(np.array(counts), expected), p) for counts, p in _samples(14, law)]
    assert _never_too_often(found)
    assert min(p_value for p_value, _ in found) < 1e-3


@pytest.mark.few(1)
@pytest.mark.parametrize("law", LAWS)
def test_two_samples_of_one_law_are_refused_as_seldom_as_claimed(
    law: tuple[Fraction, ...],
) -> None:
    found = [
        (same_law(np.array(one), np.array(other)), p * q)
        for one, p in _samples(7, law)
        for other, q in _samples(5, law)
    ]
    assert _never_too_often(found)
    assert min(p_value for p_value, _ in found) < 0.01


def test_what_cannot_happen_is_refused_at_once() -> None:
    assert follows(np.array([5, 1, 4]), np.array([0.5, 0.0, 0.5])) == 0


def test_a_law_with_one_cell_is_never_refused() -> None:
    assert follows(np.array([0, 10]), np.array([0.0, 1.0])) == 1


@pytest.mark.parametrize("chance", [Fraction(1, 2), Fraction(1, 10)])
def test_bernstein_is_never_below_the_exact_tail(chance: Fraction) -> None:
    trials = 60
    law = _binomial(trials, chance)
    mean, variance = trials * chance, float(trials * chance * (1 - chance))
    for deviation in range(1, 40):
        exact = sum((p for x, p in enumerate(law) if abs(x - mean) >= deviation), Fraction(0))
        bound = bernstein(deviation, variance, float(max(chance, 1 - chance)))
        assert bound >= float(exact)
    assert bernstein(trials / 2, variance, 1.0) < 1e-3


def test_the_chi_square_band_is_never_below_the_exact_tail() -> None:
    """Two degrees of freedom: P(sum >= t) = exp(-t/2) and P(sum <= t) = 1 - exp(-t/2)."""
    for mean_square in np.linspace(0.01, 20, 500).tolist():
        above = math.exp(-mean_square)
        assert chi_square_band(mean_square, 2) >= min(above, 1 - above)
    assert chi_square_band(1.1, 10_000) < 1e-6 < chi_square_band(1.01, 10_000)


def test_bonferroni_adds_up() -> None:
    assert bonferroni([0.5, 0.02, 0.3]) == pytest.approx(0.06)
    assert bonferroni([0.9, 0.8]) == 1
