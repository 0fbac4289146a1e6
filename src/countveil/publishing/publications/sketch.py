"""Who is in a table, as a few numbers that show whether another table has the same people.

Enters: a table in this process, the column that identifies persons if there is one, a key. Leaves:
a `Sketch`: the smallest of the hashes of all persons, or of all different rows where no column
identifies persons. Must not know: files, releases.

Whoever is in two tables has the same hash under the same key; so the smallest hashes of two tables
agree as far as their people do, whatever the order and the number of rows. A hash cannot be turned
back. But it comes from a key that lies beside it, so whoever has both can try out what they guess:
with identifiers that can be listed, they learn of each whether it is among those few. Hence a
sketch is never part of a release.

    value -> two words (a long text: sums with random factors) -> a number under the column's key
    row   -> the sum of its columns' numbers -> a hash

A person is the same whether its identifier was read as a number or as text. Rows are the same if
all columns are, as they were read. Rows that have copies say nothing: other people would have such
rows too. Where more than one row in twenty has a copy in its own table, there is no sketch, nor
is there one of more than 20 million rows without a column of persons.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from countveil.engines.local_table import LocalTable
from countveil.randomness import TaskKey
from countveil.tables.encoded.encoding import (
    DictionaryColumn,
    EncodedColumn,
    NumberColumn,
    is_number,
    missing_rows,
    number_array,
    row_count,
    to_numpy,
)

# As many are stored; more are compared with those that were stored, since tables grow.
STORED, COMPARED = 512, 1 << 14
MOST_COPIES = 0.05
# Whole rows are read once more for it where memory does not keep them: not of larger tables.
MOST_ROWS = 20_000_000
# Far too many copies, as the first rows show already.
_HOPELESS = 0.5
_MOST_LOOKED_UP = 1 << 16
_WORD_BYTES = 8
_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_DAY = 86_400 * 10**9
_ALL = (1 << 64) - 1
# The first so many bytes of a word.
_MASKS = np.array([(1 << 8 * size) - 1 for size in range(_WORD_BYTES + 1)], np.uint64)
Words = NDArray[np.uint64]
Counts = NDArray[np.int64]
# At least so many pairs of factors, for texts that are longer by so many words.
Factors = Callable[[int], Words]
_USUAL_STEPS = 16
_AT_ONCE = 1 << 15
_NO_WORDS = np.zeros(0, np.uint64)


@dataclass(frozen=True, slots=True)
class Sketch:
    """The smallest hashes of persons or of rows, rising; `whole` if there are no others."""

    hashes: Words
    whole: bool
    persons: bool

    @property
    def bound(self) -> int:
        """Every hash of the table up to here is listed."""
        return _ALL if self.whole or not self.hashes.size else int(self.hashes[-1])

    def stored(self) -> Sketch:
        """The part that is kept."""
        few = self.hashes[:STORED]
        return Sketch(few, self.whole and few.size == self.hashes.size, self.persons)


def sketch_of(
    source: LocalTable, person: str | None, key: bytes, published: Sequence[str] = ()
) -> Sketch | None:
    """The sketch of a table; None if too many rows are alike, or too many to look at.

    Columns that are `published` will be read again soon.
    """
    if person is None and source.facts.rows > MOST_ROWS:
        return None
    hashing = _Hashing(TaskKey(key), persons=person is not None)
    names = [column.name for column in source.facts.columns] if person is None else [person]
    smallest = _Smallest()
    look = partial(_smallest_of, hashing, smallest)
    for hashes, counts, all_of_them in source.each_span(names, look, needed_again=published):
        smallest.add(hashes, counts, whole=all_of_them)
        if person is None and _copies(smallest.counts) > _HOPELESS:
            return None
    smallest.merge()
    if person is None and (_copies(smallest.counts) > MOST_COPIES or not smallest.hashes.size):
        return None
    return Sketch(smallest.hashes, smallest.whole, person is not None)


class _Smallest:
    """The smallest hashes of the rows so far, how often each occurs, and whether these are all."""

    def __init__(self) -> None:
        self.hashes, self.counts, self.whole = np.zeros(0, np.uint64), np.zeros(0, np.int64), True
        # No larger hash can still be among them. Threads that read it late only sort more.
        self.bound = np.uint64(_ALL)
        self._waiting: list[tuple[Words, Counts]] = []

    def add(self, hashes: Words, counts: Counts, *, whole: bool) -> None:
        """Those of some more rows; few wait for others, as merging costs a sort."""
        self.whole = self.whole and whole
        self._waiting.append((hashes, counts))
        if sum(some.size for some, _ in self._waiting) >= COMPARED or not self.hashes.size:
            self.merge()

    def merge(self) -> None:
        """Take those that wait."""
        hashes, counts = zip((self.hashes, self.counts), *self._waiting, strict=True)
        different, places = np.unique(np.concatenate(hashes), return_inverse=True)
        together = np.bincount(places, np.concatenate(counts)).astype(np.int64)
        self.whole = self.whole and different.size <= COMPARED
        self.hashes, self.counts = different[:COMPARED], together[:COMPARED]
        self._waiting.clear()
        if self.hashes.size == COMPARED:
            self.bound = self.hashes[-1]


def _copies(counts: Counts) -> float:
    """The share of rows that have a copy."""
    return float(counts[counts > 1].sum() / max(1, counts.sum()))


class _Hashing:
    """Numbers for values under a key.

    What does not depend on the rows is made once: every hash is a call of the cipher, and spans
    and columns are many.
    """

    def __init__(self, secret: TaskKey, *, persons: bool) -> None:
        self.secret, self._persons = secret, persons
        self._missing: dict[str, Words] = {}
        self._factors = np.zeros((0, 2), np.uint64)

    def numbers(self, name: str, array: pa.Array[Any]) -> Words:
        """A number for each value of a column."""
        label = ("person",) if self._persons else ("column", name)
        return self.secret.hashes(_blocks(array, self.factors, as_text=self._persons), *label)

    def missing(self, name: str) -> Words:
        """The number of a missing value."""
        if name not in self._missing:
            self._missing[name] = self.numbers(name, pa.nulls(1, pa.string()))
        return self._missing[name]

    def factors(self, steps: int) -> Words:
        """At least so many pairs of random factors; the first ones stay the same."""
        if len(self._factors) < steps:
            words = self.secret.stream("factors").words(2 * max(steps, _USUAL_STEPS))
            self._factors = words.reshape(-1, 2)
        return self._factors


def _smallest_of(
    hashing: _Hashing, before: _Smallest, columns: Mapping[str, Sequence[EncodedColumn]]
) -> tuple[Words, Counts, bool]:
    """The smallest hashes of some rows, how often each occurs, and whether these are all."""
    total: Words | None = None
    for name, batches in columns.items():
        numbers_of, missing = partial(hashing.numbers, name), hashing.missing(name)
        words = [_numbers(batch, numbers_of, missing) for batch in batches]
        numbers = words[0] if len(words) == 1 else np.concatenate([_NO_WORDS, *words])
        total = numbers if total is None else np.add(total, numbers, out=total)
    if total is None:
        return _NO_WORDS, np.zeros(0, np.int64), True
    small = np.concatenate([_NO_WORDS, *_small_hashes(hashing.secret, total, before)])
    different, counts, whole = _smallest(small)
    return different, counts, whole and small.size == total.size


def _small_hashes(secret: TaskKey, numbers: Words, before: _Smallest) -> Iterator[Words]:
    """The hashes of rows that may be among the smallest; few at once stay near the processor."""
    for start in range(0, numbers.size, _AT_ONCE):
        some = numbers[start : start + _AT_ONCE]
        blocks = np.zeros((some.size, 2), np.uint64)
        blocks[:, 0] = some
        hashes = secret.hashes(blocks, "row")
        yield hashes[hashes <= before.bound]


def _smallest(hashes: Words) -> tuple[Words, Counts, bool]:
    few, whole = hashes, True
    if hashes.size > 8 * COMPARED:
        # Sorting a small part is enough, unless most of it is the same hashes again.
        cut = np.partition(hashes, 4 * COMPARED)[4 * COMPARED]
        few, whole = hashes[hashes <= cut], False
    different, counts = np.unique(few, return_counts=True)
    if not whole and different.size < COMPARED:
        different, counts = np.unique(hashes, return_counts=True)
        whole = True
    whole = whole and different.size <= COMPARED
    return different[:COMPARED], counts[:COMPARED].astype(np.int64), whole


def _numbers(
    column: EncodedColumn, numbers_of: Callable[[pa.Array[Any]], Words], missing: Words
) -> Words:
    """A number for each row's value."""
    if isinstance(column, DictionaryColumn):
        table = np.concatenate([numbers_of(column.dictionary), missing])
        return table.take(column.codes)
    if isinstance(column, NumberColumn) and column.high - column.low < min(
        _MOST_LOOKED_UP, row_count(column)
    ):
        codes = np.arange(column.high - column.low + 1, dtype=np.uint64)
        table = numbers_of(number_array(codes, column.low, None, column.kind))
        numbers: Words = table.take(column.codes)
        return numbers if column.missing is None else np.where(column.missing, missing, numbers)
    return numbers_of(column.array())


def _blocks(array: pa.Array[Any], factors: Factors, *, as_text: bool) -> Words:
    """Two words for each value. Equal values have equal ones, be they read as wider numbers."""
    array = _as_text(array) if as_text or not is_number(array.type) else array
    if is_number(array.type):
        blocks = _number_blocks(to_numpy(array), array.type)
    else:
        blocks = _text_blocks(array, factors)
    missing = missing_rows(array)
    if missing is not None:
        blocks[missing] = _ALL
    return blocks


def _as_text(array: pa.Array[Any]) -> pa.Array[Any]:
    """Values as texts or bytes; whole numbers are written alike, whatever their type."""
    kind, types = array.type, pa.types
    if types.is_string(kind) or types.is_binary(kind):
        return array
    if types.is_floating(kind):
        with contextlib.suppress(pa.ArrowInvalid):
            array = array.cast(pa.int64())
    if types.is_fixed_size_binary(kind) or types.is_large_binary(kind):
        return array.cast(pa.binary())
    try:
        return array.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        # Rare types that Arrow does not write as text.
        values = array.to_pylist()
        return pa.array([None if value is None else repr(value) for value in values], pa.string())


def _number_blocks(bits: NDArray[Any], kind: pa.DataType) -> Words:
    blocks = np.zeros((bits.size, 2), np.uint64)
    if pa.types.is_floating(kind):
        numbers = bits.view(np.dtype(f"f{bits.itemsize}")).astype(np.float64)
        whole = (numbers == np.trunc(numbers)) & (np.abs(numbers) < 2.0**63)
        as_whole = np.where(whole, numbers, 0).astype(np.int64).view(np.uint64)
        blocks[:, 0] = np.where(whole, as_whole, numbers.view(np.uint64))
        blocks[:, 1] = ~whole
        return blocks
    blocks[:, 0] = bits.astype(np.uint64 if bits.dtype == np.uint64 else np.int64).view(np.uint64)
    if not (pa.types.is_integer(kind) or pa.types.is_boolean(kind)):
        blocks[:, 0] *= np.uint64(_NANOSECONDS[kind.unit] if hasattr(kind, "unit") else _DAY)
        blocks[:, 1] = 2
    return blocks


def _text_blocks(array: pa.Array[Any], factors_of: Factors) -> Words:
    """The first sixteen bytes, to which all others are added, times random factors.

    Two texts have the same words with a chance of less than one in 2 to the power of 56: what a
    factor hardly moves at one end of a word, it moves at the other end in the turned word.
    """
    size = len(array)
    if not size:
        return np.zeros((0, 2), np.uint64)
    # For mypy, Arrow's buffers are not what NumPy takes.
    buffers: list[Any] = array.buffers()
    ends = np.frombuffer(buffers[1], np.int32)[array.offset : array.offset + size + 1]
    first, last = int(ends[0]), int(ends[-1])
    raw = np.zeros(last - first + 2 * _WORD_BYTES, np.uint8)
    if buffers[2] is not None:
        raw[: last - first] = np.frombuffer(buffers[2], np.uint8)[first:last]
    # The words that begin at every byte.
    words = np.ndarray((raw.size - 7,), "<u8", raw, strides=(1,))
    starts, lengths = ends[:-1].astype(np.int64) - first, np.diff(ends)
    blocks = np.empty((size, 2), np.uint64)
    for side in (0, 1):
        begin = np.minimum(starts + side * _WORD_BYTES, raw.size - _WORD_BYTES)
        blocks[:, side] = words[begin] & _MASKS[np.clip(lengths - side * _WORD_BYTES, 0, 8)]
    steps = -(-int(lengths.max()) // _WORD_BYTES)
    factors = factors_of(max(0, steps - 2))
    longer = np.arange(size) if steps > 2 else np.zeros(0, np.int64)
    for step in range(2, steps):
        longer = longer[lengths[longer] > step * _WORD_BYTES]
        rest = np.minimum(lengths[longer] - step * _WORD_BYTES, 8)
        more = words[starts[longer] + step * _WORD_BYTES] & _MASKS[rest]
        blocks[longer, 0] += more * factors[step - 2, 0]
        blocks[longer, 1] += more.byteswap() * factors[step - 2, 1]
    return blocks
