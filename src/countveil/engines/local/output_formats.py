"""Data files in another format, or cut into other sizes.

Enters: the Parquet files of a release in the making. Leaves: the same rows in the same order in
files of the wished format; the Parquet files are gone. Must not know: what the rows say.

Nothing but names and rows is written: no metadata and no time.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from countveil.engines.contract import WrittenFile
from countveil.engines.local.release_rows import parquet_rows
from countveil.errors import SettingsError
from countveil.release.formats.data_files import ENDINGS
from countveil.release.formats.stata_spss import SPSS, STATA, write_dataset
from countveil.release.values import ARROW, CSV_GZ, PARQUET

MOST_FILES = 10_000


def rewrite(
    written: Sequence[WrittenFile], output_format: str, rows_per_file: int | None
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
    waiting = schema.empty_table()
    while True:
        wanted = sizes.pop(0) if sizes else rows_per_file or 0
        path = folder / f"part-{len(done):05d}.{ENDINGS[output_format]}"
        file, waiting = _write(path, output_format, schema, wanted, waiting, rows)
        done.append(file)
        if not waiting.num_rows:
            coming = next(rows, None)
            if coming is None:
                break
            waiting = coming
    for path in aside:
        path.unlink()
    return done


def _write(
    path: Path, output_format: str, schema: Any, wanted: int, waiting: Any, rows: Iterator[Any]
) -> tuple[WrittenFile, Any]:
    """One file with so many rows, and what is left of the part that was begun."""
    count = 0
    with _writer(path, output_format, schema) as writer:
        while count < wanted:
            if not waiting.num_rows:
                coming = next(rows, None)
                if coming is None:
                    break
                waiting = coming
            some = waiting.slice(0, wanted - count)
            waiting = waiting.slice(some.num_rows)
            writer.write_table(some)
            count += some.num_rows
    return WrittenFile(path, count), waiting


@contextlib.contextmanager
def _writer(path: Path, output_format: str, schema: Any) -> Iterator[Any]:
    if output_format in (STATA, SPSS):
        held = _Held(schema)
        yield held
        write_dataset(pa.concat_tables(held.parts), path, output_format)
        return
    with path.open("wb") as raw, _streamed(raw, output_format, schema) as writer:
        yield writer


class _Held:
    """Rows that are written at once: these formats say first how many there are."""

    def __init__(self, schema: Any) -> None:
        self.parts = [schema.empty_table()]
        self.write_table = self.parts.append


def _streamed(raw: Any, output_format: str, schema: Any) -> Any:
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

    def __init__(self, raw: Any, schema: Any, quoted: Any) -> None:
        from pyarrow import csv

        self._stream = pa.CompressedOutputStream(raw, "gzip")
        self._writer = csv.CSVWriter(self._stream, schema, write_options=quoted)
        self.write_table = self._writer.write_table

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._writer.close()
        self._stream.close()
