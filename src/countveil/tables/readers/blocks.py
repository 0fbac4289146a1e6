"""The rows of a source, span by span.

Enters: a table in memory. Leaves: for a span of rows, the requested columns, encoded, a batch at a
time. Must not know: what the columns are for.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol, Self

from countveil.tables.encoded.encoding import EncodedColumn, Form, encode
from countveil.tables.encoded.plain_arrays import plain_array

if TYPE_CHECKING:
    import pyarrow as pa

LEAST_SPAN, MOST_SPAN = 1 << 17, 1 << 20
SPANS = 16

Batch = dict[str, EncodedColumn]


@dataclass(frozen=True, slots=True)
class Labels:
    """What a source itself says of its columns: what they are, and what their codes stand for."""

    columns: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def only(self, names: Container[str]) -> Self:
        """Those of some columns."""
        columns = {name: label for name, label in self.columns.items() if name in names}
        values = {name: codes for name, codes in self.values.items() if name in names}
        return replace(self, columns=columns, values=values)

    def without_codes(self, names: Container[str]) -> Self:
        """Without what the codes of some columns stand for."""
        values = {name: codes for name, codes in self.values.items() if name not in names}
        return replace(self, values=values)


NO_LABELS = Labels()


@dataclass(frozen=True, slots=True)
class Span:
    """Neighbouring rows that one thread reads: their place, and for files their row groups."""

    number: int
    first: int
    rows: int
    groups: tuple[tuple[int, int], ...] = ()


class Blocks(Protocol):
    """A source that can be read span by span, again and again."""

    schema: pa.Schema
    rows: int
    spans: list[Span]

    @property
    def labels(self) -> Labels:
        """The labels that the source itself has for columns and codes."""

    @property
    def in_memory(self) -> bool:
        """Whether reading again is so cheap that nothing is gained by keeping what was read."""

    def read(
        self, span: Span, columns: Mapping[str, Form], few: int | None = None
    ) -> Iterator[Batch]:
        """The columns of a span in batches, each in the requested form.

        With `few`, about that many rows are enough.
        """


class TableBlocks:
    """A table in memory."""

    in_memory = False
    labels = NO_LABELS

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        self.schema = table.schema
        self.rows = int(table.num_rows)
        size = _span_rows(self.rows)
        self.spans = [
            Span(number, first, min(size, self.rows - first))
            for number, first in enumerate(range(0, self.rows, size))
        ]

    def read(
        self, span: Span, columns: Mapping[str, Form], few: int | None = None
    ) -> Iterator[Batch]:
        """Slices of the table."""
        del few
        rows = self._table.slice(span.first, span.rows).select(list(columns))
        for batch in rows.to_batches():
            arrays = zip(columns.items(), batch.columns, strict=True)
            yield {name: encode(array, form) for (name, form), array in arrays}


def encode_batch(
    batch: pa.RecordBatch, columns: Mapping[str, Form], missing: Sequence[str] = ()
) -> Batch:
    """The columns of a record batch; texts in `missing` become null."""
    place = batch.schema.get_field_index
    return {
        name: encode(plain_array(batch.column(place(name)), missing), form)
        for name, form in columns.items()
    }


def spans_of(files: Sequence[Sequence[int]]) -> list[Span]:
    """Spans of files whose groups of rows have these sizes."""
    size = _span_rows(sum(map(sum, files)))
    spans: list[Span] = []
    first, rows, groups = 0, 0, []
    for number, group_rows in enumerate(files):
        for group, more in enumerate(group_rows):
            rows += more
            groups.append((number, group))
            if rows >= size:
                spans.append(Span(len(spans), first, rows, tuple(groups)))
                first, rows, groups = first + rows, 0, []
    if rows:
        spans.append(Span(len(spans), first, rows, tuple(groups)))
    return spans


def _span_rows(rows: int) -> int:
    return min(max(rows // SPANS, LEAST_SPAN), MOST_SPAN)
