"""A column of a release read into memory: every row's value as its rank among the column's.

Enters: a connection with the view `release`, and a column's internal name. Leaves: ranks, and
the values they stand for, in DuckDB's order with missing last. Must not know: what is asked.

The different values also become a small table of DuckDB's. So DuckDB itself says for which of them
a condition holds, whatever the condition, and no rule of SQL is written a second time.
"""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from countveil.engines.embedded.held_column import HeldColumn, NotHeldError
from countveil.release.domain import python_values

MOST_VALUES = 1 << 16
_BATCH = 1 << 20


def hold_column(connection: duckdb.DuckDBPyConnection, name: str) -> HeldColumn:
    """Read a column. NotHeldError if it is of a kind, or has too many values, to be held."""
    try:
        return _read(connection, name)
    except duckdb.InterruptException:
        raise KeyboardInterrupt from None
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        # Asked of the files, it is explained.
        raise NotHeldError from error


def _read(connection: duckdb.DuckDBPyConnection, name: str) -> HeldColumn:
    chunks, values = [], None
    for batch in _batches(connection, name):
        coded = batch.dictionary_encode()
        values = _with_new(values, coded.dictionary)
        ranks = pc.index_in(coded.dictionary, values).to_numpy(zero_copy_only=False)
        places = coded.indices.fill_null(len(coded.dictionary)).to_numpy(zero_copy_only=False)
        # The last place stands for missing, whatever the number of values will be.
        chunks.append(np.append(ranks, MOST_VALUES).astype(np.uint32)[places])
    if values is None:
        raise NotHeldError
    found = np.concatenate(chunks)
    missing = bool((found == MOST_VALUES).any())
    found[found == MOST_VALUES] = len(values)
    if missing:
        values = pa.concat_arrays([values, pa.nulls(1, values.type)])
    table = f"values_of_{name}"
    incoming = pa.table({"place": pa.array(np.arange(len(values))), "v": values})
    connection.register("incoming", incoming)
    connection.execute(
        f"CREATE OR REPLACE TABLE {table} AS "
        f"SELECT row_number() OVER (ORDER BY v) - 1 AS rank, place, v FROM incoming"
    )
    connection.unregister("incoming")
    sorted_values = connection.sql(f"SELECT place, v FROM {table} ORDER BY rank").to_arrow_table()
    rank = np.empty(len(values), np.uint8 if len(values) <= 1 << 8 else np.uint16)
    rank[sorted_values["place"].to_numpy()] = np.arange(len(values))
    whole = pa.types.is_integer(values.type) and not pa.types.is_uint64(values.type)
    return HeldColumn(rank[found], python_values(sorted_values["v"]), table, whole)


def _batches(connection: duckdb.DuckDBPyConnection, name: str) -> Iterator[pa.Array]:
    reader = connection.sql(f"SELECT {name} FROM release").to_arrow_reader(_BATCH)
    kind = reader.schema.field(0).type
    if not _holdable(kind):
        raise NotHeldError
    for batch in reader:
        column = batch.column(0)
        if pa.types.is_floating(kind):
            numbers = column.to_numpy(zero_copy_only=False)
            known = numbers[column.is_valid().to_numpy(zero_copy_only=False)]
            # Equal and yet not the same: -0.0 and 0.0, and numbers that are none.
            if np.isnan(known).any() or bool(((known == 0) & np.signbit(known)).any()):
                raise NotHeldError
        yield column


def _holdable(kind: pa.DataType) -> bool:
    types = pa.types
    # Times finer than Python's are not told apart by it.
    plain_time = types.is_timestamp(kind) and kind.tz is None and kind.unit != "ns"
    return bool(
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_boolean(kind)
        or types.is_string(kind)
        or types.is_large_string(kind)
        or types.is_date(kind)
        or types.is_decimal(kind)
        or plain_time
    )


def _with_new(values: pa.Array | None, others: pa.Array) -> pa.Array:
    """The values so far, then those of the others that are new."""
    if values is not None:
        new = others.filter(pc.invert(pc.is_in(others, values)))
        others = pa.concat_arrays([values, new])
    if len(others) >= MOST_VALUES:
        raise NotHeldError
    return others
