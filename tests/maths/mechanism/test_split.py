"""Y split over partitions: nothing is lost or gained, and each computes its share alone."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from countveil.maths.mechanism import PublishedTable
from countveil.maths.mechanism.split import owners_of, partition_share, share_out, take_first
from countveil.randomness import Randomness, TaskKey
from tests.strategies import examples

Counts = NDArray[np.int64]


@st.composite
def tables(draw: st.DrawFn) -> tuple[PublishedTable, Counts]:
    """A table Y and how many rows of each value every partition has."""
    n_values, n_partitions = draw(st.integers(1, 6)), draw(st.integers(1, 9))
    shape = (n_partitions, n_values)
    rows = draw(arrays.arrays(np.int64, shape, elements=st.integers(0, 2_000)))
    width = draw(st.integers(1, 4))
    totals = rows.sum(axis=0)
    counts = np.zeros((n_values, width), np.int64)
    for value, total in enumerate(totals.tolist()):
        cuts = sorted(draw(st.lists(st.integers(0, total), min_size=width - 1, max_size=width - 1)))
        counts[value] = np.diff([0, *cuts, total])
    return PublishedTable(
        np.arange(n_values + 1) * width, np.tile(np.arange(width), n_values), counts.ravel()
    ), rows


@given(tables(), st.integers(1, 12), st.integers(0, 10**6))
@examples(60)
def test_the_partitions_together_are_the_whole(
    made: tuple[PublishedTable, Counts], runs: int, seed: int
) -> None:
    table, rows = made
    key = Randomness(seed).task_key("x")
    total = np.zeros_like(table.counts)
    partition = 0
    for run, shares in enumerate(share_out(table, rows, runs, key)):
        for place in range(len(shares.rows)):
            share = partition_share(table, shares, place, run, key)
            again = partition_share(table, shares, place, run, pickle.loads(pickle.dumps(key)))
            assert np.array_equal(share.counts, again.counts)
            totals = np.bincount(owners_of(table), share.counts, table.n_values)
            assert np.array_equal(totals, rows[partition])
            assert share.counts.min(initial=0) >= 0
            total += share.counts
            partition += 1
    assert partition == len(rows)
    assert np.array_equal(total, table.counts)


def test_more_rows_than_values_are_refused() -> None:
    stream = Randomness(1).stream("x")
    with pytest.raises(ValueError, match="more rows of a value"):
        take_first(np.array([2, 1]), np.array([0, 0]), np.array([4]), stream)


def test_a_thousand_million_rows_are_split_without_making_one() -> None:
    table = PublishedTable(np.array([0, 2]), np.array([0, 1]), np.array([6 * 10**8, 4 * 10**8]))
    rows = np.array([[3 * 10**8], [7 * 10**8]])
    first, second = share_out(table, rows, 2, Randomness(5).task_key("x"))
    assert np.array_equal(first.counts + second.counts, table.counts)
    # Within 7 standard deviations of a hypergeometric count: 3e8 * 0.6 * 0.4 * 0.7, to the root.
    assert abs(int(first.counts[0]) - 18 * 10**7) < 7 * np.sqrt(3e8 * 0.6 * 0.4 * 0.7)


def test_a_task_key_tells_nothing_and_seals() -> None:
    key = Randomness(1).task_key("deal")
    assert isinstance(pickle.loads(pickle.dumps(key)), TaskKey)
    assert repr(key) == "TaskKey(key withheld)"
    sealed = key.seal(b"true counts" * 100, "head")
    assert b"counts" not in sealed
    assert key.seal(sealed, "head") == b"true counts" * 100
    assert key.seal(sealed, "tail") != b"true counts" * 100
    one, other = key.stream("a").words(4), key.derived("a").stream("a").words(4)
    assert not np.array_equal(one, other)
    assert not np.array_equal(one, Randomness(1).stream("a").words(4))


def test_parts_are_drawn_apart_and_not_in_proportion() -> None:
    """One value with two published ones, 1,000 of each, over four partitions of 500 rows.

    What the first and the third partition get varies, each by its own coins. The correlation of 100
    splits lies within .5 (five standard errors), but once in 10^7; with one stream for all it is
    near 1.
    """
    table = PublishedTable(np.array([0, 2, 2]), np.array([0, 1]), np.array([1_000, 1_000]))
    rows = np.array([[500, 0]] * 4)
    first, third = [], []
    for _ in range(100):
        shares = next(share_out(table, rows, 1, Randomness().task_key("split")))
        key = Randomness().task_key("parts")
        each = [partition_share(table, shares, part, 0, key).counts[0] for part in range(4)]
        # By how much a part departs from half of what its two have: the halving of these alone.
        first.append(each[0] - (each[0] + each[1]) / 2)
        third.append(each[2] - (each[2] + each[3]) / 2)
    assert np.std(first) > 3, "what a partition gets is fixed, not drawn"
    assert abs(np.corrcoef(first, third)[0, 1]) < 0.5, "partitions toss the same coins"
