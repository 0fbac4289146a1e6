"""Combinations of values that occur, numbered: memory follows them, not the product."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from countveil.errors import InputError
from countveil.tables.encoded.vectors import VectorSurvey


@st.composite
def batches(draw: st.DrawFn) -> tuple[list[int], list[np.ndarray]]:
    sizes = draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))
    lengths = draw(st.lists(st.integers(0, 20), min_size=1, max_size=4))
    parts = [
        np.array(
            [
                draw(st.lists(st.integers(0, size - 1), min_size=rows, max_size=rows))
                for size in sizes
            ],
            np.int64,
        ).reshape(len(sizes), rows)
        for rows in lengths
    ]
    return sizes, parts


@given(batches())
def test_vectors_are_counted_and_found_again(case: tuple[list[int], list[np.ndarray]]) -> None:
    sizes, parts = case
    survey = VectorSurvey(sizes)
    for part in parts:
        survey.add(list(part))
    vectors = survey.vectors()
    rows = [tuple(row) for part in parts for row in part.T.tolist()]
    listed = list(zip(*(column.tolist() for column in vectors.columns), strict=True))
    assert dict(zip(listed, vectors.counts.tolist(), strict=True)) == Counter(rows)
    assert listed == sorted(set(rows))
    if rows:
        numbers = vectors.numbers([np.array(column) for column in zip(*rows, strict=True)])
        assert [listed[number] for number in numbers.tolist()] == rows


def test_a_vector_that_was_not_counted_has_no_number() -> None:
    survey = VectorSurvey([3, 3])
    survey.add([np.array([0, 2]), np.array([1, 2])])
    assert survey.vectors().numbers([np.array([0, 1, 2]), np.array([1, 1, 1])]).tolist() == [
        0, -1, -1,
    ]  # fmt: skip


def test_a_large_product_costs_nothing() -> None:
    survey = VectorSurvey([100_000, 100_000, 100_000])
    survey.add([np.array([99_999, 5]), np.array([99_999, 0]), np.array([99_999, 7])])
    assert [column.tolist() for column in survey.vectors().columns] == [
        [5, 99_999], [0, 99_999], [7, 99_999],
    ]  # fmt: skip


def test_more_combinations_than_numbers_are_refused() -> None:
    with pytest.raises(InputError, match="fewer columns together"):
        VectorSurvey([100_000] * 4)
