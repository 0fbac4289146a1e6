"""Algorithm 1 of the paper as one would write it on a blackboard, to compare the project with.

Nothing is shared with the project: groups are formed one at a time, tuples carry ids, each tuple
picks a value of its group by itself, and numpy's own generator is used. `exact_law` goes through
every order of the ids instead of drawing one, so that small tables have an exact answer.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Published = tuple[int, ...]


def group_sizes(rows: int, ell: int) -> list[int]:
    """The k = rows // ell groups differ in size by at most one; the larger ones come last."""
    groups = rows // ell
    size, larger = divmod(rows, groups)
    return [size] * (groups - larger) + [size + 1] * larger


def greedy_groups(counts: Sequence[int], ell: int) -> list[list[int]]:
    """The values of each group, in the order in which the groups are formed.

    Again and again one tuple of each of the largest buckets. Among buckets of one size, the one
    that came to that size first; at the start, in the order of the values.
    """
    left = list(counts)
    arrival = list(range(len(left)))
    clock = itertools.count(len(left))
    groups = []
    for size in group_sizes(sum(left), ell):
        largest_first = sorted(range(len(left)), key=lambda v: (-left[v], arrival[v]))
        members = largest_first[:size]
        for value in members:
            assert left[value] > 0
            left[value] -= 1
            arrival[value] = next(clock)
        groups.append(members)
    return groups


def partition(
    values: Sequence[int],
    ids: Sequence[int],
    ell: int,
    groups: Sequence[Sequence[int]] | None = None,
) -> list[list[int]]:
    """The rows of each group: from each bucket the tuple with the smallest id.

    `groups` are the values of each group, the greedy ones unless told.
    """
    buckets: dict[int, list[int]] = {}
    for row in sorted(range(len(values)), key=lambda row: ids[row]):
        buckets.setdefault(values[row], []).append(row)
    counts = [len(buckets.get(value, [])) for value in range(max(values) + 1)]
    formed = greedy_groups(counts, ell) if groups is None else groups
    return [[buckets[value].pop(0) for value in group] for group in formed]


def publish(values: Sequence[int], ell: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """One run of mechanism A' (the final shuffle aside): the published value of each row."""
    ids = rng.permutation(len(values)).tolist()
    published = np.empty(len(values), np.int64)
    for group in partition(values, ids, ell):
        for row in group:
            published[row] = values[group[rng.integers(len(group))]]
    return published


def exact_law(
    values: Sequence[int],
    ell: int,
    rows: Sequence[int] | None = None,
    groups: Sequence[Sequence[int]] | None = None,
) -> dict[Published, Fraction]:
    """The probability of every vector of values that these rows (all, unless told) can publish.

    Only the order of the ids within each value matters, and each such order is as likely.
    """
    rows = range(len(values)) if rows is None else rows
    law: Counter[Published] = Counter()
    whole = math.lcm(*(size ** len(rows) for size in group_sizes(len(values), ell)))
    n_orders = 0
    for ids in _orders_within_values(values):
        n_orders += 1
        choices = {}
        for group in partition(values, ids, ell, groups):
            decoys = [values[member] for member in group]
            choices.update(dict.fromkeys(group, decoys))
        weight = whole // math.prod(len(choices[row]) for row in rows)
        for published in itertools.product(*(choices[row] for row in rows)):
            law[published] += weight
    return {published: Fraction(weight, whole * n_orders) for published, weight in law.items()}


def _orders_within_values(values: Sequence[int]) -> Iterator[list[int]]:
    rows = [[r for r, value in enumerate(values) if value == v] for v in sorted(set(values))]
    for orders in itertools.product(*(itertools.permutations(range(len(own))) for own in rows)):
        ids = [0] * len(values)
        for own, order in zip(rows, orders, strict=True):
            for row, place in zip(own, order, strict=True):
                ids[row] = place
        yield ids
