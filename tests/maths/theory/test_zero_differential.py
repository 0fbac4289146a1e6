"""Theorems 1 and 2 and Lemmas 1 to 3 of the paper, by enumerating every output of every table.

Mechanism A' with a fixed partition: exchange the sensitive values of two members of one decoy group
and every output keeps exactly its probability (Theorem 1); with p != q no exchange of two different
values does (Theorem 2). Mechanism A likewise (Lemmas 1 to 3). And the limit of Theorem 1: once the
secret ids are averaged out, tables that differ by such an exchange can be told apart.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

import numpy as np
import pytest

from countveil.maths.channel import greedy_templates
from tests.statistical.textbook import exact_law

Output = tuple[int, ...]
Chances = Mapping[int, Fraction]


def output_law(persons: Sequence[Chances]) -> dict[Output, Fraction]:
    """The probability of every published table; everybody has rows of his own (unique NSA)."""
    law: dict[Output, Fraction] = {(): Fraction(1)}
    for chances in persons:
        law = {(*said, v): p * q for said, p in law.items() for v, q in chances.items()}
    assert sum(law.values()) == 1
    return law


def largest_ratio(one: Mapping[Output, Fraction], other: Mapping[Output, Fraction]) -> Fraction:
    """The largest P1/P2 over outputs that both tables can give."""
    return max(p / other[output] for output, p in one.items() if output in other)


def histograms(rows: int, most: int) -> Iterator[tuple[int, ...]]:
    """Every way to split `rows` into counts of at most `most`, in falling order."""
    if rows == 0:
        yield ()
    for first in range(min(rows, most), 0, -1):
        for rest in histograms(rows - first, first):
            yield (first, *rest)


# Every eligible histogram of six tuples; and of five, where the groups have sizes 2 and 3.
TABLES = [
    *((histogram, 2) for histogram in histograms(6, 3)),
    *((histogram, 3) for histogram in histograms(6, 2)),
    *((histogram, 2) for histogram in histograms(5, 2)),
]


class Seat:
    """A tuple's place: its sensitive value, and the values of its decoy group."""

    def __init__(self, value: int, group: tuple[int, ...]) -> None:
        self.value, self.group = value, group

    def chances(self, keep: Fraction | None) -> dict[int, Fraction]:
        """p for the own value and q for the others; p = q = 1/size when `keep` is None."""
        p = Fraction(1, len(self.group)) if keep is None else keep
        q = (1 - p) / (len(self.group) - 1)
        return {v: p if v == self.value else q for v in self.group}


def seats(histogram: tuple[int, ...], ell: int) -> list[Seat]:
    """The project's partition: one seat per tuple, group by group. Person i takes seat i."""
    groups = greedy_templates(np.array(histogram), ell)
    results = []
    bounds = itertools.pairwise(groups.indptr.tolist())
    for (start, end), times in zip(bounds, groups.multiplicity.tolist(), strict=True):
        group = tuple(groups.members[start:end].tolist())
        results += [Seat(value, group) for _ in range(times) for value in group]
    return results


def exchanged(table: list[Seat], one: int, other: int) -> list[Seat]:
    """The neighbouring table: two persons exchange their sensitive values, and so their seats."""
    swapped = list(table)
    swapped[one], swapped[other] = table[other], table[one]
    return swapped


def group_mates(table: list[Seat], ell: int) -> list[tuple[int, int]]:
    """Pairs of persons of one group. Seats of a group stand side by side, in order of value."""
    starts = [i for i, seat in enumerate(table) if seat.value == seat.group[0]]
    pairs: list[tuple[int, int]] = []
    for start in starts:
        size = len(table[start].group)
        assert size >= ell
        pairs += itertools.combinations(range(start, start + size), 2)
    return pairs


def law_of(table: list[Seat], keep: Fraction | None = None) -> dict[Output, Fraction]:
    return output_law([seat.chances(keep) for seat in table])


@pytest.mark.few(1)
@pytest.mark.parametrize(("histogram", "ell"), [*TABLES, ((2, 2, 1, 1, 1), 3)])
def test_theorem_1_an_exchange_within_a_group_changes_no_probability(
    histogram: tuple[int, ...], ell: int
) -> None:
    table = seats(histogram, ell)
    law = law_of(table)
    neighbours = [0] * len(table)
    for one, other in group_mates(table, ell):
        assert table[one].value != table[other].value
        assert law_of(exchanged(table, one, other)) == law
        neighbours[one] += 1
        neighbours[other] += 1
    # ell - 1 neighbouring tables for every tuple, as Definition 3 asks; more in larger groups.
    assert min(neighbours) >= ell - 1


@pytest.mark.few(3)
@pytest.mark.parametrize(("histogram", "ell"), TABLES)
@pytest.mark.parametrize("more", [Fraction(1, 20), Fraction(-1, 20)])
def test_theorem_2_p_unlike_q_tells_every_exchange(
    histogram: tuple[int, ...], ell: int, more: Fraction
) -> None:
    """No neighbour at all keeps the probabilities, inside the group or outside it."""
    table = seats(histogram, ell)
    keep = Fraction(1, ell) + more
    law = law_of(table, keep)
    for one, other in itertools.combinations(range(len(table)), 2):
        if table[one].value != table[other].value:
            assert law_of(exchanged(table, one, other), keep) != law
    for one, other in group_mates(table, ell):
        swapped = law_of(exchanged(table, one, other), keep)
        q = (1 - keep) / (len(table[one].group) - 1)
        assert largest_ratio(law, swapped) == max(keep / q, q / keep) ** 2


def test_the_limit_of_theorem_1_ids_averaged_out_an_exchange_shows() -> None:
    """The mechanism as a whole, ids drawn anew, is not zero-differential: f = (3, 2, 1).

    Rows 0 and 3 sit in one group for some ids; but over all ids a row with value 0 publishes 2 with
    another probability than a row with value 1, which never sits with 2.
    """
    one, other = exact_law((0, 0, 0, 1, 1, 2), 2), exact_law((1, 0, 0, 0, 1, 2), 2)
    assert one != other

    def publishes_two(law: dict[Output, Fraction]) -> Fraction:
        return sum((p for said, p in law.items() if said[0] == 2), Fraction(0))

    assert publishes_two(one) == Fraction(1, 3) * Fraction(1, 2)
    assert publishes_two(other) == 0


def test_where_all_groups_are_alike_no_exchange_shows_even_then() -> None:
    assert exact_law((0, 0, 0, 1, 1, 1), 2) == exact_law((1, 0, 0, 0, 1, 1), 2)


DOMAIN = 3
ALL_TABLES = list(itertools.product(range(DOMAIN), repeat=3))


def law_of_a(table: Output, keep: Fraction) -> dict[Output, Fraction]:
    """Mechanism A: keep with p, else any other value of the whole domain with q each."""
    q = (1 - keep) / (DOMAIN - 1)
    return output_law([{v: keep if v == s else q for v in range(DOMAIN)} for s in table])


def test_lemma_1_mechanism_a_with_p_equal_q_shows_nothing_at_all() -> None:
    laws = [law_of_a(table, Fraction(1, DOMAIN)) for table in ALL_TABLES]
    assert all(law == laws[0] for law in laws)


@pytest.mark.few(1)
@pytest.mark.parametrize("keep", [Fraction(1, 2), Fraction(1, 5)])
def test_lemma_2_mechanism_a_with_p_unlike_q_shows_one_changed_value(keep: Fraction) -> None:
    q = (1 - keep) / (DOMAIN - 1)
    for table, person, value in itertools.product(ALL_TABLES, range(3), range(DOMAIN)):
        if value != table[person]:
            changed = (*table[:person], value, *table[person + 1 :])
            ratio = largest_ratio(law_of_a(table, keep), law_of_a(changed, keep))
            assert ratio == max(keep / q, q / keep)


@pytest.mark.parametrize("keep", [Fraction(1, 2), Fraction(1, 5)])
def test_lemma_3_mechanism_a_with_p_unlike_q_shows_an_exchange(keep: Fraction) -> None:
    q = (1 - keep) / (DOMAIN - 1)
    for table in ALL_TABLES:
        for one, other in itertools.combinations(range(3), 2):
            if table[one] != table[other]:
                swapped = list(table)
                swapped[one], swapped[other] = table[other], table[one]
                ratio = largest_ratio(law_of_a(table, keep), law_of_a(tuple(swapped), keep))
                assert ratio == max(keep / q, q / keep) ** 2
