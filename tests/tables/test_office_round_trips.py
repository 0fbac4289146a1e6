"""Types and values through Stata, SPSS and Excel: what was put in is read, or is refused."""

from __future__ import annotations

import datetime as dt
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyreadstat
import pytest
from hypothesis import given
from hypothesis import strategies as st

from countveil.errors import InputError
from tests.sample_tables import DAYS, HOSTILE, INTEGERS, Kind, assert_same, read_source, tables
from tests.strategies import examples
from tests.workbooks import read_here, workbook

__all__ = ["read_here"]

WHOLE_BELOW = 1 << 53
MILLISECONDS = st.integers(-719_162 * 86_400_000, 2_932_897 * 86_400_000 - 1)
FINITE = st.floats(allow_nan=False, allow_infinity=False).map(lambda number: number + 0.0)
LETTERS = st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"])
TEXTS = st.text(LETTERS, max_size=12) | st.sampled_from(HOSTILE)
STATISTICAL: list[Kind] = [
    *((kind, values) for kind, values in INTEGERS if kind.bit_width < 32),
    # Stata has its missing values above.
    (pa.int32(), st.integers(-(1 << 31) + 1, (1 << 31) - 28)),
    (pa.int64(), st.integers(1 - WHOLE_BELOW, WHOLE_BELOW - 1)),
    (pa.float64(), FINITE.filter(lambda number: abs(number) < 8.9e307)),
    (pa.bool_(), st.booleans()),
    (pa.string(), TEXTS),
    (pa.date32(), DAYS),
    (pa.timestamp("ms"), MILLISECONDS),
]


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def whole_or_not(column: Any) -> Any:
    """These formats know floating point only: whole numbers are told by their values."""
    numbers = [None if value is None else float(value) for value in column.to_pylist()]
    if all(n is None or (n.is_integer() and abs(n) < WHOLE_BELOW) for n in numbers):
        return pa.array([None if n is None else int(n) for n in numbers], pa.int64())
    return pa.array(numbers, pa.float64())


def as_read(table: Any, *, spss: bool) -> Any:
    columns: list[Any] = []
    for column in table.columns:
        if pa.types.is_string(column.type):
            # SPSS fills texts up with spaces; an empty text is a missing one.
            texts = [text and (text.rstrip(" ") if spss else text) for text in column.to_pylist()]
            columns.append(pa.array([text or None for text in texts], pa.string()))
        elif not pa.types.is_temporal(column.type):
            columns.append(whole_or_not(column))
        elif column.null_count == len(column):
            # Where no value says that it is a date it is a number.
            columns.append(pa.nulls(len(column), pa.int64()))
        elif pa.types.is_timestamp(column.type):
            columns.append(column.cast(pa.timestamp("us")))
        else:
            columns.append(column)
    return pa.table(columns, names=table.column_names)


@pytest.mark.few(1)
@pytest.mark.parametrize("ending", ["dta", "sav"])
@examples(40)
@given(table=tables(STATISTICAL))
def test_statistical_programs(place: Path, ending: str, table: Any) -> None:
    path = place / f"in.{ending}"
    write: Any = pyreadstat.write_dta if ending == "dta" else pyreadstat.write_sav
    write(pl.DataFrame(table), path)
    assert_same(read_source(path), as_read(table, spss=ending == "sav"))


@pytest.mark.parametrize(
    ("ending", "shown", "number", "said"),
    [
        ("sav", "TIME8", 90_000.0, "a duration that is not a time of day"),
        ("sav", "DTIME20", -1.0, "a duration that is not a time of day"),
        ("sav", "DATE11", 1e14, "a date or time that no calendar has"),
        ("sav", "DATETIME20", 1e14, "a date or time that no calendar has"),
        ("dta", "%td", 1e10, "a date or time that no calendar has"),
        ("dta", "%tc", -1e20, "a date or time that no calendar has"),
    ],
)
def test_times_that_are_none_are_refused(
    place: Path, ending: str, shown: str, number: float, said: str
) -> None:
    path = place / f"odd.{ending}"
    write: Any = pyreadstat.write_dta if ending == "dta" else pyreadstat.write_sav
    # Sound ones first: what they are is told by the first.
    write(pl.DataFrame({"c": [None, 1.0, number]}), path, variable_format={"c": shown})
    with pytest.raises(InputError, match=said):
        read_source(path)


def test_times_have_the_digits_that_their_numbers_hold(place: Path) -> None:
    at = dt.datetime(2024, 2, 29, 12, 30, 1)  # noqa: DTZ001 - no zones there
    times = [at + dt.timedelta(milliseconds=number) for number in range(1_000)]
    for ending in ("sav", "dta"):
        path = place / f"times.{ending}"
        write: Any = pyreadstat.write_dta if ending == "dta" else pyreadstat.write_sav
        write(pl.DataFrame({"c": times}), path)
        assert read_source(path)["c"].to_pylist() == times
    pyreadstat.write_sav(
        pl.DataFrame({"c": [0.0, 86_399.999]}), place / "t.sav", variable_format={"c": "TIME8"}
    )
    day = [dt.time(0), dt.time(23, 59, 59, 999_000)]
    assert read_source(place / "t.sav")["c"].to_pylist() == day


CELLS: dict[str, st.SearchStrategy[Any]] = {
    "whole": st.integers(1 - WHOLE_BELOW, WHOLE_BELOW - 1),
    "number": FINITE,
    "text": TEXTS.filter(lambda text: "\r" not in text),
    "truth": st.booleans(),
    # Its calendar has a 29th of February in 1900.
    "day": st.dates(dt.date(1900, 3, 1)),
    "moment": st.datetimes(dt.datetime(1900, 3, 1), dt.datetime(2200, 1, 1)).map(  # noqa: DTZ001
        lambda at: at.replace(microsecond=at.microsecond // 1_000 * 1_000)
    ),
}


@st.composite
def sheets(draw: st.DrawFn) -> tuple[list[str], list[list[Any]]]:
    kinds = draw(st.lists(st.sampled_from(list(CELLS)), min_size=1, max_size=4))
    rows = draw(st.integers(1, 6))
    columns = [
        draw(st.lists(st.none() | CELLS[kind], min_size=rows, max_size=rows)) for kind in kinds
    ]
    return kinds, columns


def expected_column(kind: str, cells: list[Any]) -> Any:
    values = [None if cell == "" else cell for cell in cells]
    known = [value for value in values if value is not None]
    if not known or kind == "text":
        return pa.array(values, pa.string())
    if kind in ("whole", "number"):
        return whole_or_not(pa.array([None if v is None else float(v) for v in values]))
    if kind == "moment" and all(value.time() == dt.time(0) for value in known):
        # A date is a moment at midnight there.
        return pa.array(values, pa.timestamp("us")).cast(pa.date32())
    return pa.array(values, {"truth": pa.bool_(), "day": pa.date32()}.get(kind, pa.timestamp("us")))


@examples(60)
@pytest.mark.usefixtures("read_here")
@given(sheet=sheets())
def test_excel(place: Path, sheet: tuple[list[str], list[list[Any]]]) -> None:
    kinds, columns = sheet
    names = [f"c{place}" for place in range(len(kinds))]
    rows = [list(row) for row in zip(*columns, strict=True)]
    path = workbook(place / "in.xlsx", {"S": [names, *rows]})
    # Empty rows are left out.
    filled = [row for row in rows if any(cell not in (None, "") for cell in row)]
    arrays = [
        expected_column(kind, [row[number] for row in filled]) for number, kind in enumerate(kinds)
    ]
    assert_same(read_source(path), pa.table(arrays, names=names))
