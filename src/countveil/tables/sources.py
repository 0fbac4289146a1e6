"""Where the table lives, in which format, and which reader opens it.

Enters: a path, a folder, a glob, a database, or an object in memory. Leaves: a `FileSource`, a
`DatabaseSource` or a `FrameSource`, for which only names are looked at; then its rows, as blocks
without metadata or hidden values. Must not know: the content, what the columns are for.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from countveil.errors import CountveilError, InputError, SettingsError, nearest, option
from countveil.system.address import (
    DATABASES,
    DatabaseAddress,
    parse_address,
    refuse_url,
    split_sheet,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from countveil.tables.options import Reading
    from countveil.tables.readers.blocks import Blocks
    from countveil.tables.readers.patience import Patience
    from countveil.tables.storage.memory import KeptColumns

_CSV, _PACKED = (".csv", ".tsv", ".txt", ".tab"), (".gz", ".zst", ".zip")
_FORMATS = {
    "csv": (*_CSV, *(ending + packed for ending in _CSV for packed in _PACKED), ".zip"),
    "parquet": (".parquet", ".pq"),
    "arrow": (".arrow", ".feather", ".ipc"),
    "stat": (".sav", ".zsav", ".por", ".dta", ".sas7bdat", ".xpt"),
    "excel": (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"),
}
SUPPORTED = (
    "CSV (.csv, .tsv, .txt, also .gz, .zst or .zip), Parquet (.parquet), Arrow or Feather "
    "(.arrow), SPSS (.sav), Stata (.dta), SAS (.sas7bdat, .xpt), Excel (.xlsx, .xls, .ods)"
)


@dataclass(frozen=True, slots=True)
class FileSource:
    """One or several files of one format; for workbooks, perhaps a sheet."""

    paths: tuple[Path, ...]
    format: str
    sheet: str | None = None


@dataclass(frozen=True, slots=True)
class FrameSource:
    """A table in memory: pandas, Polars, Arrow, DuckDB, or anything that exports Arrow."""

    frame: Any


@dataclass(frozen=True, slots=True)
class DatabaseSource(DatabaseAddress):
    """A table in a database, or the result of a query there.

    Without a table and without a query the database must have a single table.
    """

    query: str | None = None


Source = FileSource | FrameSource | DatabaseSource
_JOURNALS = ("-wal", "-shm", "-journal", ".wal")
_EXPORTS = ("__arrow_c_stream__", "__arrow_c_array__")


def describe_source(table: object, query: str | None = None) -> Source:
    """Describe what was given; a `query` is for a database."""
    if isinstance(table, str):
        address = parse_address(table, InputError)
        if address is not None:
            return _describe_database(address, query)
        refuse_url(table)
    if query is not None:
        raise SettingsError(f"{option('query')} is for a table in a database: {DATABASES}.")
    if isinstance(table, str | os.PathLike):
        return _describe_path(os.fspath(table))
    if type(table).__name__ == "Series":
        raise InputError(
            "A Series is one column, not a table. Make a data frame of it, with to_frame()."
        )
    if is_pandas(table) or is_polars_plan(table) or any(hasattr(table, way) for way in _EXPORTS):
        return FrameSource(table)
    if type(table).__module__.split(".")[0] == "pyarrow" and hasattr(table, "to_batches"):
        return FrameSource(table)
    raise InputError(
        f"Cannot read a table from a {type(table).__name__}. What works: a path, folder or glob, "
        f"{DATABASES}, a pandas or Polars data frame, an Arrow table, reader or dataset, a DuckDB "
        f"relation, or anything else that exports Arrow."
    )


def input_files(table: object) -> list[Path]:
    """The files and folders that a table is read from, as far as its name says; else none.

    They are never to be written to. What is wrong with the name is said when the table is read.
    """
    if not isinstance(table, str | os.PathLike):
        # A dataset of Arrow knows its files. (Of other frames any name may be a column.)
        frame = is_spark_frame(table) or is_dask_frame(table)
        files = () if frame else getattr(table, "files", ())
        return [Path(file) for file in files if isinstance(file, str)]
    name = os.fsdecode(table).removeprefix("file://")
    try:
        address = parse_address(name)
        if address is not None:
            journals = [Path(address.place + ending) for ending in _JOURNALS]
            return [Path(address.place), *filter(Path.exists, journals)]
        files = list(_find_files(name).paths)
        return [Path(name), *files] if os.path.isdir(name) else files  # noqa: PTH112
    except (CountveilError, OSError, ValueError):
        return [Path(name)] if os.path.isfile(name) else []  # noqa: PTH113 - never raises


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
        from countveil.tables.readers.patience import Patience
        from countveil.tables.readers.streams import StreamBlocks

        waiting = Patience(source, reading.timeout, reading.progress)
        with _database(source, kept.most_bytes, waiting) as (schema, batches):
            return StreamBlocks(schema, batches, reading, kept)
    try:
        return _open_files(source, reading, kept)
    except PermissionError as error:
        raise InputError(f"No permission to read {error.filename or source.paths[0]}.") from error


def is_polars_plan(table: object) -> bool:
    """Whether this is a lazy frame of Polars; without importing Polars."""
    kind = type(table)
    return kind.__name__ == "LazyFrame" and kind.__module__.split(".")[0] == "polars"


def is_pandas(table: object) -> bool:
    """Whether this is a pandas data frame; without importing pandas."""
    kind = type(table)
    return kind.__name__ == "DataFrame" and kind.__module__.split(".")[0] == "pandas"


def is_spark_frame(table: object) -> bool:
    """Whether this is a data frame of Spark; without importing Spark."""
    kind = type(table)
    return kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.sql")


def is_dask_frame(table: object) -> bool:
    """Whether this is a data frame of Dask; without importing Dask."""
    kind = type(table)
    return kind.__name__ == "DataFrame" and kind.__module__.startswith("dask.dataframe")


def _describe_database(address: DatabaseAddress, query: str | None) -> DatabaseSource:
    if query is not None and address.table:
        raise SettingsError(
            f"Both a table (after #) and {option('query')} are given. Leave one of them out."
        )
    # The query becomes part of a larger statement, where a semicolon at its end would be an error.
    query = None if query is None else query.rstrip().rstrip(";")
    return DatabaseSource(address.kind, address.place, address.table, query)


def _describe_path(text: str | bytes) -> FileSource:
    name = os.fsdecode(text)
    if not name:
        raise InputError("The input is an empty text. Name a file: " + SUPPORTED + ".")
    try:
        name.encode()
        return _find_files(name)
    except UnicodeEncodeError as error:
        raise InputError("The name of the input file is not valid text. Rename it.") from error
    except PermissionError as error:
        raise InputError(f"No permission to read {name}.") from error
    except (OSError, ValueError) as error:
        raise InputError(f"{name} cannot be the name of a file.") from error


def _find_files(name: str) -> FileSource:
    name, sheet = split_sheet(name, _FORMATS["excel"])
    path = Path(name)
    if path.is_dir():
        paths = _files_in(path)
    elif path.exists():
        paths = [path]
    elif glob.has_magic(name):
        paths = sorted(map(Path, glob.glob(name, recursive=True)))  # noqa: PTH207
        if not paths:
            raise InputError(f"No file matches {name}.")
    else:
        raise InputError(f"There is no file {name}. {_near_files(path)}".rstrip())
    special = [path for path in paths if not path.is_file()]
    if special:
        raise InputError(f"{special[0]} is not a regular file: a folder, a pipe or a device.")
    formats = {_format_of(path) for path in paths}
    if len(formats) > 1:
        raise InputError(
            f"{name} holds files of different formats: {', '.join(sorted(formats))}. Name those of "
            f"one format with a pattern, such as '*.parquet'."
        )
    return FileSource(tuple(paths), formats.pop(), sheet)


def _files_in(folder: Path) -> list[Path]:
    """All files of a folder except hidden ones; folders in it are refused."""
    entries = [entry for entry in sorted(folder.iterdir()) if entry.name[0] not in "._"]
    if (folder / "manifest.json").exists():
        raise InputError(f"{folder} is a release, which is published already.")
    deeper = [entry.name for entry in entries if entry.is_dir()]
    if deeper:
        raise InputError(
            f"{folder} has folders in it, such as {deeper[0]!r}. Name the files with a pattern, "
            f"such as '{folder / '**' / '*.parquet'}'; values that are only in the names of "
            f"folders are not read."
        )
    if not entries:
        raise InputError(f"The folder {folder} is empty. What works in it: {SUPPORTED}.")
    return entries


def _format_of(path: Path) -> str:
    lower = path.name.lower()
    for name, endings in _FORMATS.items():
        if lower.endswith(endings):
            return name
    raise InputError(f"The format of {path} is not clear from its ending. What works: {SUPPORTED}.")


def _near_files(path: Path) -> str:
    try:
        names = [entry.name for entry in path.parent.iterdir() if entry.is_file()]
    except OSError:
        return f"The folder {path.parent} does not exist or cannot be read."
    hint = nearest(path.name, names)
    return hint if hint.startswith("Did you mean") else ""


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
    source: DatabaseSource, most_bytes: int, waiting: Patience
) -> AbstractContextManager[tuple[pa.Schema, Iterator[pa.RecordBatch]]]:
    """The schema and the batches of a table or query, while the database is open."""
    if source.kind == "sqlite":
        from countveil.tables.readers.sqlite import sqlite_batches

        return sqlite_batches(source, waiting)
    if source.kind == "postgresql":
        from countveil.tables.readers.postgres import postgres_batches

        return postgres_batches(source, waiting)
    from countveil.tables.readers.duckdb import duckdb_batches

    return duckdb_batches(source, most_bytes, waiting)
