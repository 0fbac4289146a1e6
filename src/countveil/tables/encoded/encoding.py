"""Some rows of a column in few bytes.

Enters: an Arrow array. Leaves: an encoded column: small numbers and what they stand for, or the
array itself where numbers would not be smaller. Must not know: other columns, other rows.

- `DictionaryColumn`: text, and whatever is protected, as codes into the values of these rows
- `NumberColumn`: numbers, dates and times; their bits as a whole number less the smallest one
- `RawColumn`: all else, and text that hardly repeats, unchanged
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from countveil.tables.encoded.arrow_arrays import (
    decoded,
    from_numpy,
    is_text,
    missing_rows,
    to_numpy,
)

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
