"""Arrow columns with nothing but their rows.

Enters: arrays as a source has them. Leaves: arrays without metadata, unused dictionary entries or
types that a Parquet file would not give back. Must not know: what the columns are for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray


def from_numpy(
    values: NDArray[Any], missing: NDArray[np.bool_] | None = None, kind: pa.DataType | None = None
) -> pa.Array[Any]:
    """An Arrow array of these values, or of values of `kind` with the same bits.

    Arrow's constructor would import pandas first, which takes longer than publishing a small table.
    """
    kind = pa.from_numpy_dtype(values.dtype) if kind is None else kind
    bits = np.packbits(values, bitorder="little") if pa.types.is_boolean(kind) else values
    valid = None if missing is None else _buffer(np.packbits(~missing, bitorder="little"))
    return pa.Array.from_buffers(kind, values.size, [valid, _buffer(bits)])


def text_array(texts: Sequence[str | None]) -> pa.Array[Any]:
    """An Arrow array of texts; see `from_numpy`."""
    encoded = [b"" if text is None else text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    missing = np.array([text is None for text in texts], np.bool_)
    valid = _buffer(np.packbits(~missing, bitorder="little")) if missing.any() else None
    content = [valid, _buffer(ends), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(encoded), content)


def to_numpy(array: pa.Array[Any], fill: int = 0) -> NDArray[Any]:
    """The bits of an array as whole numbers, `fill` where a value is missing; see `from_numpy`."""
    size, start, kind = len(array), array.offset, array.type
    values: NDArray[Any]
    # For mypy, Arrow's buffers are not what NumPy takes.
    buffer: Any = array.buffers()[1]
    missing = missing_rows(array)
    if pa.types.is_boolean(kind):
        raw = np.frombuffer(buffer, np.uint8) if buffer is not None else np.zeros(0, np.uint8)
        values = np.unpackbits(raw, bitorder="little")[start : start + size].astype(np.int8)
    else:
        dtype = np.dtype(f"{'u' if kind == pa.uint64() else 'i'}{kind.bit_width // 8}")
        raw = np.frombuffer(buffer, dtype) if buffer is not None else np.zeros(0, dtype)
        values = raw[start : start + size]
    if missing is not None:
        # What memory has in place of a missing value must not be passed on.
        values = np.where(missing, values.dtype.type(fill), values)
    return values


def missing_rows(array: pa.Array[Any]) -> NDArray[np.bool_] | None:
    """Which rows have no value; None if all have one."""
    if not array.null_count:
        return None
    valid: Any = array.buffers()[0]
    bits = np.unpackbits(np.frombuffer(valid, np.uint8), bitorder="little")
    missing: NDArray[np.bool_] = bits[array.offset : array.offset + len(array)] == 0
    return missing


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
    return pa.schema([pa.field(field.name, storable(_values_of(field.type))) for field in schema])


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


def decoded(array: pa.Array[Any]) -> pa.Array[Any]:
    """An array without a dictionary."""
    if isinstance(array, pa.DictionaryArray):
        return array.dictionary.take(array.indices)
    return array


def is_text(kind: pa.DataType) -> bool:
    """Whether values of this type are texts, in a dictionary or not."""
    return bool(pa.types.is_string(_values_of(kind)))


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


def _buffer(values: NDArray[Any]) -> pa.Buffer:
    # For mypy, NumPy's arrays are buffers only from Python 3.12 on.
    return pa.py_buffer(values)  # type: ignore[arg-type]


def _values_of(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        kind = kind.value_type
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
    target: Any = storable(_values_of(kind))
    try:
        return pa.chunked_array([decoded(plain_array(c, missing)) for c in column.chunks], target)
    except pa.ArrowInvalid:
        # More than 2 GB of text in one chunk.
        return column.cast(pa.large_string())
