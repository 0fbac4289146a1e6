"""Conditions on columns in memory -> one bit per row.

Enters: expressions and columns as codes. Leaves: bits, packed, in the order of the codes. Must not
know: sensitive columns, tallies.

A condition on one column is decided value by value; a few kinds that leave no room for doubt
(whole numbers compared with whole numbers, text equal to text, missing) are decided here, all
others by DuckDB over the column's values. AND, OR and NOT of conditions on several columns are
those of SQL, where a condition may be neither true nor false: the rows where it is true and those
where it is false are two questions.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countveil.engines.local.in_memory import NotInMemoryError
from countveil.engines.local.in_memory.columns import Codes, InMemoryColumn
from countveil.sql.query.expressions import (
    ColumnReference,
    Constant,
    Expression,
    Operation,
    columns_named,
)

Words = NDArray[np.uint64]
# Of every value of a column: 1 true, 0 false, -1 unknown.
Truths = NDArray[np.int8]

_MOST_REMEMBERED = 64 << 20
_MOST_TABLES = 20_000
_MOST_RUNS = 16
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "equal": np.equal, "unequal": np.not_equal, "less": np.less, "at_most": np.less_equal,
    "greater": np.greater, "at_least": np.greater_equal,
}  # fmt: skip


class TruthTables:
    """For which values of a column a condition on it holds; each is decided once."""

    def __init__(
        self,
        column: Callable[[str], InMemoryColumn],
        asked: Callable[[InMemoryColumn, str, Expression], Truths],
    ) -> None:
        self.column, self._asked = column, asked
        self._known: OrderedDict[Expression, Truths] = OrderedDict()

    def of(self, name: str, expression: Expression) -> Truths:
        """What a condition on this column is for each of its values."""
        if expression not in self._known:
            self._known[expression] = self._decided(self.column(name), name, expression)
            if len(self._known) > _MOST_TABLES:
                self._known.popitem(last=False)
        return self._known[expression]

    def _decided(self, column: InMemoryColumn, name: str, expression: Expression) -> Truths:
        if isinstance(expression, Operation):
            operands = expression.operands
            if expression.name in ("and", "or") and all(map(columns_named, operands)):
                each = np.stack([self._decided(column, name, operand) for operand in operands])
                decisive = expression.name == "or"
                settled, unknown = (each == decisive).any(axis=0), (each < 0).any(axis=0)
                truths = np.where(settled, decisive, np.where(unknown, -1, not decisive))
                return truths.astype(np.int8)
            simple = _simple_truths(column, expression)
            if simple is not None:
                return simple
        return self._asked(column, name, expression)


class Masks:
    """Bits of conditions; those on a single column are remembered."""

    def __init__(self, tables: TruthTables, real: NDArray[np.bool_]) -> None:
        self.real = packed(real)
        self._tables = tables
        self._known: OrderedDict[tuple[Expression, int], Words] = OrderedDict()

    def holds(self, expression: Expression) -> Words:
        """The rows for which a condition is true."""
        return self._rows(expression, 1)

    def _rows(self, expression: Expression, truth: int) -> Words:
        if (expression, truth) in self._known:
            self._known.move_to_end((expression, truth))
            return self._known[expression, truth]
        if isinstance(expression, Constant):
            return self.real if expression.value is bool(truth) else np.zeros_like(self.real)
        names = columns_named(expression)
        if len(names) == 1:
            rows = self._decided(names.pop(), expression, truth)
            self._remember((expression, truth), rows)
            return rows
        if not isinstance(expression, Operation) or expression.name not in ("and", "or", "not"):
            raise NotInMemoryError
        if expression.name == "not":
            return self._rows(expression.operands[0], 1 - truth)
        # An AND is true where all operands are, and false where one is; an OR the other way round.
        join = np.bitwise_and if (expression.name == "and") == (truth == 1) else np.bitwise_or
        joined = self._rows(expression.operands[0], truth)
        for operand in expression.operands[1:]:
            joined = join(joined, self._rows(operand, truth))
        return joined

    def _remember(self, key: tuple[Expression, int], rows: Words) -> None:
        self._known[key] = rows
        while len(self._known) * self.real.nbytes > _MOST_REMEMBERED:
            self._known.popitem(last=False)

    def _decided(self, name: str, expression: Expression, truth: int) -> Words:
        wanted = self._tables.of(name, expression) == truth
        codes = self._tables.column(name).codes
        return packed(selected(codes, wanted, runs_of(wanted))) & self.real


def packed(rows: NDArray[np.bool_]) -> Words:
    """One bit per row; the number of rows is a multiple of 64."""
    return np.packbits(rows, bitorder="little").view(np.uint64)


def unpacked(words: Words) -> NDArray[np.bool_]:
    """The rows of bits."""
    return np.unpackbits(words.view(np.uint8), bitorder="little").view(np.bool_)


def _simple_truths(column: InMemoryColumn, operation: Operation) -> Truths | None:
    """The truth of a comparison that needs no engine; None if it may need one."""
    subject, *others = operation.operands
    if not isinstance(subject, ColumnReference):
        return None
    truths = np.full(len(column.values), -1, np.int8)
    if operation.name == "is_null":
        truths[:] = np.arange(truths.size) >= column.known
        return truths
    constants = [other.value for other in others if isinstance(other, Constant)]
    decided = None
    if constants and len(constants) == len(others):
        if column.numbers is not None and all(_fits(value) for value in constants):
            decided = _compared(column.numbers, operation.name, constants)
        elif subject.kind == "text" and all(type(value) is str for value in constants):
            decided = _among(column, operation.name, constants)
    if decided is None:
        return None
    truths[: column.known] = decided
    return truths


def _compared(
    numbers: NDArray[np.int64], word: str, constants: Sequence[int]
) -> NDArray[np.bool_] | None:
    if word == "in":
        return np.isin(numbers, np.array(constants, np.int64))
    compare = _COMPARE.get(word)
    return None if compare is None else compare(numbers, np.int64(constants[0]))


def _among(column: InMemoryColumn, word: str, constants: Sequence[str]) -> NDArray[np.bool_] | None:
    if word not in ("equal", "unequal", "in"):
        return None
    truths = np.full(column.known, word == "unequal")
    for value in constants:
        if value in column.rank_of:
            truths[column.rank_of[value]] = word != "unequal"
    return truths


def _fits(value: Any) -> bool:
    return type(value) is int and -(1 << 63) <= value < 1 << 63


def runs_of(wanted: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Where wanted codes follow each other: the first of them, and the one after the last."""
    steps = np.flatnonzero(np.diff(wanted, prepend=False, append=False)).tolist()
    return list(zip(steps[::2], steps[1::2], strict=True))


def selected(
    codes: Codes, wanted: NDArray[np.bool_], runs: Sequence[tuple[int, int]]
) -> NDArray[np.bool_]:
    """The rows whose code is wanted: few runs of codes are compared, many looked up."""
    if len(runs) > _MOST_RUNS:
        return wanted[codes]
    rows: NDArray[np.bool_] | None = None
    for first, after in runs:
        # Unsigned, so that codes below the first become larger than the last.
        last = codes.dtype.type(after - 1 - first)
        run = codes == first if after - first == 1 else (codes - codes.dtype.type(first)) <= last
        rows = run if rows is None else np.logical_or(rows, run, out=rows)
    return np.zeros(codes.size, bool) if rows is None else rows
