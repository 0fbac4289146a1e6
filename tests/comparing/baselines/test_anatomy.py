"""Anatomy, by hand and as properties of any table."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from countveil.comparing.baselines import Anatomy, diversity, is_diverse
from countveil.errors import IneligibleError, InputError, SettingsError
from countveil.maths.channel import channel_matrix, greedy_templates
from countveil.randomness import Randomness
from tests.statistical.bounds import FALSE_ALARM, bernstein, bonferroni

# Values a, a, b, c at ell = 2: the groups can only be {a, b} and {a, c}.
CODES = np.array([0, 0, 1, 2])


def test_two_groups_by_hand() -> None:
    published = Anatomy(2).publish(CODES, 3, Randomness(1))
    one, other = published.groups[2], published.groups[3]
    assert {one, other} == set(published.groups[:2].tolist()) == {0, 1}
    groups, values = published.sensitive_table()
    assert sorted(zip(groups.tolist(), values.tolist(), strict=True)) == sorted(
        [(one, 0), (one, 1), (other, 0), (other, 2)]
    )
    # b's row counts half for a and b, c's row half for a and c.
    assert published.counts(np.array([False, False, True, True])).tolist() == [1, 0.5, 0.5]
    assert published.counts(np.array([2])).tolist() == [0.5, 0.5, 0]
    assert published.totals().tolist() == [2, 1, 1]
    belief = published.belief()
    assert belief.in_truth(CODES).tolist() == [0.5] * 4
    assert belief.candidates() == pytest.approx([2] * 4)


def test_a_row_left_over_joins_a_group() -> None:
    published = Anatomy(2).publish(np.array([0, 0, 1, 1, 2]), 3, Randomness(1))
    assert sorted(np.bincount(published.groups).tolist()) == [2, 3]
    assert published.totals().tolist() == [2, 2, 1]


@given(st.lists(st.integers(1, 40), min_size=2, max_size=12), st.integers(2, 6), st.integers(0, 99))
def test_every_group_is_diverse_and_estimates_add_up(
    counts: list[int], ell: int, seed: int
) -> None:
    total = sum(counts)
    codes = np.repeat(np.arange(len(counts)), counts)
    if max(counts) > total // ell:
        with pytest.raises((IneligibleError, SettingsError)):
            Anatomy(ell).publish(codes, len(counts), Randomness(seed))
        return
    published = Anatomy(ell).publish(codes, len(counts), Randomness(seed))
    assert is_diverse(published.groups, codes, ell)
    # Every group holds exactly the values that the second table says.
    groups, values = published.sensitive_table()
    assert sorted(zip(groups, values, strict=True)) == sorted(
        zip(published.groups, codes, strict=True)
    )
    some = np.arange(total) % 3 == 0
    assert published.counts(some).sum() == pytest.approx(some.sum())
    assert published.counts(np.ones(total, bool)) == pytest.approx(counts)


@pytest.mark.slow
def test_the_mean_is_what_the_groups_say(seed: int) -> None:
    """E[estimate] = W^T x. False alarms: 1e-6 (Bernstein, whatever the seed)."""
    counts, runs = np.array([6, 5, 4, 2, 1]), 800
    codes = np.repeat(np.arange(5), counts)
    rows = np.array([0, 1, 6, 11, 15])
    expected = np.bincount(codes[rows], minlength=5) @ channel_matrix(greedy_templates(counts, 3))
    summed = np.zeros(5)
    for run in range(runs):
        summed += Anatomy(3).publish(codes, 5, Randomness(seed * runs + run)).counts(rows)
    deviations = summed - runs * expected
    n = rows.size
    assert bonferroni(bernstein(d, runs * n**2 / 4, n) for d in deviations) > FALSE_ALARM


def test_diversity_by_hand() -> None:
    groups, codes = np.array([7, 7, 7, 9, 9, 9, 9]), np.array([0, 1, 2, 0, 0, 1, 2])
    assert diversity(groups, codes) == 2  # two of the four rows of group 9 share a value
    assert is_diverse(groups, codes, 2)
    assert not is_diverse(groups, codes, 3)
    assert diversity(np.array([0, 0]), np.array([4, 4])) == 1
    with pytest.raises(ValueError, match="no rows"):
        diversity(np.zeros(0, np.int64), np.zeros(0, np.int64))


def test_what_is_refused() -> None:
    with pytest.raises(SettingsError, match="at least 2"):
        Anatomy(1)
    with pytest.raises(
        IneligibleError, match="largest ell that works with groups of different values is 2"
    ):
        Anatomy(3).publish(CODES, 3, Randomness(1))
    with pytest.raises(SettingsError, match="has only 3"):
        Anatomy(4).publish(CODES, 3, Randomness(1))
    with pytest.raises(InputError, match="1 different value:"):
        Anatomy(2).publish(np.zeros(5, np.int64), 1, Randomness(1))
    with pytest.raises(InputError, match="no rows"):
        Anatomy(2).publish(np.zeros(0, np.int64), 3, Randomness(1))
    with pytest.raises(ValueError, match=r"0 \.\. 2"):
        Anatomy(2).publish(np.array([0, 3]), 3, Randomness(1))
