"""Types and values through files and data frames: what was put in is what our readers give."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import countveil as cv
from countveil.errors import QueryError
from tests.sample_tables import (
    DAYS,
    DECIMALS,
    INTEGERS,
    MICROSECONDS,
    PLAIN,
    TEXTS,
    Kind,
    assert_same,
    read_source,
    tables,
    whole,
)
from tests.strategies import examples

EXAMPLES = 30
SECONDS_OF_A_DAY = 86_400
TIMES: list[Kind] = [
    (pa.date32(), whole(32)),
    (pa.timestamp("ms"), whole(64)),
    (pa.timestamp("us"), whole(64)),
    (pa.timestamp("ns"), whole(64)),
    (pa.timestamp("us", "Europe/Berlin"), MICROSECONDS),
    (pa.time64("us"), st.integers(0, SECONDS_OF_A_DAY * 10**6 - 1)),
    (pa.time64("ns"), st.integers(0, SECONDS_OF_A_DAY * 10**9 - 1)),
    (pa.duration("us"), whole(64)),
]
OTHERS: list[Kind] = [
    (pa.decimal128(20, 3), DECIMALS),
    (pa.binary(), st.binary(max_size=5)),
]
# What no file of Parquet gives back, and what it becomes.
BECOMES = {
    pa.large_string(): pa.string(), pa.string_view(): pa.string(), pa.date64(): pa.date32(),
    pa.timestamp("s"): pa.timestamp("ms"), pa.time32("s"): pa.time32("ms"),
    pa.dictionary(pa.int8(), pa.string()): pa.string(),
    pa.dictionary(pa.int32(), pa.string()): pa.string(),
    pa.dictionary(pa.int16(), pa.int64()): pa.int64(),
}  # fmt: skip
ARROW_ONLY: list[Kind] = [
    (pa.large_string(), TEXTS),
    (pa.string_view(), TEXTS),
    (pa.large_binary(), st.binary(max_size=5)),
    (pa.date64(), DAYS.map(lambda days: days * SECONDS_OF_A_DAY * 1_000)),
    (pa.timestamp("s"), st.integers(-(10**15), 10**15)),
    (pa.time32("s"), st.integers(0, SECONDS_OF_A_DAY - 1)),
    (pa.time32("ms"), st.integers(0, SECONDS_OF_A_DAY * 1_000 - 1)),
    (pa.dictionary(pa.int8(), pa.string()), TEXTS),
    (pa.dictionary(pa.int32(), pa.string()), TEXTS),
    (pa.dictionary(pa.int16(), pa.int64()), whole(64)),
]
KINDS = [*PLAIN, *TIMES, *OTHERS]


def as_read(table: Any) -> Any:
    """What a reader of Arrow has to give."""
    fields = [pa.field(f.name, BECOMES.get(f.type, f.type)) for f in table.schema]
    return table.cast(pa.schema(fields))


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def feather(table: Any, place: Path) -> Path:
    pyarrow.feather.write_feather(table, place / "in.feather", chunksize=3)
    return place / "in.feather"


def stream(table: Any, place: Path) -> Path:
    with pa.ipc.new_stream(place / "in.arrow", table.schema) as writer:
        writer.write_table(table, max_chunksize=3)
    return place / "in.arrow"


ARROW: dict[str, Callable[[Any, Path], Any]] = {
    "table": lambda table, _: table,
    "reader": lambda table, _: table.to_reader(max_chunksize=3),
    "feather": feather,
    "stream": stream,
}


@pytest.mark.few(1)
@pytest.mark.parametrize("form", ARROW)
@examples(EXAMPLES)
@given(table=tables([*KINDS, *ARROW_ONLY]))
def test_arrow(form: str, place: Path, table: Any) -> None:
    assert_same(read_source(ARROW[form](table, place)), as_read(table))


@examples(EXAMPLES)
@given(table=tables([*KINDS, (pa.large_string(), TEXTS)]), size=st.integers(1, 4))
def test_parquet(place: Path, table: Any, size: int) -> None:
    pq.write_table(table, place / "in.parquet", row_group_size=size)
    assert_same(read_source(place / "in.parquet"), as_read(table))


@examples(EXAMPLES)
@given(table=tables(KINDS), lazy=st.booleans())
def test_polars(table: Any, lazy: bool) -> None:
    frame: Any = pl.DataFrame(table)
    # Its times of a day are nanoseconds, and bytes from a plan may be many.
    becomes: dict[pa.DataType, pa.DataType] = {pa.time64("us"): pa.time64("ns")}
    if lazy:
        becomes[pa.binary()] = pa.large_binary()
    fields = [pa.field(f.name, becomes.get(f.type, f.type)) for f in table.schema]
    assert_same(read_source(frame.lazy() if lazy else frame), table.cast(pa.schema(fields)))


@examples(EXAMPLES)
@given(texts=st.lists(st.none() | TEXTS, min_size=1, max_size=9), lazy=st.booleans())
def test_categories_of_polars(texts: list[str | None], lazy: bool) -> None:
    known = sorted({text for text in texts if text is not None} | {"unused"})
    frame: Any = pl.DataFrame({"c": texts, "e": texts}, schema={"c": pl.String, "e": pl.String})
    frame = frame.with_columns(pl.col("c").cast(pl.Categorical), pl.col("e").cast(pl.Enum(known)))
    column = pa.array(texts, pa.string())
    assert_same(read_source(frame.lazy() if lazy else frame), pa.table({"c": column, "e": column}))


@examples(EXAMPLES)
@given(table=tables(KINDS))
def test_arrow_types_of_pandas(table: Any) -> None:
    assert_same(read_source(table.to_pandas(types_mapper=pd.ArrowDtype)), table)


NULLABLE = {
    pa.int8(): "Int8", pa.int16(): "Int16", pa.int32(): "Int32", pa.int64(): "Int64",
    pa.uint8(): "UInt8", pa.uint16(): "UInt16", pa.uint32(): "UInt32", pa.uint64(): "UInt64",
    pa.bool_(): "boolean", pa.string(): "string", pa.float64(): "Float64", pa.float32(): "Float32",
}  # fmt: skip


def without_nan(table: Any) -> Any:
    """For pandas, what is not a number is missing."""
    columns = [pa.array(column.to_pylist(), column.type, from_pandas=True) for column in table]
    return pa.table(columns, names=table.column_names)


@examples(EXAMPLES)
@given(table=tables(PLAIN))
def test_nullable_types_of_pandas(table: Any) -> None:
    frame = pd.DataFrame(
        {
            name: pd.array(table[name].to_pylist(), dtype=NULLABLE[table[name].type])
            for name in table.column_names
        }
    )
    assert_same(read_source(frame), without_nan(table))


@examples(EXAMPLES)
@given(table=tables([*INTEGERS, (pa.string(), TEXTS), (pa.bool_(), st.booleans())]))
def test_categories_of_pandas(table: Any) -> None:
    frame = pd.DataFrame(
        {
            name: pd.Categorical(
                table[name].to_pylist(),
                categories=pd.array(
                    table[name].unique().drop_null().to_pylist(), dtype=NULLABLE[table[name].type]
                ),
            )
            for name in table.column_names
        }
    )
    assert_same(read_source(frame), table)


@examples(EXAMPLES)
@given(
    table=tables(
        [
            (pa.float64(), st.floats()),
            (pa.float32(), st.floats(width=32)),
            (pa.string(), TEXTS),
            (pa.timestamp("us"), MICROSECONDS),
            (pa.timestamp("ms"), MICROSECONDS.map(lambda n: n // 1_000)),
            (pa.timestamp("ns"), whole(64).filter(lambda n: n != -(1 << 63))),
            (pa.timestamp("us", "UTC"), MICROSECONDS),
            (pa.date32(), DAYS),
            (pa.duration("us"), st.integers(-(10**15), 10**15)),
        ]
    )
)
def test_own_types_of_pandas(table: Any) -> None:
    frame = table.to_pandas()
    for name in table.column_names:
        if table[name].null_count == len(table):
            # A column of nothing has no type there.
            frame = frame.drop(columns=name)
            table = table.drop_columns([name])
    if table.num_columns:
        assert_same(read_source(frame), without_nan(table))


@pytest.mark.slow
@examples(EXAMPLES)
@given(
    table=tables(
        [
            *PLAIN,
            *OTHERS,
            (pa.date32(), DAYS),
            (pa.timestamp("s"), st.integers(-(10**11), 10**11)),
            (pa.timestamp("ms"), MICROSECONDS.map(lambda n: n // 1_000)),
            (pa.timestamp("us"), MICROSECONDS),
            (pa.timestamp("ns"), st.integers(-(10**18), 10**18)),
            (pa.time64("us"), st.integers(0, SECONDS_OF_A_DAY * 10**6 - 1)),
            (pa.dictionary(pa.int32(), pa.string()), TEXTS),
        ]
    )
)
def test_files_of_duckdb(place: Path, table: Any) -> None:
    path = place / "in.duckdb"
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as connection:
        connection.register("given", table)
        connection.execute("CREATE TABLE t AS SELECT * FROM given")
    assert_same(read_source(f"duckdb:{path}#t"), as_read(table))


@pytest.mark.slow
@examples(15)
@given(table=tables([*KINDS, *ARROW_ONLY], least=6, most=20))
def test_all_the_way_into_a_release(table: Any) -> None:
    """Packed into words, shuffled and written, every row is still there."""
    jobs = [["a", "b", "c"][row % 3] for row in range(table.num_rows)]
    expected = as_read(table)
    with tempfile.TemporaryDirectory() as folder:
        to = Path(folder) / "release"
        cv.publish(table.append_column("job", [jobs]), {"job": 2}, to, keep=table.column_names)
        found = pq.read_table(to / "data").drop_columns(["job"])
    assert [(f.name, f.type) for f in found.schema] == [(f.name, f.type) for f in expected.schema]
    assert rows_of(found) == rows_of(expected)


def rows_of(table: Any) -> Counter[tuple[str, ...]]:
    """Rows as text: NaN is equal to itself, and times that Python has no word for are numbers."""
    columns = []
    for column in table.columns:
        kind = column.type
        if pa.types.is_temporal(kind):
            kind = pa.int32() if kind.bit_width == 32 else pa.int64()
        columns.append([repr(value) for value in column.cast(kind).to_pylist()])
    return Counter(zip(*columns, strict=True))


def test_years_that_python_has_not_cannot_be_groups_but_can_be_counted(tmp_path: Path) -> None:
    """Databases have infinite dates, and years before 1 and after 9999."""
    days = pa.array([2**31 - 1, -(10**6), 0] * 40, pa.int32()).cast(pa.date32())
    table = pa.table({"day": days, "job": ["a", "b", "c", "d"] * 30})
    release = cv.publish(table, {"job": 2}, tmp_path / "release", keep="day")
    # More often than a release answers from its files.
    for _ in range(6):
        assert release.count("day > DATE '2000-01-01'").estimate == 40
        with pytest.raises(QueryError, match="outside the years 1 to 9999"):
            release.sql("SELECT day, count(*) FROM release GROUP BY day")
        found = release.sql(
            "SELECT day, count(*) FROM release WHERE day BETWEEN DATE '1900-01-01' AND "
            "DATE '2000-01-01' GROUP BY day"
        )
        assert [row[1] for row in found.rows()] == [40]
