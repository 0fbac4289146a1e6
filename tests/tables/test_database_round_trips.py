"""Types and values through databases: what was put in is what our readers give, or is refused."""

from __future__ import annotations

import contextlib
import datetime as dt
import sqlite3
import tempfile
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from countveil.errors import InputError
from tests.sample_tables import (
    DAYS,
    DECIMALS,
    MICROSECONDS,
    PLAIN,
    TEXTS,
    Kind,
    assert_same,
    read_source,
    tables,
    whole,
)
from tests.servers import postgres
from tests.strategies import examples

__all__ = ["postgres"]
DAY_MICROSECONDS = 86_400 * 10**6
SQLITE: list[Kind] = [
    (pa.int64(), whole(64)),
    # It has one zero, and nothing that is not a number.
    (pa.float64(), st.floats(allow_nan=False).map(lambda number: number + 0.0)),
    (pa.string(), TEXTS),
    (pa.binary(), st.binary(max_size=5)),
    (pa.bool_(), st.booleans()),
    (pa.date32(), DAYS),
    (pa.timestamp("us"), MICROSECONDS),
]
DECLARED = {
    pa.int64(): "INTEGER", pa.float64(): "REAL", pa.string(): "TEXT", pa.binary(): "BLOB",
    pa.bool_(): "BOOLEAN", pa.date32(): "DATE", pa.timestamp("us"): "TIMESTAMP",
}  # fmt: skip
POSTGRES: list[Kind] = [
    *((kind, values) for kind, values in PLAIN if not pa.types.is_unsigned_integer(kind)),
    (pa.binary(), st.binary(max_size=5)),
    (pa.date32(), DAYS),
    (pa.timestamp("us"), MICROSECONDS),
    (pa.timestamp("us", "UTC"), MICROSECONDS),
    (pa.time64("us"), st.integers(0, DAY_MICROSECONDS - 1)),
]
# It has no smaller whole number.
SMALLEST = {pa.int8(): pa.int16()}


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def sqlite_file(path: Path, table: Any) -> str:
    path.unlink(missing_ok=True)
    declared = ", ".join(f"{f.name} {DECLARED[f.type]}" for f in table.schema)
    marks = ", ".join("?" * table.num_columns)
    columns = [
        [str(v) if isinstance(v, dt.date) else v for v in column.to_pylist()] for column in table
    ]
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"CREATE TABLE t ({declared})")
        connection.executemany(f"INSERT INTO t VALUES ({marks})", zip(*columns, strict=True))
    return f"sqlite:{path}#t"


@examples(40)
@given(table=tables(SQLITE))
def test_sqlite(place: Path, table: Any) -> None:
    found = read_source(sqlite_file(place / "in.db", table))
    for number, name in enumerate(table.column_names):
        if table[name].null_count == len(table):
            # Where no value says its type there is none; so it is read as text.
            table = table.set_column(number, name, pa.nulls(len(table), pa.string()))
    assert_same(found, table)


@examples(40)
@given(numbers=st.lists(st.none() | whole(64) | st.floats(allow_nan=False), min_size=1, max_size=6))
def test_whole_and_other_numbers_in_one_column_of_sqlite(place: Path, numbers: list[Any]) -> None:
    path = place / "mixed.db"
    path.unlink(missing_ok=True)
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        # Declared as nothing, a column keeps numbers as they come.
        connection.execute("CREATE TABLE t (n)")
        connection.executemany("INSERT INTO t VALUES (?)", [(number,) for number in numbers])
    try:
        found = read_source(f"sqlite:{path}#t")["n"].to_pylist()
    except InputError:
        # A whole number that floating point does not have, beside one of these.
        assert any(type(n) is int and abs(n) > 1 << 53 for n in numbers)
        assert any(isinstance(n, float) for n in numbers)
        return
    assert found == numbers


@pytest.mark.slow
@examples(25)
@given(table=tables(POSTGRES))
def test_postgresql(postgres: str, table: Any) -> None:
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(postgres) as connection, connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS round_trip")
        cursor.adbc_ingest("round_trip", table, mode="create")
        connection.commit()
    fields = [pa.field(f.name, SMALLEST.get(f.type, f.type)) for f in table.schema]
    assert_same(read_source(f"{postgres}#round_trip"), table.cast(pa.schema(fields)))


@examples(8)
@given(
    values=st.lists(st.none() | DECIMALS, min_size=1, max_size=5),
    days=st.lists(st.none() | DAYS, min_size=1, max_size=5),
)
def test_decimals_and_dates_that_postgresql_writes_itself(
    postgres: str, values: list[Decimal | None], days: list[int | None]
) -> None:
    texts = ["NULL" if value is None else f"'{value:f}'" for value in values]
    numbers = ", ".join(f"({text}::numeric(20, 3))" for text in texts)
    found = read_source(postgres, f"SELECT * FROM (VALUES {numbers}) AS t (n)")
    assert_same(found, pa.table({"n": pa.array(values, pa.decimal128(20, 3))}))
    dates = ", ".join(f"(DATE '1970-01-01' + {'NULL' if d is None else d}::int)" for d in days)
    found = read_source(postgres, f"SELECT * FROM (VALUES {dates}) AS t (d)")
    assert_same(found, pa.table({"d": pa.array(days, pa.int32()).cast(pa.date32())}))


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ["date", "timestamp", "timestamptz"])
@pytest.mark.parametrize("value", ["infinity", "-infinity"])
def test_what_is_infinite_in_postgresql_is_refused(postgres: str, kind: str, value: str) -> None:
    for other in ("NULL", "'2024-02-29'"):
        query = f"SELECT * FROM (VALUES ('{value}'::{kind}), ({other})) AS t (d)"
        with pytest.raises(InputError, match=r"'d' holds an infinite.*NULLIF\(d, 'infinity'\)"):
            read_source(postgres, query)
    first = "'4713-01-01 BC'" if kind == "date" else "'4713-01-01 00:00:00 BC'"
    assert read_source(postgres, f"SELECT {first}::{kind} AS d").num_rows == 1


def test_times_beyond_those_of_arrow_are_refused(postgres: str) -> None:
    last = read_source(postgres, "SELECT '294247-01-10 04:00:54.775807'::timestamp AS d")
    assert last["d"].cast(pa.int64()).to_pylist() == [(1 << 63) - 1]
    with pytest.raises(InputError, match="too far away"):
        read_source(postgres, "SELECT '294247-01-10 04:00:54.775808'::timestamp AS d")


@pytest.mark.slow
def test_types_of_duckdb_that_arrow_has_not_become_text(place: Path) -> None:
    values = {
        "340282366920938463463374607431768211455::UHUGEINT": str((1 << 128) - 1),
        "'12:00:00+02'::TIMETZ": "12:00:00+02",
        "'101'::BIT": "101",
        f"{10**45 + 1}::BIGNUM": str(10**45 + 1),
        "union_value(k := 1)": "1",
        "[(1 << 20)::UHUGEINT]": "[1048576]",
        "{'a': '101'::BIT}": "{'a': 101}",
    }
    path = place / "special.duckdb"
    duckdb.connect(str(path)).close()
    for written, read in values.items():
        found = read_source(f"duckdb:{path}", f'SELECT 7 AS n, {written} AS "x y"')
        assert_same(found, pa.table({"n": pa.array([7], pa.int32()), "x y": [read]}))
    largest = 10**38 - 1
    found = read_source(f"duckdb:{path}", f"SELECT {largest}::HUGEINT AS n")
    assert found["n"].to_pylist() == [Decimal(largest)]
