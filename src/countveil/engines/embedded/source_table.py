"""The publisher's table in memory: counted, dealt, shuffled, written.

Enters: a source description; later the dealers and the shuffle's stream. Leaves: histograms and
Parquet files. Must not know: groups, ell, where the release goes in the end.

What is written is rebuilt from plain values after the shuffle: no dictionary, statistics, metadata
or order of the source reaches a file.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from countveil.engines.contract import (
    CodedColumn,
    ColumnProfile,
    Histogram,
    Progress,
    WrittenFile,
)
from countveil.engines.embedded.read import read_source
from countveil.errors import InputError
from countveil.mechanism import Dealer
from countveil.randomness import Stream
from countveil.release.domain import python_values
from countveil.source import Column, Source

_DEAL_ROWS = 1 << 20
_ROW_GROUP = 1 << 17
_FILE_ROWS = 1 << 24
_EXAMPLES = 1_000


def open_source_table(source: Source, missing: Sequence[str] = ()) -> EmbeddedSource:
    """Read a source into memory; the texts `missing` stand for missing values."""
    return EmbeddedSource(read_source(source, missing))


class EmbeddedSource:
    """A table in memory with the verbs of the contract."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        self._coded: dict[str, tuple[NDArray[np.int64], pa.Array]] = {}

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self._table.num_rows)

    @property
    def columns(self) -> Sequence[Column]:
        """Names and types."""
        return [Column(field.name, str(field.type)) for field in self._table.schema]

    def histogram(self, column: str, without: NDArray[np.int64]) -> Histogram:
        """Count the values of a column, leaving out some rows."""
        codes, values = self._codes(column)
        counts = np.bincount(np.delete(codes, without), minlength=len(values)).astype(np.int64)
        return Histogram(_domain_values(column, values), counts)

    def sample(self, most: int) -> Mapping[str, CodedColumn]:
        """All columns of plain values, of rows spread evenly over the table."""
        rows = np.unique(np.linspace(0, self.rows - 1, min(most, self.rows)).astype(np.int64))
        chosen = self._table if rows.size == self.rows else self._table.take(pa.array(rows))
        sampled = {}
        for name, column in zip(chosen.column_names, chosen.columns, strict=True):
            # Nested values cannot be published; what could is sampled.
            with contextlib.suppress(pa.ArrowNotImplementedError):
                codes, values = _ranked(column)
                known = values.drop_null()
                if len(known) > _EXAMPLES:
                    known = known.take(np.linspace(0, len(known) - 1, _EXAMPLES).astype(np.int64))
                sampled[name] = CodedColumn(codes, column.null_count, _examples(known))
        return sampled

    def profile(self, column: str) -> ColumnProfile | None:
        """A column at a glance; None if it holds nested values."""
        try:
            codes, values = self._codes(column)
        except pa.ArrowNotImplementedError:
            return None
        counts = np.bincount(codes, minlength=len(values)).astype(np.int64)
        missing = int(counts[0]) if values.null_count else 0
        known = values.drop_null()
        numbers = None
        if pa.types.is_date32(known.type):
            numbers = known.cast(pa.int32()).to_numpy().astype(np.float64)
        elif pa.types.is_timestamp(known.type):
            numbers = known.cast(pa.int64()).to_numpy().astype(np.float64)
        elif pa.types.is_integer(known.type) or pa.types.is_floating(known.type):
            numbers = known.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        elif pa.types.is_decimal(known.type):
            numbers = known.cast(pa.float64()).to_numpy()
        return ColumnProfile(missing, counts[len(values) - len(known) :], numbers)

    def unique_rows(self, columns: Sequence[str]) -> int:
        """How many rows are alone with their combination of values of these columns."""
        together = np.zeros(self.rows, np.int64)
        for column in columns:
            codes, values = self._codes(column)
            joint = together * len(values) + codes
            together = np.unique(joint, return_inverse=True)[1].astype(np.int64)
        return int((np.bincount(together) == 1).sum())

    def recode(self, column: str, values: Sequence[str | None]) -> None:
        """Replace each distinct value of a column by a text."""
        codes, _ = self._codes(column)
        texts = pa.array(values, pa.string())
        place = self._table.column_names.index(column)
        self._table = self._table.set_column(place, column, texts.take(pa.array(codes)))
        del self._coded[column]

    def publish(
        self,
        columns: Sequence[Column],
        dealers: Mapping[str, Dealer],
        without: NDArray[np.int64],
        shuffle: Stream,
        folder: Path,
        progress: Progress,
    ) -> list[WrittenFile]:
        """Deal, shuffle and write."""
        kept = np.delete(np.arange(self.rows), without)
        dealt = {name: self._deal(name, dealer, kept, progress) for name, dealer in dealers.items()}
        order = shuffle.permutation(kept.size)
        sources = [
            _Coded(dealt[column.name], self._codes(column.name)[1])
            if column.name in dealt
            else self._plain(column.name, kept)
            for column in columns
        ]
        schema = pa.schema(
            [
                pa.field(column.name, self._table.schema.field(column.name).type)
                for column in columns
            ]
        )
        return _write(sources, schema, order, folder, progress)

    def _codes(self, column: str) -> tuple[NDArray[np.int64], pa.Array]:
        """Each row's value as its position among the column's sorted values."""
        if column not in self._coded:
            self._coded[column] = _ranked(self._table[column])
        return self._coded[column]

    def _deal(
        self, name: str, dealer: Dealer, kept: NDArray[np.int64], progress: Progress
    ) -> NDArray[np.int64]:
        codes = self._codes(name)[0]
        published = np.empty(kept.size, np.int64)
        for first in range(0, kept.size, _DEAL_ROWS):
            block = slice(first, first + _DEAL_ROWS)
            published[block] = dealer.deal(codes[kept[block]])
            progress(f"drawing {name}", min(first + _DEAL_ROWS, kept.size), kept.size)
        return published

    def _plain(self, name: str, kept: NDArray[np.int64]) -> _Coded | _Rows:
        column = self._table[name]
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            codes, values = self._codes(name)
            return _Coded(codes[kept], values)
        return _Rows(column, kept)


def _ranked(column: pa.ChunkedArray) -> tuple[NDArray[np.int64], pa.Array]:
    """Each row's value as its position among the sorted values, and these."""
    encoded = column.dictionary_encode().unify_dictionaries()
    indices = pa.chunked_array([chunk.indices for chunk in encoded.chunks], pa.int32())
    dictionary = encoded.chunk(0).dictionary if encoded.num_chunks else pa.array([])
    order = pc.sort_indices(dictionary)
    values = dictionary.take(order)
    # Missing, if it occurs, is the first value.
    first = int(indices.null_count > 0)
    if first:
        values = pa.concat_arrays([pa.nulls(1, values.type), values])
    rank = np.zeros(len(dictionary) + 1, np.int64)
    rank[order.to_numpy()] = np.arange(len(dictionary)) + first
    return rank[indices.fill_null(len(dictionary)).to_numpy()], values


def _examples(values: pa.Array) -> list[Any]:
    try:
        return python_values(values)
    except (pa.ArrowInvalid, ValueError, OverflowError):
        return []  # times that Python cannot tell exactly


def _domain_values(column: str, values: pa.Array) -> list[Any]:
    """The values of a sensitive column, of which none may stand for two."""
    try:
        return python_values(values)
    except (pa.ArrowInvalid, ValueError, OverflowError):
        raise InputError(
            f"Column {column!r} holds times finer than a microsecond, or outside the years 1 to "
            f"9999, and cannot be protected as it is. Round them first."
        ) from None


class _Coded:
    """A column held as codes into a list of values; text is shuffled as numbers."""

    def __init__(self, codes: NDArray[np.int64], values: pa.Array) -> None:
        self._codes, self._values = codes, values

    def take(self, rows: NDArray[np.int64]) -> Any:
        return self._values.take(pa.array(self._codes[rows]))


class _Rows:
    """A column held as it is."""

    def __init__(self, column: pa.ChunkedArray, kept: NDArray[np.int64]) -> None:
        self._column, self._kept = column.combine_chunks(), kept

    def take(self, rows: NDArray[np.int64]) -> Any:
        taken = self._column.take(pa.array(self._kept[rows]))
        return taken.combine_chunks() if isinstance(taken, pa.ChunkedArray) else taken


def _write(
    sources: Sequence[_Coded | _Rows],
    schema: pa.Schema,
    order: NDArray[np.int64],
    folder: Path,
    progress: Progress,
) -> list[WrittenFile]:
    written = []
    for number, start in enumerate(range(0, order.size, _FILE_ROWS)):
        path = folder / f"part-{number:05d}.parquet"
        rows = order[start : start + _FILE_ROWS]
        with pq.ParquetWriter(
            path, schema, compression="zstd", write_statistics=False, version="2.6"
        ) as writer:
            for first in range(0, rows.size, _ROW_GROUP):
                chosen = rows[first : first + _ROW_GROUP]
                arrays = [source.take(chosen) for source in sources]
                writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
                progress("writing", start + min(first + _ROW_GROUP, rows.size), order.size)
        written.append(WrittenFile(path, int(rows.size)))
    return written
