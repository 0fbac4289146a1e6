"""A column of a release in memory: every row's value as its rank among the column's values.

Enters: a connection with the view `release`, and a column's internal name. Leaves: ranks, and the
values that they stand for, in DuckDB's order with missing last. Must not know: what is asked.

The different values also become a small table of DuckDB's. So DuckDB itself says for which of them
a condition holds, whatever the condition, and no rule of SQL is written a second time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from countveil.release.values import python_values

MOST_VALUES = 1 << 16
_BATCH = 1 << 20
Codes = NDArray[np.uint8] | NDArray[np.uint16]
# The values of a column by its internal name, in the order of rows.
Batches = Callable[[str], "Iterator[pa.Array[Any]]"]


class NotInMemoryError(Exception):
    """Codes do not decide this; the files do."""


@dataclass(frozen=True)
class InMemoryColumn:
    """`codes[row]` is the rank of a row's value; `values[rank]` the value; `table` has them too."""

    codes: Codes
    values: list[Any]
    table: str
    whole: bool

    @cached_property
    def rank_of(self) -> dict[Any, int]:
        """The rank of each value."""
        return {value: rank for rank, value in enumerate(self.values)}

    @cached_property
    def numbers(self) -> NDArray[np.int64] | None:
        """The known values, where they are whole numbers."""
        known = self.values[: self.known]
        return np.array(known, np.int64) if self.whole else None

    @property
    def known(self) -> int:
        """How many values are not missing: they come first."""
        return len(self.values) - (self.values[-1:] == [None])


def read_column(
    connection: duckdb.DuckDBPyConnection, name: str, batches: Iterator[pa.Array[Any]]
) -> InMemoryColumn:
    """Read a column. NotInMemoryError if its type does not allow it, or it has too many values."""
    try:
        return _read(connection, name, batches)
    except duckdb.InterruptException:
        raise KeyboardInterrupt from None
    except (duckdb.Error, pa.ArrowException, OSError, OverflowError) as error:
        # A question to the files explains it.
        raise NotInMemoryError from error


def _read(
    connection: duckdb.DuckDBPyConnection, name: str, batches: Iterator[pa.Array[Any]]
) -> InMemoryColumn:
    places, values = _encoded(map(_checked, batches))
    table = f"values_of_{name}"
    connection.register("incoming", pa.table({"place": np.arange(len(values)), "v": values}))
    connection.execute(
        f"CREATE OR REPLACE TABLE {table} AS "
        f"SELECT row_number() OVER (ORDER BY v) - 1 AS rank, place, v FROM incoming"
    )
    connection.unregister("incoming")
    ordered = connection.sql(f"SELECT place, v FROM {table} ORDER BY rank").to_arrow_table()
    rank: NDArray[Any] = np.empty(len(values), np.uint8 if len(values) <= 1 << 8 else np.uint16)
    rank[_numpy(ordered["place"].combine_chunks())] = np.arange(len(values))
    whole = pa.types.is_integer(values.type) and not pa.types.is_uint64(values.type)
    return InMemoryColumn(rank[places], python_values(ordered["v"]), table, whole)


def _encoded(batches: Iterable[pa.Array[Any]]) -> tuple[NDArray[np.uint32], pa.Array[Any]]:
    """The different values in the order in which they come, and the place of every row's."""
    # Only here: an answer from the files does without it.
    import pyarrow.compute as pc

    chunks, values = [], None
    for batch in batches:
        coded = batch if isinstance(batch, pa.DictionaryArray) else batch.dictionary_encode()
        values = _with_new(values, coded.dictionary)
        places = _numpy(pc.index_in(coded.dictionary, values))
        # Behind all places, one for missing, whatever the number of values will be.
        places = np.append(places, MOST_VALUES).astype(np.uint32)
        chunks.append(places[_numpy(coded.indices.fill_null(len(coded.dictionary)))])
    if values is None:
        raise NotInMemoryError
    codes = np.concatenate(chunks)
    missing = codes == MOST_VALUES
    if missing.any():
        codes[missing] = len(values)
        values = pa.concat_arrays([values, pa.nulls(1, values.type)])
    return codes, values


def batches_of(connection: duckdb.DuckDBPyConnection, name: str) -> Iterator[pa.Array[Any]]:
    """A column of the view `release`, from DuckDB."""
    reader = connection.sql(f"SELECT {name} FROM release").to_arrow_reader(_BATCH)
    return (batch.column(0) for batch in reader)


def parquet_batches(files: Sequence[Path], place: int) -> Iterator[pa.Array[Any]]:
    """The column at a place of Parquet files: text as the codes that the files hold already."""
    import pyarrow.parquet as pq

    for path in files:
        with pq.ParquetFile(path) as file:
            name = file.schema_arrow.names[place]
        with pq.ParquetFile(path, read_dictionary=[name]) as file:
            for group in range(file.num_row_groups):
                yield from file.read_row_group(group, [name], use_threads=False).column(0).chunks


def _checked(column: pa.Array[Any]) -> pa.Array[Any]:
    """The column as it is, if codes can stand for its values."""
    values = column.dictionary if isinstance(column, pa.DictionaryArray) else column
    missing = values is not column and values.null_count
    if not _can_be_read(values.type) or missing:
        raise NotInMemoryError
    if pa.types.is_floating(values.type):
        numbers = _numpy(values.fill_null(0.0))
        # Equal and yet not the same: -0.0 and 0.0, and NaN.
        if np.isnan(numbers).any() or ((numbers == 0) & np.signbit(numbers)).any():
            raise NotInMemoryError
    return column


def _can_be_read(kind: pa.DataType) -> bool:
    types = pa.types
    # Python does not distinguish times below the microsecond.
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


def _with_new(values: pa.Array[Any] | None, others: pa.Array[Any]) -> pa.Array[Any]:
    """The values so far, then those of the others that are new."""
    # Only here: an answer from the files does without it.
    import pyarrow.compute as pc

    if values is not None:
        new = others.filter(pc.invert(pc.is_in(others, values)))
        others = pa.concat_arrays([values, new])
    if len(others) >= MOST_VALUES:
        raise NotInMemoryError
    return others


def _numpy(array: pa.Array[Any]) -> NDArray[Any]:
    """The numbers of an array without a missing one, not copied."""
    return np.from_dlpack(array)
