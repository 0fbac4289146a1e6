"""The project's mechanism run many times at once: many copies of a small table, side by side.

Copy c of a table with V values uses the codes c V .. c V + V - 1. No group and no ticket is shared
between copies, so each copy is one run of the mechanism, and one pass of the real code makes tens
of thousands of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from countveil.channel import Templates, greedy_templates
from countveil.mechanism import Dealer, PublishedTable, draw_published
from countveil.randomness import Randomness
from tests.statistical.bounds import follows

Codes = NDArray[np.int64]
Law = NDArray[np.float64]


def side_by_side(groups: Templates, copies: int) -> Templates:
    """These groups, `copies` times over disjoint values."""
    shift = groups.n_values * np.arange(copies)
    start = int(groups.indptr[-1]) * np.arange(copies)
    ends = (groups.indptr[1:] + start[:, None]).ravel()
    return Templates(
        groups.n_values * copies,
        np.concatenate([[0], ends]),
        (groups.members + shift[:, None]).ravel(),
        np.tile(groups.multiplicity, copies),
    )


def deal_in_blocks(
    table: PublishedTable, codes: Codes, blocks: Sequence[int], randomness: Randomness
) -> Codes:
    """Deal the rows in `blocks` of these sizes; codes may hold one row per copy of the table."""
    dealer = Dealer(table, randomness.stream("deal", "column"))
    dealt, first = [], 0
    for size in blocks:
        part = codes[..., first : first + size]
        dealt.append(dealer.deal(part.ravel()).reshape(part.shape))
        first += size
    assert first == codes.shape[-1]
    assert dealer.tickets_left == 0
    return np.concatenate(dealt, axis=-1)


def publish_copies(
    values: Sequence[int],
    ell: int,
    blocks: Sequence[int],
    copies: int,
    seed: int,
    formed: Templates | None = None,
) -> Codes:
    """Published values, one row per copy: every copy is one run of the mechanism.

    All copies have the same groups: the greedy ones unless told.
    """
    counts = np.bincount(values)
    randomness = Randomness(seed)
    groups = side_by_side(formed or greedy_templates(counts, ell), copies)
    table = draw_published(groups, randomness.stream("draw", "column"))
    shift = counts.size * np.arange(copies)[:, None]
    published = deal_in_blocks(table, np.array(values) + shift, blocks, randomness)
    # Nobody publishes a value of another copy: that would be outside every group of his value.
    assert np.all(published // counts.size == np.arange(copies)[:, None])
    return published - shift


def as_array(law: Mapping[tuple[int, ...], Fraction], n_values: int) -> Law:
    """A law of vectors as an array with one axis per row of the table."""
    array = np.zeros((n_values,) * len(next(iter(law))))
    for outcome, chance in law.items():
        array[outcome] = float(chance)
    return array


def tally(runs: Codes, law: Law) -> Codes:
    """How often each vector of published values occurred."""
    return np.bincount(np.ravel_multi_index(tuple(runs.T), law.shape), minlength=law.size)


def vectors_follow(runs: Codes, law: Law) -> float:
    """p-value of "whole vectors of published values follow the law"."""
    return follows(tally(runs, law), law.ravel())
