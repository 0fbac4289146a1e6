"""Data files in another format, or cut into other sizes.

Enters: the Parquet files of a release in the making. Leaves: the same rows in the same order in
files of the chosen format, each read back; the Parquet files are gone. Must not know: what the rows
say.

Nothing but names and rows is written, in files of Stata and SPSS also the labels that the manifest
lists: no other metadata and no time.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from countveil.engines.local.release_rows import parquet_rows
from countveil.errors import SettingsError
from countveil.release.draft import WrittenFile
from countveil.release.formats.data_files import ENDINGS
from countveil.release.formats.read_back import check_dataset, check_rows
from countveil.release.formats.stata_spss import SPSS, STATA, StoredLabels, write_dataset
from countveil.release.formats.stored_labels import stored_labels
from countveil.release.manifest import Manifest
from countveil.release.values import ARROW, CSV_GZ, PARQUET

MOST_FILES = 10_000


def in_format(
    written: Sequence[WrittenFile],
    manifest: Manifest,
    output_format: str,
    rows_per_file: int | None,
) -> list[WrittenFile]:
    """The rows of a release in another format, with the labels of its manifest."""
    return rewrite(written, output_format, rows_per_file, stored_labels(manifest, output_format))


def rewrite(
    written: Sequence[WrittenFile],
    output_format: str,
    rows_per_file: int | None,
    labels: StoredLabels | None = None,
) -> list[WrittenFile]:
    """The same rows in another format; `rows_per_file` of them in every file but the last."""
    rows_in_all = sum(file.rows for file in written)
    if rows_per_file is not None and rows_in_all > MOST_FILES * rows_per_file:
        raise SettingsError(
            f"{rows_in_all:,} rows with {rows_per_file:,} in each file are more than "
            f"{MOST_FILES:,} files. Put more rows into a file."
        )
    folder = written[0].path.parent
    schema = pq.read_schema(written[0].path).remove_metadata()
    sizes = None if rows_per_file is not None else [file.rows for file in written]
    aside = [file.path.rename(file.path.with_suffix(".aside")) for file in written]
    rows = parquet_rows(aside)
    done: list[WrittenFile] = []
    rest = schema.empty_table()
    while True:
        wanted = sizes.pop(0) if sizes else rows_per_file or 0
        path = folder / f"part-{len(done):05d}.{ENDINGS[output_format]}"
        with _writer(path, output_format, schema, labels) as writer:
            count, rest = _write(writer, wanted, rest, rows)
        if output_format not in (STATA, SPSS):
            check_rows(path, count, schema)
        done.append(WrittenFile(path, count))
        if not rest.num_rows:
            following = next(rows, None)
            if following is None:
                break
            rest = following
    for path in aside:
        path.unlink()
    return done


def _write(
    writer: Any, wanted: int, rest: pa.Table, rows: Iterator[pa.Table]
) -> tuple[int, pa.Table]:
    """Write so many rows; how many there were, and what is left of the table that was begun."""
    count = 0
    while count < wanted:
        if not rest.num_rows:
            following = next(rows, None)
            if following is None:
                break
            rest = following
        some = rest.slice(0, wanted - count)
        rest = rest.slice(some.num_rows)
        writer.write_table(some)
        count += some.num_rows
    return count, rest


@contextlib.contextmanager
def _writer(
    path: Path, output_format: str, schema: pa.Schema, labels: StoredLabels | None
) -> Iterator[Any]:
    if output_format in (STATA, SPSS):
        collected = _CollectedRows(schema)
        yield collected
        table, stored = pa.concat_tables(collected.tables), labels or StoredLabels()
        write_dataset(table, path, output_format, stored)
        check_dataset(path, table, output_format, stored)
        return
    with path.open("wb") as raw, _streamed(raw, output_format, schema) as writer:
        yield writer


class _CollectedRows:
    """Rows that are written at once: these formats state first how many there are."""

    def __init__(self, schema: pa.Schema) -> None:
        self.tables = [schema.empty_table()]
        self.write_table = self.tables.append


def _streamed(raw: Any, output_format: str, schema: pa.Schema) -> Any:
    from pyarrow import csv

    if output_format == PARQUET:
        return pq.ParquetWriter(
            raw, schema, compression="zstd", write_statistics=False, version="2.6"
        )
    if output_format == ARROW:
        return pa.ipc.new_file(raw, schema, options=pa.ipc.IpcWriteOptions(compression="zstd"))
    # Only what is there is quoted, so that an empty text differs from a missing one.
    quoted = csv.WriteOptions(quoting_style="all_valid")
    if output_format == CSV_GZ:
        return _Compressed(raw, schema, quoted)
    return csv.CSVWriter(raw, schema, write_options=quoted)


class _Compressed:
    """A CSV through gzip, whose header holds neither a name nor a time."""

    def __init__(self, raw: Any, schema: pa.Schema, quoted: Any) -> None:
        from pyarrow import csv

        self._stream = pa.CompressedOutputStream(raw, "gzip")
        self._writer = csv.CSVWriter(self._stream, schema, write_options=quoted)
        self.write_table = self._writer.write_table

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._writer.close()
        self._stream.close()
