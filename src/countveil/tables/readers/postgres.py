"""A table of a PostgreSQL server, or the result of a query on it, as record batches.

Enters: a description. Leaves: a schema and batches, in one read-only transaction at the level of
repeatable read. Must not know: what the columns are for.

Everything is read with one COPY through ADBC, batch by batch. Types that Arrow does not have become
text. Messages of the server or its library are never repeated: they may quote the address, or a
value of the table.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from countveil.errors import InputError, MissingExtraError, option
from countveil.sql.postgres_errors import postgres_reason
from countveil.sql.query.select import check_select
from countveil.system.address import quoted_name
from countveil.tables import DatabaseSource
from countveil.tables.readers.patience import Patience

_AS_THEY_ARE = frozenset({
    "bool", "int2", "int4", "int8", "float4", "float8", "text", "varchar", "bpchar", "name", "char",
    "date", "time", "timestamp", "timestamptz", "bytea",
})  # fmt: skip
_MOST_DIGITS = 38
# PostgreSQL begins in 4713 BC; an infinite date, or one beyond Arrow's range, arrives as earlier.
_EARLIEST_DAY, _DAY_MICROSECONDS = -2_500_000, 86_400_000_000


@contextlib.contextmanager
def postgres_batches(
    source: DatabaseSource, waiting: Patience
) -> Iterator[tuple[pa.Schema, Iterator[pa.RecordBatch]]]:
    """The schema, and the batches while the connection is open."""
    try:
        import adbc_driver_postgresql  # noqa: F401 - imported here, where its absence is explained
    except ImportError:
        raise MissingExtraError("adbc-driver-postgresql", "postgres") from None
    from countveil.sql.postgres_connection import PostgresReading

    if source.query is not None:
        check_select(source.query, "postgres")
    elif not source.table:
        raise InputError(
            "No table is named. Write postgresql://user@host/database#schema.table, or ask with "
            f"{option('query')}."
        )
    with contextlib.ExitStack() as stack:
        stack.enter_context(_explained())
        link = stack.enter_context(contextlib.closing(PostgresReading(source.place, waiting.tick)))
        asked = source.query or f"SELECT * FROM {quoted_name(source.table)}"
        fields = list(link.ask(f"SELECT * FROM ({asked}\n) AS asked LIMIT 0"))
        names = [field.name for field in fields]
        if len(set(names)) < len(names):
            raise InputError("The query gives a column name more than once. Name them with AS.")
        listed = ", ".join(
            quoted_name((field.name,)) + ("" if _type(field) in _AS_THEY_ARE else "::text")
            for field in fields
        )
        link.ask(f"SELECT {listed} FROM ({asked}\n) AS asked")
        schema = pa.schema([pa.field(field.name, _published_type(field)) for field in fields])
        yield schema, _cast(waiting.checked(link.batches()), schema)


def _cast(batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for column, name in zip(batch.columns, schema.names, strict=True):
            _check_dates(column, name)
        columns = [
            column if column.type == kind else column.cast(kind)
            for column, kind in zip(batch.columns, schema.types, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _check_dates(column: pa.Array[Any], name: str) -> None:
    """Refuse dates and times that came out wrong because Arrow does not have them."""
    if pa.types.is_date32(column.type):
        least = pc.min(column.cast(pa.int32())).as_py()
        earliest = _EARLIEST_DAY
    elif pa.types.is_timestamp(column.type):
        least = pc.min(column.cast(pa.int64())).as_py()
        earliest = _EARLIEST_DAY * _DAY_MICROSECONDS
    else:
        return
    if least is not None and least < earliest:
        raise InputError(
            f"Column {name!r} holds an infinite date or time, or one too far away for Arrow. "
            f"Replace it, with {option('query')} \"SELECT NULLIF({name}, 'infinity') "
            f'AS {name}, ..." for instance.'
        )


def _type(field: pa.Field[Any]) -> str:
    return str((field.metadata or {}).get(b"POSTGRESQL:type", b"").decode())


def _published_type(field: pa.Field[Any]) -> pa.DataType:
    """The type of a column: decimals as they are declared, or else floating point."""
    kind = _type(field)
    if kind in _AS_THEY_ARE:
        same: pa.DataType = field.type
        return same
    if kind != "numeric":
        return pa.string()
    modifier = int((field.metadata or {}).get(b"POSTGRESQL:typmod", b"-1")) - 4
    digits, scale = (modifier >> 16) & 0xFFFF, modifier & 0x7FF
    if modifier < 0 or digits > _MOST_DIGITS or scale > digits:
        return pa.float64()
    return pa.decimal128(digits, scale)


@contextlib.contextmanager
def _explained() -> Iterator[None]:
    """Replace the server's message by a sentence of ours; it is neither repeated nor chained."""
    try:
        yield
    except Exception as error:
        if not _is_from_server(error):
            raise
        raise InputError(f"PostgreSQL: {postgres_reason(error)}") from None


def _is_from_server(error: Exception) -> bool:
    """Whether an error comes from the server, its library or Arrow."""
    owner = type(error).__module__.split(".")[0]
    return owner in ("adbc_driver_manager", "pyarrow") or isinstance(error, OSError)
