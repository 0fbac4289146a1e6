"""Details of CSV files that decide whether a value survives."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import countveil as cv


def published(tmp_path: Path, text: str) -> pa.Table:
    source = tmp_path / "in.csv"
    source.write_text(text)
    cv.publish(source, {"job": 2}, tmp_path / "release")
    table: pa.Table = pq.read_table(tmp_path / "release" / "data")
    return table


def test_codes_that_differ_only_as_text_stay_text(tmp_path: Path) -> None:
    rows = "".join(f"{code},{job}\n" for code in ("250.0", "250.00", "1.5") for job in "abcd")
    found = published(tmp_path, "code,job\n" + rows)
    assert set(found["code"].to_pylist()) == {"250.0", "250.00", "1.5"}


def test_prices_with_trailing_zeros_are_numbers(tmp_path: Path) -> None:
    rows = "".join(f"{price},{job}\n" for price in ("1.10", "2.50") for job in "abcd")
    found = published(tmp_path, "price,job\n" + rows)
    assert set(found["price"].to_pylist()) == {1.1, 2.5}


@pytest.mark.parametrize("mark", [";", "\t", "|"])
def test_a_comma_inside_a_quoted_name_does_not_decide_the_delimiter(
    tmp_path: Path, mark: str
) -> None:
    rows = "".join(f"1{mark}{job}\n" for job in "abcdabcd")
    found = published(tmp_path, f'"a,b"{mark}job\n' + rows)
    assert found.column_names == ["a,b", "job"]


def test_a_carriage_return_inside_a_quoted_cell_loses_no_row(tmp_path: Path) -> None:
    rows = "".join(f'"two\rlines",{job}\r\n' for job in "abcd" * 5)
    found = published(tmp_path, "text,job\r\n" + rows)
    assert found.num_rows == 20
