"""The rows of a stream, which can be read only once, as blocks that can be read again and again.

Enters: record batches one after the other, and where to keep columns. Leaves: blocks like those of
any source. Must not know: where the stream comes from, what the columns are for.

Batches are joined to spans, and their columns are encoded and kept. So a database is queried once,
whatever its size, and all that is published is of one moment.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from countveil.tables import Reading
from countveil.tables.encoded.encoding import (
    EncodedColumn,
    Form,
    RawColumn,
    decoded,
    encode,
    in_form,
)
from countveil.tables.encoded.plain_arrays import plain_array, plain_schema
from countveil.tables.readers.blocks import NO_LABELS, Batch, Labels, Span
from countveil.tables.storage.memory import KeptColumns

SPAN_ROWS, SPAN_BYTES = 1 << 17, 1 << 26
_WHOLE_BELOW = float(1 << 53)


class StreamBlocks:
    """What a stream contained."""

    def __init__(
        self,
        schema: pa.Schema,
        batches: Iterable[pa.RecordBatch],
        reading: Reading,
        kept: KeptColumns,
        *,
        labels: Labels = NO_LABELS,
        whole_numbers: bool = False,
    ) -> None:
        """With `whole_numbers`, floating-point columns of whole numbers alone become integers."""
        self.labels = labels
        self.rows = 0
        self.spans: list[Span] = []
        self.schema = plain_schema(schema.remove_metadata())
        self._kept = kept
        self._whole = {f.name for f in self.schema if whole_numbers and f.type == pa.float64()}
        pending: list[list[pa.Array[Any]]] = []
        rows = size = 0
        for batch in batches:
            columns = [plain_array(column, reading.missing) for column in batch.columns]
            pending.append(columns)
            rows += batch.num_rows
            size += sum(column.nbytes for column in columns)
            if rows >= SPAN_ROWS or size >= SPAN_BYTES:
                self._add(pending, rows)
                pending, rows, size = [], 0, 0
            if reading.progress is not None:
                reading.progress("reading", self.rows + rows, 0)
        if rows:
            self._add(pending, rows)
        for name in self._whole:
            place = self.schema.get_field_index(name)
            self.schema = self.schema.set(place, pa.field(name, pa.int64()))

    @property
    def in_memory(self) -> bool:
        """Whether reading again is so cheap that nothing is gained by keeping what was read."""
        return self._kept.in_memory

    def read(
        self, span: Span, columns: Mapping[str, Form], few: int | None = None
    ) -> Iterator[Batch]:
        """The columns of a span."""
        del few
        batch: Batch = {}
        for name, form in columns.items():
            column = self._kept.get(span.number, self.schema.get_field_index(name))
            if name in self._whole:
                column = RawColumn(column.array().cast(pa.int64()))
            batch[name] = in_form(column, form)
        yield batch

    def _add(self, batches: Sequence[Sequence[pa.Array[Any]]], rows: int) -> None:
        columns = []
        for field, arrays in zip(self.schema, zip(*batches, strict=True), strict=True):
            if field.name in self._whole and not _all_whole(arrays):
                self._whole.discard(field.name)
            columns.append(_encoded(arrays))
        self._kept.add(columns)
        self.spans.append(Span(len(self.spans), self.rows, rows))
        self.rows += rows


def _encoded(arrays: Sequence[pa.Array[Any]]) -> EncodedColumn:
    """Neighbouring arrays as one encoded column."""
    plain = [decoded(array) for array in arrays]
    if pa.types.is_string(plain[0].type):
        # All of them in one dictionary: the texts themselves need not be copied.
        return encode(pa.chunked_array(plain).dictionary_encode().combine_chunks())
    return encode(pa.concat_arrays(plain))


def _all_whole(arrays: Sequence[pa.Array[Any]]) -> bool:
    column = pa.chunked_array(arrays)
    sound = pc.and_(pc.equal(pc.floor(column), column), pc.less(pc.abs(column), _WHOLE_BELOW))
    return bool(pc.all(sound).as_py() is not False)
