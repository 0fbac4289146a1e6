"""The files of a release: what they hold besides the rows, and their times in the file system.

Enters: the folder and files of a release. Leaves: facts about the files, or all of their bytes.
Must not know: the publisher's side, attacks.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from countveil.engines.local.release_rows import open_parquet
from countveil.release import read_manifest
from countveil.release.formats.data_files import content_beside_rows
from countveil.release.formats.stata_spss import StoredLabels
from countveil.release.values import PARQUET, format_of
from countveil.tables.encoded.encoding import to_numpy

_ZSTD, _GZIP = b"\x28\xb5\x2f\xfd", b"\x1f\x8b\x08"
_SECOND = 10**9
_FOUND_AS_FRAMES = ("ZSTD", "UNCOMPRESSED")


@dataclass(frozen=True, slots=True)
class RowGroup:
    """A row group of a data file: its rows, and the bytes that each column takes."""

    file: str
    rows: int
    bytes: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class FileNotes:
    """What the files hold besides the rows.

    `disordered` names the columns with a dictionary that is neither in the order of its values nor
    in that of the stored rows; `unused` counts entries of dictionaries that no stored row has.
    """

    row_groups: Sequence[RowGroup]
    statistics: int
    metadata: Sequence[str]
    disordered: Sequence[str]
    unused: int


def file_notes(
    folder: Path,
    files: Sequence[str],
    texts: Sequence[str],
    names: Sequence[str] = (),
    labels: StoredLabels | None = None,
) -> FileNotes:
    """What the files hold besides the rows; `texts` are the columns with dictionaries.

    The `labels` that the manifest lists may be there. Only Parquet states how much room a column
    takes; in other files each of the columns `names` counts as taking all of it.
    """
    groups, statistics, metadata = [], 0, []
    dictionaries = {name: _Dictionaries() for name in texts}
    for file in files:
        if format_of(file) != PARQUET:
            groups.append(_one_group(folder, file, names))
            metadata += content_beside_rows(folder / file, labels)
            continue
        data = open_parquet(folder / file)
        metadata += _metadata(data)
        for number in range(data.metadata.num_row_groups):
            group = data.metadata.row_group(number)
            chunks = [group.column(place) for place in range(group.num_columns)]
            statistics += sum(chunk.is_stats_set or chunk.has_column_index for chunk in chunks)
            sizes = {chunk.path_in_schema: chunk.total_compressed_size for chunk in chunks}
            groups.append(RowGroup(file, group.num_rows, sizes))
        _read_dictionaries(folder / file, dictionaries)
    disordered = [name for name, entries in dictionaries.items() if entries.disordered]
    # An entry that no row of its row group has may have rows in another one.
    unused = sum(len(entries.spare - entries.used) for entries in dictionaries.values())
    return FileNotes(groups, statistics, metadata, disordered, unused)


@dataclass(slots=True)
class _Dictionaries:
    """Of all dictionaries of a column: entries with rows, entries of those that had spare ones."""

    used: set[Any] = field(default_factory=set)
    spare: set[Any] = field(default_factory=set)
    disordered: bool = False

    def add(self, chunk: pa.DictionaryArray[Any, Any]) -> None:
        in_order, used = _dictionary(chunk)
        values = chunk.dictionary
        self.used.update(values.take(pa.array(used)).to_pylist())
        if used.size < len(values):
            self.spare.update(values.to_pylist())
        self.disordered = self.disordered or not in_order


def _read_dictionaries(path: Path, dictionaries: Mapping[str, _Dictionaries]) -> None:
    data = pq.ParquetFile(path, read_dictionary=list(dictionaries))
    for number in range(data.num_row_groups):
        table = data.read_row_group(number, columns=list(dictionaries))
        for name, entries in dictionaries.items():
            for chunk in table[name].chunks:
                if pa.types.is_dictionary(chunk.type):
                    entries.add(chunk)


def _is_format(key: bytes, text: bytes, schema: pa.Schema) -> bool:
    """Whether a note is one of the format alone: columns by name and type, the writer's version."""
    if key == b"ARROW:schema":
        return True
    if key == b"org.apache.spark.version":
        return re.fullmatch(rb"[0-9][0-9.]{0,20}", text) is not None
    if key != b"org.apache.spark.sql.parquet.row.metadata":
        return False
    noted = json.loads(text)
    plain = {"name", "type", "nullable", "metadata"}
    return (
        set(noted) == {"type", "fields"}
        and [field["name"] for field in noted["fields"]] == schema.names
        and all(set(field) == plain and field["metadata"] == {} for field in noted["fields"])
        and all(isinstance(field["type"], str) for field in noted["fields"])
    )


def _metadata(data: Any) -> list[str]:
    schema = data.schema_arrow
    notes = [*(data.metadata.metadata or {}).items(), *(schema.metadata or {}).items()]
    names = [key.decode() for key, text in notes if not _is_format(key, text, schema)]
    for column in schema:
        keys = [key for key in column.metadata or {} if key != b"PARQUET:field_id"]
        names += [f"{column.name}: {key.decode()}" for key in keys]
    return names


def _one_group(folder: Path, file: str, names: Sequence[str]) -> RowGroup:
    rows = next(entry.rows for entry in read_manifest(folder).files if entry.path == file)
    size = (folder / file).stat().st_size
    return RowGroup(file, rows, dict.fromkeys(names, size))


def times_in(folder: Path) -> dict[str, int]:
    """The times of a release's folder and of every file and folder in it, in nanoseconds."""
    return {
        path.relative_to(folder).as_posix(): path.stat().st_mtime_ns
        for path in [folder, *sorted(folder.rglob("*"))]
    }


def times_of_source(paths: Iterable[Path]) -> list[int]:
    """The times of the source's files and of their folders that no release can have by chance.

    A file system may count whole seconds, and a source may be made in the second of its release.
    """
    times = []
    for path in {place for file in paths for place in (file, Path(os.path.realpath(file)).parent)}:
        status = path.stat()
        whole = status.st_mtime_ns % _SECOND == 0
        if not whole or status.st_ctime_ns - status.st_mtime_ns > 2 * _SECOND:
            times.append(status.st_mtime_ns)
    return times


def _dictionary(chunk: pa.DictionaryArray[Any, Any]) -> tuple[bool, NDArray[np.int64]]:
    """Whether its order reveals nothing that the rows do not; the entries that some row has."""
    values = [value for value in chunk.dictionary.to_pylist() if value is not None]
    used, first = np.unique(to_numpy(chunk.indices.drop_null()), return_index=True)
    appeared = bool(np.all(np.diff(first) > 0)) and used.size == len(chunk.dictionary)
    return values == sorted(values) or appeared, used.astype(np.int64)


def everything_in(folder: Path) -> bytes:
    """All bytes of a release, as stored and decompressed, with the names of its files."""
    contents = []
    for path in sorted(folder.rglob("*")):
        contents.append(path.relative_to(folder).as_posix().encode())
        if path.is_file():
            content = path.read_bytes()
            contents += [content, *_zstd_frames(content), *_gzip_members(content)]
            if content[:4] == b"PAR1":
                contents += _decoded(path)
    return b"\n".join(contents)


def _zstd_frames(content: bytes) -> Iterator[bytes]:
    """Every Zstandard frame in these bytes, decompressed: each page of a data file is one."""
    at = content.find(_ZSTD)
    while at >= 0:
        size = _frame_size(content, at)
        stream = pa.CompressedInputStream(pa.BufferReader(memoryview(content)[at:]), "zstd")
        try:
            frame = stream.read(size)
        except OSError:
            frame = b""  # four bytes that only look like the start of a frame
        yield frame
        at = content.find(_ZSTD, at + 4)


def _frame_size(content: bytes, at: int) -> int:
    descriptor = content[at + 4] if at + 4 < len(content) else 0
    single, flag = descriptor >> 5 & 1, descriptor >> 6
    width = (1 if single else 0, 2, 4, 8)[flag]
    start = at + 5 + (1 - single) + (0, 1, 2, 4)[descriptor & 3]
    size = int.from_bytes(content[start : start + width], "little") + (256 if width == 2 else 0)
    # No page has a frame that claims more than this.
    return size if size <= 1 << 30 else 0


def _gzip_members(content: bytes) -> Iterator[bytes]:
    """Every gzip member in these bytes, decompressed."""
    at = content.find(_GZIP)
    while at >= 0:
        try:
            yield zlib.decompressobj(wbits=31).decompress(content[at:], 1 << 30)
        except (zlib.error, gzip.BadGzipFile):
            yield b""  # three bytes that only look like the start of a member
        at = content.find(_GZIP, at + 3)


def _decoded(path: Path) -> list[bytes]:
    """Values and dictionaries of columns whose pages are compressed in a way without a mark."""
    try:
        file = pq.ParquetFile(path)
    except (OSError, pa.ArrowInvalid):
        return []
    groups = [file.metadata.row_group(number) for number in range(file.num_row_groups)]
    hidden = {
        group.column(place).path_in_schema.split(".")[0]
        for group in groups
        for place in range(group.num_columns)
        if group.column(place).compression not in _FOUND_AS_FRAMES
    }
    texts = [
        name for name in sorted(hidden) if pa.types.is_string(file.schema_arrow.field(name).type)
    ]
    listed = pq.ParquetFile(path, read_dictionary=texts)
    contents: list[bytes] = []
    for number in range(listed.num_row_groups):
        table = listed.read_row_group(number, columns=sorted(hidden))
        for chunk in (chunk for column in table.columns for chunk in column.chunks):
            values = chunk.dictionary if pa.types.is_dictionary(chunk.type) else chunk
            contents += [bytes(buffer) for buffer in values.buffers() if buffer is not None]
    return contents
