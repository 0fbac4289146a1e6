"""Many conditions at once: the rows that meet each, counted by stretch of rows.

Enters: conditions, columns as codes, where stretches of rows begin. Leaves: counts by condition and
stretch, or by what stretches are added up to. Must not know: sensitive columns, tallies.

Bits of all conditions do not fit into memory, and those of one do not fit into a processor's cache
where a release has millions of rows. So rows are taken in short blocks, and for each block the bits
of every *leaf* (a condition on one column) are made once for all conditions that it occurs in.
Conjunctions on the same few columns are counted without bits, where there are enough of them
(`boxes`). Blocks and stretches are counted in threads.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from countveil.engines.local.in_memory import NotInMemoryError
from countveil.engines.local.in_memory.boxes import choose_cubes, least_conditions
from countveil.engines.local.in_memory.columns import Codes
from countveil.engines.local.in_memory.masks import (
    TruthTables,
    Words,
    packed,
    runs_of,
    selected,
)
from countveil.sql.query.expressions import Constant, Expression, Operation, columns_named
from countveil.system.process import in_order

Numbers = NDArray[np.int64]

_WORD = 64
# 8,192 words of bits are 64 KiB: a few of them fit into a fast cache.
_BLOCK = 1 << 13
_MOST_LEAVES = 1 << 10
_AT_ONCE = 64
_ROWS_AT_ONCE = 1 << 19
# Beginning a thread takes as long as counting some hundred thousand rows.
_WITHOUT_THREADS = 1 << 21

Item = TypeVar("Item")
Result = TypeVar("Result")

# A leaf by its number, a constant, or parts that are joined by AND or OR.
Node = int | bool | tuple[str, tuple["Node", ...]]


@dataclass(frozen=True)
class _Leaf:
    """A condition on one column: the values for which it holds, and in which runs these are."""

    name: str
    wanted: NDArray[np.bool_]
    runs: Sequence[tuple[int, int]]

    def mask(self, codes: Codes, real: Words) -> Words:
        """The bits of the rows with these codes that meet it."""
        return packed(selected(codes, self.wanted, self.runs)) & real


@dataclass
class _Compiled:
    """Conditions that share their leaves; `numbers` are their places among all."""

    numbers: list[int] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    leaves: list[_Leaf] = field(default_factory=list)
    leaf_of: dict[tuple[Expression, int], int] = field(default_factory=dict)

    def in_order(self) -> _Compiled:
        """Conditions that begin alike follow each other: their bits are still in a cache."""
        order = sorted(range(len(self.nodes)), key=lambda place: str(self.nodes[place]))
        self.numbers = [self.numbers[place] for place in order]
        self.nodes = [self.nodes[place] for place in order]
        return self


def count_stretches(
    conditions: Sequence[Expression],
    tables: TruthTables,
    real: Words,
    first_word: Numbers,
    cell: NDArray[Any],
    cells: int,
) -> tuple[NDArray[np.float64], list[int]]:
    """Counts by condition and cell, and the conditions that codes do not decide.

    `first_word` is where each stretch begins, `cell` to which cell its rows are added.
    """
    counts = np.zeros((len(conditions), cells))
    in_boxes: set[int] = set()
    for stretch, numbers, counted in _count_boxes(conditions, tables, real, first_word):
        counts[numbers, cell[stretch]] += counted
        in_boxes.update(numbers.tolist())
    left = [number for number in range(len(conditions)) if number not in in_boxes]
    undecided: list[int] = []
    for compiled in _compiled(conditions, left, tables, undecided):
        numbers = np.array(compiled.numbers, np.int64)
        work = partial(_count_block, compiled, tables, real, first_word)
        for places, counts_of in in_threads(work, range(0, real.size, _BLOCK), real.size * _WORD):
            for stretch, place in enumerate(cell[places].tolist()):
                counts[numbers, place] += counts_of[:, stretch]
    return counts, undecided


def in_threads(
    work: Callable[[Item], Result], items: Iterable[Item], rows: int
) -> Iterator[Result]:
    """Do the work for every item, in threads where there are so many rows that it pays."""
    return in_order(work, items) if rows > _WITHOUT_THREADS else map(work, items)


def _count_boxes(
    conditions: Sequence[Expression], tables: TruthTables, real: Words, first_word: Numbers
) -> Iterator[tuple[int, Numbers, Numbers]]:
    """Of some rows of a stretch: which it is, numbers of conditions, the rows that meet each."""
    rows = real.size * _WORD
    if len(conditions) < least_conditions(rows, first_word.size):
        return
    known: dict[Expression, tuple[str, NDArray[np.bool_]] | None] = {}
    asked = {n: _conjunction(each, tables, known) for n, each in enumerate(conditions)}
    conjunctions = {number: each for number, each in asked.items() if each}
    lengths = {name: wanted.size for each in conjunctions.values() for name, wanted in each.items()}
    cubes = choose_cubes(conjunctions, lengths, rows, first_word.size)
    columns = [[tables.column(name).codes for name in cube.names] for cube in cubes]

    def counted(some: tuple[int, slice]) -> tuple[int, list[Numbers]]:
        stretch, here = some
        each = zip(cubes, columns, strict=True)
        return stretch, [cube.count([codes[here] for codes in of]) for cube, of in each]

    if cubes:
        for stretch, counts in in_threads(counted, _rows_of_stretches(real, first_word), rows):
            for cube, met in zip(cubes, counts, strict=True):
                yield stretch, cube.numbers, met


def _conjunction(
    expression: Expression,
    tables: TruthTables,
    known: dict[Expression, tuple[str, NDArray[np.bool_]] | None],
) -> dict[str, NDArray[np.bool_]] | None:
    """The values that a condition wants of each column; None if it is no conjunction of these."""
    wanted: dict[str, NDArray[np.bool_]] = {}
    parts = [expression]
    while parts:
        part = parts.pop()
        if isinstance(part, Operation) and part.name == "and":
            parts += part.operands
            continue
        if part not in known:
            names = columns_named(part)
            known[part] = None
            if len(names) == 1:
                with contextlib.suppress(NotInMemoryError):
                    (name,) = names
                    known[part] = name, tables.of(name, part) == 1
        leaf = known[part]
        if leaf is None:
            return None
        name, values = leaf
        wanted[name] = wanted[name] & values if name in wanted else values
    return wanted


def _rows_of_stretches(real: Words, first_word: Numbers) -> Iterator[tuple[int, slice]]:
    """Rows that are real: they come first in a stretch. Long stretches are cut."""
    sizes = np.add.reduceat(np.bitwise_count(real), first_word, dtype=np.int64)
    firsts = (first_word * _WORD).tolist()
    for stretch, (first, size) in enumerate(zip(firsts, sizes.tolist(), strict=True)):
        for start in range(first, first + size, _ROWS_AT_ONCE):
            yield stretch, slice(start, min(start + _ROWS_AT_ONCE, first + size))


def _count_block(
    compiled: _Compiled, tables: TruthTables, real: Words, first_word: Numbers, start: int
) -> tuple[slice, Numbers]:
    """The stretches of a block, and the counts in them by condition."""
    block = slice(start, min(start + _BLOCK, real.size))
    rows = slice(block.start * _WORD, block.stop * _WORD)
    masks = [
        leaf.mask(tables.column(leaf.name).codes[rows], real[block]) for leaf in compiled.leaves
    ]
    places, offsets = _stretches_in(block, first_word)
    counted = np.empty((len(compiled.nodes), offsets.size), np.int64)
    met = np.empty((_AT_ONCE, block.stop - block.start), np.uint64)
    for first in range(0, len(compiled.nodes), _AT_ONCE):
        nodes = compiled.nodes[first : first + _AT_ONCE]
        for node, bits in zip(nodes, met, strict=False):
            _fill(bits, node, masks, real[block])
        ones = np.bitwise_count(met[: len(nodes)])
        np.add.reduceat(
            ones, offsets, axis=1, dtype=np.int64, out=counted[first : first + len(nodes)]
        )
    return places, counted


def _compiled(
    conditions: Sequence[Expression],
    chosen: Sequence[int],
    tables: TruthTables,
    undecided: list[int],
) -> Iterator[_Compiled]:
    """Conditions in parts that have few enough leaves; the undecided ones are listed."""
    part = _Compiled()
    for number in chosen:
        try:
            node = _node(conditions[number], 1, tables, part)
        except NotInMemoryError:
            undecided.append(number)
            continue
        part.numbers.append(number)
        part.nodes.append(node)
        if len(part.leaves) > _MOST_LEAVES:
            yield part.in_order()
            part = _Compiled()
    if part.numbers:
        yield part.in_order()


def _node(expression: Expression, truth: int, tables: TruthTables, part: _Compiled) -> Node:
    """Where a condition is true (or false, by `truth`), from leaves."""
    if isinstance(expression, Constant):
        return expression.value is bool(truth)
    names = columns_named(expression)
    if len(names) == 1:
        key = (expression, truth)
        if key not in part.leaf_of:
            name = names.pop()
            wanted = tables.of(name, expression) == truth
            part.leaf_of[key] = len(part.leaves)
            part.leaves.append(_Leaf(name, wanted, runs_of(wanted)))
        return part.leaf_of[key]
    if not isinstance(expression, Operation) or expression.name not in ("and", "or", "not"):
        raise NotInMemoryError
    if expression.name == "not":
        return _node(expression.operands[0], 1 - truth, tables, part)
    joined = "and" if (expression.name == "and") == (truth == 1) else "or"
    nodes = [_node(operand, truth, tables, part) for operand in expression.operands]
    # What is joined by the same word is one list.
    flat = (n[1] if isinstance(n, tuple) and n[0] == joined else (n,) for n in nodes)
    return joined, tuple(node for each in flat for node in each)


def _fill(bits: Words, node: Node, masks: Sequence[Words], real: Words) -> None:
    """Write the bits of a condition to `bits`."""
    if not isinstance(node, tuple):
        bits[:] = _simple(node, masks, real)
        return
    word, (first, second, *others) = node
    join = np.bitwise_and if word == "and" else np.bitwise_or
    join(_part(first, masks, real), _part(second, masks, real), out=bits)
    for part in others:
        join(bits, _part(part, masks, real), out=bits)


def _part(node: Node, masks: Sequence[Words], real: Words) -> Words:
    if not isinstance(node, tuple):
        return _simple(node, masks, real)
    bits = np.empty_like(real)
    _fill(bits, node, masks, real)
    return bits


def _simple(node: int | bool, masks: Sequence[Words], real: Words) -> Words:
    if isinstance(node, bool):
        return real if node else np.zeros_like(real)
    return masks[node]


def _stretches_in(block: slice, first_word: Numbers) -> tuple[slice, Numbers]:
    """The stretches that lie in a block, and where they begin in it."""
    first, last = np.searchsorted(first_word, [block.start, block.stop - 1], side="right") - 1
    places = slice(int(first), int(last) + 1)
    return places, np.maximum(first_word[places] - block.start, 0)
