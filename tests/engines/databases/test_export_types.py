"""Every value that a release can hold is in a database what it was, or is refused."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from countveil.engines.databases.connections import connection_class
from countveil.errors import TargetError
from countveil.system.address import parse_address
from tests.sample_tables import (
    DAYS,
    MICROSECONDS,
    PLAIN,
    Kind,
    assert_same,
    read_source,
    tables,
    whole,
)
from tests.servers import postgres as postgres  # noqa: PLC0414 - a fixture is found by its name
from tests.strategies import examples

COMMON: list[Kind] = [
    *((kind, values) for kind, values in PLAIN if kind != pa.uint64()),
    (pa.string(), st.sampled_from(["a\0b", "\0"])),
    (pa.date32(), DAYS),
    (pa.date32(), whole(32)),
    (pa.timestamp("ms"), MICROSECONDS.map(lambda n: n // 1_000)),
    (pa.timestamp("ms"), whole(64)),
    (pa.timestamp("us"), MICROSECONDS),
    (pa.timestamp("us"), whole(64)),
]
# What a type becomes in PostgreSQL.
WIDER = {
    pa.int8(): pa.int16(), pa.uint8(): pa.int16(), pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(), pa.timestamp("ms"): pa.timestamp("us"),
}  # fmt: skip


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def kept(to: str, table: Any) -> bool:
    address = parse_address(to)
    assert address is not None
    try:
        with connection_class(address).writing(address.place) as database:
            database.write(address.table, table.schema, [table.slice(0, 2), table.slice(2)])
    except TargetError:
        return False
    return True


@pytest.mark.slow
@examples(15)
@given(table=tables(COMMON, least=3))
def test_postgresql(postgres: str, table: Any) -> None:
    to = f"{postgres}#types"
    if kept(to, table):
        try:
            found = read_source(to)
        finally:
            drop(postgres)
        fields = [pa.field(f.name, WIDER.get(f.type, f.type)) for f in table.schema]
        assert_same(found, table.cast(pa.schema(fields)))


def drop(postgres: str) -> None:
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(postgres) as connection, connection.cursor() as cursor:
        cursor.execute("DROP TABLE types")
        connection.commit()


@examples(15)
@given(table=tables(COMMON, least=3))
def test_duckdb(place: Path, table: Any) -> None:
    path = place / "own.duckdb"
    path.unlink(missing_ok=True)
    if kept(f"duckdb:{path}#t", table):
        assert_same(read_source(f"duckdb:{path}#t"), table)
    else:
        assert not path.exists()


def as_text_and_numbers(column: Any) -> Any:
    """SQLite has whole and other numbers and text; a zero has no sign there."""
    if column.null_count == len(column) or pa.types.is_string(column.type):
        return column.cast(pa.string())
    if pa.types.is_temporal(column.type):
        return pa.array([None if v is None else str(v) for v in column.to_pylist()], pa.string())
    if pa.types.is_floating(column.type):
        numbers = [None if v is None else v + 0.0 for v in column.to_pylist()]
        return pa.array(numbers, pa.float64())
    return column.cast(pa.int64())


@examples(40)
@given(table=tables(COMMON, least=3))
def test_sqlite(place: Path, table: Any) -> None:
    path = place / "own.sqlite"
    path.unlink(missing_ok=True)
    if kept(f"sqlite:{path}#t", table):
        columns = [as_text_and_numbers(column) for column in table.columns]
        assert_same(read_source(f"sqlite:{path}#t"), pa.table(columns, names=table.column_names))
    else:
        assert not path.exists()


def test_dates_that_sqlite_has_no_form_for_are_refused(place: Path, postgres: str) -> None:
    far = pa.table({"day": pa.array([1 << 30], pa.int32()).cast(pa.date32())})
    path = place / "far.sqlite"
    address = parse_address(f"sqlite:{path}#t")
    assert address is not None
    with (
        pytest.raises(TargetError, match="outside the years 1 to 9999"),
        connection_class(address).writing(address.place) as database,
    ):
        database.write(address.table, far.schema, [far])
    assert not path.exists()
    assert not kept(f"{postgres}#far_dates", pa.table({"t": ["a\0b"]}))
    assert kept(f"duckdb:{place}/far.duckdb#t", far)
