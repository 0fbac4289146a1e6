"""A release loaded into three databases, and their answers beside ours."""

from __future__ import annotations

import datetime as dt
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import countveil as cv
from countveil.errors import QueryError

Ask = Callable[[str], list[tuple[Any, ...]]]


def rows_of(release: cv.Release) -> pa.Table:
    connection = duckdb.connect()
    rows: pa.Table = connection.sql(f"FROM '{release.folder}/data/*.parquet'").to_arrow_table()
    return rows


@contextmanager
def loaded(release: cv.Release, postgres: str) -> Iterator[dict[str, Ask]]:
    """The rows of a release in DuckDB, SQLite and a PostgreSQL server, as functions that ask."""
    import adbc_driver_postgresql.dbapi as adbc

    rows = rows_of(release)
    duck = duckdb.connect()
    duck.register("published", rows)
    duck.execute("CREATE TABLE release AS FROM published")
    lite = sqlite3.connect(":memory:")
    lite.execute(f"CREATE TABLE release ({', '.join(rows.column_names)})")
    values = [
        tuple(v.isoformat() if isinstance(v, dt.date) else v for v in row.values())
        for row in rows.to_pylist()
    ]
    lite.executemany(f"INSERT INTO release VALUES ({', '.join('?' * len(values[0]))})", values)
    connected = adbc.connect(postgres, autocommit=True)
    with closing(lite), connected as server, server.cursor() as cursor:
        # Of this connection alone: other tests use the same server.
        cursor.adbc_ingest("release", rows, mode="create", temporary=True)

        def ask(text: str) -> list[tuple[Any, ...]]:
            cursor.execute(text)
            return list(cursor.fetchall())

        yield {
            "duckdb": lambda text: duck.execute(text).fetchall(),
            "sqlite": lambda text: lite.execute(text).fetchall(),
            "postgres": ask,
        }


def can_be_written(query: str, release: cv.Release) -> bool:
    """Whether there is plain SQL for it; what may be in the way is one of two things."""
    try:
        release.plain_sql(query)
    except QueryError as error:
        known = ("in more than 6 ways", "No value of the sensitive column meets the conditions")
        assert any(text in str(error) for text in known)  # noqa: PT017 - most raise nothing
        return False
    return True


def compare(
    query: str, release: cv.Release, dialect: str, ask: Ask, *, errors: bool = True
) -> None:
    answer = release.sql(query, method="unbiased")
    n_keys = len(answer.group_columns)
    ours = [
        (*group, *(n for block in answer.blocks for n in _numbers(block.estimates[row], errors)))
        for row, group in enumerate(answer.groups)
    ]
    theirs = [
        (*row[:n_keys], *row[n_keys : None if errors else n_keys + 1])
        for row in ask(release.plain_sql(query, dialect=dialect))
    ]
    if dialect == "sqlite":
        ours = [tuple(map(_as_sqlite, row)) for row in ours]
    if "ORDER BY" not in query:
        ours, theirs = (sorted(rows, key=lambda r: repr(r[:n_keys])) for rows in (ours, theirs))
    assert [row[:n_keys] for row in ours] == [row[:n_keys] for row in theirs], query
    sharper: list[tuple[float, float]] = []
    for row, other in zip(ours, theirs, strict=True):
        assert [n is None for n in row[n_keys:]] == [n is None for n in other[n_keys:]], query
        pairs = zip(row[n_keys:], other[n_keys:], strict=True)
        for place, (number, cell) in enumerate(pairs):
            # An error is the root of a difference, which may be nothing but rounding: as squares.
            power = 2 if errors and place % 2 else 1
            if number is not None:
                expected = pytest.approx(number**power, rel=1e-9, abs=1e-9)
                if power == 2 and cell**power != expected:
                    sharper.append((number, cell))
                else:
                    assert cell**power == expected, query
    # What is not a count of one value has a sharper error with us: rows share the draw. Of a ratio
    # it grows without limit as the bottom comes near 0, which both do not see at the same place.
    if sharper:
        assert re.search(r"avg|sum|FILTER| IN | OR |BETWEEN|[<>]|coalesce", query), query
        known, in_database = zip(*sharper, strict=True)
        ratio = "avg" in query or "/" in query
        assert ratio or sum(known) <= 1.25 * sum(in_database), query


def _numbers(result: cv.Estimate, errors: bool) -> tuple[Any, ...]:
    return (result.estimate, result.std_error) if errors else (result.estimate,)


def _as_sqlite(value: Any) -> Any:
    if isinstance(value, bool):
        return int(value)
    return value.isoformat() if isinstance(value, dt.date) else value
