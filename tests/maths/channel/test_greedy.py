"""Greedy groups: what must hold for every eligible histogram."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from countveil.maths.channel import channel_matrix, greedy_templates
from tests.strategies import eligible


@given(eligible())
def test_groups_partition_the_histogram(case: tuple[NDArray[np.int64], int]) -> None:
    counts, ell = case
    groups = greedy_templates(counts, ell)
    total = int(counts.sum())
    n_groups = total // ell
    assert groups.multiplicity.sum() == n_groups
    assert np.array_equal(groups.counts, counts)
    assert set(groups.sizes.tolist()) <= {total // n_groups, -(-total // n_groups)}
    for start, end in zip(groups.indptr[:-1], groups.indptr[1:], strict=True):
        members = groups.members[start:end]
        assert len(set(members.tolist())) == members.size >= ell


@given(eligible())
def test_published_counts_are_unbiased_under_the_channel(
    case: tuple[NDArray[np.int64], int],
) -> None:
    counts, ell = case
    whole = channel_matrix(greedy_templates(counts, ell))
    occurring = counts > 0
    assert np.allclose(whole[occurring].sum(axis=1), 1)
    assert np.allclose(counts @ whole, counts)


@given(st.integers(2, 5), st.integers(1, 4), st.integers(1, 4))
def test_a_residue_larger_than_the_number_of_groups(ell: int, n_groups: int, more: int) -> None:
    """N mod ell > N // ell: several tuples per group have to be absorbed."""
    total = ell * n_groups + min(ell - 1, n_groups + more)
    counts = np.ones(total, np.int64)
    groups = greedy_templates(counts, ell)
    sizes = np.repeat(groups.sizes, groups.multiplicity)
    assert sizes.sum() == total
    assert sizes.max() - sizes.min() <= 1


def test_the_same_histogram_gives_the_same_groups() -> None:
    counts = np.array([30, 30, 30, 20, 20, 7, 7, 1, 1], np.int64)
    one, two = greedy_templates(counts, 4), greedy_templates(counts, 4)
    assert np.array_equal(one.members, two.members)
    assert np.array_equal(one.multiplicity, two.multiplicity)


def test_work_does_not_grow_with_the_rows() -> None:
    """A thousand times the rows, and still about as many templates: nothing is stepped through."""
    counts = np.arange(1, 51, dtype=np.int64)
    small, large = greedy_templates(counts * 10, 5), greedy_templates(counts * 10_000_000, 5)
    assert large.multiplicity.size < 2 * small.multiplicity.size + 100


def test_the_very_edge_where_a_value_fills_every_group() -> None:
    counts = np.array([10, 6, 4], np.int64)
    groups = greedy_templates(counts, 2)
    with_first = [
        0 in groups.members[a:b] for a, b in zip(groups.indptr[:-1], groups.indptr[1:], strict=True)
    ]
    assert all(with_first)


def test_ineligible_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="not eligible"):
        greedy_templates(np.array([5, 1, 1], np.int64), 2)
