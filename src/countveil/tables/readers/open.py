"""Any source as blocks of encoded columns.

Enters: a source description. Leaves: blocks without metadata or hidden values. Must not know: what
the columns are for.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

from countveil.errors import InputError, SettingsError
from countveil.tables import PLAIN_CSV, CsvStyle, DatabaseSource, FileSource, FrameSource, Source
from countveil.tables.progress import Progress
from countveil.tables.readers.blocks import Blocks
from countveil.tables.storage.kept import KeptColumns


def open_blocks(
    source: Source,
    missing: Sequence[str],
    kept: KeptColumns,
    progress: Progress | None = None,
    csv: CsvStyle = PLAIN_CSV,
) -> Blocks:
    """The rows of a source. Parquet and Arrow files are read when their rows are wanted.

    Texts in `missing` mean a missing value. What is read only once is kept in `kept`.
    """
    if csv.said and not (isinstance(source, FileSource) and source.format == "csv"):
        raise SettingsError(f"{csv.said[0]} is for CSV files, and this table is not one.")
    if isinstance(source, FrameSource):
        from countveil.tables.readers.frames import open_object

        return open_object(source.frame, missing, kept, progress)
    if isinstance(source, DatabaseSource):
        from countveil.tables.readers.streams import StreamBlocks

        with _database(source, kept.most_bytes) as (schema, batches):
            return StreamBlocks(schema, batches, kept, missing=missing, progress=progress)
    try:
        return _open_files(source, missing, kept, progress, csv)
    except PermissionError as error:
        raise InputError(f"No permission to read {error.filename or source.paths[0]}.") from error


def _open_files(
    source: FileSource,
    missing: Sequence[str],
    kept: KeptColumns,
    progress: Progress | None,
    csv: CsvStyle,
) -> Blocks:
    if source.format == "parquet":
        from countveil.tables.readers.parquet import ParquetBlocks

        return ParquetBlocks(source.paths, missing)
    if source.format == "csv":
        from countveil.tables.readers.csv.reader import open_csv_files

        return open_csv_files(source.paths, missing, kept, progress, csv)
    if source.format == "stat":
        from countveil.tables.readers.statistical import open_stat_file

        return open_stat_file(source.paths, missing, kept, progress)
    if source.format == "arrow":
        from countveil.tables.readers.arrow import open_arrow_files

        return open_arrow_files(source.paths, missing)
    from countveil.tables.readers.excel import open_workbooks

    return open_workbooks(source.paths, source.sheet, missing)


def _database(source: DatabaseSource, most_bytes: int) -> AbstractContextManager[Any]:
    """The schema and the batches of a table or query, while the database is open."""
    if source.kind == "sqlite":
        from countveil.tables.readers.sqlite import sqlite_batches

        return sqlite_batches(source)
    if source.kind == "postgresql":
        from countveil.tables.readers.postgres import postgres_batches

        return postgres_batches(source)
    from countveil.tables.readers.duckdb import duckdb_batches

    return duckdb_batches(source, most_bytes)
