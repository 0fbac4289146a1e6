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

from countveil.maths.channel import Templates, greedy_templates
from countveil.maths.mechanism import Dealer, PublishedTable, draw_published
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
    assert dealer.rows_left == 0
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


def mixed_groups(
    copies: int, values: int, each: int, ell: int, rng: np.random.Generator, sweeps: int = 12
) -> NDArray[np.bool_]:
    """has[copy, group, value]: random compositions of groups of `ell` different values.

    Every value occurs `each` times. Tuple i of the tuples in order of value goes to group i mod the
    number of groups; then groups meet in random pairs and deal the values that only one of them has
    among themselves anew, at random.
    """
    rows = values * each
    n_groups = rows // ell
    has = np.zeros((copies, n_groups, values), bool)
    tuples = np.arange(rows)
    has[:, tuples % n_groups, tuples // each] = True
    for _ in range(sweeps):
        order = np.argsort(rng.random((copies, n_groups), np.float32), axis=1)
        has = np.take_along_axis(has, order[:, :, None], axis=1)
        one, other = has[:, : n_groups // 2], has[:, n_groups // 2 :]
        either = one ^ other
        # Half of the values that only one of the two has, chosen by random rank, go to the first.
        score = np.where(either, rng.random(either.shape, np.float32), np.float32(2))
        rank = np.argsort(np.argsort(score, axis=2), axis=2)
        first = either & (rank < either.sum(axis=2, keepdims=True) // 2)
        shared = one & other
        has = np.concatenate([shared | first, shared | (either & ~first)], axis=1)
    return has


def publish_groups(has: NDArray[np.bool_], codes: Codes, randomness: Randomness) -> Codes:
    """Published codes [copy, row] of a table with these codes, each copy with its own groups."""
    copies, n_groups, values = has.shape
    members = np.nonzero(has)
    ell = members[0].size // (copies * n_groups)
    groups = Templates(
        copies * values,
        ell * np.arange(copies * n_groups + 1),
        members[0] * values + members[2],
        np.ones(copies * n_groups, np.int64),
    )
    table = draw_published(groups, randomness.stream("draw", "column"))
    shift = values * np.arange(copies)[:, None]
    third = codes.size // 3
    blocks = [third, third, codes.size - 2 * third]
    published: Codes = deal_in_blocks(table, codes + shift, blocks, randomness) - shift
    return published


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
