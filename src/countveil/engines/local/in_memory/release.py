"""A release in memory as codes: tallies by counting bits.

Enters: a connection with the view `release`; later, tallies. Leaves: counts. Must not know: SQL
that anybody wrote, estimators. What codes do not decide exactly is refused (`NotInMemoryError`) and
left to the files.

Rows are in the order of their published sensitive values, so that the rows that publish the same
are side by side: a *stretch*, filled up to whole words of bits. How many rows of each stretch
meet a condition is then a count of bits: some ten microseconds for 100,000 rows.
"""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from countveil.engines.local.in_memory import NotInMemoryError
from countveil.engines.local.in_memory.columns import (
    Batches,
    InMemoryColumn,
    encode_column,
    ranked_values,
)
from countveil.engines.local.in_memory.many import count_stretches, in_threads
from countveil.engines.local.in_memory.masks import Masks, Truths, TruthTables, Words, unpacked
from countveil.engines.local.in_memory.row_order import RowOrder, together
from countveil.engines.pivot import axis_sizes, check_size, no_ranges, places_in
from countveil.sql.dialects.dialect import DuckDB
from countveil.sql.query import Tally, TallyResult
from countveil.sql.query.expressions import ColumnReference, Expression, columns_named
from countveil.system.process import in_order
from countveil.tables.storage.memory import memory_limit

if TYPE_CHECKING:
    from countveil.sql.query.axes import Axis

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

# More rows than these are left to the files: reading them takes seconds, even in the background.
MOST_ROWS = 20_000_000
# Of memory, per row, while rows are put into order; afterwards a few bytes per column.
_BYTES_PER_ROW = 64
_WORD = 64
_MOST_PATTERNS = 64
# What was summed before is not computed anew.
_MOST_ARGUMENTS = 64
_MOST_CELLS = 1 << 22
_MOST_STRETCHES = 1 << 12
_FEW_CONDITIONS = 4


@dataclass(frozen=True)
class _Counter:
    """Counts the rows of a mask by cell: stretches are counted if `first_word` is given."""

    shape: tuple[int, ...]
    cell: NDArray[Any]
    first_word: Numbers | None

    def count(self, mask: Words) -> Floats:
        size = math.prod(self.shape)
        if self.first_word is None:
            counts = np.bincount(self.cell[unpacked(mask)], minlength=size)
        else:
            bits = np.add.reduceat(np.bitwise_count(mask), self.first_word, dtype=np.int64)
            counts = np.bincount(self.cell, bits, size)
        return counts.astype(np.float64).reshape(self.shape)


@dataclass(frozen=True)
class _Argument:
    """What is summed: a number for every value of a column."""

    name: str
    numbers: Floats


class InMemoryRelease:
    """The columns that were asked about, as codes, in one common order of rows."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        internal: Mapping[str, str],
        sensitive: Sequence[str],
        batches: Batches,
        *,
        at_once: bool = False,
    ) -> None:
        ((rows,),) = connection.sql("SELECT count(*) FROM release").fetchall()
        self._most_bytes = memory_limit(None)
        if rows > MOST_ROWS or rows * _BYTES_PER_ROW > self._most_bytes:
            raise NotInMemoryError
        self._connection, self._internal = connection, internal
        self._columns: dict[str, InMemoryColumn | None] = {}
        self._arguments: dict[Expression, _Argument] = {}
        self._bytes = 0
        self._batches, self._at_once = batches, at_once
        self._asking = threading.Lock()
        read = {name: self._read(name) for name in sensitive}
        self._rows = RowOrder.of(
            {name: column.codes for name, column in read.items()},
            [len(column.values) for column in read.values()],
        )
        self._tables = TruthTables(self._column, self._ask)
        self._masks = Masks(self._tables, self._rows.real)
        for name, column in read.items():
            self._columns[name] = self._placed(column)

    def tally(self, tally: Tally, domains: Sequence[Sequence[Any]]) -> TallyResult:
        """Count what a tally asks for, if codes decide it."""
        arguments = [self._argument(argument) for argument in tally.arguments]
        patterns = self._patterns(tally)
        masks = [rows for _, rows in patterns]
        if tally.keys:
            keys, counts, occurs = self._by_keys(tally, masks, domains)
        else:
            check_size(len(masks) * math.prod(axis_sizes(tally.axes, domains)), 1)
            counter = self._counter(tally.sensitive, domains, tally.axes)
            keys, counts = [()], np.stack([counter.count(mask) for mask in masks])[None]
            occurs = np.zeros(1, np.int64)
        check_size(counts.size, 1 + 2 * len(arguments))
        moments = [counts]
        ranges = no_ranges(len(arguments), *counts.shape[:2])
        for number, argument in enumerate(arguments):
            by_value = self._by_value(tally, masks, domains, argument.name, occurs)
            moments += [by_value @ argument.numbers, by_value @ argument.numbers**2]
            shown = by_value.any(axis=tuple(range(2, by_value.ndim - 1)))
            ranges[0, number] = np.where(shown, argument.numbers, np.inf).min(-1, initial=np.inf)
            ranges[1, number] = np.where(shown, argument.numbers, -np.inf).max(-1, initial=-np.inf)
        truths = np.array([truths for truths, _ in patterns], bool)
        truths = truths.reshape(len(patterns), len(tally.conditions))
        return TallyResult(keys, truths, np.stack(moments), ranges)

    def tally_each(
        self,
        conditions: Sequence[Expression],
        names: Sequence[str],
        domains: Sequence[Sequence[Any]],
        axes: Sequence[Axis] = (),
    ) -> list[Floats | None]:
        """The published values under each condition; None where codes do not decide it."""
        self._read_ahead(conditions)
        counter = self._counter(names, domains, axes)
        # Of few conditions, the bits of leaves are remembered for the next questions.
        if counter.first_word is not None and len(conditions) > _FEW_CONDITIONS:
            counted, undecided = count_stretches(
                conditions, self._tables, self._masks.real,
                counter.first_word, counter.cell, math.prod(counter.shape),
            )  # fmt: skip
            left = set(undecided)
            shaped = counted.reshape(len(conditions), *counter.shape)
            return [None if n in left else each for n, each in enumerate(shaped)]
        counts: list[Floats | None] = []
        for condition in conditions:
            try:
                counts.append(counter.count(self._masks.holds(condition)))
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
    ) -> tuple[list[tuple[Any, ...]], Floats, Numbers]:
        """Counts by plain keys as well, in the order of the keys, and which keys occur."""
        if tally.axes:
            # Plain keys beside them are left to the files, which count only what occurs.
            raise NotInMemoryError
        names = self._key_names(tally)
        values = [self._column(name).values for name in names]
        lengths = [len(known) for known in values]
        counter = self._counter([*names, *tally.sensitive], [*values, *domains])
        counts = np.stack([counter.count(mask) for mask in masks])
        counts = counts.reshape(len(masks), math.prod(lengths), *counts.shape[1 + len(names) :])
        occurs = np.flatnonzero(counts.sum(axis=(0, *range(2, counts.ndim))))
        check_size(occurs.size * counts[:, 0].size, 1)
        listed = [
            [known[place] for place in places.tolist()]
            for known, places in zip(values, np.unravel_index(occurs, lengths), strict=True)
        ]
        keys = list(zip(*listed, strict=True))
        return keys, np.moveaxis(counts[:, occurs], 1, 0), occurs

    def _by_value(
        self,
        tally: Tally,
        masks: Sequence[Words],
        domains: Sequence[Sequence[Any]],
        name: str,
        occurs: Numbers,
    ) -> Floats:
        """The same counts as those of the tally, and by the values of one more column."""
        column, names = self._column(name), self._key_names(tally)
        if not names and set(tally.sensitive) <= set(self._rows.columns):
            counter = self._counter(tally.sensitive, domains, tally.axes)
            if len(self._rows.first_word) <= _MOST_STRETCHES:
                by_value = [self._stretch_values(mask, column, counter) for mask in masks]
                return np.stack(by_value)[None]
        if tally.axes:
            raise NotInMemoryError
        values = [self._column(each).values for each in names]
        every = self._counter([*names, *tally.sensitive, name], [*values, *domains, column.values])
        counts = np.stack([every.count(mask) for mask in masks])
        keys = math.prod(map(len, values))
        counts = counts.reshape(len(masks), keys, *counts.shape[1 + len(names) :])
        return np.moveaxis(counts[:, occurs], 1, 0)

    def _stretch_values(self, mask: Words, column: InMemoryColumn, counter: _Counter) -> Floats:
        """Rows by cell and by the value of a column: stretch by stretch, in the order of rows."""
        values = len(column.values)
        wide = np.uint16 if 2 * values <= 1 << 16 else np.uint32
        ends = [*self._rows.first_word[1:].tolist(), mask.size]

        def counted(stretch: int) -> Numbers:
            words = slice(int(self._rows.first_word[stretch]), ends[stretch])
            met = unpacked(mask[words])
            codes = column.codes[words.start * _WORD : words.stop * _WORD]
            # Unless few are met, picking them takes longer than counting the others as well.
            if np.count_nonzero(met) < met.size / 16:
                return np.bincount(codes[met], minlength=values)
            both: NDArray[Any] = met.astype(wide)
            both *= wide(values)
            both += codes
            return np.bincount(both, minlength=2 * values)[values:]

        counts = np.zeros((math.prod(counter.shape), values))
        by_stretch = in_threads(counted, range(len(ends)), self._rows.size)
        for cell, by_value in zip(counter.cell.tolist(), by_stretch, strict=True):
            counts[cell] += by_value
        return counts.reshape(*counter.shape, values)

    def _key_names(self, tally: Tally) -> list[str]:
        names = [key.name for key in tally.keys if isinstance(key, ColumnReference)]
        if len(names) < len(tally.keys):
            raise NotInMemoryError
        return names

    def _argument(self, expression: Expression) -> _Argument:
        """What is summed, for every value of the one column that it is computed from."""
        if expression in self._arguments:
            return self._arguments[expression]
        names = columns_named(expression)
        if len(names) != 1:
            raise NotInMemoryError
        name = names.pop()
        statement = DuckDB({name: "v"})
        number = f"CAST(coalesce({statement.text(expression)}, 0) AS DOUBLE)"
        column = self._column(name)
        answers = self._asked(f"SELECT {number} FROM {column.table} ORDER BY rank", statement)
        numbers = np.array(answers, np.float64)
        if not np.isfinite(numbers).all():
            raise NotInMemoryError
        if len(self._arguments) >= _MOST_ARGUMENTS:
            self._arguments.clear()
        self._arguments[expression] = _Argument(name, numbers)
        return self._arguments[expression]

    def _counter(
        self,
        names: Sequence[str],
        orders: Sequence[Sequence[Any]],
        axes: Sequence[Axis] = (),
    ) -> _Counter:
        """What counts the rows of a mask by the values of columns, in the order given for each."""
        columns = [self._column(name) for name in names]
        shape = tuple(axis_sizes(axes, orders))
        if math.prod(shape) > _MOST_CELLS:
            raise NotInMemoryError
        by_stretch = set(names) <= set(self._rows.columns)
        places: list[NDArray[Any]] = []
        for name, column, order in zip(names, columns, orders, strict=True):
            place_of = places_in(order, column.values).astype(np.int64 if axes else np.uint32)
            number = self._rows.columns.index(name) if by_stretch else 0
            places.append(
                place_of[self._rows.stretch_codes[:, number] if by_stretch else column.codes]
            )
        if axes:
            places = [axis.places(places) for axis in axes]
        cell = together(
            places, shape, len(self._rows.stretch_codes) if by_stretch else self._rows.size
        )
        return _Counter(shape, cell, self._rows.first_word if by_stretch else None)

    def _read_ahead(self, conditions: Sequence[Expression]) -> None:
        """Read the columns of many conditions, several at once."""
        unread = {name for name in self._internal if name not in self._columns}
        wanted: dict[str, None] = {}
        for condition in conditions:
            if not unread:
                break
            names = columns_named(condition) & unread
            wanted.update(dict.fromkeys(sorted(names)))
            unread -= names
        # Through DuckDB, only one can be read at a time.
        if self._at_once and len(wanted) > 1:
            for name, column in in_order(self._read_if_any, wanted):
                self._columns[name] = column

    def _column(self, name: str) -> InMemoryColumn:
        if name not in self._columns:
            # Whatever happens, it is read once only.
            self._columns[name] = self._read_if_any(name)[1]
        column = self._columns[name]
        if column is None:
            raise NotInMemoryError
        return column

    def _read_if_any(self, name: str) -> tuple[str, InMemoryColumn | None]:
        """The column in the common order of rows; None if codes cannot stand for its values."""
        if self._bytes < self._most_bytes // 4:
            with contextlib.suppress(NotInMemoryError):
                return name, self._placed(self._read(name))
        return name, None

    def _read(self, name: str) -> InMemoryColumn:
        internal = self._internal[name]
        encoded = encode_column(self._batches(internal))
        with self._asking:
            values = ranked_values(self._connection, internal, encoded.values)
        return values.of(encoded)

    def _placed(self, column: InMemoryColumn) -> InMemoryColumn:
        """The column in the common order of rows."""
        codes = self._rows.placed(column.codes)
        self._bytes += codes.nbytes
        return InMemoryColumn(codes, column.values, column.table, column.whole)

    def _ask(self, column: InMemoryColumn, name: str, expression: Expression) -> Truths:
        """What DuckDB says of each value of a column."""
        statement = DuckDB({name: "v"})
        text = f"SELECT {statement.text(expression)} FROM {column.table} ORDER BY rank"
        answers = self._asked(text, statement)
        return np.array([-1 if value is None else int(value) for value in answers], np.int8)

    def _asked(self, text: str, statement: DuckDB) -> list[Any]:
        try:
            relation = self._connection.sql(text, params=statement.parameters)
            answers: list[Any] = relation.to_arrow_table().column(0).to_pylist()
        except duckdb.InterruptException:
            raise KeyboardInterrupt from None
        except duckdb.Error as error:
            # A question to the files explains it.
            raise NotInMemoryError from error
        return answers
