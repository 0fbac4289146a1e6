"""Encoded columns: the same values in every form, in memory and on disk."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given

from countveil.tables.encoded.encoding import (
    DictionaryColumn,
    EncodedColumn,
    Form,
    NumberColumn,
    RawColumn,
    encode,
    in_form,
    row_count,
    some_rows,
)
from countveil.tables.storage.memory import KeptColumns
from tests.sample_tables import PLAIN, assert_same, tables

OTHER: list[Any] = [pa.array([b"x", None]), pa.array([[1], [2, 3], None])]


def assert_values(column: EncodedColumn, expected: pa.Array[Any]) -> None:
    assert row_count(column) == len(expected)
    assert_same(pa.table({"c": column.array()}), pa.table({"c": expected}))


@given(tables(PLAIN))
def test_every_form_gives_the_same_values(table: pa.Table) -> None:
    for chunked in table.columns:
        array = chunked.combine_chunks()
        for first in Form:
            column = encode(array, first)
            assert_values(column, array)
            for second in Form:
                assert_values(in_form(column, second), array)


@given(tables(PLAIN, least=2))
def test_rows_are_taken_by_number_mark_or_slice(table: pa.Table) -> None:
    rows = np.arange(0, table.num_rows, 2)
    marks = np.arange(table.num_rows) % 2 == 0
    for chunked in table.columns:
        array = chunked.combine_chunks()
        for form in Form:
            column = encode(array, form)
            assert_values(column.take(rows), array.take(pa.array(rows)))
            assert_values(column.take(marks), array.filter(pa.array(marks)))
            assert_values(column.take(slice(1)), array[:1])
            batches = some_rows([column, column], np.array([0, table.num_rows]))
            assert len(batches) == 2
            for batch in batches:
                assert_values(batch, array[:1])


@pytest.mark.few(1)
@pytest.mark.parametrize("most_bytes", [0, 1 << 30])
def test_kept_columns_come_back_from_memory_and_from_disk(most_bytes: int) -> None:
    @given(tables(PLAIN))
    def check(table: pa.Table) -> None:
        arrays = [column.combine_chunks() for column in table.columns]
        with tempfile.TemporaryDirectory() as folder:
            kept = KeptColumns(most_bytes, Path(folder))
            for form in Form:
                kept.add([encode(array, form) for array in arrays])
            assert len(kept) == len(Form)
            assert kept.in_memory == (most_bytes > 0)
            for number in range(len(kept)):
                for place, array in enumerate(arrays):
                    assert_values(kept.get(number, place), array)
            # The file has no name.
            assert not list(Path(folder).iterdir())

    check()


def test_columns_that_fit_stay_in_memory_until_one_does_not(tmp_path: Path) -> None:
    column = encode(pa.array(range(1_000)))
    kept = KeptColumns(2 * column.nbytes, tmp_path)
    in_memory = []
    for _ in range(3):
        kept.add([column])
        in_memory.append(kept.in_memory)
    assert in_memory == [True, True, False]
    assert [kept.get(number, 0).array().to_pylist() for number in range(3)] == [[*range(1_000)]] * 3
    kept.keep_only(1)
    assert len(kept) == 1


@pytest.mark.parametrize("array", OTHER)
def test_other_types_stay_as_they_are(array: pa.Array[Any], tmp_path: Path) -> None:
    kept = KeptColumns(0, tmp_path)
    kept.add([encode(array)])
    assert isinstance(kept.get(0, 0), RawColumn)
    assert kept.get(0, 0).array().equals(array)


def test_text_that_hardly_repeats_is_not_coded() -> None:
    names = pa.array([f"name {row}" for row in range(2_000)])
    jobs = pa.array([f"job {row % 5}" for row in range(2_000)])
    assert isinstance(encode(names), RawColumn)
    assert isinstance(encode(jobs), DictionaryColumn)
    assert isinstance(in_form(encode(names, Form.CODES), Form.SMALLEST), RawColumn)


def test_codes_into_numbers_become_these_numbers() -> None:
    """As a CSV has them: the dictionary may list a number twice, and one that no row has."""
    numbers = pa.array([70_000, -5, 70_000, 10**12])
    codes = np.array([0, 1, 2, 4, 1], np.uint8)
    column = DictionaryColumn(codes, numbers, np.bincount(codes, minlength=5))
    smallest = in_form(column, Form.SMALLEST)
    assert isinstance(smallest, NumberColumn)
    assert (smallest.low, smallest.high) == (-5, 70_000)
    assert smallest.codes.itemsize == 4
    assert smallest.array().to_pylist() == [70_000, -5, 70_000, None, -5]
