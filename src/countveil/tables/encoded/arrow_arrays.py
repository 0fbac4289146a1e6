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
    values: NDArray[Any], missing: NDArray[np.bool_] | None = None, kind: Any = None
) -> Any:
    """An Arrow array of these values, or of values of `kind` with the same bits.

    Arrow's constructor would import pandas first, which takes longer than publishing a small table.
    """
    kind = pa.from_numpy_dtype(values.dtype) if kind is None else kind
    bits = np.packbits(values, bitorder="little") if pa.types.is_boolean(kind) else values
    valid = None if missing is None else pa.py_buffer(np.packbits(~missing, bitorder="little"))
    return pa.Array.from_buffers(kind, values.size, [valid, pa.py_buffer(bits)])


def text_array(texts: Sequence[str | None]) -> Any:
    """An Arrow array of texts; see `from_numpy`."""
    encoded = [b"" if text is None else text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    missing = np.array([text is None for text in texts], np.bool_)
    valid = pa.py_buffer(np.packbits(~missing, bitorder="little")) if missing.any() else None
    content = [valid, pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(encoded), content)


def to_numpy(array: Any, fill: int = 0) -> NDArray[Any]:
    """The bits of an array as whole numbers, `fill` where a value is missing; see `from_numpy`."""
    size, start, kind = len(array), array.offset, array.type
    values: NDArray[Any]
    buffer = array.buffers()[1]
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


def missing_rows(array: Any) -> NDArray[np.bool_] | None:
    """Which rows have no value; None if all have one."""
    if not array.null_count:
        return None
    bits = np.unpackbits(np.frombuffer(array.buffers()[0], np.uint8), bitorder="little")
    missing: NDArray[np.bool_] = bits[array.offset : array.offset + len(array)] == 0
    return missing


def plain_table(table: Any, missing: Sequence[str] = ()) -> Any:
    """Strip everything that could carry more than the rows."""
    columns = [_plain_column(column, missing) for column in table.columns]
    fields = [
        pa.field(name, column.type)
        for name, column in zip(table.column_names, columns, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def plain_schema(schema: Any) -> Any:
    """The schema that `plain_array` gives."""
    return pa.schema([pa.field(field.name, storable(_values_of(field.type))) for field in schema])


def plain_array(array: Any, missing: Sequence[str] = ()) -> Any:
    """An array as it can be published; text may keep its dictionary.

    Texts in `missing` become null.
    """
    kind = array.type
    if pa.types.is_dictionary(kind):
        if pa.types.is_string(kind.value_type) and pa.types.is_int32(kind.index_type):
            return _without_missing(array, missing)
        values = array.dictionary.cast(storable(kind.value_type))
        return _without_missing(values.take(array.indices), missing)
    if pa.types.is_run_end_encoded(kind):
        array = pc.run_end_decode(array)
    return _without_missing(array.cast(storable(array.type)), missing)


def decoded(array: Any) -> Any:
    """An array without a dictionary."""
    if pa.types.is_dictionary(array.type):
        return array.dictionary.take(array.indices)
    return array


def is_text(kind: Any) -> bool:
    """Whether values of this type are texts, in a dictionary or not."""
    return bool(pa.types.is_string(_values_of(kind)))


def storable(kind: Any) -> Any:
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


def _values_of(kind: Any) -> Any:
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return kind.value_type
    return kind


def _without_missing(array: Any, missing: Sequence[str]) -> Any:
    if not missing or not is_text(array.type):
        return array
    texts = text_array(missing)
    if not pa.types.is_dictionary(array.type):
        return pc.if_else(pc.is_in(array, texts), _null(pa.string()), array)
    gone = pc.is_in(array.dictionary, texts)
    hidden = pc.fill_null(gone.take(array.indices), fill_value=False)
    indices = pc.if_else(hidden, _null(array.indices.type), array.indices)
    return pa.DictionaryArray.from_arrays(indices, array.dictionary)


def _null(kind: Any) -> Any:
    # pa.scalar would import pandas.
    return pa.nulls(1, kind)[0]


def _plain_column(column: Any, missing: Sequence[str]) -> Any:
    kind = column.type
    target = storable(_values_of(kind))
    try:
        return pa.chunked_array([decoded(plain_array(c, missing)) for c in column.chunks], target)
    except pa.ArrowInvalid:
        # More than 2 GB of text in one chunk.
        return column.cast(pa.large_string())
