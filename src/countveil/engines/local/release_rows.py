"""The rows of a release as they are stored, whatever its format.

Enters: the folder and manifest, or files, of a release. Leaves: Arrow tables, or columns as codes,
in the stored order. Must not know: what is done with them, the publisher's side.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from countveil.errors import ReleaseError
from countveil.release import Manifest, PublishedColumn
from countveil.release.formats.csv_rows import ExpectedRows
from countveil.release.formats.data_files import read_rows
from countveil.release.values import PARQUET, format_of, python_values
from countveil.tables.encoded.encoding import to_numpy


def released_schema(folder: Path, manifest: Manifest) -> pa.Schema:
    """The columns, without what files note beside them."""
    first = folder / manifest.files[0].path
    if format_of(first.name) == PARQUET:
        schema: pa.Schema = open_parquet(first).schema_arrow
        return schema.remove_metadata()
    return read_rows(first, manifest.columns).schema.remove_metadata()


def released_rows(folder: Path, manifest: Manifest, larger: float = 1) -> Iterator[pa.Table]:
    """The rows, in tables that fit into memory; files may be `larger` than usual."""
    for file in manifest.files:
        path = folder / file.path
        if format_of(path.name) == PARQUET:
            yield from parquet_rows([path])
        else:
            expected = ExpectedRows.of(file, len(manifest.columns), larger)
            table = read_rows(path, manifest.columns, expected)
            if table.num_rows != file.rows:
                # Other formats say how many they have; the lines of a CSV file are counted here.
                raise ReleaseError(
                    f"{path.name} of the release holds {table.num_rows:,} rows instead of "
                    f"{file.rows:,}. 'countveil verify' says what is wrong."
                )
            yield table.replace_schema_metadata(None)


def parquet_rows(paths: Sequence[Path]) -> Iterator[pa.Table]:
    """The rows of Parquet files, one row group at a time."""
    for path in paths:
        data = open_parquet(path)
        for number in range(data.num_row_groups):
            yield data.read_row_group(number).replace_schema_metadata(None)


@dataclass(frozen=True, slots=True)
class StoredColumn:
    """A column's rows in the stored order: `values[codes[i]]`."""

    values: Sequence[Any]
    codes: NDArray[np.int64]


def stored_columns(
    folder: Path,
    files: Sequence[str],
    names: Sequence[str],
    published: Sequence[PublishedColumn] = (),
) -> dict[str, StoredColumn]:
    """Those of the columns whose values Python can distinguish, in the stored order.

    Files that are not Parquet need all `published` columns to be read.
    """
    tables = [_table(folder / file, names, published) for file in files]
    columns = {}
    for name in names:
        array = pa.chunked_array([c for t in tables for c in t[name].chunks], tables[0][name].type)
        if pa.types.is_nested(array.type):
            continue
        # Any: the stubs promise an array, and the next lines are for an Arrow that keeps chunks.
        encoded: Any = array.combine_chunks()
        if isinstance(encoded, pa.ChunkedArray):
            encoded = pa.concat_arrays(encoded.chunks)
        if not pa.types.is_dictionary(encoded.type):
            encoded = encoded.dictionary_encode(null_encoding="encode")
        try:
            values = python_values(encoded.dictionary)
        except (pa.ArrowInvalid, ValueError, OverflowError):
            continue
        columns[name] = StoredColumn(values, to_numpy(encoded.indices))
    return columns


def _table(path: Path, names: Sequence[str], published: Sequence[PublishedColumn]) -> pa.Table:
    if published and format_of(path.name) != PARQUET:
        return read_rows(path, published).select(list(names))
    table: pa.Table = open_parquet(path).read(columns=list(names))
    return table


def open_parquet(path: Path) -> Any:
    """A data file, which must be Parquet."""
    try:
        return pq.ParquetFile(path)
    except (OSError, pa.ArrowInvalid) as error:
        raise ReleaseError(
            f"{path.name} of the release cannot be read. 'countveil verify' says what is wrong."
        ) from error
