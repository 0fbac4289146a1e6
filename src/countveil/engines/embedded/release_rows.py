"""The rows of a release as they are stored, and how they are stored: what an adversary looks at.

Enters: the folder and files of a release. Leaves: columns as codes in the stored order; facts about
the files. Must not know: the publisher's side, attacks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from countveil.engines.embedded.plain import to_numpy
from countveil.errors import ReleaseError
from countveil.release.domain import python_values

_ZSTD = b"\x28\xb5\x2f\xfd"


@dataclass(frozen=True, slots=True)
class StoredColumn:
    """A column's rows in the stored order: `values[codes[i]]`."""

    values: Sequence[Any]
    codes: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RowGroup:
    """A part of a data file: its rows, and the bytes that each column takes."""

    file: str
    rows: int
    bytes: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class FileNotes:
    """What stands in the files beside the rows.

    `dictionaries` has, per column, the order of the values in each file that lists them.
    """

    row_groups: Sequence[RowGroup]
    statistics: int
    metadata: Sequence[str]
    dictionaries: Mapping[str, Sequence[Sequence[Any]]]


def stored_columns(folder: Path, files: Sequence[str], names: Sequence[str]) -> dict[str, Any]:
    """Those of the columns whose values can be told exactly, in the stored order."""
    tables = [_opened(folder / file).read(columns=list(names)) for file in files]
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


def file_notes(folder: Path, files: Sequence[str], texts: Sequence[str]) -> FileNotes:
    """What stands in the files beside the rows; `texts` are the columns with dictionaries."""
    groups, statistics, metadata = [], 0, []
    dictionaries: dict[str, list[Sequence[Any]]] = {name: [] for name in texts}
    for file in files:
        opened = _opened(folder / file)
        meta = opened.metadata
        metadata += [key.decode() for key in meta.metadata or {} if key != b"ARROW:schema"]
        schema = opened.schema_arrow
        if schema.metadata:
            metadata += [key.decode() for key in schema.metadata]
        for number in range(meta.num_row_groups):
            group = meta.row_group(number)
            chunks = [group.column(place) for place in range(group.num_columns)]
            statistics += sum(chunk.is_stats_set or chunk.has_column_index for chunk in chunks)
            sizes = {chunk.path_in_schema: chunk.total_compressed_size for chunk in chunks}
            groups.append(RowGroup(file, group.num_rows, sizes))
        listed = pq.ParquetFile(folder / file, read_dictionary=list(texts))
        for number in range(listed.num_row_groups):
            table = listed.read_row_group(number, columns=list(texts))
            for name in texts:
                for chunk in table[name].chunks:
                    if pa.types.is_dictionary(chunk.type):
                        dictionaries[name].append(chunk.dictionary.to_pylist())
    return FileNotes(groups, statistics, metadata, dictionaries)


def everything_in(folder: Path) -> bytes:
    """All bytes of a release, as stored and decompressed, with the names of its files."""
    pieces = []
    for path in sorted(folder.rglob("*")):
        pieces.append(path.relative_to(folder).as_posix().encode())
        if path.is_file():
            content = path.read_bytes()
            pieces += [content, *_frames(content)]
    return b"\n".join(pieces)


def _frames(content: bytes) -> Iterator[bytes]:
    """Every Zstandard frame in these bytes, decompressed: each page of a data file is one."""
    at = content.find(_ZSTD)
    while at >= 0:
        size = _frame_size(content, at)
        stream = pa.CompressedInputStream(pa.BufferReader(memoryview(content)[at:]), "zstd")
        try:
            found = stream.read(size)
        except OSError:
            found = b""  # four bytes that only look like the start of a frame
        yield found
        at = content.find(_ZSTD, at + 4)


def _frame_size(content: bytes, at: int) -> int:
    descriptor = content[at + 4] if at + 4 < len(content) else 0
    single, flag = descriptor >> 5 & 1, descriptor >> 6
    width = (1 if single else 0, 2, 4, 8)[flag]
    start = at + 5 + (1 - single) + (0, 1, 2, 4)[descriptor & 3]
    size = int.from_bytes(content[start : start + width], "little") + (256 if width == 2 else 0)
    # A frame that claims more than any page holds is none.
    return size if size <= 1 << 30 else 0


def _opened(path: Path) -> Any:
    try:
        return pq.ParquetFile(path)
    except (OSError, pa.ArrowInvalid) as error:
        raise ReleaseError(
            f"{path.name} of the release cannot be read. 'countveil verify' says what is wrong."
        ) from error
