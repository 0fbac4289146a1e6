"""Columns whose every cell is changed, as they are read.

Enters: the blocks of any source, and a change for some columns. Leaves: blocks with these columns
changed. Must not know: what the columns are for. Where a column comes as codes, only the values
that the codes stand for are changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa

from countveil.tables.cells import CellChange
from countveil.tables.encoded.encoding import (
    DictionaryColumn,
    EncodedColumn,
    Form,
    RawColumn,
    in_form,
)
from countveil.tables.readers.blocks import Batch, Blocks, Span


class ChangedBlocks:
    """Other blocks with the cells of some columns changed."""

    def __init__(self, blocks: Blocks, changes: Mapping[str, CellChange]) -> None:
        self._blocks, self._changes = blocks, changes
        self.in_memory = blocks.in_memory
        self.rows, self.spans = blocks.rows, blocks.spans
        # Labels are for the codes as they were.
        self.labels = blocks.labels.without_codes(changes)
        kinds = {field.name: field.type for field in blocks.schema}
        kinds.update({name: change.type_of(name, kinds[name]) for name, change in changes.items()})
        self.schema = pa.schema(list(kinds.items()))

    def read(
        self, span: Span, columns: Mapping[str, Form], few: int | None = None
    ) -> Iterator[Batch]:
        """The columns of a span, those that are changed after it."""
        # Text that is not encoded may repeat once it is changed, and the other way round.
        forms = {
            name: Form.SMALLEST if name in self._changes and form is Form.RAW else form
            for name, form in columns.items()
        }
        for batch in self._blocks.read(span, forms, few):
            yield {
                name: self._changed(name, column, columns[name])
                if name in self._changes
                else column
                for name, column in batch.items()
            }

    def _changed(self, name: str, column: EncodedColumn, form: Form) -> EncodedColumn:
        change = self._changes[name]
        if isinstance(column, DictionaryColumn) and np.all(column.counts[:-1]):
            values = change.applied(name, column.dictionary)
            return in_form(DictionaryColumn(column.codes, values, column.counts), form)
        return in_form(RawColumn(change.applied(name, column.array())), form)
