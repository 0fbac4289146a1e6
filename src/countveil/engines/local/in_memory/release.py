"""A release in memory as codes: tallies by counting bits.

Enters: a connection with the view `release`; later, tallies. Leaves: counts. Must not know: SQL
that anybody wrote, estimators. What codes do not decide exactly is refused (`NotInMemoryError`) and
left to the files.

Rows are in the order of their published sensitive values, so that the rows that publish the same
are side by side: a *stretch*, filled up to whole words of bits. How many rows of each stretch
meet a condition is then a count of bits: some ten microseconds for 100,000 rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from countveil.engines.local.in_memory.columns import InMemoryColumn, NotInMemoryError, read_column
from countveil.engines.local.in_memory.masks import Masks, Truths, Words, unpacked
from countveil.engines.pivot import axis_sizes, check_size, places_in
from countveil.sql.dialects.dialect import DuckDB
from countveil.sql.query import Tally, TallyResult
from countveil.sql.query.expressions import ColumnReference, Expression, columns_named
from countveil.tables.storage.memory import memory_limit

if TYPE_CHECKING:
    from countveil.sql.query.axes import Axis

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

# Reading more rows than these takes longer than an analyst wants to wait, even once.
MOST_ROWS = 20_000_000
# Of memory, per row, while rows are put into order; afterwards a few bytes per column.
_BYTES_PER_ROW = 64
_WORD = 64
_MOST_PATTERNS = 64
_MOST_CELLS = 1 << 22


class InMemoryRelease:
    """The columns that were asked about, as codes, in one common order of rows."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        internal: Mapping[str, str],
        sensitive: Sequence[str],
    ) -> None:
        ((rows,),) = connection.sql("SELECT count(*) FROM release").fetchall()
        self._most_bytes = memory_limit(None)
        if rows > MOST_ROWS or rows * _BYTES_PER_ROW > self._most_bytes:
            raise NotInMemoryError
        self._connection, self._internal = connection, internal
        self._columns: dict[str, InMemoryColumn | None] = {}
        self._bytes = 0
        read = {name: read_column(connection, internal[name]) for name in sensitive}
        self._ordered, self._stretch_codes, stretch = _stretches(read)
        sizes = np.bincount(stretch)
        words = -(-sizes // _WORD)
        self._first_word: Numbers = np.cumsum(words) - words
        order = np.argsort(stretch, kind="stable")
        # A row's place is its rank among all rows in order, shifted by the padding of the
        # stretches.
        moved = (self._first_word * _WORD - (np.cumsum(sizes) - sizes)).astype(np.uint32)
        self._place = np.empty(stretch.size, np.uint32)
        self._place[order] = np.arange(stretch.size, dtype=np.uint32) + np.repeat(moved, sizes)
        self._size = int(words.sum()) * _WORD
        real = np.zeros(self._size, bool)
        real[self._place] = True
        self._masks = Masks(real, self._column, self._ask)
        for name, column in read.items():
            self._columns[name] = self._placed(column)

    def tally(self, tally: Tally, domains: Sequence[Sequence[Any]]) -> TallyResult:
        """Count what a tally asks for, if codes decide it."""
        if tally.arguments:
            return self._summed(tally, domains)
        patterns = self._patterns(tally)
        masks = [rows for _, rows in patterns]
        if tally.keys:
            keys, counts = self._by_keys(tally, masks, domains)
        else:
            check_size(len(masks) * math.prod(axis_sizes(tally.axes, domains)), 1)
            count = self._counter(tally.sensitive, domains, tally.axes)
            keys, counts = [()], np.stack([count(mask) for mask in masks])[None]
        truths = np.array([truths for truths, _ in patterns], bool)
        truths = truths.reshape(len(patterns), len(tally.conditions))
        return TallyResult(keys, truths, counts[None], np.zeros(0))

    def _summed(self, tally: Tally, domains: Sequence[Sequence[Any]]) -> TallyResult:
        """Sums of one plain column: its values times how many rows have each."""
        names = set().union(*map(columns_named, tally.arguments))
        if len(names) != 1 or tally.axes:
            raise NotInMemoryError
        (name,) = names
        values = self._column(name).values
        by_value = replace(tally, sensitive=(name, *tally.sensitive), arguments=())
        counted = self.tally(by_value, [values, *domains])
        counts = counted.moments[0]
        moments, lowest = [counts.sum(axis=2)], []
        occurs = counts.sum(axis=(0, 1, *range(3, counts.ndim))) > 0
        for argument in tally.arguments:
            numbers = self._numbers(name, argument)
            # Infinite numbers times no row are not a number.
            if not np.isfinite(numbers[occurs]).all():
                raise NotInMemoryError
            numbers = np.where(occurs, numbers, 0.0)
            moments += [np.tensordot(counts, n, (2, 0)) for n in (numbers, numbers**2)]
            lowest.append(min(0.0, float(numbers.min(initial=0.0))))
        return TallyResult(counted.keys, counted.truths, np.stack(moments), np.array(lowest))

    def _numbers(self, name: str, argument: Expression) -> Floats:
        """What DuckDB makes of each value of a column, as a number; 0 where it is missing."""
        statement = DuckDB({name: "v"})
        table = self._column(name).table
        text = f"SELECT CAST(coalesce({statement.text(argument)}, 0) AS DOUBLE) FROM {table}"
        try:
            relation = self._connection.sql(f"{text} ORDER BY rank", params=statement.parameters)
            return np.array(relation.to_arrow_table().column(0).to_pylist(), np.float64)
        except duckdb.InterruptException:
            raise KeyboardInterrupt from None
        except duckdb.Error as error:
            # A question to the files explains it.
            raise NotInMemoryError from error

    def tally_each(
        self,
        conditions: Sequence[Expression],
        names: Sequence[str],
        domains: Sequence[Sequence[Any]],
        axes: Sequence[Axis] = (),
    ) -> list[Floats | None]:
        """The published values under each condition; None where codes do not decide it."""
        count = self._counter(names, domains, axes)
        counts: list[Floats | None] = []
        for condition in conditions:
            try:
                counts.append(count(self._masks.holds(condition)))
            except NotInMemoryError:
                counts.append(None)
        return counts

    def _patterns(self, tally: Tally) -> list[tuple[tuple[bool, ...], Words]]:
        """Which of the conditions hold together, and the rows in which they do."""
        patterns: list[tuple[tuple[bool, ...], Words]] = [((), self._masks.holds(tally.where))]
        for condition in tally.conditions:
            holds = self._masks.holds(condition)
            both = [
                ((*truths, truth), some)
                for truths, rows in patterns
                for truth, some in ((True, rows & holds), (False, rows & ~holds))
            ]
            # Without any row there is still a pattern: nothing holds.
            patterns = [entry for entry in both if entry[1].any()] or both[-1:]
            if len(patterns) > _MOST_PATTERNS:
                raise NotInMemoryError
        return patterns

    def _by_keys(
        self, tally: Tally, masks: Sequence[Words], domains: Sequence[Sequence[Any]]
    ) -> tuple[list[tuple[Any, ...]], Floats]:
        """Counts by plain keys as well, in the order of the keys."""
        names = [key.name for key in tally.keys if isinstance(key, ColumnReference)]
        if len(names) < len(tally.keys):
            raise NotInMemoryError
        values = [self._column(name).values for name in names]
        lengths = [len(known) for known in values]
        if tally.axes:
            # Plain keys beside them are left to the files, which count only what occurs.
            raise NotInMemoryError
        count = self._counter([*names, *tally.sensitive], [*values, *domains])
        counts = np.stack([count(mask) for mask in masks])
        counts = counts.reshape(len(masks), math.prod(lengths), *counts.shape[1 + len(names) :])
        occurs = np.flatnonzero(counts.sum(axis=(0, *range(2, counts.ndim))))
        check_size(occurs.size * counts[:, 0].size, 1)
        listed = [
            [known[place] for place in places.tolist()]
            for known, places in zip(values, np.unravel_index(occurs, lengths), strict=True)
        ]
        return list(zip(*listed, strict=True)), np.moveaxis(counts[:, occurs], 1, 0)

    def _counter(
        self,
        names: Sequence[str],
        orders: Sequence[Sequence[Any]],
        axes: Sequence[Axis] = (),
    ) -> Callable[[Words], Floats]:
        """What counts the rows of a mask by the values of columns, in the order given for each."""
        columns = [self._column(name) for name in names]
        shape = axis_sizes(axes, orders)
        size = math.prod(shape)
        if size > _MOST_CELLS:
            raise NotInMemoryError
        by_stretch = set(names) <= set(self._ordered)
        places: list[NDArray[Any]] = []
        for name, column, order in zip(names, columns, orders, strict=True):
            place_of = places_in(order, column.values).astype(np.int64 if axes else np.uint32)
            number = self._ordered.index(name) if by_stretch else 0
            places.append(place_of[self._stretch_codes[:, number] if by_stretch else column.codes])
        if axes:
            places = [axis.places(places) for axis in axes]
        cell = _together(places, shape, len(self._stretch_codes) if by_stretch else self._size)

        def count(mask: Words) -> Floats:
            if by_stretch:
                bits = np.add.reduceat(np.bitwise_count(mask), self._first_word, dtype=np.int64)
                counts = np.bincount(cell, bits, size)
            else:
                counts = np.bincount(cell[unpacked(mask)], minlength=size)
            return counts.astype(np.float64).reshape(shape)

        return count

    def _column(self, name: str) -> InMemoryColumn:
        if name not in self._columns:
            # Whatever happens, it is read once only.
            self._columns[name] = None
            if self._bytes < self._most_bytes // 4:
                read = read_column(self._connection, self._internal[name])
                self._columns[name] = self._placed(read)
        column = self._columns[name]
        if column is None:
            raise NotInMemoryError
        return column

    def _placed(self, column: InMemoryColumn) -> InMemoryColumn:
        """The column in the common order of rows."""
        codes = np.zeros(self._size, column.codes.dtype)
        codes[self._place] = column.codes
        self._bytes += codes.nbytes
        return InMemoryColumn(codes, column.values, column.table, column.whole)

    def _ask(self, column: InMemoryColumn, name: str, expression: Expression) -> Truths:
        """What DuckDB says of each value of a column."""
        statement = DuckDB({name: "v"})
        text = f"SELECT {statement.text(expression)} FROM {column.table} ORDER BY rank"
        try:
            relation = self._connection.sql(text, params=statement.parameters)
            answers = relation.to_arrow_table().column(0)
        except duckdb.InterruptException:
            raise KeyboardInterrupt from None
        except duckdb.Error as error:
            # A question to the files explains it.
            raise NotInMemoryError from error
        truths = [-1 if value is None else int(value) for value in answers.to_pylist()]
        return np.array(truths, np.int8)


def _together(codes: Iterable[NDArray[Any]], lengths: Sequence[int], size: int) -> NDArray[Any]:
    """Several codes as one number, the last one running fastest."""
    together = np.zeros(size, np.uint32)
    for column, length in zip(codes, lengths, strict=True):
        together = together * np.uint32(length) + column.astype(np.uint32)
    return together


def _stretches(
    columns: Mapping[str, InMemoryColumn],
) -> tuple[list[str], NDArray[np.int64], NDArray[np.uint32]]:
    """Rows that publish the same, in as many sensitive columns as leaves stretches long enough.

    Gives these columns, their codes in each stretch, and the stretch of every row.
    """
    rows = next(iter(columns.values())).codes.size
    ordered: list[str] = []
    lengths: list[int] = []
    for name, column in columns.items():
        if math.prod(lengths) * len(column.values) * _WORD <= rows:
            ordered.append(name)
            lengths.append(len(column.values))
    together = _together((columns[name].codes for name in ordered), lengths, rows)
    occurs = np.bincount(together) > 0
    codes = np.zeros((int(occurs.sum()), len(lengths)), np.int64)
    if lengths:
        codes[:] = np.transpose(np.unravel_index(np.flatnonzero(occurs), lengths))
    number = (np.cumsum(occurs) - 1).astype(np.uint32)
    return ordered, codes, number[together]
