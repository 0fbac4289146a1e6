"""Any source as one Arrow table of plain columns.

Enters: a source description. Leaves: an Arrow table without metadata, dictionaries or hidden
values. Must not know: what the columns are for.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from countveil.engines.embedded.csv_files import read_csv_files
from countveil.errors import InputError
from countveil.source import FileSource, FrameSource, Source
from countveil.source.locate import is_pandas


def read_source(source: Source, missing: Sequence[str] = ()) -> pa.Table:
    """Read the whole table; the texts `missing` stand for missing values."""
    if isinstance(source, FrameSource):
        return _without(_plain(_from_frame(source.frame)), missing)
    table = _plain(_from_files(source, missing))
    # A CSV has had them taken out before its types were found.
    return table if source.format == "csv" else _without(table, missing)


def _without(table: pa.Table, missing: Sequence[str]) -> pa.Table:
    """The table with these texts made missing in its text columns."""
    if not missing:
        return table
    marks = pa.array(missing, pa.string())
    for place, field in enumerate(table.schema):
        if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
            column = table.column(place)
            is_mark = pc.is_in(column, marks.cast(field.type))
            emptied = pc.if_else(is_mark, pa.scalar(None, field.type), column)
            table = table.set_column(place, field, emptied)
    return table


def _from_files(source: FileSource, missing: Sequence[str]) -> pa.Table:
    try:
        if source.format == "csv":
            return read_csv_files(source.paths, missing)
        read = _read_parquet if source.format == "parquet" else _read_arrow
        tables = [read(path) for path in source.paths]
    except PermissionError as error:
        raise InputError(f"No permission to read {error.filename or source.paths[0]}.") from error
    first = tables[0].schema
    for path, table in zip(source.paths, tables, strict=True):
        if not table.schema.equals(first):
            raise InputError(f"{path} has other columns or types than {source.paths[0]}.")
    return pa.concat_tables(tables)


def _read_parquet(path: Path) -> pa.Table:
    try:
        with path.open("rb") as raw, pq.ParquetFile(raw) as file:
            return file.read().replace_schema_metadata(None)
    except PermissionError:
        raise
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path} is not a readable Parquet file: damaged or cut off.") from error


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


def _from_frame(frame: Any) -> pa.Table:
    if is_pandas(frame):
        _check_pandas(frame)
    if type(frame).__module__.split(".")[0] == "polars":
        _check_polars(frame)
    try:
        if is_pandas(frame):
            return pa.Table.from_pandas(frame, preserve_index=False)
        return pa.table(frame)
    except (pa.ArrowException, TypeError, ValueError):
        # The cause quotes a value of the table.
        raise InputError(
            "The data frame cannot be converted: a column mixes types. Give every column one type."
        ) from None


def _check_pandas(frame: Any) -> None:
    for name in frame.columns:
        if not isinstance(name, str):
            raise InputError(f"Column names must be text; the data frame has {name!r}.")
    if not frame.columns.is_unique:
        raise InputError("The data frame has a column name more than once. Rename the columns.")
    for name in frame.columns:
        try:
            pa.Array.from_pandas(frame[name])
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            raise InputError(
                f"Column {name!r} mixes types. Convert it to one type, for instance to text."
            ) from None


def _check_polars(frame: Any) -> None:
    for name, kind in getattr(frame, "schema", {}).items():
        if str(kind) == "Object":
            raise InputError(
                f"Column {name!r} holds Python objects, which cannot be published. Convert it to "
                f"text or numbers, or leave it out."
            )


def _plain(table: pa.Table) -> pa.Table:
    """Strip everything that could carry more than the rows: metadata, unused dictionary entries."""
    columns = [_plain_column(column) for column in table.columns]
    fields = [
        pa.field(name, column.type)
        for name, column in zip(table.column_names, columns, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def _plain_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = pa.chunked_array(
            [_decoded(chunk) for chunk in column.chunks], _storable(kind.value_type)
        )
    elif pa.types.is_run_end_encoded(kind):
        column = column.cast(kind.value_type)
    target = _storable(column.type)
    if column.type == target:
        return column
    try:
        return column.cast(target)
    except pa.ArrowInvalid:
        # More than 2 GB of text in one piece.
        return column.cast(pa.large_string())


def _decoded(chunk: pa.DictionaryArray) -> pa.Array:
    """Plain values; entries of the dictionary that no row uses are left behind."""
    values = chunk.dictionary.cast(_storable(chunk.dictionary.type))
    return values.take(chunk.indices)


def _storable(kind: pa.DataType) -> pa.DataType:
    """The type in which a Parquet file gives back what was put in."""
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_binary_view(kind):
        return pa.binary()
    if pa.types.is_date64(kind):
        return pa.date32()
    if pa.types.is_timestamp(kind) and kind.unit == "s":
        return pa.timestamp("ms", kind.tz)
    if pa.types.is_time32(kind) and kind.unit == "s":
        return pa.time32("ms")
    return kind
