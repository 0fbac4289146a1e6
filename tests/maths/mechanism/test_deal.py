"""What the draw and the deal keep, whatever the draw."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from countveil.maths.channel import Templates, channel_matrix, greedy_templates
from countveil.maths.mechanism import Dealer, PublishedTable, deal, draw_published
from countveil.maths.mechanism.deal import _spread
from countveil.randomness import Randomness, Stream
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


def test_a_large_block_hands_out_every_value_once() -> None:
    """More rows than are dealt at a time: the first ones must not be dealt again."""
    counts = np.array([70_000, 60_000, 50_000, 40_000])
    table = draw_published(greedy_templates(counts, 3), Randomness().stream("draw"))
    codes = np.random.default_rng(1).permutation(np.repeat(np.arange(4), counts))
    dealt = Dealer(table, Randomness().stream("deal")).deal(codes)
    pairs = np.bincount(4 * codes + dealt, minlength=16)
    drawn = np.zeros(16, np.int64)
    drawn[4 * np.repeat(np.arange(4), np.diff(table.indptr)) + table.values] = table.counts
    assert np.array_equal(pairs, drawn), "a block deals the values of its first rows again"


def test_what_a_batch_gets_of_a_large_cell_is_drawn() -> None:
    """1,000 values to two batches: half of them on average, with the variance 250 of fair coins.

    Of 400 such splits the sample variance leaves 150 to 400 once in 10^6; a split in proportion
    has none, and the small counts of a part of the table would be exact.
    """
    stream = Randomness().stream("spread")
    first = _spread(np.full(400, 1_000), 2, stream)[0]
    assert 150 < first.var(ddof=1) < 400, "a large cell is split in proportion, not drawn"
    assert abs(first.mean() - 500) < 5 * math.sqrt(250 / 400)


def test_batches_are_shuffled_by_streams_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """With shares that are fixed, only the shuffling of batches is left to the key."""

    def in_halves(counts: NDArray[np.int64], n_batches: int, _stream: Stream) -> Any:
        return np.stack([counts // n_batches] * n_batches)

    monkeypatch.setattr(deal, "_spread", in_halves)
    size = 1 << 16
    table = PublishedTable(np.array([0, 2, 2]), np.array([0, 1]), np.array([size, size]))
    codes = np.zeros(2 * size, np.int64)
    one, two = (Dealer(table, Randomness().stream("deal")).deal(codes) for _ in range(2))
    # Of 131,072 places half agree by chance; five standard errors are .007.
    assert abs((one == two).mean() - 0.5) < 0.007, "batches are shuffled by a key that is public"
    assert abs((one[:size] == one[size:]).mean() - 0.5) < 0.01, "batches are shuffled alike"


def test_what_a_frequent_group_publishes_is_drawn() -> None:
    """900 groups of three values: 300 of each on average, with the variance 200 of a draw.

    Of 400 draws the sample variance leaves 120 to 320 once in 10^10. Without one, small differences
    between counts would show who has which value.
    """
    groups = Templates.from_rows(3, [(np.array([[0, 1, 2]]), np.array([900]))])
    stream = Randomness().stream("draw")
    drawn = np.array([draw_published(groups, stream).counts for _ in range(400)])
    assert drawn.shape == (400, 9)
    assert (drawn.sum(axis=1) == 2_700).all()
    variances = drawn.var(axis=0, ddof=1)
    assert (variances > 120).all(), "large cells are split in proportion, not drawn"
    assert (variances < 320).all()
    assert (np.abs(drawn.mean(axis=0) - 300) < 5.5 * math.sqrt(200 / 400)).all()
