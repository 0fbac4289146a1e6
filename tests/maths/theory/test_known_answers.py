"""Numbers that can be known in advance: likelihood, the two-state channel, errata 1 and 3.

Everything is compared with whole numbers or fractions; what the paper prints is printed here too,
beside what is true.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from countveil.maths.channel import b_exact, channel_matrix, greedy_templates, keep_probability
from countveil.maths.guarantees import chance_off, chance_within
from countveil.maths.guarantees.binomial import binomial_pmf
from countveil.maths.paper import b_printed


def likelihood(trials: int, g: int, ell: int) -> Fraction:
    """P(a value is published g times | `trials` tuples publish it with chance 1/ell each)."""
    if g > trials:
        return Fraction(0)
    return Fraction(math.comb(trials, g) * (ell - 1) ** (trials - g), ell**trials)


def test_example_2_a_count_of_five_is_within_one_with_probability_one_half() -> None:
    """0.5199; so it is off by more with probability 0.48, where the paper says 0.52 once."""
    exact = sum((likelihood(50, g, 10) for g in (4, 5, 6)), Fraction(0))
    assert chance_within(5, 10, 0.3) == pytest.approx(float(exact), rel=1e-12)
    assert chance_within(5, 10, 0.3) == pytest.approx(0.5199, abs=5e-5)
    assert chance_off(5, 10, 0.3) == pytest.approx(0.4801, abs=5e-5)


@pytest.mark.parametrize("ell", [2, 3, 10])
@pytest.mark.parametrize("f", [1, 5, 40])
def test_the_probabilities_are_those_of_whole_numbers(f: int, ell: int) -> None:
    for g in range(f * ell + 2):
        exact = float(likelihood(f * ell, g, ell))
        assert binomial_pmf(g, f * ell, ell) == pytest.approx(exact, rel=1e-9)


def test_the_ends_of_a_relative_error_belong_to_it() -> None:
    """0.3 * 10 is 3, though not in floating point: 7 .. 13 are all within."""
    exact = sum((likelihood(50, g, 5) for g in range(7, 14)), Fraction(0))
    assert chance_within(10, 5, 0.3) == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.parametrize("ell", [2, 3, 5, 10])
@pytest.mark.parametrize("g", [0, 1, 2, 3, 7, 20])
def test_theorem_3_the_published_count_is_the_most_likely_true_one(g: int, ell: int) -> None:
    """f = g maximises P(g | f), and no other f does as well.

    The likelihood rises up to f = g and falls after it.
    """
    by_count = [likelihood(f * ell, g, ell) for f in range(3 * g + 6)]
    possible = range(-(-g // ell), len(by_count) - 1)
    for f in possible:
        assert (by_count[f + 1] > by_count[f]) == (f < g)
        assert by_count[f + 1] != by_count[f]
    assert max(by_count) == by_count[g]


@pytest.mark.parametrize("ell", [2, 3, 5, 10])
@pytest.mark.parametrize("g", [1, 2, 7, 20])
def test_theorem_3_has_a_tie_that_no_table_can_show(g: int, ell: int) -> None:
    """ell g and ell g - 1 trials explain g equally well; but trials come in multiples of ell."""
    assert likelihood(ell * g - 1, g, ell) == likelihood(ell * g, g, ell)
    assert likelihood(ell * g + 1, g, ell) < likelihood(ell * g, g, ell)


@pytest.mark.parametrize("ell", [2, 3, 5, 10])
@pytest.mark.parametrize("f", [1, 2, 7, 20])
def test_the_most_likely_published_count_is_the_true_one(f: int, ell: int) -> None:
    """What the paper's proof of Theorem 3 shows: for given f, P(g | f) is largest at g = f only."""
    law = [likelihood(f * ell, g, ell) for g in range(f * ell + 1)]
    assert [g for g, p in enumerate(law) if p == max(law)] == [f]


def test_the_most_likely_count_is_hardly_more_likely_than_its_neighbours() -> None:
    """That is how small counts are hidden: after a 5 at ell = 10, 4 and 6 are 0.9 as likely."""
    ratios = [likelihood(10 * f, 5, 10) / likelihood(50, 5, 10) for f in (4, 6)]
    assert [float(ratio) for ratio in ratios] == pytest.approx([0.891, 0.899], abs=5e-4)


@pytest.mark.parametrize("ell", [2, 3, 5, 10])
@pytest.mark.parametrize("f", [1, 40, 99])
def test_erratum_1_expected_counts_under_the_exact_and_the_printed_channel(
    f: int, ell: int
) -> None:
    rows = 1000
    keep = keep_probability(rows - rows % ell, ell)
    assert keep == pytest.approx(1 / ell)
    rows -= rows % ell
    exact = f * keep + (rows - f) * b_exact(float(f), rows, keep)
    printed = f * keep + (rows - f) * b_printed(float(f), rows)
    assert exact == pytest.approx(f)
    assert printed == pytest.approx(f * (1 / ell + 1 - f / rows))


def test_erratum_1_at_ell_two_the_printed_b_is_twice_the_exact_one() -> None:
    """b printed / b exact = ell / (ell - 1) * (1 - f/N), which is 2 for a rare value at ell = 2."""
    rows = 1_000_000
    for ell, f in ((2, 1), (2, 1000), (3, 1000), (10, 1000)):
        ratio = b_printed(float(f), rows) / b_exact(float(f), rows, 1 / ell)
        assert ratio == pytest.approx(ell / (ell - 1) * (1 - f / rows))
    assert b_printed(1.0, rows) / b_exact(1.0, rows, 0.5) == pytest.approx(2, rel=1e-5)


@pytest.mark.parametrize(
    ("histogram", "ell"),
    [((30, 25, 20, 10, 10, 5), 2), ((30, 25, 20, 10, 10, 4), 3), ((7, 5, 4, 2, 1, 1), 2)],
)
def test_b_is_the_average_over_the_real_groups(histogram: tuple[int, ...], ell: int) -> None:
    """Whatever the groups are: averaged over all tuples without s, P(publish s) is the exact b."""
    counts = np.array(histogram)
    rows = int(counts.sum())
    assert rows % ell == 0
    whole = channel_matrix(greedy_templates(counts, ell))
    for s, f in enumerate(histogram):
        others = np.arange(counts.size) != s
        average = float(counts[others] @ whole[others, s]) / (rows - f)
        assert average == pytest.approx(b_exact(float(f), rows, 1 / ell))
        assert whole[s, s] == pytest.approx(1 / ell)


@pytest.mark.parametrize(
    ("histogram", "ell"), [((2, 2, 2, 2, 1, 1, 1), 4), ((4, 3, 1, 1), 2), ((3, 3, 3, 3, 1, 1), 4)]
)
def test_with_uneven_groups_keeping_lies_between_the_two_sizes(
    histogram: tuple[int, ...], ell: int
) -> None:
    """Every value's own chance, and the one number that an analyst uses for all of them."""
    counts = np.array(histogram)
    rows = int(counts.sum())
    small = rows // (rows // ell)
    kept = np.diag(channel_matrix(greedy_templates(counts, ell)))
    bounds = (1 / (small + 1) - 1e-12, 1 / small + 1e-12)
    assert all(bounds[0] <= a <= bounds[1] for a in kept)
    assert bounds[0] <= keep_probability(rows, ell) <= bounds[1]


def failure(f: int, ell: int, error: Fraction) -> float:
    """P(|g - f| >= error * f), ends included, as the paper's guarantee is worded."""
    margin = error * f
    first, last = math.floor(f - margin) + 1, math.ceil(f + margin) - 1
    return 1 - math.fsum(binomial_pmf(g, f * ell, ell) for g in range(first, last + 1))


def test_erratum_3_example_1_fails_with_probability_0_43_not_0_02() -> None:
    """T_E = 0.02, ell = 10, e = 0.2: the paper's T_f is 11 (its formula gives 11.2)."""
    ell, error, allowed = 10, Fraction(1, 5), 0.02
    assert math.sqrt(1 / (ell * float(error) ** 2 * allowed)) == pytest.approx(11.18, abs=5e-3)
    exact = 1 - sum((likelihood(110, g, 10) for g in range(9, 14)), Fraction(0))
    assert chance_off(11, ell, 0.2) == pytest.approx(float(exact), rel=1e-9)
    # 0.2 * 11 and 0.2 * 12 are not whole, so "at least" and "more than" are the same here.
    assert failure(11, ell, error) == pytest.approx(chance_off(11, ell, 0.2))
    assert chance_off(11, ell, 0.2) == pytest.approx(0.427, abs=5e-4)
    assert chance_off(12, ell, 0.2) == pytest.approx(0.447, abs=5e-4)


@pytest.mark.slow
def test_erratum_3_what_example_1_really_needs() -> None:
    """Chebyshev: (1 - 1/ell) / (e^2 T_E) = 1125. Exactly: 126, the first from which on it holds."""
    ell, error, allowed = 10, Fraction(1, 5), 0.02
    chebyshev = (1 - Fraction(1, ell)) / (error**2 * Fraction(1, 50))
    assert chebyshev == 1125
    # Beyond 1125 Chebyshev guarantees it; the exact tail is not monotone below.
    failing = [f for f in range(1, 1126) if failure(f, ell, error) > allowed]
    assert failing[-1] == 125
    assert 123 not in failing


@pytest.mark.slow
def test_erratum_3_the_second_half_of_example_1() -> None:
    """e = 0.02: the paper prints 49, its formula gives 112, and it takes 12,201."""
    ell, error, allowed = 10, Fraction(1, 50), 0.02
    assert math.ceil(math.sqrt(1 / (ell * float(error) ** 2 * allowed))) == 112
    assert failure(49, ell, error) > 0.9
    assert failure(112, ell, error) > 0.8
    assert failure(12_200, ell, error) > allowed
    # Only where e f is whole does the chance jump up, so these are the ones to look at.
    assert all(failure(f, ell, error) <= allowed for f in range(12_201, 12_300))
    assert all(failure(f, ell, error) <= allowed for f in range(12_300, 14_000, 50))


@pytest.mark.parametrize("ell", [2, 5, 10])
@pytest.mark.parametrize("f", [5, 20, 100, 1000])
def test_chebyshev_holds_with_the_right_variance(f: int, ell: int) -> None:
    for error in (Fraction(1, 10), Fraction(1, 4), Fraction(1, 2)):
        assert failure(f, ell, error) <= (1 - 1 / ell) / (float(error) ** 2 * f)


@pytest.mark.parametrize(("f", "ell"), [(5, 2), (20, 2), (20, 5), (100, 10)])
def test_erratum_3_inequality_4_as_printed_is_broken(f: int, ell: int) -> None:
    """1 / (ell e^2 f^2), having divided by n twice, is no bound: e = 1/4."""
    assert failure(f, ell, Fraction(1, 4)) > 16 / (ell * f**2)
