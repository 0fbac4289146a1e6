"""What a column holds, over all rows, and what engines and the publisher pass on of it.

Enters: encoded columns, one for every batch of rows. Leaves: a `Survey`: the column's values in
sorted order with their counts, or the range of its numbers, or that it stays as it is; and, as
frozen values, its `Histogram`, its codes in a sample, its profile, its repeats. Must not know:
roles, draws, engines.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from countveil.errors import InputError
from countveil.release.values import python_values
from countveil.tables.encoded.encoding import (
    MOST_CODES,
    DictionaryColumn,
    EncodedColumn,
    RawColumn,
    dictionary_column,
    from_numpy,
    missing_rows,
    text_array,
    to_numpy,
)

_TOGETHER = 1 << 20
_EXAMPLES = 1_000
_LISTED = 8


class Survey:
    """One column: batches are added, and `finish` makes it known.

    `coded` asks for the values and their counts whatever the type. `raw` says that the column is
    not encoded, and `raw_bytes` how large it is.
    """

    def __init__(self, name: str, kind: Any, *, coded: bool) -> None:
        self.name, self.kind, self.coded = name, kind, coded
        self.raw = False
        self.raw_bytes = 0
        self.low: int | None = None
        self.high = 0
        self.has_missing = False
        # Sorted, a missing value first; None until the end, and for numbers.
        self.values: Any = None
        self.counts = np.zeros(0, np.int64)
        self._originals: Any = None
        self._recoding: NDArray[np.int64] | None = None
        self._texts = False
        self._known: tuple[pa.Array[Any], NDArray[np.int64]] | None = None
        self._dictionaries: list[tuple[pa.Array[Any], NDArray[np.int64]]] = []
        self._n_dictionaries = 0
        self._text_bytes = 0

    @classmethod
    def of_numbers(cls, name: str, numbers: Sequence[int]) -> Survey:
        """A column with these whole numbers, in order, and no row so far."""
        survey = cls(name, pa.int64(), coded=True)
        survey.values = pa.array(numbers, pa.int64())
        survey.counts = np.zeros(len(numbers), np.int64)
        return survey

    def add(self, batch: EncodedColumn) -> None:
        """Take the next batch into account."""
        if isinstance(batch, RawColumn):
            self.raw = True
            self.raw_bytes += batch.nbytes
        elif isinstance(batch, DictionaryColumn):
            self._dictionaries.append((batch.dictionary, batch.counts))
            each = batch.dictionary.nbytes // max(1, len(batch.dictionary))
            self._text_bytes += each * batch.codes.size
            self._n_dictionaries += len(batch.dictionary)
            known = 0 if self._known is None else len(self._known[0])
            if self._n_dictionaries > max(_TOGETHER, known):
                self._merge()
        else:
            self.has_missing |= batch.missing is not None
            first = self.low is None
            self.low = batch.low if self.low is None else min(self.low, batch.low)
            self.high = batch.high if first else max(self.high, batch.high)

    def distinct(self) -> int:
        """How many different known values have been added up to now."""
        return len(self._merge()[0])

    def finish(self) -> None:
        """All batches were added."""
        if self.raw:
            self.raw_bytes += self._text_bytes
            self._dictionaries, self._known = [], None
        elif self._known is not None or self._dictionaries:
            known, counts = self._merge()
            missing, counts = int(counts[-1]), counts[:-1]
            order = to_numpy(pc.sort_indices(known))
            self.values, self.counts = known.take(from_numpy(order)), counts[order]
            if missing:
                self.values = pa.concat_arrays([pa.nulls(1, known.type), self.values])
                self.counts = np.concatenate([[missing], self.counts])
            self._known = None

    def places(self, batch: DictionaryColumn) -> NDArray[np.int64]:
        """For each code of a batch, its position among the column's values."""
        places = self.original_places(batch)
        return places if self._recoding is None else self._recoding[places]

    def original_places(self, batch: DictionaryColumn) -> NDArray[np.int64]:
        """For each code of a batch, its position among the values as they were read."""
        originals = self._originals if self._recoding is not None else self.values
        first = int(len(originals) > 0 and not originals[0].is_valid)
        matches = pc.index_in(batch.dictionary, value_set=originals.slice(first))
        lacking = missing_rows(matches)
        if lacking is not None and np.any(batch.counts[:-1][lacking]):
            raise InputError("The table changed while it was read. Please publish it again.")
        places = np.zeros(len(batch.dictionary) + 1, np.int64)
        places[:-1] = to_numpy(matches) + first
        return places

    def without_counts(self) -> Survey:
        """The same values without how often each occurs."""
        other = copy.copy(self)
        other.counts = np.zeros_like(self.counts)
        return other

    @property
    def n_originals(self) -> int:
        """How many values there were when they were read."""
        return len(self.values) if self._recoding is None else self._recoding.size

    def recoded_counts(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Counts of the values as they were read, summed for each of the present values."""
        if self._recoding is None:
            return counts
        return np.bincount(self._recoding, counts, len(self.values)).astype(np.int64)

    def recode(self, texts: Sequence[str | None]) -> None:
        """Put a text in place of each value, in the order of `values`."""
        self._originals = self._originals if self._recoding is not None else self.values
        encoded = text_array(texts).dictionary_encode()
        order = to_numpy(pc.sort_indices(encoded.dictionary))
        first = int(encoded.indices.null_count > 0)
        rank = np.zeros(order.size + 1, np.int64)
        rank[order] = np.arange(order.size) + first
        new = rank[to_numpy(encoded.indices, order.size)]
        self.values = encoded.dictionary.take(from_numpy(order))
        if first:
            self.values = pa.concat_arrays([pa.nulls(1, pa.string()), self.values])
        self.counts = np.bincount(new, self.counts, len(self.values)).astype(np.int64)
        self._recoding = new if self._recoding is None else new[self._recoding]
        self.kind = pa.string()
        self._texts = True

    def declare(self, values: Sequence[Any]) -> None:
        """Let the column have these values too, the missing one perhaps, with no row so far."""
        had_missing = int(len(self.values) > 0 and not self.values[0].is_valid)
        first = int(had_missing or None in values)
        known = self.values.slice(had_missing)
        declared = pa.array([value for value in values if value is not None], self.values.type)
        new = declared.filter(pc.invert(pc.is_in(declared, value_set=known)))
        together = pa.concat_arrays([known, new])
        order = to_numpy(pc.sort_indices(together))
        rank = np.empty(order.size, np.int64)
        rank[order] = np.arange(order.size) + first
        places = np.concatenate([np.zeros(had_missing, np.int64), rank[: len(known)]])
        counts = np.bincount(places, self.counts, order.size + first).astype(np.int64)
        self._originals = self._originals if self._recoding is not None else self.values
        self._recoding = places if self._recoding is None else places[self._recoding]
        missing = pa.nulls(first, together.type)
        self.values = pa.concat_arrays([missing, together.take(from_numpy(order))])
        self.counts = counts

    @property
    def is_recoded(self) -> bool:
        """Whether texts were put in place of the values."""
        return self._texts

    def recoded(self, batch: DictionaryColumn) -> DictionaryColumn:
        """A batch with the texts that were put in place of its values, if any were."""
        if self._recoding is None:
            return batch
        first = int(len(self.values) > 0 and not self.values[0].is_valid)
        known = self.values.slice(first)
        codes = (self.places(batch) - first)[batch.codes]
        codes[codes < 0] = len(known)
        return dictionary_column(codes, known)

    def _merge(self) -> tuple[pa.Array[Any], NDArray[np.int64]]:
        listed = self._dictionaries if self._known is None else [self._known, *self._dictionaries]
        together = pa.concat_arrays([dictionary for dictionary, _ in listed])
        counts = np.concatenate([counts[:-1] for _, counts in listed])
        missing = sum(int(counts[-1]) for _, counts in listed)
        # A dictionary may list values that no row has.
        used = counts > 0
        encoded = together.filter(from_numpy(used)).dictionary_encode()
        sums = np.zeros(len(encoded.dictionary) + 1, np.int64)
        places = to_numpy(encoded.indices)
        np.add.at(sums, places, counts[used])
        sums[-1] = missing
        self._known = encoded.dictionary, sums
        self._dictionaries = []
        self._n_dictionaries = 0
        if not self.coded and len(encoded.dictionary) > MOST_CODES:
            self.raw = True
        return self._known


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts of a column's values.

    Values are sorted, a missing one first: their order says nothing about the order of rows.
    """

    values: Sequence[Any]
    counts: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ValueRange:
    """What a column holds: its first known values and the last one, in their order.

    `distinct` is None where different values were not counted.
    """

    first: Sequence[Any]
    last: Any
    distinct: int | None
    missing: bool


@dataclass(frozen=True, slots=True)
class CodedColumn:
    """Some rows of a column: each row's value as its rank among their values, missing first.

    `examples` are up to a thousand of the different known values.
    """

    codes: NDArray[np.int64]
    missing: int
    examples: Sequence[Any]

    @property
    def distinct(self) -> int:
        """Number of different known values."""
        return int(self.codes.max(initial=-1)) + 1 - int(self.missing > 0)


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """A column in summary: rows without a value, and how often each known value occurs.

    `numbers` are these values where they are numbers or times, in the order of `counts`.
    """

    missing: int
    counts: NDArray[np.int64]
    numbers: NDArray[np.float64] | None


@dataclass(frozen=True, slots=True)
class Repeats:
    """Rows without a value, how many values have several rows, the most rows of one.

    `different` is how many known values there are.
    """

    missing: int
    several: int
    most: int
    different: int


def is_countable(kind: Any) -> bool:
    """Whether values of this type can be compared and counted; nested ones cannot."""
    try:
        pc.sort_indices(pa.nulls(0, kind).dictionary_encode().dictionary)
    except pa.ArrowNotImplementedError:
        return False
    return True


def check_countable(column: str, kind: Any) -> None:
    """Refuse a column whose values cannot be counted."""
    if not is_countable(kind):
        raise InputError(
            f"Column {column!r} holds nested or special values ({str(kind)[:60]}), which "
            f"cannot be counted. Flatten or convert it first."
        )


def coded_column(batches: Sequence[DictionaryColumn]) -> CodedColumn:
    """Each value as its rank among these values, a missing one first."""
    survey = Survey("", None, coded=True)
    for batch in batches:
        survey.add(batch)
    survey.finish()
    codes = [survey.places(batch)[batch.codes] for batch in batches]
    known = survey.values.drop_null()
    missing = sum(int(batch.counts[-1]) for batch in batches)
    if len(known) > _EXAMPLES:
        known = known.take(np.linspace(0, len(known) - 1, _EXAMPLES).astype(np.int64))
    return CodedColumn(np.concatenate(codes), missing, _examples(known))


def column_profile(values: pa.Array[Any], counts: NDArray[np.int64]) -> ColumnProfile:
    """How often each known value occurs, and the values where they are numbers or times."""
    known = values.drop_null()
    first = len(values) - len(known)
    return ColumnProfile(int(counts[:first].sum()), counts[first:], _numbers(known))


def value_range(survey: Survey) -> ValueRange | None:
    """The first values and the last one; None of a column that stays as it is."""
    if survey.raw or (survey.values is None and survey.low is None):
        return None
    if survey.values is None:
        # Times are numbers here too, but of no unit that a reader would know.
        if not pa.types.is_integer(survey.kind):
            return None
        return ValueRange([survey.low], survey.high, None, survey.has_missing)
    known = survey.values.drop_null()
    end = max(0, len(known) - 1)
    first, last = _examples(known.slice(0, _LISTED)), _examples(known.slice(end))
    if len(known) and not (first and last):
        return None
    missing = len(known) < len(survey.values)
    return ValueRange(first, last[0] if last else None, len(known), missing)


def repeats(missing: int, counts: NDArray[np.int64]) -> Repeats:
    """How often the known values of a column come again, from their counts."""
    present = int((counts > 0).sum())
    return Repeats(missing, int((counts > 1).sum()), int(counts.max(initial=0)), present)


def _numbers(values: pa.Array[Any]) -> NDArray[np.float64] | None:
    kind = values.type
    if pa.types.is_date32(kind):
        values = values.cast(pa.int32())
    elif pa.types.is_timestamp(kind):
        values = values.cast(pa.int64())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        return None
    numbers: NDArray[np.float64] = values.cast(pa.float64(), safe=False).to_numpy(
        zero_copy_only=False
    )
    return numbers


def _examples(values: pa.Array[Any]) -> list[Any]:
    try:
        return python_values(values)
    except (pa.ArrowInvalid, ValueError, OverflowError):
        return []  # Times that Python cannot represent exactly.
