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
from collections.abc import Callable, Iterable, Mapping, Sequence
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
    secret = TaskKey(key)
    names = [column.name for column in source.facts.columns] if person is None else [person]
    look = partial(_smallest_of, secret, persons=person is not None)
    hashes, counts, whole = np.zeros(0, np.uint64), np.zeros(0, np.int64), True
    for more, more_counts, all_of_them in source.each_span(names, look, needed_again=published):
        hashes, counts, left = _merged((hashes, more), (counts, more_counts))
        whole = whole and all_of_them and left
        if person is None and _copies(counts) > _HOPELESS:
            return None
    if person is None and (_copies(counts) > MOST_COPIES or not hashes.size):
        return None
    return Sketch(hashes, whole, person is not None)


def _copies(counts: Counts) -> float:
    """The share of rows that have a copy."""
    return float(counts[counts > 1].sum() / max(1, counts.sum()))


def _smallest_of(
    secret: TaskKey, columns: Mapping[str, Sequence[EncodedColumn]], *, persons: bool
) -> tuple[Words, Counts, bool]:
    """The smallest hashes of some rows, how often each occurs, and whether these are all."""
    total: Words | None = None
    for name, batches in columns.items():
        label = ("person",) if persons else ("column", name)
        numbers_of = partial(_hashed, secret=secret, label=label, persons=persons)
        # Every hash is a call of the cipher, and batches are many.
        missing = numbers_of(pa.nulls(1, pa.string()))
        words = [_numbers(batch, numbers_of, missing) for batch in batches]
        numbers = np.concatenate([np.zeros(0, np.uint64), *words])
        total = numbers if total is None else total + numbers
    if total is None:
        return np.zeros(0, np.uint64), np.zeros(0, np.int64), True
    blocks = np.zeros((total.size, 2), np.uint64)
    blocks[:, 0] = total
    return _smallest(secret.hashes(blocks, "row"))


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


def _merged(hashes: Iterable[Words], counts: Iterable[Counts]) -> tuple[Words, Counts, bool]:
    different, places = np.unique(np.concatenate([*hashes]), return_inverse=True)
    together = np.bincount(places, np.concatenate([*counts])).astype(np.int64)
    return different[:COMPARED], together[:COMPARED], different.size <= COMPARED


def _hashed(
    array: pa.Array[Any], secret: TaskKey, label: tuple[str, ...], *, persons: bool
) -> Words:
    """A number for each value."""
    return secret.hashes(_blocks(array, secret, as_text=persons), *label)


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


def _blocks(array: pa.Array[Any], secret: TaskKey, *, as_text: bool) -> Words:
    """Two words for each value. Equal values have equal ones, be they read as wider numbers."""
    array = _as_text(array) if as_text or not is_number(array.type) else array
    if is_number(array.type):
        blocks = _number_blocks(to_numpy(array), array.type)
    else:
        blocks = _text_blocks(array, secret)
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


def _text_blocks(array: pa.Array[Any], secret: TaskKey) -> Words:
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
    factors = secret.stream("factors").words(2 * max(0, steps - 2)).reshape(-1, 2)
    longer = np.arange(size) if steps > 2 else np.zeros(0, np.int64)
    for step in range(2, steps):
        longer = longer[lengths[longer] > step * _WORD_BYTES]
        rest = np.minimum(lengths[longer] - step * _WORD_BYTES, 8)
        more = words[starts[longer] + step * _WORD_BYTES] & _MASKS[rest]
        blocks[longer, 0] += more * factors[step - 2, 0]
        blocks[longer, 1] += more.byteswap() * factors[step - 2, 1]
    return blocks
