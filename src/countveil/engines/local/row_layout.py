"""A row as a few words of 64 bits.

Enters: what is known of each column. Leaves: where its bits lie, and both ways between pieces and
words. Must not know: where rows come from or go to, the order of rows.

A column's code takes as many bits as its different values need and lies inside one word. What is
unpacked is built from the values that are published and from nothing else: a value that no
published row has is in no dictionary.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from countveil.tables.encoded.arrow_arrays import from_numpy
from countveil.tables.encoded.encoding import CodedPiece, NumberPiece, Piece, number_array
from countveil.tables.encoded.survey import Survey

Words = NDArray[np.uint64]
# Longer dictionaries are left to the writer, which lists what a row group has.
_SHORT_DICTIONARY = 1 << 12
_WORD = 64


@dataclass(frozen=True, slots=True)
class Coded:
    """A column of codes into `values`, of which the first may be the missing one."""

    survey: Survey
    values: Any
    dense: NDArray[np.uint64]

    @property
    def bits(self) -> int:
        """Room for a code."""
        return max(len(self.values) - 1, 0).bit_length()

    @property
    def as_dictionary(self) -> bool:
        """Whether rows are written as codes with their dictionary."""
        return bool(pa.types.is_string(self.values.type)) and len(self.values) <= _SHORT_DICTIONARY

    def codes(self, piece: Piece, shift: int) -> Words:
        """What to put into the word of each row."""
        assert isinstance(piece, CodedPiece)  # noqa: S101 - for the type checker
        lut = self.dense[self.survey.places(piece)] << np.uint64(shift)
        return lut.take(piece.codes)

    def array(self, codes: Words) -> Any:
        """The column again."""
        if not self.as_dictionary:
            return self.values.take(from_numpy(codes))
        first = int(len(self.values) > 0 and not self.values[0].is_valid)
        indices = codes.astype(np.int32)
        mask = None
        if first:
            mask = indices == 0
            indices -= 1
            indices[mask] = 0
        known = self.values.slice(first)
        return pa.DictionaryArray.from_arrays(from_numpy(indices, mask), known, safe=False)


@dataclass(frozen=True, slots=True)
class Number:
    """A column of whole numbers, or of bits that can be taken for some."""

    survey: Survey

    @property
    def bits(self) -> int:
        """Room for a number; a missing one comes after the largest."""
        low = self.survey.low or 0
        return (self.survey.high - low + int(self.survey.has_missing)).bit_length()

    def codes(self, piece: Piece, shift: int) -> Words:
        """What to put into the word of each row."""
        assert isinstance(piece, NumberPiece)  # noqa: S101 - for the type checker
        low = self.survey.low or 0
        codes = piece.codes.astype(np.uint64)
        codes += np.uint64(piece.low - low)
        if piece.missing is not None:
            codes[piece.missing] = np.uint64(self.survey.high - low + 1)
        codes <<= np.uint64(shift)
        return codes

    def array(self, codes: Words) -> Any:
        """The column again."""
        low = self.survey.low or 0
        missing = None
        if self.survey.has_missing:
            missing = codes == np.uint64(self.survey.high - low + 1)
            codes = np.where(missing, np.uint64(0), codes)
        return number_array(codes, low, missing, self.survey.kind)


@dataclass(frozen=True, slots=True)
class Field:
    """Where a column lies."""

    column: Coded | Number
    word: int
    shift: int

    def put(self, pieces: Sequence[Piece], words: Words) -> None:
        """Write the column's bits into the words of its rows."""
        first = 0
        for piece in pieces:
            codes = self.column.codes(piece, self.shift)
            words[self.word, first : first + codes.size] |= codes
            first += codes.size

    def put_codes(self, codes: NDArray[Any], words: Words) -> None:
        """Write codes that were drawn."""
        assert isinstance(self.column, Coded)  # noqa: S101 - for the type checker
        words[self.word] |= (self.column.dense << np.uint64(self.shift)).take(codes)

    def array(self, words: Words) -> Any:
        """The column again."""
        mask = np.uint64((1 << self.column.bits) - 1)
        return self.column.array((words[self.word] >> np.uint64(self.shift)) & mask)


@dataclass(frozen=True, slots=True)
class Layout:
    """The packed columns, and the names of the carried ones, in no particular order."""

    fields: Mapping[str, Field]
    carried: tuple[str, ...]
    n_words: int
    carried_bytes: int

    @property
    def row_bytes(self) -> int:
        """About how much a row takes."""
        return 8 * self.n_words + self.carried_bytes


def make_layout(
    surveys: Sequence[Survey], used: Mapping[str, NDArray[np.bool_]], rows: int
) -> Layout:
    """Find room for every column. `used` says which values of a coded column are published."""
    columns: dict[str, Coded | Number] = {}
    for survey in surveys:
        if survey.values is not None:
            kept = used[survey.name]
            ones = kept.astype(np.uint64)
            dense = np.cumsum(ones) - ones
            columns[survey.name] = Coded(survey, survey.values.filter(from_numpy(kept)), dense)
        elif not survey.carried and Number(survey).bits <= _WORD:
            columns[survey.name] = Number(survey)
    room: list[int] = []
    fields = {}
    for name, column in sorted(columns.items(), key=lambda item: -item[1].bits):
        word = next((w for w, left in enumerate(room) if left >= column.bits), len(room))
        if word == len(room):
            room.append(_WORD)
        # A column with a single value has no bits, and shifts by less than a word.
        fields[name] = Field(column, word, min(_WORD - room[word], _WORD - 1))
        room[word] -= column.bits
    carried = [survey for survey in surveys if survey.name not in fields]
    own_bytes = sum(survey.carried_bytes for survey in carried) // max(rows, 1)
    wide = 8 * len(carried)
    names = tuple(survey.name for survey in carried)
    return Layout(fields, names, max(1, len(room)), own_bytes + wide if carried else 0)
