"""Partitions of a table, each dealt independently from its share of Y, give the same law.

The exact law of whole vectors is that of the textbook, as for blocks (`test_blocks`); here every
partition has its own dealer and stream, and its share comes from splitting. False-alarm rate of
every test: at most 1e-6, for any seed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from countveil.maths.channel import greedy_templates
from countveil.maths.mechanism import Dealer, PublishedTable, draw_published
from countveil.maths.mechanism.split import partition_share, share_out, take_first
from countveil.randomness import Randomness
from tests.statistical import textbook
from tests.statistical.bounds import FALSE_ALARM, follows
from tests.statistical.runs import as_array, side_by_side, vectors_follow
from tests.statistical.test_blocks import BLOCKS, Values

Codes = NDArray[np.int64]


def deal_in_partitions(
    table: PublishedTable,
    codes: Codes,
    partitions: Sequence[int],
    runs: int,
    randomness: Randomness,
) -> Codes:
    """Deal partitions of these sizes independently; `codes` has one row per copy of the table."""
    key = randomness.task_key("parts")
    edges = np.cumsum([0, *partitions])
    blocks = [codes[:, a:b] for a, b in itertools.pairwise(edges)]
    rows = np.stack([np.bincount(block.ravel(), minlength=table.n_values) for block in blocks])
    dealt: list[Codes] = []
    for run, shares in enumerate(share_out(table, rows, runs, key)):
        for partition in range(len(shares.rows)):
            block = blocks[len(dealt)]
            dealer = Dealer(
                partition_share(table, shares, partition, run, key),
                randomness.stream("deal", "column", str(len(dealt))),
            )
            dealt.append(dealer.deal(block.ravel()).reshape(block.shape))
            assert dealer.rows_left == 0
    return np.concatenate(dealt, axis=1)


@pytest.mark.few(1)
@pytest.mark.parametrize("runs", [1, 2, 100])
@pytest.mark.parametrize(("values", "ell", "partitions"), BLOCKS[1:])
def test_vectors_follow_the_exact_law(
    values: Values, ell: int, partitions: list[int], runs: int, seed: int
) -> None:
    copies = 12_000
    counts = np.bincount(values)
    randomness = Randomness(seed)
    groups = side_by_side(greedy_templates(counts, ell), copies)
    table = draw_published(groups, randomness.stream("draw", "column"))
    shift = counts.size * np.arange(copies)[:, None]
    published = (
        deal_in_partitions(table, np.array(values) + shift, partitions, runs, randomness) - shift
    )
    law = as_array(textbook.exact_law(values, ell), counts.size)
    assert vectors_follow(published, law) > FALSE_ALARM


@pytest.mark.parametrize(("cells", "wanted"), [((3, 2), 2), ((1, 1, 1), 1), ((5, 1), 5)])
def test_the_first_values_are_hypergeometric(
    cells: tuple[int, ...], wanted: int, seed: int
) -> None:
    """By hand: of all ways to choose `wanted` values, each is as likely."""
    copies = 40_000
    counts = np.tile(np.array(cells, np.int64), copies)
    owners = np.repeat(np.arange(copies), len(cells))
    stream = Randomness(seed).stream("split")
    taken = take_first(counts, owners, np.full(copies, wanted), stream).reshape(copies, -1)
    assert np.all(taken.sum(axis=1) == wanted)
    outcomes = [
        some for some in itertools.product(*(range(n + 1) for n in cells)) if sum(some) == wanted
    ]
    law = [
        math.prod(math.comb(n, k) for n, k in zip(cells, some, strict=True))
        / math.comb(sum(cells), wanted)
        for some in outcomes
    ]
    tallies = [int(np.all(taken == np.array(some), axis=1).sum()) for some in outcomes]
    assert sum(tallies) == copies
    assert follows(np.array(tallies), np.array(law)) > FALSE_ALARM


def test_shares_in_proportion_are_noticed(seed: int) -> None:
    """Were every part given its fair share, the same check would refuse: a draw varies."""
    copies = 40_000
    stream = Randomness(seed).stream("split")
    rounded_up = stream.below(2, copies)
    counts = np.bincount(1 + rounded_up, minlength=3)
    law = np.array([math.comb(3, k) * math.comb(2, 2 - k) / math.comb(5, 2) for k in range(3)])
    assert follows(counts, law) < FALSE_ALARM
