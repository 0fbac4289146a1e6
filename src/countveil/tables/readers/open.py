"""Any source as blocks of plain columns.

Enters: a source description. Leaves: blocks without metadata or hidden values. Must not know: what
the columns are for.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from countveil.errors import InputError, SettingsError
from countveil.tables import PLAIN_CSV, CsvStyle, DatabaseSource, FileSource, FrameSource, Source
from countveil.tables.encoded.arrow_arrays import plain_table
from countveil.tables.progress import Progress
from countveil.tables.readers.arrow import ArrowBlocks, has_list_of_batches
from countveil.tables.readers.blocks import Blocks, ParquetBlocks, TableBlocks
from countveil.tables.readers.csv.reader import Shelf
from countveil.tables.readers.csv.files import open_csv_files
from countveil.tables.readers.database import open_database
from countveil.tables.readers.frames import open_frame


def open_blocks(
    source: Source,
    missing: Sequence[str],
    shelf: Shelf,
    progress: Progress | None = None,
    csv: CsvStyle = PLAIN_CSV,
) -> Blocks:
    """The rows of a source. Parquet and Arrow files are read when they are wanted.

    Texts in `missing` mean a missing value. What a CSV holds is kept on the shelf.
    """
    if csv.said and not (isinstance(source, FileSource) and source.format == "csv"):
        raise SettingsError(f"{csv.said[0]} is about CSV files, and this table is none.")
    if isinstance(source, FrameSource):
        return open_frame(source.frame, missing, shelf, progress)
    if isinstance(source, DatabaseSource):
        return open_database(source, missing, shelf, progress)
    try:
        return _open_files(source, missing, shelf, progress, csv)
    except PermissionError as error:
        raise InputError(f"No permission to read {error.filename or source.paths[0]}.") from error


def _open_files(
    source: FileSource,
    missing: Sequence[str],
    shelf: Shelf,
    progress: Progress | None,
    csv: CsvStyle,
) -> Blocks:
    if source.format == "parquet":
        return ParquetBlocks(source.paths, missing)
    if source.format == "csv":
        return open_csv_files(source.paths, missing, shelf, progress, csv)
    if source.format == "stat":
        from countveil.tables.readers.statistical import open_stat_file

        return open_stat_file(source.paths, missing, shelf, progress)
    if source.format == "arrow" and all(map(has_list_of_batches, source.paths)):
        return ArrowBlocks(source.paths, missing)
    return TableBlocks(plain_table(_whole_table(source), missing))


def _whole_table(source: FileSource) -> pa.Table:
    if source.format == "arrow":
        return _from_arrow_files(source)
    from countveil.tables.readers.excel import read_workbooks

    return read_workbooks(source.paths, source.sheet)


def _from_arrow_files(source: FileSource) -> pa.Table:
    tables = [_read_arrow(path) for path in source.paths]
    first = tables[0].schema
    for path, table in zip(source.paths, tables, strict=True):
        if not table.schema.equals(first):
            raise InputError(f"{path} has other columns or types than {source.paths[0]}.")
    return pa.concat_tables(tables)


def _read_arrow(path: Path) -> pa.Table:
    from pyarrow import feather

    try:
        with path.open("rb") as file:
            return feather.read_table(file).replace_schema_metadata(None)
    except PermissionError:
        raise
    except (pa.ArrowException, OSError) as first:
        try:
            with path.open("rb") as file, pa.ipc.open_stream(file) as reader:
                return reader.read_all().replace_schema_metadata(None)
        except (pa.ArrowException, OSError):
            raise InputError(f"{path} is not a readable Arrow file: damaged or cut off.") from first
