"""The rows that meet a condition, one row of each person, and the columns that were named.

Enters: the blocks of any source, the text of a condition, which row of a person is kept, names.
Leaves: blocks with nothing else. Must not know: what the columns are for.

The text is parsed into our own expression and never executed as it was written. DuckDB decides for
every row whether the expression holds, on a connection that cannot reach anything; one bit of every
row is kept. Where SQL says neither true nor false, the row is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from countveil.errors import InputError, QueryError, SettingsError, option
from countveil.release import PublishedColumn
from countveil.sql.dialects.dialect import DuckDB
from countveil.sql.query.conditions import parse_condition
from countveil.sql.query.expressions import Expression, columns_named
from countveil.sql.query.release_columns import ReleaseColumns
from countveil.system.process import in_order
from countveil.tables import Column, check_named
from countveil.tables.encoded.encoding import Form, in_form, row_count, to_numpy
from countveil.tables.readers.blocks import Batch, Blocks, Span

if TYPE_CHECKING:
    from countveil.tables.one_per import OnePer


def filter_blocks(
    blocks: Blocks,
    where: str | None,
    columns: Sequence[str],
    one_per: OnePer | None = None,
) -> FilteredBlocks:
    """The rows that meet `where`, of these one of each person, and the named columns.

    Each of them only if it is given.
    """
    known = [Column(field.name, str(field.type)) for field in blocks.schema]
    check_named(known, columns)
    names = [name for name in blocks.schema.names if name in columns or not columns]
    condition = None if where is None else Condition(where, known)
    filtered = FilteredBlocks(blocks, names, None if condition is None else condition.rows(blocks))
    filtered.filtered_by = [] if condition is None else condition.names
    if one_per is not None:
        check_named(known, one_per.columns)
        filtered.keep_one(one_per)
    return filtered


class FilteredBlocks:
    """Some rows and columns of other blocks."""

    def __init__(
        self, blocks: Blocks, names: Sequence[str], kept: Sequence[NDArray[np.uint8]] | None
    ) -> None:
        """`kept` has one bit per row for every span; without it all rows are kept.

        `filtered_by` are the columns of the condition; `warnings` are sentences for the publisher.
        """
        self._blocks = blocks
        self.filtered_by: Sequence[str] = []
        self.warnings: list[str] = []
        self.in_memory = blocks.in_memory
        self.labels = blocks.labels.only(names)
        self.schema = pa.schema([blocks.schema.field(name) for name in names])
        self._keep(kept)

    def _keep(self, kept: Sequence[NDArray[np.uint8]] | None) -> None:
        self._kept = kept
        counts = [
            span.rows if kept is None else int(np.bitwise_count(kept[place]).sum())
            for place, span in enumerate(self._blocks.spans)
        ]
        self.rows = sum(counts)
        self._inner = [place for place, count in enumerate(counts) if count]
        firsts = np.cumsum([0, *(counts[place] for place in self._inner)]).tolist()
        self.spans = [
            Span(number, firsts[number], counts[place]) for number, place in enumerate(self._inner)
        ]

    def read(
        self, span: Span, columns: Mapping[str, Form], few: int | None = None
    ) -> Iterator[Batch]:
        """The rows of a span that were kept."""
        place = self._inner[span.number]
        inner = self._blocks.spans[place]
        if self._kept is None:
            yield from self._blocks.read(inner, columns, few)
            return
        bits = self._bits(place)
        done = 0
        # The first few rows may have none that is kept, so all of them are read.
        for batch in self._blocks.read(inner, columns):
            rows = row_count(next(iter(batch.values())))
            wanted = bits[done : done + rows]
            done += rows
            # The smallest form depends on how many rows there are.
            yield {
                name: in_form(column.take(wanted), columns[name]) for name, column in batch.items()
            }

    def keep_one(self, one_per: OnePer) -> None:
        """Of the rows that are kept, keep one of each person."""
        from countveil.tables.one_per import tied_sentence

        forms = dict.fromkeys(one_per.columns, Form.RAW)
        batches = [batch for span in self.spans for batch in self.read(span, forms)]
        kinds = {name: self._blocks.schema.field(name).type for name in one_per.columns}
        columns = [
            pa.chunked_array([batch[name].array() for batch in batches], kinds[name])
            for name in one_per.columns
        ]
        chosen = one_per.kept(columns[0], columns[1] if len(columns) > 1 else None)
        if chosen.tied:
            self.warnings.append(tied_sentence(one_per, chosen.tied))
        places = dict(zip(self._inner, self.spans, strict=True))
        kept = []
        for place in range(len(self._blocks.spans)):
            bits = self._bits(place)
            span = places.get(place)
            if span is not None:
                bits[bits] = chosen.rows[span.first : span.first + span.rows]
            kept.append(np.packbits(bits, bitorder="little"))
        self._keep(kept)

    def _bits(self, place: int) -> NDArray[np.bool_]:
        """A mark for each row of a span of the other blocks that is kept."""
        rows = self._blocks.spans[place].rows
        if self._kept is None:
            return np.ones(rows, np.bool_)
        bits = np.unpackbits(self._kept[place], count=rows, bitorder="little")
        return bits.view(np.bool_)


class Condition:
    """A condition on the columns of a table."""

    def __init__(self, text: str, columns: Sequence[Column]) -> None:
        known = [PublishedColumn(column.name, column.type, "plain") for column in columns]
        if not text.strip():
            raise SettingsError(f"The condition of {option('where')} is empty.")
        try:
            condition: Expression = parse_condition(text, ReleaseColumns(known, where="the table"))
        except QueryError as error:
            raise SettingsError(f"{option('where')}: {error}") from error
        self.names = sorted(columns_named(condition))
        if not self.names:
            raise SettingsError(f"The condition of {option('where')} names no column.")
        internal = {name: f"c{place}" for place, name in enumerate(self.names)}
        self._statement = DuckDB(internal)
        self._text = self._statement.text(condition)

    def rows(self, blocks: Blocks) -> list[NDArray[np.uint8]]:
        """For every span, one bit per row."""
        # Imported here alone: nothing else on the publisher's side needs DuckDB.
        from countveil.sql.locked_duckdb import connect

        connection = connect()
        forms = dict.fromkeys(self.names, Form.RAW)

        def decide(span: Span) -> NDArray[np.uint8]:
            truths = [
                self._decided(connection, [batch[name].array() for name in self.names])
                for batch in blocks.read(span, forms)
            ]
            return np.packbits(np.concatenate(truths), bitorder="little")

        kept = list(in_order(decide, blocks.spans))
        if blocks.rows and not any(np.any(bits) for bits in kept):
            raise InputError(f"No row of the table meets the condition of {option('where')}.")
        return kept

    def holds_in(self, table: pa.Table) -> NDArray[np.bool_]:
        """For every row of a table in memory, whether it meets the condition."""
        from countveil.sql.locked_duckdb import connect

        return self._decided(connect(), [table.column(name) for name in self.names])

    def _decided(self, connection: Any, arrays: Sequence[Any]) -> NDArray[np.bool_]:
        import duckdb

        columns = {f"c{place}": for_duckdb(array) for place, array in enumerate(arrays)}
        text = f"SELECT coalesce({self._text}, false) AS holds FROM batch"
        try:
            # A cursor for each batch: what is registered belongs to it, and ends with it.
            with connection.cursor() as cursor:
                cursor.register("batch", pa.table(columns))
                result = cursor.sql(text, params=self._statement.parameters).to_arrow_table()
        except duckdb.InterruptException:
            raise KeyboardInterrupt from None
        except duckdb.Error:
            # Not chained: the cause may quote a value of the table.
            raise SettingsError(
                f"The condition of {option('where')} cannot be decided for every row: a value does "
                "not fit, or a number becomes too large. Compare columns with values of their own "
                "kind."
            ) from None
        return to_numpy(result.column(0).combine_chunks()).astype(np.bool_)


def for_duckdb(array: Any) -> Any:
    """An array of a type that DuckDB takes; times with a zone become those of UTC."""
    kind = array.type
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return array.cast(pa.timestamp(kind.unit))
    if pa.types.is_float16(kind):
        return array.cast(pa.float32())
    return array
