"""What was named, as partitions; and the rows of one, where a task is.

Enters: Parquet files, or a data frame of Dask. Leaves: pieces that tasks take, the schema, and
Arrow batches with the chosen rows and columns. Must not know: what is protected.

A partition is read anew by every pass, so it must be the same each time. Files are compared by size
and time. Of a data frame, whoever made it decides; a task deals nothing if the counts of its
partition differ, and rows that it did deal are exchanged once (`exchange`).
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from countveil.engines.partitions import CHANGED
from countveil.engines.partitions.tasks import Batches
from countveil.errors import InputError, SettingsError, option
from countveil.tables import PLAIN_CSV, Column, Reading
from countveil.tables.cells import CellChange
from countveil.tables.encoded.encoding import from_numpy
from countveil.tables.encoded.plain_arrays import plain_schema, plain_table
from countveil.tables.readers.parquet import ParquetBlocks
from countveil.tables.readers.row_filter import Condition
from countveil.tables.sources import FileSource, describe_source, is_dask_frame

BATCH = 1 << 16
WHAT_WORKS = (
    "Parquet files (a path, folder or pattern) that all workers reach, or a data frame of Dask, "
    "such as dask.dataframe.read_csv gives"
)


class RowGroups:
    """Row groups of a Parquet file, as the file was when it was opened."""

    def __init__(self, path: Path, groups: Sequence[int]) -> None:
        self._path, self._groups = os.path.realpath(path), tuple(groups)
        self._state = self._now()

    def _now(self) -> tuple[int, int]:
        state = os.stat(self._path)  # noqa: PTH116 - a path of text is smaller in a graph
        return state.st_size, state.st_mtime_ns

    def table(self, names: Sequence[str]) -> pa.Table:
        """Some columns."""
        if self._now() != self._state:
            raise RuntimeError(CHANGED)
        with pq.ParquetFile(self._path) as file:
            read: pa.Table = file.read_row_groups(
                list(self._groups), columns=list(names), use_threads=False
            )
        return read.select(list(names))


class Partitions:
    """The pieces of a table, by partition, and the schema of its rows as they were read.

    A piece is a `RowGroups`, or a part of a data frame, which Dask hands over as one of pandas.
    """

    def __init__(self, schema: pa.Schema, pieces: Sequence[Sequence[Any]]) -> None:
        self.schema, self.pieces = schema, list(pieces)

    def fewer(self, most: int) -> Partitions:
        """The same rows in at most so many partitions, in the same order."""
        edges = np.linspace(0, len(self.pieces), min(most, len(self.pieces)) + 1).astype(int)
        joined = [
            [piece for some in self.pieces[first:last] for piece in some]
            for first, last in itertools.pairwise(edges)
        ]
        return Partitions(self.schema, joined)


def open_partitions(table: object, reading: Reading) -> Partitions:
    """The partitions of what was named."""
    if reading.query is not None or reading.csv != PLAIN_CSV:
        given = option("query") if reading.query is not None else reading.csv.given[0]
        raise SettingsError(
            f"{given} cannot be used with {option('engine', 'dask')}. What works: {WHAT_WORKS}."
        )
    if is_dask_frame(table):
        return _frame_partitions(table)
    source = describe_source(table)
    if not isinstance(source, FileSource) or source.format != "parquet":
        raise InputError(f"Dask cannot read this table. What works: {WHAT_WORKS}.")
    # Says what is wrong with files that are damaged, or do not fit each other.
    blocks = ParquetBlocks(source.paths)
    pieces = []
    for span in blocks.spans:
        numbers = dict.fromkeys(number for number, _ in span.groups)
        pieces.append([
            RowGroups(source.paths[number], [group for of, group in span.groups if of == number])
            for number in numbers
        ])  # fmt: skip
    return Partitions(blocks.schema, pieces or [[]])


def _frame_partitions(frame: Any) -> Partitions:
    empty = frame._meta  # noqa: SLF001 - the only way to the types without computing a row
    for name, kind in empty.dtypes.items():
        if not isinstance(name, str):
            raise InputError(f"Column names must be text; the data frame has {name!r}.")
        if str(kind) == "object":
            raise InputError(
                f"Column {name!r} holds Python objects, of which Dask does not know the type. "
                f"Convert it, for instance with astype({{{name!r}: 'string[pyarrow]'}})."
            )
    if not empty.columns.is_unique:
        raise InputError("The data frame has a column name more than once. Rename the columns.")
    schema = plain_schema(pa.Schema.from_pandas(empty, preserve_index=False))
    return Partitions(schema.remove_metadata(), [[piece] for piece in frame.to_delayed()])


class RowReader:
    """Which rows and columns of a piece are read, and what becomes of their cells."""

    def __init__(
        self, schema: pa.Schema, reading: Reading, changes: Mapping[str, CellChange]
    ) -> None:
        self._schema, self._missing, self._changes = schema, reading.missing, dict(changes)
        columns = [Column(field.name, str(field.type)) for field in schema]
        self._condition = None if reading.where is None else Condition(reading.where, columns)
        self.filtered_by = [] if self._condition is None else self._condition.names

    @property
    def schema(self) -> pa.Schema:
        """The types after cells were changed."""
        kinds = {field.name: field.type for field in self._schema}
        kinds |= {name: each.type_of(name, kinds[name]) for name, each in self._changes.items()}
        return pa.schema(list(kinds.items()))

    def batches(self, pieces: Sequence[Any], names: Sequence[str]) -> Batches:
        """The rows of a partition."""
        read = [name for name in self._schema.names if name in {*names, *self.filtered_by}]
        for piece in pieces:
            rows = plain_table(self._table(piece, read), self._missing)
            if self._condition is not None:
                rows = rows.filter(from_numpy(self._condition.holds_in(rows)))
            for batch in rows.select(list(names)).combine_chunks().to_batches(BATCH):
                yield self._changed(batch)

    def _table(self, piece: Any, names: Sequence[str]) -> pa.Table:
        if isinstance(piece, RowGroups):
            return piece.table(names)
        schema = pa.schema([self._schema.field(name) for name in names])
        try:
            table = pa.Table.from_pandas(piece[list(names)], preserve_index=False)
            return plain_table(table).cast(schema)
        except (pa.ArrowException, TypeError, ValueError, KeyError):
            raise InputError(
                "A partition of the data frame has other columns or types than the frame says. "
                "Give every column one type."
            ) from None

    def _changed(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if not self._changes:
            return batch
        columns = [
            self._changes[name].applied(name, column) if name in self._changes else column
            for name, column in zip(batch.schema.names, batch.columns, strict=True)
        ]
        return pa.RecordBatch.from_arrays(columns, batch.schema.names)


def evenly_spread(batches: Batches, rows: int, most: int) -> Iterator[pa.RecordBatch]:
    """At most `most` of `rows` rows."""
    wanted = np.arange(min(rows, most)) * rows // max(1, min(rows, most))
    first = 0
    for batch in batches:
        here = wanted[(wanted >= first) & (wanted < first + batch.num_rows)] - first
        first += batch.num_rows
        if here.size:
            yield batch.take(from_numpy(here))
