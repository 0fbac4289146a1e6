"""Any source as blocks of encoded columns.

Enters: a source description. Leaves: blocks without metadata or hidden values. Must not know: what
the columns are for.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from countveil.errors import InputError, SettingsError
from countveil.tables import DatabaseSource, FileSource, FrameSource, Reading, Source
from countveil.tables.readers.blocks import Blocks
from countveil.tables.storage.memory import KeptColumns

if TYPE_CHECKING:
    import pyarrow as pa


def open_blocks(source: Source, reading: Reading, kept: KeptColumns) -> Blocks:
    """All rows of a source. Parquet and Arrow files are read when their rows are wanted.

    What can be read only once, or is slow to read, is kept in `kept`.
    """
    given = reading.csv.given
    if given and not (isinstance(source, FileSource) and source.format == "csv"):
        raise SettingsError(f"{given[0]} is for CSV files, and this table is not one.")
    if isinstance(source, FrameSource):
        from countveil.tables.readers.frames import open_object

        return open_object(source.frame, reading, kept)
    if isinstance(source, DatabaseSource):
        from countveil.tables.readers.streams import StreamBlocks

        with _database(source, kept.most_bytes) as (schema, batches):
            return StreamBlocks(schema, batches, reading, kept)
    try:
        return _open_files(source, reading, kept)
    except PermissionError as error:
        raise InputError(f"No permission to read {error.filename or source.paths[0]}.") from error


def _open_files(source: FileSource, reading: Reading, kept: KeptColumns) -> Blocks:
    if source.format == "parquet":
        from countveil.tables.readers.parquet import ParquetBlocks

        return ParquetBlocks(source.paths, reading.missing)
    if source.format == "csv":
        from countveil.tables.readers.csv.reader import open_csv_files

        return open_csv_files(source.paths, reading, kept)
    if source.format == "stat":
        from countveil.tables.readers.statistical import open_stat_file

        return open_stat_file(source.paths, reading, kept)
    if source.format == "arrow":
        from countveil.tables.readers.arrow import open_arrow_files

        return open_arrow_files(source.paths, reading.missing)
    from countveil.tables.readers.excel import open_workbooks

    return open_workbooks(source.paths, source.sheet, reading.missing)


def _database(
    source: DatabaseSource, most_bytes: int
) -> AbstractContextManager[tuple[pa.Schema, Iterator[pa.RecordBatch]]]:
    """The schema and the batches of a table or query, while the database is open."""
    if source.kind == "sqlite":
        from countveil.tables.readers.sqlite import sqlite_batches

        return sqlite_batches(source)
    if source.kind == "postgresql":
        from countveil.tables.readers.postgres import postgres_batches

        return postgres_batches(source)
    from countveil.tables.readers.duckdb import duckdb_batches

    return duckdb_batches(source, most_bytes)
