"""A column of a release in memory: every row's value as its rank among the column's values.

Enters: a connection with the view `release`, and a column's internal name. Leaves: ranks, and the
values that they stand for, in DuckDB's order with missing last. Must not know: what is asked.

The different values also become a small table of DuckDB's. So DuckDB itself says for which of them
a condition holds, whatever the condition, and no rule of SQL is written a second time.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from countveil.engines.local.in_memory import NotInMemoryError
from countveil.release.values import python_values
from countveil.system.process import in_order

MOST_VALUES = 1 << 16
_BATCH = 1 << 20
Codes = NDArray[np.uint8] | NDArray[np.uint16]
Numbers = NDArray[np.int64]
# The values of a column by its internal name, in the order of rows.
Batches = Callable[[str], "Iterator[pa.Array[Any]]"]


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


@dataclass(frozen=True)
class EncodedColumn:
    """A column as it was read: codes of each batch, and the places of these among all values."""

    batches: Sequence[tuple[Codes, Numbers]]
    values: pa.Array[Any]


@dataclass(frozen=True)
class RankedValues:
    """The values of a column in DuckDB's order, and the rank of each place among them."""

    rank: Numbers
    values: list[Any]
    table: str
    whole: bool

    def of(self, encoded: EncodedColumn) -> InMemoryColumn:
        """The column with these values."""
        narrow = np.uint8 if self.rank.size <= 1 << 8 else np.uint16
        codes: NDArray[Any] = np.empty(sum(batch.size for batch, _ in encoded.batches), narrow)
        start = 0
        for batch, places in encoded.batches:
            out = codes[start : start + batch.size]
            # All are places: clipping only spares a check.
            np.take(self.rank[places].astype(narrow), batch, out=out, mode="clip")
            start += batch.size
        return InMemoryColumn(codes, self.values, self.table, self.whole)


def encode_column(batches: Iterator[pa.Array[Any]]) -> EncodedColumn:
    """Read a column. NotInMemoryError if its type does not allow it, or it has too many values."""
    with _explained_by_files():
        return _encoded(map(_checked, batches))


def ranked_values(
    connection: duckdb.DuckDBPyConnection, name: str, values: pa.Array[Any]
) -> RankedValues:
    """Put the values of a column into DuckDB's order. NotInMemoryError if it has none."""
    table = f"values_of_{name}"
    with _explained_by_files():
        connection.register("incoming", pa.table({"place": np.arange(len(values)), "v": values}))
        connection.execute(
            f"CREATE OR REPLACE TABLE {table} AS "
            f"SELECT row_number() OVER (ORDER BY v) - 1 AS rank, place, v FROM incoming"
        )
        connection.unregister("incoming")
        ordered = connection.sql(f"SELECT place, v FROM {table} ORDER BY rank").to_arrow_table()
        rank = np.empty(len(values), np.int64)
        rank[_numpy(ordered["place"].combine_chunks())] = np.arange(len(values))
        whole = pa.types.is_integer(values.type) and not pa.types.is_uint64(values.type)
        return RankedValues(rank, python_values(ordered["v"]), table, whole)


@contextlib.contextmanager
def _explained_by_files() -> Iterator[None]:
    """NotInMemoryError for whatever goes wrong: a question to the files explains it."""
    try:
        yield
    except duckdb.InterruptException:
        raise KeyboardInterrupt from None
    except (duckdb.Error, pa.ArrowException, OSError, OverflowError) as error:
        raise NotInMemoryError from error


def _encoded(batches: Iterable[pa.Array[Any]]) -> EncodedColumn:
    """The different values in the order in which they come; missing is behind all of them."""
    # Only here: an answer from the files does without it.
    import pyarrow.compute as pc

    chunks: list[tuple[Codes, Numbers]] = []
    values, missing = None, False
    for batch in batches:
        if not len(batch):
            continue
        coded = batch if isinstance(batch, pa.DictionaryArray) else batch.dictionary_encode()
        size = len(coded.dictionary)
        values = _with_new(values, coded.dictionary)
        places = _numpy(pc.index_in(coded.dictionary, values)).astype(np.int64)
        missing |= coded.indices.null_count > 0
        # One place more, for missing.
        narrow = np.uint8 if size < 1 << 8 else np.uint16
        codes: NDArray[Any] = _numpy(coded.indices.fill_null(size)).astype(narrow)
        chunks.append((codes, np.append(places, -1)))
    if values is None:
        raise NotInMemoryError
    if missing:
        values = pa.concat_arrays([values, pa.nulls(1, values.type)])
    return EncodedColumn(chunks, values)


def batches_of(connection: duckdb.DuckDBPyConnection, name: str) -> Iterator[pa.Array[Any]]:
    """A column of the view `release`, from DuckDB."""
    reader = connection.sql(f"SELECT {name} FROM release").to_arrow_reader(_BATCH)
    return (batch.column(0) for batch in reader)


def parquet_batches(files: Sequence[Path], place: int) -> Iterator[pa.Array[Any]]:
    """The column at a place of Parquet files: text as the codes that the files hold already."""
    import pyarrow.parquet as pq

    for path in files:
        with pq.ParquetFile(path) as file:
            name, footer = file.schema_arrow.names[place], file.metadata

        def read(
            group: int, path: Path = path, name: str = name, footer: pq.FileMetaData = footer
        ) -> list[pa.Array[Any]]:
            # Each opens the file for itself: two threads do not share a reader.
            with pq.ParquetFile(path, metadata=footer, read_dictionary=[name]) as file:
                chunks: list[pa.Array[Any]] = (
                    file.read_row_group(group, [name], use_threads=False).column(0).chunks
                )
                return chunks

        for chunks in in_order(read, range(footer.num_row_groups)):
            yield from chunks


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
