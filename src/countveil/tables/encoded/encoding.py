"""A column of some rows in few bytes.

Enters: an Arrow array. Leaves: small numbers and what they stand for, or the array itself where
numbers would not be smaller. Must not know: other columns, other rows.

- text, and whatever is protected: codes into the values of these rows; missing is the last code
- numbers, dates and times: the bits as a whole number, less the smallest one
- all else, and text that hardly repeats: carried along as it is
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from countveil.tables.encoded.arrow_arrays import from_numpy, missing_rows, to_numpy

# Text with more different values than this share of its rows is no smaller as codes.
_REPEATS = 0.5
_FEW_ROWS = 1_000
MOST_CODES = 1 << 20


@dataclass(frozen=True, slots=True)
class CodedPiece:
    """Codes into `dictionary`; its length is the code of a missing value."""

    codes: NDArray[Any]
    dictionary: Any
    counts: NDArray[np.int64]

    @property
    def nbytes(self) -> int:
        """Memory held."""
        return int(self.codes.nbytes + self.dictionary.nbytes + self.counts.nbytes)

    def array(self) -> Any:
        """The values."""
        missing = self.codes == len(self.dictionary)
        return self.dictionary.take(from_numpy(self.codes, missing))


@dataclass(frozen=True, slots=True)
class NumberPiece:
    """Whole numbers less `low`, which is at most `high`; `missing` marks the rows without one."""

    codes: NDArray[Any]
    low: int
    high: int
    missing: NDArray[np.bool_] | None
    kind: Any

    @property
    def nbytes(self) -> int:
        """Memory held."""
        return int(self.codes.nbytes + (0 if self.missing is None else self.missing.nbytes))

    def array(self) -> Any:
        """The values."""
        return number_array(self.codes.astype(np.uint64), self.low, self.missing, self.kind)


@dataclass(frozen=True, slots=True)
class CarriedPiece:
    """The values as they are."""

    values: Any

    @property
    def nbytes(self) -> int:
        """Memory held."""
        return int(self.values.nbytes)

    def array(self) -> Any:
        """The values."""
        return self.values


Piece = CodedPiece | NumberPiece | CarriedPiece


def length(piece: Piece) -> int:
    """Number of rows."""
    return len(piece.values) if isinstance(piece, CarriedPiece) else piece.codes.size


def some_rows(pieces: Sequence[Piece], rows: NDArray[np.int64]) -> list[Piece]:
    """These rows of neighbouring pieces, in rising order."""
    ends = np.cumsum([length(piece) for piece in pieces])
    edges = np.concatenate([[0], np.searchsorted(rows, ends)])
    return [
        _take(piece, rows[first:last] - (end - length(piece)))
        for piece, end, first, last in zip(pieces, ends, edges, edges[1:], strict=False)
    ]


def _take(piece: Piece, rows: NDArray[np.int64]) -> Piece:
    if isinstance(piece, CarriedPiece):
        return CarriedPiece(piece.values.take(from_numpy(rows)))
    codes = piece.codes[rows]
    if isinstance(piece, CodedPiece):
        counts = np.bincount(codes, minlength=piece.counts.size)
        return CodedPiece(codes, piece.dictionary, counts)
    missing = None if piece.missing is None else piece.missing[rows]
    return NumberPiece(codes, piece.low, piece.high, missing, piece.kind)


def to_coded(piece: Piece) -> CodedPiece:
    """The same rows as codes."""
    if isinstance(piece, CodedPiece):
        return piece
    return coded_piece(piece.array())


def to_piece(array: Any, *, coded: bool) -> Piece:
    """The smallest form of an array; with `coded`, codes whatever it holds."""
    kind = array.type
    is_text = pa.types.is_dictionary(kind) or pa.types.is_string(kind)
    if coded or is_text:
        encoded = array if pa.types.is_dictionary(kind) else array.dictionary_encode()
        if coded or not _hardly_repeats(len(encoded.dictionary), len(array)):
            return coded_piece(encoded)
        return CarriedPiece(_values(array))
    if is_number(kind):
        return _number(array)
    return CarriedPiece(array)


def is_number(kind: Any) -> bool:
    """Whether values of this type have at most 64 bits that can be counted on."""
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
    codes: NDArray[np.uint64], low: int, missing: NDArray[np.bool_] | None, kind: Any
) -> Any:
    """Numbers less `low` as an array of their type again."""
    bits = codes + np.uint64(low % (1 << 64))
    if pa.types.is_boolean(kind):
        return from_numpy(bits.astype(np.bool_), missing)
    return from_numpy(bits.astype(np.dtype(f"u{kind.bit_width // 8}")), missing, kind)


def _values(array: Any) -> Any:
    if pa.types.is_dictionary(array.type):
        return array.dictionary.take(array.indices)
    return array


def coded_piece(array: Any) -> CodedPiece:
    """An array of any kind as codes."""
    if not pa.types.is_dictionary(array.type):
        array = array.dictionary_encode()
    dictionary, indices = array.dictionary, array.indices
    missing = len(dictionary)
    dtype: Any = np.uint8 if missing < 1 << 8 else np.uint16 if missing < 1 << 16 else np.uint32
    codes = to_numpy(indices, missing).astype(dtype)
    return CodedPiece(codes, dictionary, np.bincount(codes, minlength=missing + 1))


def _hardly_repeats(different: int, rows: int) -> bool:
    return different > MOST_CODES or (rows > _FEW_ROWS and different > _REPEATS * rows)


def _number(array: Any) -> NumberPiece:
    missing = missing_rows(array)
    whole = to_numpy(array)
    # As signed numbers whatever the type: order does not matter here, only how far they reach.
    whole = whole.view(np.dtype(f"i{whole.itemsize}"))
    known = whole if missing is None else whole[~missing]
    low, high = (int(known.min()), int(known.max())) if known.size else (0, 0)
    codes = whole.astype(np.int64) - np.int64(low)
    if missing is not None:
        codes[missing] = 0
    narrow = codes.view(np.uint64).astype(np.min_scalar_type(high - low))
    return NumberPiece(narrow, low, high, missing, array.type)
