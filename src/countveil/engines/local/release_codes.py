"""The rows of a release as they are stored: what an adversary looks at.

Enters: the folder and files of a release. Leaves: columns as codes in the stored order. Must not
know: the publisher's side, attacks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from countveil.errors import ReleaseError
from countveil.release import PublishedColumn
from countveil.release.formats.data_files import read_rows
from countveil.release.values import PARQUET, format_of, python_values
from countveil.tables.encoded.arrow_arrays import to_numpy


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
) -> dict[str, Any]:
    """Those of the columns whose values can be told exactly, in the stored order.

    Files that are not Parquet need all `published` columns to be read.
    """
    tables = [_table(folder / file, names, published) for file in files]
    found = {}
    for name in names:
        array = pa.chunked_array([c for t in tables for c in t[name].chunks], tables[0][name].type)
        if pa.types.is_nested(array.type):
            continue
        encoded = array.combine_chunks()
        if isinstance(encoded, pa.ChunkedArray):
            encoded = pa.concat_arrays(encoded.chunks)
        if not pa.types.is_dictionary(encoded.type):
            encoded = encoded.dictionary_encode(null_encoding="encode")
        try:
            found[name] = StoredColumn(python_values(encoded.dictionary), to_numpy(encoded.indices))
        except (pa.ArrowInvalid, ValueError, OverflowError):
            continue
    return found


def _table(path: Path, names: Sequence[str], published: Sequence[PublishedColumn]) -> Any:
    if published and format_of(path.name) != PARQUET:
        return read_rows(path, published).select(list(names))
    return opened(path).read(columns=list(names))


def opened(path: Path) -> Any:
    """A data file, which must be Parquet."""
    try:
        return pq.ParquetFile(path)
    except (OSError, pa.ArrowInvalid) as error:
        raise ReleaseError(
            f"{path.name} of the release cannot be read. 'countveil verify' says what is wrong."
        ) from error
