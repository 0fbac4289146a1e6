"""Bounds for random groups: known by hand, true for sound draws, small for broken ones."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from countveil.auditing.chance import bounded_tail
from countveil.auditing.promised import halves
from countveil.auditing.random_chance import RandomGroups
from countveil.maths.groups import ColumnSettings
from countveil.maths.guarantees.binomial import binomial_upper
from countveil.maths.mechanism import draw_column
from countveil.randomness import Randomness


def stayed_and_published(counts: np.ndarray, ell: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    stream = Randomness(seed).stream("draws")
    drawn = draw_column(counts, ColumnSettings(ell, "random"), (stream.spawn(), stream.spawn()))
    true = np.repeat(np.arange(counts.size), np.diff(drawn.indptr))
    kept = np.zeros(counts.size, np.int64)
    np.add.at(kept, true[true == drawn.values], drawn.counts[true == drawn.values])
    return kept, drawn.published()


def exact_upper(counts: tuple[int, int], ell: int, stayed: int) -> float:
    """P(at least so many rows of the first value publish it), over all partitions and choices."""
    rows = [0] * counts[0] + [1] * counts[1]
    total = 0.0
    orders = set(itertools.permutations(rows))
    for order in orders:
        groups = [order[start : start + ell] for start in range(0, len(order), ell)]
        law = np.ones(1)
        for group in groups:
            chance = group.count(0) / ell
            for _ in range(group.count(0)):
                law = np.convolve(law, [1 - chance, chance])
        total += law[stayed:].sum() / len(orders)
    return total


@pytest.mark.few(2)
@pytest.mark.parametrize("stayed", [0, 2, 3, 4])
def test_no_bound_is_below_the_exact_probability(stayed: int) -> None:
    counts = np.array([4, 5])
    p_value = RandomGroups(9, 3).staying_p_values(np.array([stayed]), counts[:1], counts[:1])[0]
    upper = exact_upper((4, 5), 3, stayed)
    lower = 1 - exact_upper((4, 5), 3, stayed + 1)
    assert p_value >= min(1.0, 2 * min(upper, lower)) * (1 - 1e-9)


def test_a_set_with_all_rows_always_stays() -> None:
    """Its moment is exact: exp(tilt x rows)."""
    everything = np.array([60])
    groups = RandomGroups(60, 4)
    assert groups.staying_p_values(everything, everything, everything)[0] == pytest.approx(1.0)
    assert groups.staying_p_values(everything - 9, everything, everything)[0] < 1e-15
    assert groups.published_p_values(everything, everything)[0] == pytest.approx(1.0)


def test_a_rare_value_is_binomial_but_for_chance_meetings() -> None:
    """Chernoff's bound of a binomial count, for a value whose rows never meet."""
    rows, count, ell, published = 10**7, 40, 5, 90
    bound = RandomGroups(rows, ell).published_p_values(np.array([published]), np.array([count]))[0]
    share, mean = published / (count * ell), 1 / ell
    divergence = share * math.log(share / mean) + (1 - share) * math.log((1 - share) / (1 - mean))
    # The tilts are a grid, so the best one is missed by a little.
    assert 2 * math.exp(-count * ell * divergence) <= bound * 1.001
    assert bound < 4 * math.exp(-count * ell * divergence)
    assert bound > binomial_upper(published, count * ell, mean)


@pytest.mark.slow
def test_draws_of_the_publisher_are_what_chance_allows(seed: int) -> None:
    """300 draws x 12 tests: one below 1e-10 has probability below 1e-6."""
    counts = np.array([700, 200, 60, 25, 10, 5])
    smallest = 1.0
    for number in range(300):
        kept, published = stayed_and_published(counts, 3, seed + number)
        groups = RandomGroups(int(counts.sum()), 3)
        for tails in (
            groups.staying_p_values(kept, counts, counts),
            groups.published_p_values(published, counts),
        ):
            smallest = min(smallest, float(tails.min()))
    assert smallest > 1e-10


def test_groups_of_one_less_are_too_few(seed: int) -> None:
    counts = np.array([12_000, 9_000, 6_000, 3_000])
    kept, _ = stayed_and_published(counts, 3, seed)
    rows = int(counts.sum())
    assert RandomGroups(rows, 4).staying_p_values(kept, counts, counts).min() < 1e-9
    # Half of the rows counted: still a set of the whole table's rows.
    some = RandomGroups(rows, 4).staying_p_values(kept // 2, counts // 2, counts)
    assert some.min() < 1e-4
    assert RandomGroups(rows, 3).staying_p_values(kept // 2, counts // 2, counts).min() > 1e-4


def test_dropped_rows_widen_both_tails() -> None:
    counts, stayed = np.array([300]), np.array([210])
    tails = [
        RandomGroups(900, 3, dropped).staying_p_values(stayed, counts, counts + dropped)[0]
        for dropped in (0, 20)
    ]
    assert tails[0] < tails[1] < 1
    below = [
        RandomGroups(900, 3, dropped).published_p_values(np.array([220]), counts)[0]
        for dropped in (0, 20)
    ]
    assert below[0] < below[1]


def test_any_two_values_are_separated_once() -> None:
    values = np.array([2, 3, 5, 7, 11])
    sets = halves(values, 12)
    assert sets[0].sum() == 5
    for one, two in itertools.combinations(values.tolist(), 2):
        assert any(mask[one] != mask[two] for mask in sets)
    assert not any(mask[[0, 1, 4, 6, 8, 9, 10]].any() for mask in sets)
    assert len(halves(values[:1], 12)) == 1


def test_chances_known_within_bounds() -> None:
    drawn = np.array([100.0])
    narrow = bounded_tail(90, drawn, np.array([0.5]), np.array([0.5]))
    wide = bounded_tail(90, drawn, np.array([0.4]), np.array([0.7]))
    assert binomial_upper(90, 100, 0.5) < narrow < 1e-12
    assert narrow < wide < 1e-3
    assert bounded_tail(60, drawn, np.array([0.4]), np.array([0.7])) == 1.0
