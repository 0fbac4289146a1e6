"""Group creation without a step per group gives the groups of the paper's step by step creation.

`textbook.greedy_groups` forms one group at a time with the documented tie rule. The project counts
whole repetitions instead. Both must agree group by group, for any histogram, with and without
residue: an analyst who runs it again on published counts relies on every single tie.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from countveil.maths.channel import Templates, greedy_templates
from tests.statistical.textbook import greedy_groups, group_sizes
from tests.strategies import examples


def as_mapping(groups: Templates) -> Counter[tuple[int, ...]]:
    bounds = zip(groups.indptr[:-1], groups.indptr[1:], strict=True)
    members = [tuple(groups.members[start:end].tolist()) for start, end in bounds]
    assert len(set(members)) == len(members)
    return Counter(dict(zip(members, groups.multiplicity.tolist(), strict=True)))


def step_by_step(counts: list[int], ell: int) -> Counter[tuple[int, ...]]:
    return Counter(tuple(sorted(group)) for group in greedy_groups(counts, ell))


@st.composite
def eligible(draw: st.DrawFn, values: int, most: int) -> tuple[list[int], int]:
    """Counts and an ell for which they are eligible; many ties, and often the very edge."""
    level = st.one_of(st.integers(0, most), st.sampled_from([0, 1, most // 2, most - 1, most]))
    counts = draw(st.lists(level, min_size=2, max_size=values))
    counts[0] = max(counts[0], 1)
    largest = sum(counts) // max(counts)
    if largest < 2:
        counts.append(max(counts))
        largest = sum(counts) // max(counts)
    return counts, draw(st.one_of(st.integers(2, largest), st.just(largest)))


@examples(400)
@given(eligible(values=9, most=12))
def test_small_histograms(case: tuple[list[int], int]) -> None:
    counts, ell = case
    assert as_mapping(greedy_templates(np.array(counts), ell)) == step_by_step(counts, ell)


@examples(150)
@given(eligible(values=25, most=150))
def test_histograms_with_long_repetitions(case: tuple[list[int], int]) -> None:
    counts, ell = case
    assert as_mapping(greedy_templates(np.array(counts), ell)) == step_by_step(counts, ell)


@examples(200)
@given(st.integers(2, 9), st.integers(1, 6), st.data())
def test_uneven_sizes(ell: int, n_groups: int, data: st.DataObject) -> None:
    """Every residue, also larger than the number of groups."""
    total = ell * n_groups + data.draw(st.integers(1, ell - 1))
    counts: list[int] = []
    while sum(counts) < total:
        counts.append(data.draw(st.integers(1, min(n_groups, total - sum(counts)))))
    groups = as_mapping(greedy_templates(np.array(counts), ell))
    assert groups == step_by_step(counts, ell)
    assert sorted(len(g) for g in groups.elements()) == group_sizes(total, ell)


def test_tied_buckets_are_taken_in_the_order_of_arrival() -> None:
    """By hand, counts 2 2 2 2 1 at ell = 3: first 0 1 2, the lowest of the four at 2. Then 3, the
    only one left at 2, with 4, which is at 1 from the start, and 0, the first that came to 1. At
    last 1, 2 and 3."""
    assert greedy_groups([2, 2, 2, 2, 1], 3) == [[0, 1, 2], [3, 4, 0], [1, 2, 3]]
    groups = as_mapping(greedy_templates(np.array([2, 2, 2, 2, 1]), 3))
    assert groups == Counter({(0, 1, 2): 1, (0, 3, 4): 1, (1, 2, 3): 1})


@pytest.mark.parametrize(
    ("counts", "ell"),
    [
        ([3000, 2990, 2000, 1500, 700, 700, 700, 10, 3], 3),
        ([999, 998, 997, 996, 5, 4, 3], 4),
        ([1200] * 7, 3),
        ([2500, 1250, 1250], 2),
        ([2500, 1250, 1251], 2),
    ],
)
def test_repetitions_are_counted_not_made(counts: list[int], ell: int) -> None:
    """Thousands of groups, a handful of templates, and the same ones."""
    groups = as_mapping(greedy_templates(np.array(counts), ell))
    assert groups == step_by_step(counts, ell)
    assert len(groups) < 50 < groups.total()
