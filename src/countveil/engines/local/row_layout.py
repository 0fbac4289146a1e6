"""A row packed into a few words of 64 bits.

Enters: a survey of each column. Leaves: where its bits are, and both ways between encoded columns
and words. Must not know: where rows come from or go to, the order of rows.

A column's code takes as many bits as its different values need and is inside one word. What is
unpacked is built from the published values and from nothing else: a value that no published row has
is in no dictionary.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from countveil.tables.encoded.encoding import (
    DictionaryColumn,
    EncodedColumn,
    NumberColumn,
    from_numpy,
    number_array,
)
from countveil.tables.encoded.survey import Survey

Words = NDArray[np.uint64]
# For longer dictionaries, the Parquet writer makes one for each row group.
_SHORT_DICTIONARY = 1 << 12
_WORD = 64


@dataclass(frozen=True, slots=True)
class PackedCodes:
    """A column of codes into the published `values`, of which the first may be the missing one.

    `dense` turns the place of a surveyed value into the place among the published ones.
    """

    survey: Survey
    values: pa.Array[Any]
    dense: NDArray[np.uint64]

    @property
    def bits(self) -> int:
        """Bits of a code."""
        return max(len(self.values) - 1, 0).bit_length()

    @property
    def as_dictionary(self) -> bool:
        """Whether rows are written as codes with their dictionary."""
        return bool(pa.types.is_string(self.values.type)) and len(self.values) <= _SHORT_DICTIONARY

    def codes(self, batch: EncodedColumn, shift: int) -> Words:
        """What to put into the word of each row."""
        assert isinstance(batch, DictionaryColumn)  # noqa: S101 - for the type checker
        shifted = self.dense[self.survey.places(batch)] << np.uint64(shift)
        return shifted.take(batch.codes)

    def array(self, codes: Words) -> pa.Array[Any]:
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
class PackedNumbers:
    """A column of whole numbers, or of values whose bits are read as whole numbers."""

    survey: Survey

    @property
    def bits(self) -> int:
        """Bits of a number; a missing one comes after the largest."""
        low = self.survey.low or 0
        return (self.survey.high - low + int(self.survey.has_missing)).bit_length()

    def codes(self, batch: EncodedColumn, shift: int) -> Words:
        """What to put into the word of each row."""
        assert isinstance(batch, NumberColumn)  # noqa: S101 - for the type checker
        low = self.survey.low or 0
        codes = batch.codes.astype(np.uint64)
        codes += np.uint64(batch.low - low)
        if batch.missing is not None:
            codes[batch.missing] = np.uint64(self.survey.high - low + 1)
        codes <<= np.uint64(shift)
        return codes

    def array(self, codes: Words) -> pa.Array[Any]:
        """The column again."""
        low = self.survey.low or 0
        missing = None
        if self.survey.has_missing:
            missing = codes == np.uint64(self.survey.high - low + 1)
            codes = np.where(missing, np.uint64(0), codes)
        return number_array(codes, low, missing, self.survey.kind)


@dataclass(frozen=True, slots=True)
class PackedColumn:
    """Where the bits of a column are."""

    column: PackedCodes | PackedNumbers
    word: int
    shift: int

    def put(self, batches: Sequence[EncodedColumn], words: Words) -> None:
        """Write the column's bits into the words of its rows."""
        first = 0
        for batch in batches:
            codes = self.column.codes(batch, self.shift)
            words[self.word, first : first + codes.size] |= codes
            first += codes.size

    def put_places(self, places: NDArray[Any], words: Words) -> None:
        """Write values given by their places among the surveyed ones, as they were dealt."""
        assert isinstance(self.column, PackedCodes)  # noqa: S101 - for the type checker
        words[self.word] |= (self.column.dense << np.uint64(self.shift)).take(places)

    def array(self, words: Words) -> pa.Array[Any]:
        """The column again."""
        mask = np.uint64((1 << self.column.bits) - 1)
        return self.column.array((words[self.word] >> np.uint64(self.shift)) & mask)


@dataclass(frozen=True, slots=True)
class Layout:
    """The packed columns, and the names of those that are not packed, in no particular order."""

    packed: Mapping[str, PackedColumn]
    raw: tuple[str, ...]
    n_words: int
    raw_bytes: int

    @property
    def row_bytes(self) -> int:
        """About how many bytes a row takes."""
        return 8 * self.n_words + self.raw_bytes


def make_layout(
    surveys: Sequence[Survey], published: Mapping[str, NDArray[np.bool_]], rows: int
) -> Layout:
    """Give every column its bits. `published` says which values of a counted column remain."""
    columns: dict[str, PackedCodes | PackedNumbers] = {}
    for survey in surveys:
        if survey.values is not None:
            kept = published[survey.name]
            ones = kept.astype(np.uint64)
            dense = np.cumsum(ones) - ones
            values = survey.values.filter(from_numpy(kept))
            columns[survey.name] = PackedCodes(survey, values, dense)
        elif not survey.raw and PackedNumbers(survey).bits <= _WORD:
            columns[survey.name] = PackedNumbers(survey)
    free: list[int] = []
    packed = {}
    for name, column in sorted(columns.items(), key=lambda item: -item[1].bits):
        word = next((w for w, left in enumerate(free) if left >= column.bits), len(free))
        if word == len(free):
            free.append(_WORD)
        # A column with a single value has no bits, and shifts by less than a word.
        packed[name] = PackedColumn(column, word, min(_WORD - free[word], _WORD - 1))
        free[word] -= column.bits
    raw = [survey for survey in surveys if survey.name not in packed]
    text_bytes = sum(survey.raw_bytes for survey in raw) // max(rows, 1)
    names = tuple(survey.name for survey in raw)
    return Layout(packed, names, max(1, len(free)), text_bytes + 8 * len(raw) if raw else 0)
