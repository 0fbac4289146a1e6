"""The order of rows in memory: those that publish the same are side by side.

Enters: sensitive columns as codes. Leaves: *stretches* of rows, and the place of every row. Must
not know: values, conditions.

A stretch is filled up to whole words of bits, so that its rows are counted in words. NumPy makes
eight bytes of every number by which it looks something up; so rows are taken some at a time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countveil.system.process import in_order

Numbers = NDArray[np.int64]

_WORD = 64
_ROWS_AT_ONCE = 1 << 17
# With more stretches than these, all rows are put into order at once.
_MOST_STRETCHES = 1 << 10


@dataclass(frozen=True)
class RowOrder:
    """Rows in the order of `columns`: as many sensitive ones as leave stretches long enough.

    `stretch_codes` are their codes in each stretch, `first_word` is where it begins; `order` are
    the numbers of the rows in order. Of `size` places those are `real` that have a row.
    """

    columns: Sequence[str]
    stretch_codes: Numbers
    first_word: Numbers
    order: NDArray[np.uint32]
    real: NDArray[np.bool_]

    @classmethod
    def of(cls, codes: Mapping[str, NDArray[Any]], lengths: Sequence[int]) -> RowOrder:
        """From the codes of all sensitive columns, and how many values these have."""
        columns, stretch_codes, stretch = _stretches(codes, lengths)
        sizes = _counted(stretch, len(stretch_codes))
        words = -(-sizes // _WORD)
        first_word: Numbers = np.cumsum(words) - words
        real = _filled(first_word * _WORD, sizes, int(words.sum()) * _WORD)
        return cls(columns, stretch_codes, first_word, _in_order(stretch, sizes), real)

    @property
    def size(self) -> int:
        """How many places there are."""
        return self.real.size

    def placed(self, codes: NDArray[Any]) -> NDArray[Any]:
        """A column's codes in this order; 0 where there is no row."""
        taken = np.empty_like(codes)
        for some in _slices(taken.size):
            # All are numbers of rows: clipping only spares a check.
            np.take(codes, self.order[some], out=taken[some], mode="clip")
        placed = np.zeros(self.size, codes.dtype)
        placed[self.real] = taken
        return placed


def together(codes: Iterable[NDArray[Any]], lengths: Sequence[int], size: int) -> NDArray[Any]:
    """Several codes as one number, the last one running fastest."""
    cells = math.prod(lengths)
    kinds = (np.uint8, np.uint16, np.uint32)
    kind = next(kind for kind in kinds if cells <= 1 + np.iinfo(kind).max)
    numbers: NDArray[Any] = np.zeros(size, kind)
    for place, (column, length) in enumerate(zip(codes, lengths, strict=True)):
        # Otherwise all columns before it have one value.
        if place and length < cells:
            numbers *= kind(length)
        numbers += column.astype(kind, copy=False)
    return numbers


def _stretches(
    codes: Mapping[str, NDArray[Any]], lengths: Sequence[int]
) -> tuple[list[str], Numbers, NDArray[Any]]:
    """The columns that make stretches, their codes in each, and the stretch of every row."""
    rows = next(iter(codes.values())).size
    columns: list[str] = []
    chosen: list[int] = []
    for name, length in zip(codes, lengths, strict=True):
        if math.prod(chosen) * length * _WORD <= rows:
            columns.append(name)
            chosen.append(length)
    number: NDArray[Any] = together((codes[name] for name in columns), chosen, rows)
    occurs = _counted(number, math.prod(chosen)) > 0
    stretch_codes = np.zeros((int(occurs.sum()), len(chosen)), np.int64)
    if chosen:
        stretch_codes[:] = np.transpose(np.unravel_index(np.flatnonzero(occurs), chosen))
    if not occurs.all():
        number = (np.cumsum(occurs) - 1).astype(number.dtype)[number]
    return columns, stretch_codes, number


def _in_order(stretch: NDArray[Any], sizes: Numbers) -> NDArray[np.uint32]:
    """The numbers of rows by stretch, and inside a stretch as they are."""
    if sizes.size > _MOST_STRETCHES:
        return np.argsort(stretch, kind="stable").astype(np.uint32)
    order = np.empty(stretch.size, np.uint32)
    following = np.cumsum(sizes) - sizes

    def ordered(some: slice) -> tuple[slice, Numbers, Numbers]:
        here = stretch[some]
        return some, np.argsort(here, kind="stable"), np.bincount(here, minlength=sizes.size)

    for some, inside, counts in in_order(ordered, _slices(stretch.size)):
        before = np.cumsum(counts) - counts
        places = np.arange(inside.size) + np.repeat(following - before, counts)
        order[places] = inside + some.start
        following += counts
    return order


def _slices(size: int) -> Iterator[slice]:
    for start in range(0, size, _ROWS_AT_ONCE):
        yield slice(start, min(start + _ROWS_AT_ONCE, size))


def _counted(codes: NDArray[Any], cells: int) -> Numbers:
    """How often each code occurs."""
    if cells > _ROWS_AT_ONCE:
        return np.bincount(codes, minlength=cells)
    counts = np.zeros(cells, np.int64)
    for some in _slices(codes.size):
        counts += np.bincount(codes[some], minlength=cells)
    return counts


def _filled(firsts: Numbers, sizes: Numbers, size: int) -> NDArray[np.bool_]:
    """Whether there is a row at each place: stretches are filled from their beginnings."""
    steps = np.zeros(size + 1, np.int8)
    steps[firsts] += 1
    steps[firsts + sizes] -= 1
    return np.cumsum(steps[:-1], dtype=np.int8).view(np.bool_)
