"""Many conjunctions at once: few columns are cross-tabulated, and each condition is a box in it.

Enters: which values each condition wants of some columns, and columns as codes. Leaves: counts by
condition. Must not know: SQL, sensitive columns, bits.

Most questions are about two or three columns, and thousands of them are about the same few dozen
combinations. So for a *cube* of columns the rows are counted by all of their values at once, and
summed up along each axis: T[i, j, ...] are the rows with codes below i, below j and so on. The rows
of a condition that wants runs of codes are then a few corners of T, added and subtracted. One pass
over the rows answers every conjunction on these columns, or on some of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray

from countveil.engines.local.in_memory.columns import Codes
from countveil.engines.local.in_memory.masks import runs_of

Numbers = NDArray[np.int64]
# The values that are wanted of each column.
Conjunction = Mapping[str, NDArray[np.bool_]]
# By column, the places on its axis that are added (1) or subtracted (-1).
Edges = Mapping[str, Sequence[tuple[int, int]]]

# Places among them fit into two bytes, and so do the lengths of axes.
_MOST_CELLS = (1 << 16) - 1
# Of a stretch: summing up the cells takes less time than counting the rows.
_ROWS_PER_CELL = 4
_MOST_CORNERS = 64
_MOST_COLUMNS = 63
_MOST_CUBES = 32
_SEEDS = 4
_SHORT_AXIS = 16
# What makes a pass over the rows worth while, in nanoseconds: a row in a cube, a stretch in a cube,
# and a row in a condition that is evaluated by itself, with its share of leaves.
_CUBE_ROW, _CUBE_STRETCH, _CONDITION_ROW = 5.0, 200_000.0, 0.15


@dataclass(frozen=True)
class Cube:
    """Columns that are counted together, and conditions as corners of the sums, with signs.

    `numbers` are the places of the conditions, `begins` where the corners of each begin.
    """

    names: Sequence[str]
    shape: Sequence[int]
    numbers: Numbers
    begins: Numbers
    corners: Numbers
    signs: Numbers

    def count(self, columns: Sequence[Codes]) -> Numbers:
        """The rows that meet each condition, of rows with these codes of the columns."""
        place = columns[0].astype(np.uint16)
        for codes, length in zip(columns[1:], self.shape[1:], strict=True):
            np.multiply(place, np.uint16(length), out=place)
            np.add(place, codes, out=place)
        cells = np.bincount(place, minlength=math.prod(self.shape)).reshape(self.shape)
        sums = np.zeros([length + 1 for length in self.shape], np.int64)
        inner = sums[(slice(1, None),) * len(self.shape)]
        inner[:] = cells
        for axis in range(inner.ndim):
            _sum_up(np.moveaxis(inner, axis, 0))
        met: Numbers = np.add.reduceat(sums.ravel()[self.corners] * self.signs, self.begins)
        return met


def _sum_up(array: Numbers) -> None:
    """Along the first axis, in place: a short one by whole slices."""
    if array.ndim == 1 or array.shape[0] > _SHORT_AXIS:
        np.cumsum(array, axis=0, out=array)
        return
    for before, after in pairwise(array):
        np.add(before, after, out=after)


def choose_cubes(
    conjunctions: Mapping[int, Conjunction], lengths: Mapping[str, int], rows: int, stretches: int
) -> list[Cube]:
    """Cubes for as many conditions as it pays; `lengths` are how many values columns have."""
    least = least_conditions(rows, stretches)
    if len(conjunctions) < least:
        return []
    known: dict[bytes, list[tuple[int, int]]] = {}
    edges = {number: _edges(each, known) for number, each in conjunctions.items()}
    few = {n: e for n, e in edges.items() if math.prod(map(len, e.values())) <= _MOST_CORNERS}
    most = min(_MOST_CELLS, int(rows / max(stretches, 1) / _ROWS_PER_CELL))
    return [
        _cube(names, lengths, {number: few[number] for number in numbers})
        for names, numbers in _covers(few, lengths, most, least)
    ]


def least_conditions(rows: int, stretches: int) -> float:
    """For fewer conditions on the same columns, a cube does not pay."""
    cube = rows * _CUBE_ROW + stretches * _CUBE_STRETCH
    return max(cube / max(rows * _CONDITION_ROW, 1.0), 1.0)


def _edges(conjunction: Conjunction, known: dict[bytes, list[tuple[int, int]]]) -> Edges:
    """Rows with a run of codes are those below its end, less those below its beginning."""
    edges = {}
    for name, wanted in conjunction.items():
        key = wanted.tobytes()
        if key not in known:
            ends = [end for first, after in runs_of(wanted) for end in ((after, 1), (first, -1))]
            # Nothing is below 0; and where nothing is wanted, that is the answer.
            known[key] = [end for end in ends if end[0]] or [(0, 1)]
        edges[name] = known[key]
    return edges


def _covers(
    edges: Mapping[int, Edges], lengths: Mapping[str, int], most: int, least: float
) -> Iterator[tuple[list[str], list[int]]]:
    """Columns with at most so many cells together, and at least so many conditions on them."""
    by_columns: dict[frozenset[str], list[int]] = {}
    for number, each in edges.items():
        by_columns.setdefault(frozenset(each), []).append(number)
    left = _Left(by_columns, lengths, most)
    for _ in range(_MOST_CUBES):
        columns, covered = left.best()
        if covered < least:
            return
        yield left.take(columns)


class _Left:
    """Sets of columns that are in no cube yet, as bits, and how many conditions are on each."""

    def __init__(
        self,
        by_columns: Mapping[frozenset[str], list[int]],
        lengths: Mapping[str, int],
        most: int,
    ) -> None:
        used = {name: 0 for columns in by_columns for name in columns}
        for columns, numbers in by_columns.items():
            for name in columns:
                used[name] += len(numbers)
        names = sorted(used, key=used.__getitem__, reverse=True)[:_MOST_COLUMNS]
        # The last axis of a cube is the longest: sums along the others run over it.
        self._names = sorted(names, key=lengths.__getitem__)
        self._lengths = [lengths[name] for name in self._names]
        bit_of = {name: 1 << place for place, name in enumerate(self._names)}
        self._numbers = {
            sum(bit_of[name] for name in columns): numbers
            for columns, numbers in by_columns.items()
            if columns <= bit_of.keys()
        }
        self._most = most
        self._index()

    def best(self) -> tuple[int, int]:
        """The columns that cover most, of those grown from a few sets, and how many these cover."""
        sets = sorted(self._numbers, key=self._cells)
        frequent = sorted(self._numbers, key=lambda bits: len(self._numbers[bits]))
        seeds = dict.fromkeys([*sets[-_SEEDS:], *frequent[-_SEEDS:]])
        return max((self._grown(seed) for seed in seeds), key=lambda each: each[1], default=(0, 0))

    def take(self, columns: int) -> tuple[list[str], list[int]]:
        """The columns of a cube by name, with the conditions on them, which are no longer left."""
        inside = [bits for bits in self._numbers if not bits & ~columns]
        numbers = [number for bits in inside for number in self._numbers.pop(bits)]
        self._index()
        names = [name for place, name in enumerate(self._names) if columns >> place & 1]
        return names, numbers

    def _index(self) -> None:
        self._numbers = {b: n for b, n in self._numbers.items() if self._cells(b) <= self._most}
        self._bits = np.array(list(self._numbers), np.int64)
        self._sizes = np.array([len(numbers) for numbers in self._numbers.values()], np.int64)

    def _grown(self, columns: int) -> tuple[int, int]:
        covered = self._covered(columns)
        while True:
            more = [columns | 1 << place for place in range(len(self._names))]
            fit = [each for each in more if each != columns and self._cells(each) <= self._most]
            best = max(((self._covered(each), each) for each in fit), default=(0, 0))
            if best[0] <= covered:
                return columns, covered
            covered, columns = best

    def _covered(self, columns: int) -> int:
        return int(self._sizes[(self._bits & ~columns) == 0].sum())

    def _cells(self, columns: int) -> int:
        return math.prod(
            length for place, length in enumerate(self._lengths) if columns >> place & 1
        )


def _cube(names: Sequence[str], lengths: Mapping[str, int], edges: Mapping[int, Edges]) -> Cube:
    """Conditions on these columns or on some of them, as corners."""
    shape = [lengths[name] for name in names]
    steps = [math.prod(length + 1 for length in shape[axis + 1 :]) for axis in range(len(shape))]
    begins: list[int] = []
    corners: list[int] = []
    signs: list[int] = []
    for each in edges.values():
        begins.append(len(corners))
        ends = [each.get(name, [(shape[axis], 1)]) for axis, name in enumerate(names)]
        for corner in product(*ends):
            corners.append(sum(end * step for (end, _), step in zip(corner, steps, strict=True)))
            signs.append(math.prod(sign for _, sign in corner))
    arrays = (np.array(each, np.int64) for each in (list(edges), begins, corners, signs))
    return Cube(names, shape, *arrays)
