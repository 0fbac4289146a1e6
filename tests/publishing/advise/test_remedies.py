"""What stands in the way of a larger ell, and how many rows it takes to get it out of the way."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from countveil.maths.groups import largest_ell, obstacle
from countveil.publishing.advise.remedies import (
    about_frequent_values,
    about_rare_values,
    why_not_larger,
)

histograms = st.lists(st.integers(1, 60), min_size=2, max_size=9).map(
    lambda counts: np.array(counts, np.int64)
)


def named(place: int) -> str:
    return f"the value {place}"


@given(histograms, st.integers(2, 10))
def test_an_obstacle_is_there_exactly_if_the_ell_is_not_feasible(
    counts: np.ndarray, ell: int
) -> None:
    assert (obstacle(counts, ell) is None) == (largest_ell(counts) >= ell)


@given(histograms, st.integers(2, 10))
def test_so_many_rows_must_go_and_no_fewer(counts: np.ndarray, ell: int) -> None:
    found = obstacle(counts, ell)
    if found is None or found.remove is None:
        return
    left = np.minimum(counts, found.keep)
    assert found.remove == int((counts - left).sum())
    assert largest_ell(left) >= ell
    # One more row of each value that was cut would be too many.
    more = np.minimum(counts, found.keep + 1)
    assert int(more.max()) * ell > int(more.sum())


def test_by_hand() -> None:
    """50 of 90 rows: for two, 40 of them may stay beside the other 40."""
    counts = np.array([50, 30, 10])
    found = obstacle(counts, 2)
    assert found is not None
    assert (found.allowed, found.too_frequent, found.remove, found.keep) == (45, (0,), 10, 40)
    said = why_not_larger(counts, named)
    assert "the value 0 has 50 of 90 rows (55.6%), and at most 45 (1/2)" in said
    assert "Removing 10 rows (11.11%) of it" in said


def test_too_few_values_are_no_matter_of_removing() -> None:
    said = why_not_larger(np.array([10, 10, 10]), named)
    assert said.startswith("ell = 4 is not feasible: the column has only 3 different values")


def test_skewed_values_are_named_with_what_each_remedy_costs() -> None:
    counts = np.array([600, *[40] * 10])
    first, second = about_frequent_values(counts, named)
    assert "the value 0 has 600 of 1,000 rows (60.0%)" in first
    for remedy in ("A smaller ell", "Removing", "merge=...", "domain=..."):
        assert remedy in second
    assert "costs 500 rows (50.0% of the table)" in second
    assert about_frequent_values(np.array([40] * 10), named) == []


def test_rare_values_and_what_merging_them_does() -> None:
    counts = np.array([5, 15, 400, 300, 280])
    (said,) = about_rare_values(counts, 2, None)
    assert "2 of the values have 20 rows or fewer" in said
    # By hand: 995 to 5, and 980 to 20.
    assert "falls from 199 to 49" in said
    assert about_rare_values(counts, 2, 4) == []
