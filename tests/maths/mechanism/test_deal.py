"""What the draw and the deal keep, whatever the draw."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from countveil.maths.channel import channel_matrix, greedy_templates
from countveil.maths.mechanism import Dealer, draw_published
from countveil.randomness import Randomness
from tests.strategies import eligible


@given(eligible(), st.integers(0, 2**32))
def test_nobody_publishes_a_value_outside_the_groups_of_the_true_one(
    case: tuple[NDArray[np.int64], int], seed: int
) -> None:
    counts, ell = case
    groups = greedy_templates(counts, ell)
    table = draw_published(groups, Randomness(seed).stream("draw"))
    together = channel_matrix(groups) > 0
    true = np.repeat(np.arange(counts.size), np.diff(table.indptr))
    assert together[true, table.values].all()
    assert np.array_equal(np.bincount(true, table.counts, counts.size), counts)


@given(
    eligible(),
    st.integers(0, 2**32),
    st.lists(st.integers(1, 40), min_size=1, max_size=5),
)
def test_dealing_in_blocks_hands_out_exactly_what_was_drawn(
    case: tuple[NDArray[np.int64], int], seed: int, sizes: list[int]
) -> None:
    counts, ell = case
    table = draw_published(greedy_templates(counts, ell), Randomness(seed).stream("draw"))
    codes = np.random.default_rng(seed).permutation(np.repeat(np.arange(counts.size), counts))
    dealer = Dealer(table, Randomness(seed).stream("deal"))
    published, first = [], 0
    while first < codes.size:
        size = sizes[first % len(sizes)]
        published.append(dealer.deal(codes[first : first + size]))
        first += size
    dealt = np.zeros((counts.size, counts.size), np.int64)
    np.add.at(dealt, (codes, np.concatenate(published)), 1)
    drawn = np.zeros_like(dealt)
    drawn[np.repeat(np.arange(counts.size), np.diff(table.indptr)), table.values] = table.counts
    assert np.array_equal(dealt, drawn)
    assert dealer.rows_left == 0


def test_a_block_with_more_rows_than_were_counted_is_refused() -> None:
    counts = np.array([2, 2], np.int64)
    table = draw_published(greedy_templates(counts, 2), Randomness(1).stream("draw"))
    with pytest.raises(ValueError, match="more rows of a value"):
        Dealer(table, Randomness(1).stream("deal")).deal(np.zeros(3, np.int64))


def test_an_empty_block_is_nothing() -> None:
    counts = np.array([2, 2], np.int64)
    table = draw_published(greedy_templates(counts, 2), Randomness(1).stream("draw"))
    assert Dealer(table, Randomness(1).stream("deal")).deal(np.zeros(0, np.int64)).size == 0


def test_large_domains_are_tallied_without_a_square_table() -> None:
    """3,000 values: the pairs are kept sparse, and nothing is lost."""
    counts = np.full(3_000, 3, np.int64)
    table = draw_published(greedy_templates(counts, 7), Randomness(5).stream("draw"))
    assert table.counts.sum() == counts.sum()
    assert np.array_equal(np.add.reduceat(table.counts, table.indptr[:-1]), counts)


def test_one_seed_gives_one_table_however_it_is_dealt() -> None:
    counts = np.array([40, 30, 20, 10], np.int64)
    groups = greedy_templates(counts, 2)
    one = draw_published(groups, Randomness(9).stream("draw", "job"))
    two = draw_published(groups, Randomness(9).stream("draw", "job"))
    other = draw_published(groups, Randomness(10).stream("draw", "job"))
    assert np.array_equal(one.counts, two.counts)
    assert not np.array_equal(one.counts, other.counts)
