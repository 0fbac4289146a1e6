"""Tables as people have them: each comes out right, or with the sentence that helps.

The damaged files are in `test_refusals`, the types in `test_types`; here is the dirt of daily life.
"""

from __future__ import annotations

import datetime as dt
import decimal
import gzip
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import countveil as cv
from tests.robustness.conftest import Quick
from tests.robustness.tools import assert_refused, unchanged

ROWS = 24
LETTERS = "abcd"
JOBS = [LETTERS[row % 4] for row in range(ROWS)]


def csv_of(cells: list[str], *, end: str = "\n", mark: str = ",", head: str = "x") -> bytes:
    lines = [f"{head}{mark}job", *(f"{c}{mark}{j}" for c, j in zip(cells, JOBS, strict=True))]
    return (end.join(lines) + end).encode()


def over(*cells: Any) -> list[Any]:
    return [cells[row % len(cells)] for row in range(ROWS)]


def parquet_of(column: pa.Array[Any]) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"x": column, "job": JOBS}), sink)
    return bytes(sink.getvalue())


ZONE = pa.timestamp("us", "Europe/Berlin")
MOMENT = dt.datetime(2024, 7, 1, 12, tzinfo=dt.UTC)

# name -> file name, bytes, options, type of column x, its values
RIGHT: dict[str, tuple[str, bytes, list[str], pa.DataType, set[Any]]] = {
    "utf-8 mark": ("in.csv", b"\xef\xbb\xbf" + csv_of(over("1", "2")), [], pa.int64(), {1, 2}),
    "accents": ("in.csv", csv_of(over("Zoë", "Łódź")), [], pa.string(), {"Zoë", "Łódź"}),
    "CRLF": ("in.csv", csv_of(over("1", "2"), end="\r\n"), [], pa.int64(), {1, 2}),
    "CR of old Macs": ("in.csv", csv_of(over("1", "2"), end="\r"), [], pa.int64(), {1, 2}),
    "embedded newlines": (
        "in.csv", csv_of(over('"a\nb"', '"c\r\nd"')), [], pa.string(), {"a\nb", "c\r\nd"},
    ),
    "quotes inside quotes": ("in.csv", csv_of(over('"say ""hi"""')), [], pa.string(), {'say "hi"'}),
    "semicolons": ("in.csv", csv_of(over("1,5", "2,5"), mark=";"), [], pa.string(), {"1,5", "2,5"}),
    "tabs": ("in.tsv", csv_of(over("a,b", "c"), mark="\t"), [], pa.string(), {"a,b", "c"}),
    "leading zeros": ("in.csv", csv_of(over("007", "010")), [], pa.string(), {"007", "010"}),
    "numbers and words": ("in.csv", csv_of(over("1", "two")), [], pa.string(), {"1", "two"}),
    "whole and broken numbers": ("in.csv", csv_of(over("1", "2.5")), [], pa.float64(), {1.0, 2.5}),
    "empty cells": ("in.csv", csv_of(over("1", "")), [], pa.int64(), {1, None}),
    "NA left alone": ("in.csv", csv_of(over("1", "NA")), [], pa.string(), {"1", "NA"}),
    "NA": ("in.csv", csv_of(over("1", "NA")), ["--missing", "NA"], pa.int64(), {1, None}),
    "marks": ("in.csv", csv_of(over("a", "?")), ["--missing", "?"], pa.string(), {"a", None}),
    "several marks": (
        "in.csv", csv_of(over("1.5", "-", "n/a")), ["--missing", "-", "--missing", "n/a"],
        pa.float64(), {1.5, None},
    ),
    "marks in parquet": (
        "in.parquet", parquet_of(pa.array(over("a", "?"))), ["--missing", "?"], pa.string(),
        {"a", None},
    ),
    "an empty column": ("in.csv", csv_of(over("")), [], pa.string(), {None}),
    "an empty column in parquet": ("in.parquet", parquet_of(pa.nulls(ROWS)), [], pa.null(), {None}),
    "huge integers": ("in.csv", csv_of(over(str(2**63), "1")), [], pa.string(), {str(2**63), "1"}),
    "large integers": ("in.csv", csv_of(over(str(2**63 - 1))), [], pa.int64(), {2**63 - 1}),
    "unsigned integers": (
        "in.parquet", parquet_of(pa.array(over(2**64 - 1, 0), pa.uint64())), [], pa.uint64(),
        {2**64 - 1, 0},
    ),
    "decimals": (
        "in.parquet", parquet_of(pa.array(over(decimal.Decimal("0.10"), None))), [],
        pa.decimal128(2, 2), {decimal.Decimal("0.10"), None},
    ),
    "time zones": ("in.parquet", parquet_of(pa.array(over(MOMENT), ZONE)), [], ZONE, {MOMENT}),
    "dates": ("in.csv", csv_of(over("2024-02-29")), [], pa.date32(), {dt.date(2024, 2, 29)}),
    "dates of another land": ("in.csv", csv_of(over("29.2.2024")), [], pa.string(), {"29.2.2024"}),
    "spaces around": ("in.csv", csv_of(over(" 1", "2 ")), [], pa.string(), {" 1", "2 "}),
    "a name with spaces": (
        "in.csv", csv_of(over("1", "2"), head='"my, x"'), [], pa.int64(), {1, 2},
    ),
    "no newline at the end": ("in.csv", csv_of(over("1", "2"))[:-1], [], pa.int64(), {1, 2}),
    "blank lines at the end": ("in.csv", csv_of(over("1", "2")) + b"\n\n", [], pa.int64(), {1, 2}),
    "compressed": ("in.csv.gz", gzip.compress(csv_of(over("1", "2"))), [], pa.int64(), {1, 2}),
}  # fmt: skip


@pytest.mark.few(4)
@pytest.mark.parametrize("name", RIGHT)
def test_comes_out_right(quick: Quick, tmp_path: Path, name: str) -> None:
    file, content, options, kind, values = RIGHT[name]
    (tmp_path / file).write_bytes(content)
    words = ("publish", tmp_path / file, "-s", "job:2", "--keep", "job", *options)
    outcome = quick(*words, "--to", tmp_path / "release")
    assert (outcome.code, outcome.err) == (0, "")
    data = pq.read_table(tmp_path / "release" / "data")
    assert data.num_rows == ROWS
    assert data.column(0).type == kind
    assert set(data.column(0).to_pylist()) == values
    assert cv.verify(tmp_path / "release") == []


# name -> file name, bytes, what the message must say
REFUSED: dict[str, tuple[str, bytes, tuple[str, ...]]] = {
    "utf-16": ("in.csv", "x,job\n1,é\n".encode("utf-16-le"), ("UTF-8",)),
    "latin-1": ("in.csv", csv_of(over("Zo")).replace(b"Zo", b"Zo\xeb"), ("UTF-8",)),
    "a row too short": ("in.csv", csv_of(over("1")) + b"1\n", ("line 26", "1 cell", "header 2")),
    "trailing commas": (
        "in.csv", csv_of(over("1")).replace(b"\n", b",\n", 1), ("line 2", "2 cells", "header 3"),
    ),
    "trailing commas everywhere": (
        "in.csv", csv_of(over("1")).replace(b"\n", b",\n"), ("without a name",),
    ),
    "a name twice": ("in.csv", b"job,job\na,b\n", ("'job'", "more than once")),
    "a gzip that ends early": (
        "in.csv.gz", gzip.compress(csv_of(over("1")))[:-10], ("cut off",),
    ),
    "nested values": ("in.parquet", parquet_of(pa.array(over([1], [2]))), ("'x'", "nested")),
    "one row": ("in.csv", b"x,job\n1,a\n", ("'job'", "only 1")),
    "nothing": ("in.csv", b"", ("empty",)),
}  # fmt: skip


@pytest.mark.few(5)
@pytest.mark.parametrize("name", REFUSED)
def test_gets_its_sentence(quick: Quick, tmp_path: Path, name: str) -> None:
    file, content, told = REFUSED[name]
    (tmp_path / file).write_bytes(content)
    with unchanged(tmp_path):
        outcome = quick("publish", tmp_path / file, "-s", "job:2", "--to", tmp_path / "release")
    assert_refused(outcome, *told)


def test_one_column(quick: Quick, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("job\n" + "\n".join(JOBS) + "\n")
    words = ("publish", tmp_path / "in.csv", "-s", "job:2", "--to", tmp_path / "release")
    assert quick(*words).code == 0
    assert quick("inspect", tmp_path / "in.csv").code == 0


@pytest.mark.slow
def test_thousands_of_columns(quick: Quick, tmp_path: Path) -> None:
    names = [f"x{place}" for place in range(2_999)]
    rows = [",".join([str(row * 7 % 5)] * 2_999 + [JOBS[row]]) for row in range(ROWS)]
    (tmp_path / "in.csv").write_text("\n".join([",".join([*names, "job"]), *rows]) + "\n")
    words = ("publish", tmp_path / "in.csv", "-s", "job:2", "--to", tmp_path / "release")
    outcome = quick(*words)
    assert (outcome.code, outcome.err) == (0, "")
    assert pq.read_schema(next((tmp_path / "release" / "data").iterdir())).names[-1] == "job"
    shown = quick("inspect", tmp_path / "in.csv", "-s", "job")
    assert "more columns" in shown.out
