"""Arrow columns with nothing but their rows.

Enters: arrays as a source has them. Leaves: arrays without metadata, unused dictionary entries or
types that a Parquet file would not give back. Must not know: what the columns are for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from countveil.tables.encoded.encoding import decoded, is_text, text_array, values_of


def plain_table(table: pa.Table, missing: Sequence[str] = ()) -> pa.Table:
    """Strip everything that could carry more than the rows."""
    columns = [_plain_column(column, missing) for column in table.columns]
    fields = [
        pa.field(name, column.type)
        for name, column in zip(table.column_names, columns, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """The schema that `plain_array` gives."""
    return pa.schema([pa.field(field.name, storable(values_of(field.type))) for field in schema])


def plain_array(array: pa.Array[Any], missing: Sequence[str] = ()) -> pa.Array[Any]:
    """An array as it can be published; text may keep its dictionary.

    Texts in `missing` become null.
    """
    kind = array.type
    if isinstance(array, pa.DictionaryArray):
        if pa.types.is_string(kind.value_type) and pa.types.is_int32(kind.index_type):
            return _without_missing(array, missing)
        values = array.dictionary.cast(storable(kind.value_type))
        return _without_missing(values.take(array.indices), missing)
    if pa.types.is_run_end_encoded(kind):
        array = pc.run_end_decode(array)
    return _without_missing(array.cast(storable(array.type)), missing)


def storable(kind: pa.DataType) -> pa.DataType:
    """The type that a Parquet file gives back for values of this type."""
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


def _without_missing(array: pa.Array[Any], missing: Sequence[str]) -> pa.Array[Any]:
    if not missing or not is_text(array.type):
        return array
    texts = text_array(missing)
    if not isinstance(array, pa.DictionaryArray):
        known: pa.Array[Any] = pc.if_else(pc.is_in(array, texts), _null(pa.string()), array)
        return known
    gone = pc.is_in(array.dictionary, texts)
    hidden = pc.fill_null(gone.take(array.indices), fill_value=False)
    indices = pc.if_else(hidden, _null(array.indices.type), array.indices)
    return pa.DictionaryArray.from_arrays(indices, array.dictionary)


def _null(kind: Any) -> Any:
    # Not pa.scalar, which would import pandas. Any: the stubs of `nulls` list types one by one.
    return pa.nulls(1, kind)[0]


def _plain_column(column: pa.ChunkedArray[Any], missing: Sequence[str]) -> pa.ChunkedArray[Any]:
    kind = column.type
    # Any: the stubs of `chunked_array` list types one by one.
    target: Any = storable(values_of(kind))
    try:
        return pa.chunked_array([decoded(plain_array(c, missing)) for c in column.chunks], target)
    except pa.ArrowInvalid:
        # More than 2 GB of text in one chunk.
        return column.cast(pa.large_string())
