"""Theorem 1 for columns together, by enumerating every output: whole vectors, not single columns.

Rows are cut into groups, and each row publishes the vector of a uniformly chosen row of its group.
Exchanging the vectors of two rows of a group keeps the probability of every output; exchanging one
column of them does not, unless that leaves the group's vectors as they were.
"""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from countveil.maths.channel.skewed_views import joint_view
from countveil.maths.guarantees.frontier import standing

Vector = tuple[str, ...]
Table = tuple[Vector, ...]
GROUPS = ((0, 1), (2, 3, 4))
TABLES: dict[str, Table] = {
    "pairs": (("nurse", "low"), ("clerk", "high"), ("nurse", "high"), ("cook", "low"),
              ("clerk", "low")),
    "a pair twice": (("nurse", "low"), ("nurse", "low"), ("cook", "high"), ("cook", "low"),
                     ("nurse", "high")),
    "triples": (("nurse", "low", "old"), ("clerk", "high", "young"), ("nurse", "high", "old"),
                ("cook", "low", "young"), ("clerk", "low", "old")),
}  # fmt: skip


def law_of(table: Table) -> dict[Table, Fraction]:
    """The probability of every published table, for the fixed partition."""
    law: dict[Table, Fraction] = {(): Fraction(1)}
    group_of = {row: group for group in GROUPS for row in group}
    for row in range(len(table)):
        choices = Counter(table[mate] for mate in group_of[row])
        size = len(group_of[row])
        law = {
            (*said, vector): p * Fraction(times, size)
            for said, p in law.items()
            for vector, times in choices.items()
        }
    assert sum(law.values()) == 1
    return law


def exchanged(table: Table, one: int, other: int, columns: set[int]) -> Table:
    """Two rows exchange their values of these columns."""
    rows = [list(vector) for vector in table]
    for column in columns:
        rows[one][column], rows[other][column] = rows[other][column], rows[one][column]
    return tuple(tuple(row) for row in rows)


def mates() -> list[tuple[int, int]]:
    return [pair for group in GROUPS for pair in itertools.combinations(group, 2)]


@pytest.mark.parametrize("name", TABLES)
def test_whole_vectors_may_be_exchanged(name: str) -> None:
    table = TABLES[name]
    law = law_of(table)
    for one, other in mates():
        assert law_of(exchanged(table, one, other, set(range(len(table[0]))))) == law


@pytest.mark.parametrize("name", TABLES)
def test_a_single_column_may_not(name: str) -> None:
    """It makes vectors that were not there, unless the rows agree in it or in all the others."""
    table = TABLES[name]
    law = law_of(table)
    changed = 0
    for (one, other), column in itertools.product(mates(), range(len(table[0]))):
        neighbour = exchanged(table, one, other, {column})
        group = next(group for group in GROUPS if one in group)
        same = Counter(table[row] for row in group) == Counter(neighbour[row] for row in group)
        assert (law_of(neighbour) == law) == same
        changed += not same
    assert changed >= 2


def test_an_output_of_one_table_is_impossible_in_the_other() -> None:
    """By hand: nurse, low and clerk, high become clerk, low and nurse, high."""
    table = TABLES["pairs"]
    neighbour = exchanged(table, 0, 1, {0})
    rest = table[2:]
    said = (("nurse", "low"), ("nurse", "low"), *rest)
    assert law_of(table)[said] == Fraction(1, 4) * Fraction(1, 27)
    assert said not in law_of(neighbour)


def test_vectors_are_on_the_frontier() -> None:
    """Vectors of columns together are values with random groups: no channel is more accurate."""
    counts = np.array([[300.0, 120.0], [60.0, 400.0], [20.0, 100.0]])
    view = joint_view(counts, 1_000, 4)
    channel = np.diag(view.gap) + view.b
    here = standing(channel, view.shares)
    h = float(view.shares @ view.shares)
    assert here.distance == pytest.approx(1, abs=1e-9)
    assert here.belief == pytest.approx(1 / 16 + 15 / 16 * h, abs=1e-3)
    # Each column apart, with the same groups: the product of the channels is off the frontier.
    margins = [counts.sum(axis=1) / 1_000, counts.sum(axis=0) / 1_000]
    apart = np.kron(*(np.eye(p.size) / 4 + 3 / 4 * p for p in margins))
    assert standing(apart, view.shares).distance > 3
