"""The publisher's table in memory: counted, dealt, shuffled, written.

Enters: a source description; later the dealers and the shuffle's stream. Leaves: histograms and
Parquet files. Must not know: groups, ell, where the release goes in the end.

What is written is rebuilt from plain values after the shuffle: no dictionary, statistics, metadata
or order of the source reaches a file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from countveil.engines.contract import Histogram, Progress, WrittenFile
from countveil.engines.embedded.read import read_source
from countveil.errors import InputError
from countveil.mechanism import Dealer
from countveil.randomness import Stream
from countveil.release.domain import python_values
from countveil.source import Column, Source

_DEAL_ROWS = 1 << 20
_ROW_GROUP = 1 << 17
_FILE_ROWS = 1 << 24


def open_source_table(source: Source) -> EmbeddedSource:
    """Read a source into memory."""
    return EmbeddedSource(read_source(source))


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
            encoded = self._table[column].dictionary_encode().unify_dictionaries()
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
            codes = indices.fill_null(len(dictionary)).to_numpy()
            self._coded[column] = rank[codes], values
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
