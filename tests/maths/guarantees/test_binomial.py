"""Binomial probabilities: against exact fractions, and far out against reference numbers."""

from __future__ import annotations

import math
from fractions import Fraction
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from countveil.maths.guarantees import chance_off, chance_within
from countveil.maths.guarantees.binomial import (
    binomial_lower,
    binomial_pmf,
    binomial_upper,
    chance_far,
    chance_near,
)


def exactly_far(count: int, ell: int, distance: int) -> Fraction:
    """P(|g - count| >= distance) in whole numbers."""
    trials, near = count * ell, range(max(0, count - distance + 1), count + distance)
    ways = sum(comb(trials, g) * (ell - 1) ** (trials - g) for g in near if g <= trials)
    return 1 - Fraction(ways, ell**trials)


@given(st.integers(1, 60), st.integers(2, 12), st.integers(0, 80))
def test_both_sides_are_exact_however_small(count: int, ell: int, distance: int) -> None:
    far = exactly_far(count, ell, distance)
    assert chance_far(count, ell, distance) == pytest.approx(float(far), rel=1e-11, abs=1e-300)
    assert chance_near(count, ell, distance) == pytest.approx(float(1 - far), rel=1e-11)


@given(st.integers(1, 400), st.integers(2, 40))
def test_the_far_ends_are_exact(count: int, ell: int) -> None:
    trials = count * ell
    ends = {0: Fraction(ell - 1, ell) ** trials, trials: Fraction(1, ell) ** trials}
    for successes, exact in ends.items():
        expected = float(exact)
        assert binomial_pmf(successes, trials, ell) == pytest.approx(
            expected, rel=1e-11, abs=1e-290
        )
    assert binomial_pmf(-1, trials, ell) == binomial_pmf(trials + 1, trials, ell) == 0


# Summed with 40 digits from log-gamma functions; SciPy 1.17 (binom.sf, binom.cdf) agrees with the
# first seven to ten digits or more.
@pytest.mark.parametrize(
    ("count", "ell", "distance", "expected"),
    [
        (5, 10, 2, 0.480067064149685),
        (126, 10, 26, 0.01656825789524),
        (12_201, 10, 245, 0.0196345032217182),
        (1_000, 2, 500, 1.47439752297689e-115),
        (1_000, 1_000, 700, 3.21002556604492e-90),
        (10**6, 5, 5_000, 2.27610073415781e-8),
        (10**9, 1_000, 70_000, 0.0267816127140399),
        (10**9, 1_000, 1_170_000, 6.28479345578958e-300),
        (10**9, 2, 1_000_000, 0.0),  # 9e-437: less than any float
    ],
)
def test_reference_numbers(count: int, ell: int, distance: int, expected: float) -> None:
    assert chance_far(count, ell, distance) == pytest.approx(expected, rel=2e-12, abs=0)


@given(st.integers(1, 300), st.integers(2, 20), st.sampled_from([0.1, 0.2, 0.3, 0.25, 0.7]))
def test_within_and_off_are_complements(count: int, ell: int, error: float) -> None:
    assert chance_within(count, ell, error) + chance_off(count, ell, error) == pytest.approx(1)


@pytest.mark.parametrize(("trials", "chance"), [(1, 0.3), (10, 0.2), (40, 0.5), (60, 0.9)])
def test_binomial_tails_are_exact(trials: int, chance: float) -> None:
    terms = [math.comb(trials, k) * chance**k * (1 - chance) ** (trials - k) for k in range(trials)]
    terms.append(chance**trials)
    for k in range(trials + 1):
        assert binomial_upper(k, trials, chance) == pytest.approx(sum(terms[k:]), rel=1e-9)
        assert binomial_lower(k, trials, chance) == pytest.approx(sum(terms[: k + 1]), rel=1e-9)
