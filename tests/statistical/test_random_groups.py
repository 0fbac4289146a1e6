"""Random groups: the drawn table and the rows follow the law of the textbook.

On small tables the vector of what every row publishes is one category, and its exact law is known:
every way to cut the rows into groups, every choice inside them. Values fill more than 1/ell of the
rows here, which no other groups allow. False-alarm rate of every test: at most 1e-6, for any seed.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from countveil.maths.mechanism.random_groups import draw_random_groups
from countveil.randomness import Randomness
from tests.statistical.bounds import FALSE_ALARM, chi_square_band
from tests.statistical.runs import Law, as_array, deal_in_blocks, vectors_follow
from tests.statistical.textbook import group_sizes

Values = tuple[int, ...]


def exact_law(values: Values, ell: int) -> dict[Values, Fraction]:
    """The probability of every vector that the rows can publish."""
    sizes = group_sizes(len(values), ell)
    ends = [0, *itertools.accumulate(sizes)]
    law: Counter[Values] = Counter()
    whole = math.lcm(*sizes) ** len(values)
    for order in itertools.permutations(range(len(values))):
        choices: dict[int, list[int]] = {}
        for first, last in itertools.pairwise(ends):
            members = [values[row] for row in order[first:last]]
            choices.update(dict.fromkeys(order[first:last], members))
        weight = whole // math.prod(len(choices[row]) for row in range(len(values)))
        for published in itertools.product(*(choices[row] for row in range(len(values)))):
            law[published] += weight
    total = whole * math.factorial(len(values))
    return {published: Fraction(weight, total) for published, weight in law.items()}


@cache
def _law(values: Values, ell: int) -> Law:
    return as_array(exact_law(values, ell), max(values) + 1)


@pytest.mark.slow
@pytest.mark.parametrize("block", [1 << 20, 2], ids=["one block", "many blocks"])
@pytest.mark.parametrize(
    ("values", "ell"), [((0, 0, 1, 0), 2), ((0, 1, 0, 0, 2), 2), ((1, 0, 0, 0, 0, 0), 3)]
)
def test_vectors_follow_the_exact_law(
    values: Values, ell: int, block: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("countveil.maths.mechanism.random_groups.BLOCK_ROWS", block)
    counts, codes, runs = np.bincount(values), np.array(values), []
    for run in range(700):
        randomness = Randomness(seed * 10_000 + run)
        table = draw_random_groups(counts, ell, randomness.task_key("groups"))
        runs.append(deal_in_blocks(table, codes, [2, len(values) - 2], randomness))
    assert vectors_follow(np.array(runs), _law(values, ell)) > FALSE_ALARM


@pytest.mark.slow
def test_whole_table_counts_are_as_exact_as_with_other_groups(seed: int) -> None:
    """The published count of a value with f of N rows has the variance f (1 - f/N)(1 - 1/ell).

    Decoys drawn with replacement would give a quarter more at ell 5, and are told apart. The counts
    are taken as normal: each is a sum over 400 independent groups.
    """
    runs, rows, ell = 2_000, 2_000, 5
    counts = np.array([1_600, 300, 100])
    published = np.array(
        [
            draw_random_groups(counts, ell, Randomness(seed * runs + run).task_key("g")).published()
            for run in range(runs)
        ]
    )
    assert np.all(published.sum(axis=1) == rows)
    squares = ((published - counts) ** 2).mean(axis=0)
    with_replacement = counts * (1 - counts / rows)
    for square, expected in zip(squares.tolist(), with_replacement.tolist(), strict=True):
        assert chi_square_band(square / (expected * (1 - 1 / ell)), runs) > FALSE_ALARM
        assert chi_square_band(square / expected, runs) < FALSE_ALARM


def test_groups_need_as_many_rows_as_their_size() -> None:
    with pytest.raises(ValueError, match="fewer rows"):
        draw_random_groups(np.array([2, 1]), 4, Randomness(1).task_key("g"))
