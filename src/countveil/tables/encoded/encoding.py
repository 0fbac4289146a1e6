"""Some rows of a column in few bytes.

Enters: an Arrow array. Leaves: an encoded column: small numbers and what they stand for, or the
array itself where numbers would not be smaller. Must not know: other columns, other rows.

- `DictionaryColumn`: text, and whatever is protected, as codes into the values of these rows
- `NumberColumn`: numbers, dates and times; their bits as a whole number less the smallest one
- `RawColumn`: all else, and text that hardly repeats, unchanged

Arrays become NumPy's and come back by their bits (`to_numpy`, `from_numpy`): Arrow's own ways would
import pandas first, which takes longer than publishing a small table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

# Text with more different values than this share of its rows is no smaller as codes.
_REPEATS = 0.5
FEW_ROWS = 1_000
MOST_CODES = 1 << 20


class Form(Enum):
    """How a column should be encoded."""

    SMALLEST = "smallest"
    CODES = "codes"
    RAW = "raw"


@dataclass(frozen=True, slots=True)
class DictionaryColumn:
    """Codes into `dictionary`, whose length is the code of a missing value.

    `counts` says how often each code occurs. The dictionary may list a value twice, or one that no
    row has.
    """

    codes: NDArray[Any]
    dictionary: pa.Array[Any]
    counts: NDArray[np.int64]

    @property
    def nbytes(self) -> int:
        """Memory in use."""
        return int(self.codes.nbytes + self.dictionary.nbytes + self.counts.nbytes)

    def array(self) -> pa.Array[Any]:
        """The values."""
        missing = self.codes == len(self.dictionary) if self.counts[-1] else None
        return self.dictionary.take(from_numpy(self.codes, missing))

    def take(self, rows: NDArray[Any] | slice) -> DictionaryColumn:
        """Some of the rows, given by numbers, marks or a slice."""
        return dictionary_column(self.codes[rows], self.dictionary)


@dataclass(frozen=True, slots=True)
class NumberColumn:
    """Whole numbers less `low`, none above `high`; `missing` marks the rows without one."""

    codes: NDArray[Any]
    low: int
    high: int
    missing: NDArray[np.bool_] | None
    kind: pa.DataType

    @property
    def nbytes(self) -> int:
        """Memory in use."""
        return int(self.codes.nbytes + (0 if self.missing is None else self.missing.nbytes))

    def array(self) -> pa.Array[Any]:
        """The values."""
        return number_array(self.codes.astype(np.uint64), self.low, self.missing, self.kind)

    def take(self, rows: NDArray[Any] | slice) -> NumberColumn:
        """Some of the rows, given by numbers, marks or a slice."""
        missing = None if self.missing is None else self.missing[rows]
        return NumberColumn(self.codes[rows], self.low, self.high, missing, self.kind)


@dataclass(frozen=True, slots=True)
class RawColumn:
    """The values as they are."""

    values: pa.Array[Any]

    @property
    def nbytes(self) -> int:
        """Memory in use."""
        return int(self.values.nbytes)

    def array(self) -> pa.Array[Any]:
        """The values."""
        return self.values

    def take(self, rows: NDArray[Any] | slice) -> RawColumn:
        """Some of the rows, given by numbers, marks or a slice."""
        if isinstance(rows, slice):
            return RawColumn(self.values[rows])
        if rows.dtype == np.bool_:
            return RawColumn(self.values.filter(from_numpy(rows)))
        return RawColumn(self.values.take(from_numpy(rows)))


EncodedColumn = DictionaryColumn | NumberColumn | RawColumn


def row_count(column: EncodedColumn) -> int:
    """Number of rows."""
    return len(column.values) if isinstance(column, RawColumn) else column.codes.size


def some_rows(batches: Sequence[EncodedColumn], rows: NDArray[np.int64]) -> list[EncodedColumn]:
    """These rows, in rising order, of neighbouring batches of a column."""
    sizes = [row_count(batch) for batch in batches]
    ends = np.cumsum(sizes)
    edges = np.concatenate([[0], np.searchsorted(rows, ends)])
    return [
        batch.take(rows[first:last] - (end - size))
        for batch, size, end, first, last in zip(
            batches, sizes, ends, edges, edges[1:], strict=False
        )
    ]


def encode(array: pa.Array[Any], form: Form = Form.SMALLEST) -> EncodedColumn:
    """An array of some rows in this form."""
    if form is Form.RAW:
        return RawColumn(decoded(array))
    if form is Form.CODES:
        return encode_dictionary(array)
    if is_text(array.type):
        encoded = array if isinstance(array, pa.DictionaryArray) else array.dictionary_encode()
        if _hardly_repeats(len(encoded.dictionary), len(array)):
            return RawColumn(decoded(array))
        return encode_dictionary(encoded)
    return _encode_numbers(array) if is_number(array.type) else RawColumn(array)


def encode_dictionary(array: pa.Array[Any]) -> DictionaryColumn:
    """An array of any type as codes."""
    encoded = array if isinstance(array, pa.DictionaryArray) else array.dictionary_encode()
    missing = len(encoded.dictionary)
    dtype: Any = np.uint8 if missing < 1 << 8 else np.uint16 if missing < 1 << 16 else np.uint32
    return dictionary_column(to_numpy(encoded.indices, missing).astype(dtype), encoded.dictionary)


def dictionary_column(codes: NDArray[Any], dictionary: pa.Array[Any]) -> DictionaryColumn:
    """These codes, counted."""
    return DictionaryColumn(codes, dictionary, np.bincount(codes, minlength=len(dictionary) + 1))


def in_form(column: EncodedColumn, form: Form) -> EncodedColumn:
    """An encoded column in another form."""
    if form is Form.CODES:
        return as_codes(column)
    if form is Form.RAW:
        return RawColumn(column.array())
    if isinstance(column, RawColumn):
        return encode(column.values)
    return _smallest(column) if isinstance(column, DictionaryColumn) else column


def _smallest(column: DictionaryColumn) -> EncodedColumn:
    if is_number(column.dictionary.type):
        return _looked_up_numbers(column)
    if _hardly_repeats(len(column.dictionary), column.codes.size):
        return RawColumn(column.array())
    return column


def as_codes(column: EncodedColumn) -> DictionaryColumn:
    """The same rows as codes."""
    return column if isinstance(column, DictionaryColumn) else encode_dictionary(column.array())


def is_number(kind: pa.DataType) -> bool:
    """Whether values of this type have at most 64 bits that can be read as a whole number."""
    types = pa.types
    return bool(
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_boolean(kind)
        or types.is_date32(kind)
        or types.is_time(kind)
        or types.is_timestamp(kind)
        or types.is_duration(kind)
    )


def number_array(
    codes: NDArray[np.uint64], low: int, missing: NDArray[np.bool_] | None, kind: pa.DataType
) -> pa.Array[Any]:
    """Numbers less `low` as an array of their type again."""
    bits = codes + np.uint64(low % (1 << 64))
    if pa.types.is_boolean(kind):
        return from_numpy(bits.astype(np.bool_), missing)
    return from_numpy(bits.astype(np.dtype(f"u{kind.bit_width // 8}")), missing, kind)


def _hardly_repeats(different: int, rows: int) -> bool:
    return different > MOST_CODES or (rows > FEW_ROWS and different > _REPEATS * rows)


def _encode_numbers(array: pa.Array[Any]) -> NumberColumn:
    missing = missing_rows(array)
    whole = to_numpy(array)
    # As signed numbers whatever the type: their order does not matter here, only their range.
    whole = whole.view(np.dtype(f"i{whole.itemsize}"))
    known = whole if missing is None else whole[~missing]
    low, high = (int(known.min()), int(known.max())) if known.size else (0, 0)
    codes = whole.astype(np.int64) - np.int64(low)
    if missing is not None:
        codes[missing] = 0
    narrow = codes.view(np.uint64).astype(np.min_scalar_type(high - low))
    return NumberColumn(narrow, low, high, missing, array.type)


def _looked_up_numbers(column: DictionaryColumn) -> NumberColumn:
    """Codes into numbers as these numbers: only the dictionary has to be looked at."""
    used = column.counts[:-1] > 0
    numbers = _encode_numbers(column.dictionary.filter(from_numpy(used)))
    # The last entry is that of a missing value.
    table = np.zeros(used.size + 1, numbers.codes.dtype)
    table[:-1][used] = numbers.codes
    missing = column.codes == used.size if column.counts[-1] else None
    return NumberColumn(
        table.take(column.codes), numbers.low, numbers.high, missing, column.dictionary.type
    )


def from_numpy(
    values: NDArray[Any], missing: NDArray[np.bool_] | None = None, kind: pa.DataType | None = None
) -> pa.Array[Any]:
    """An Arrow array of these values, or of values of `kind` with the same bits."""
    kind = pa.from_numpy_dtype(values.dtype) if kind is None else kind
    bits = np.packbits(values, bitorder="little") if pa.types.is_boolean(kind) else values
    valid = None if missing is None else _buffer(np.packbits(~missing, bitorder="little"))
    return pa.Array.from_buffers(kind, values.size, [valid, _buffer(bits)])


def text_array(texts: Sequence[str | None]) -> pa.Array[Any]:
    """An Arrow array of texts."""
    encoded = [b"" if text is None else text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    missing = np.array([text is None for text in texts], np.bool_)
    valid = _buffer(np.packbits(~missing, bitorder="little")) if missing.any() else None
    content = [valid, _buffer(ends), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(encoded), content)


def to_numpy(array: pa.Array[Any], fill: int = 0) -> NDArray[Any]:
    """The bits of an array as whole numbers, `fill` where a value is missing."""
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


def decoded(array: pa.Array[Any]) -> pa.Array[Any]:
    """An array without a dictionary."""
    if isinstance(array, pa.DictionaryArray):
        return array.dictionary.take(array.indices)
    return array


def is_text(kind: pa.DataType) -> bool:
    """Whether values of this type are texts, in a dictionary or not."""
    return bool(pa.types.is_string(values_of(kind)))


def values_of(kind: pa.DataType) -> pa.DataType:
    """The type of the values that a dictionary, or runs of equal ones, stand for."""
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        kind = kind.value_type
    return kind


def _buffer(values: NDArray[Any]) -> pa.Buffer:
    # For mypy, NumPy's arrays are buffers only from Python 3.12 on.
    return pa.py_buffer(values)  # type: ignore[arg-type]
