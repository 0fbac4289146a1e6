"""Levels: what one takes can be taken, and what it leaves can be grouped."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from countveil.maths.channel.design import expected_pairs, fit_design
from countveil.maths.channel.templates import meetings
from countveil.maths.groups.balance import TargetMeetings
from countveil.maths.groups.trades import level, level_size, shares
from countveil.randomness import Randomness
from tests.strategies import eligible

Counts = NDArray[np.int64]


@given(
    eligible(most_values=20),
    st.integers(10**3, 10**6),
    st.integers(100, 2_000),
    st.floats(0.05, 0.5),
)
def test_what_a_level_leaves_can_be_grouped(
    case: tuple[Counts, int], factor: int, size: int, kept: float
) -> None:
    counts = case[0] * factor
    groups = int(counts.sum()) // case[1]
    while counts.sum() % groups:
        counts[np.argmax(counts)] -= 1
    times = int(groups * (1 - kept) / size)
    if times == 0:
        return
    share = shares(counts, groups, size, times)
    if share is None:
        return
    assert share.sum() == size * (counts.sum() // groups)
    assert share.min() >= 0
    assert share.max() <= size
    left = counts - times * share
    assert left.min() >= 0
    assert left.max() <= groups - times * size


def test_values_rarer_than_a_level_counts_wait_for_the_next() -> None:
    counts = np.array([10**6, 10**6, 10**6, 10**6, 30, 2], np.int64)
    counts[0] -= counts.sum() % 2
    groups = int(counts.sum()) // 2
    share = shares(counts, groups, 1_000, 1_900)
    assert share is not None
    assert not share[4:].any()


def test_there_may_be_no_way() -> None:
    """A thousand values, all too rare for groups that count a hundred each."""
    counts = np.full(1_000, 50, np.int64)
    assert shares(counts, 10_000, 95, 100) is None


def test_a_level_follows_the_design_in_units_of_what_its_groups_count() -> None:
    """Random groups would be off by the root of the meetings."""
    counts = np.repeat(np.array([40_000, 60_000, 100_000, 200_000], np.int64), 10)
    groups = int(counts.sum()) // 20
    smaller, larger = expected_pairs(fit_design(counts, 20), np.arange(40))
    pairs = smaller + larger
    target = TargetMeetings.of(np.arange(40), pairs, pairs, counts / 1_000)
    size = 1_000
    rows, times = level(counts, groups, size, target, pairs / groups, Randomness(1).stream("x"))
    assert rows.shape == (size, 20)
    assert np.unique(times).size == 1
    expected = pairs * size / groups
    off = meetings(rows, None, 40) - expected
    np.fill_diagonal(off, 0.0)
    assert np.sqrt((off**2).mean()) < 0.25 * np.sqrt(expected.mean())


def test_levels_have_room_for_every_value() -> None:
    assert level_size(5, 2_000, 100_000) * 5 >= 20 * 100_000
    assert level_size(100, 200, 200) >= 100


def test_a_value_that_is_in_nearly_every_group_is_not_left_over() -> None:
    """Of 100,000 groups it misses one: a level of 1,000 groups, each used 80 times, has it in all.

    In one group less, 80 rows of it would be left beyond the groups that are left.
    """
    groups, size, times = 100_000, 1_000, 80
    counts = np.array([groups - 1, *[groups // 4] * 3, groups // 4 + 1], np.int64)
    share = shares(counts, groups, size, times)
    assert share is not None
    left = counts - times * share
    assert left.max() <= groups - times * size, "a value has more rows left than there are groups"
    assert share[0] == size
