"""A table whose columns are surveyed when they are needed.

Enters: the blocks of a source, a number of bytes. Leaves: what each column holds, and its encoded
rows, read again or kept in memory while they are few. Must not know: roles, draws, the order of
what is written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from countveil.system.process import in_order
from countveil.tables.encoded.encoding import DictionaryColumn, EncodedColumn, Form, row_count
from countveil.tables.encoded.survey import Survey
from countveil.tables.progress import Progress
from countveil.tables.readers.blocks import Blocks, Labels, Span

if TYPE_CHECKING:
    from countveil.tables.encoded.vectors import Vectors

# By column, the batches of a span.
EncodedSpan = dict[str, list[EncodedColumn]]


class SurveyedTable:
    """The rows of a source, span by span, and a survey of every column that was needed so far."""

    def __init__(self, blocks: Blocks, most_kept: int, progress: Progress | None = None) -> None:
        self._blocks = blocks
        self.surveys: dict[str, Survey] = {}
        self._added: list[str] = []
        self.progress: Progress = progress or (lambda _stage, _done, _total: None)
        self._most_kept = most_kept
        self._kept_bytes = 0
        self._kept: dict[tuple[int, str], list[EncodedColumn]] | None = (
            None if blocks.in_memory else {}
        )

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self._blocks.rows

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the source."""
        return self._blocks.schema

    @property
    def labels(self) -> Labels:
        """The labels that the source itself has for columns and codes."""
        return self._blocks.labels

    @property
    def spans(self) -> Sequence[Span]:
        """The spans of the source."""
        return self._blocks.spans

    @property
    def published_schema(self) -> pa.Schema:
        """Names and types as they will be published: a recoded column is text."""
        recoded = {name: survey.kind for name, survey in self.surveys.items()}
        fields = [(field.name, recoded.get(field.name, field.type)) for field in self.schema]
        return pa.schema([*fields, *((name, self.surveys[name].kind) for name in self._added)])

    def add_column(self, name: str, numbers: Sequence[int]) -> None:
        """A column that the source does not have, with these numbers; its rows are dealt."""
        self.surveys[name] = Survey.of_numbers(name, numbers)
        self._added.append(name)

    def counted(self, names: Sequence[str]) -> dict[str, Survey]:
        """Surveys with the values of these columns and their counts, whatever the types."""
        self.survey(names, coded=True)
        return {name: self.surveys[name] for name in names}

    def survey(self, names: Sequence[str], *, coded: bool = False) -> None:
        """Survey the columns that have not been, all of them in one reading."""
        wanted = [
            name
            for name in names
            if name not in self.surveys or (coded and not self.surveys[name].coded)
        ]
        if not wanted:
            return
        kinds = {field.name: field.type for field in self.schema}
        surveys = {name: Survey(name, kinds[name], coded=coded) for name in wanted}
        self.surveys.update(surveys)
        # Fixed beforehand: what a thread reads must not depend on how far the survey is.
        forms = dict.fromkeys(wanted, Form.CODES if coded else Form.SMALLEST)

        def read(span: Span) -> tuple[Span, EncodedSpan]:
            return span, self._read(span, forms)

        done = 0
        for span, encoded in in_order(read, self.spans):
            for name, batches in encoded.items():
                for batch in batches:
                    surveys[name].add(batch)
            self._keep(span, encoded)
            done += span.rows
            self.progress("reading", done, self.rows)
        for survey in surveys.values():
            survey.finish()

    def _keep(self, span: Span, encoded: EncodedSpan) -> None:
        if self._kept is None:
            return
        for name, batches in encoded.items():
            self._kept[span.number, name] = batches
            self._kept_bytes += sum(batch.nbytes for batch in batches)
        if self._kept_bytes > self._most_kept:
            self._kept = None

    def read(self, span: Span, names: Sequence[str], least: int | None = None) -> EncodedSpan:
        """The columns of a span, or of its first rows: batches until there are `least` rows."""
        return self._read(span, {name: self._form(name) for name in names}, least)

    def _read(self, span: Span, forms: Mapping[str, Form], least: int | None = None) -> EncodedSpan:
        encoded: EncodedSpan = {name: [] for name in forms}
        rows = 0
        for batch in self._blocks.read(span, forms, least):
            for name, column in batch.items():
                encoded[name].append(column)
            rows += row_count(next(iter(batch.values())))
            if least is not None and rows >= least:
                break
        return encoded

    def _form(self, name: str) -> Form:
        survey = self.surveys.get(name)
        if survey is None:
            return Form.SMALLEST
        if survey.coded:
            return Form.CODES
        return Form.RAW if survey.raw else Form.SMALLEST

    def encoded(self, span: Span, names: Sequence[str]) -> EncodedSpan:
        """The columns of a span: those that were kept, the others read again."""
        kept = self._kept or {}
        encoded = {name: kept[span.number, name] for name in names if (span.number, name) in kept}
        again = [name for name in names if name not in encoded]
        return {**encoded, **self.read(span, again)} if again else encoded

    def as_read(self, span: Span, names: Sequence[str]) -> EncodedSpan:
        """The columns of a span to be looked at once: those that nobody surveyed are not coded."""
        surveyed = [name for name in names if name in self.surveys]
        others = [name for name in names if name not in self.surveys]
        encoded = self.encoded(span, surveyed) if surveyed else {}
        return (
            {**encoded, **self._read(span, dict.fromkeys(others, Form.RAW))} if others else encoded
        )

    def forget(self, span: Span, names: Sequence[str]) -> None:
        """Let go of columns of a span that are not needed again."""
        if self._kept is not None:
            for name in names:
                self._kept.pop((span.number, name), None)

    def values(self, name: str, batches: Sequence[EncodedColumn]) -> pa.Array[Any]:
        """Some rows of a column that was not recoded as an array."""
        empty = pa.nulls(0, self.schema.field(name).type)
        return pa.concat_arrays([empty, *(batch.array() for batch in batches)])

    def recoded(self, name: str, batch: DictionaryColumn) -> DictionaryColumn:
        """A batch with the texts that were put in place of its values, if any were."""
        survey = self.surveys.get(name)
        return batch if survey is None else survey.recoded(batch)

    def places(self, name: str, batches: Sequence[EncodedColumn], dtype: Any) -> NDArray[Any]:
        """The positions of some rows' values among the values of a counted column."""
        survey = self.surveys[name]
        places = [
            survey.places(batch).astype(dtype).take(batch.codes)
            for batch in batches
            if isinstance(batch, DictionaryColumn)
        ]
        return np.concatenate([np.zeros(0, dtype), *places])

    def counts_in(self, name: str, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """How often each value of a counted column occurs in the rows with these numbers."""
        counts = np.zeros(self.surveys[name].counts.size, np.int64)
        for span in self.spans:
            inside = rows_inside(span, rows)
            if inside.size:
                places = self.places(name, self.encoded(span, [name])[name], np.int64)
                counts += np.bincount(places[inside], minlength=counts.size)
        return counts

    def vectors(self, names: Sequence[str], without: NDArray[np.int64]) -> Vectors:
        """The combinations of values of counted columns, but for the rows with some numbers."""
        # Loaded only where columns are published together.
        from countveil.tables.encoded.vectors import VectorSurvey

        survey = VectorSurvey([self.surveys[name].counts.size for name in names])
        for span in self.spans:
            encoded = self.encoded(span, names)
            left_out = rows_inside(span, without)
            survey.add(
                [np.delete(self.places(name, encoded[name], np.int64), left_out) for name in names]
            )
        return survey.vectors()


def rows_inside(span: Span, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Those of the rows, given by rising numbers, that are in a span, counted from its first."""
    first, last = np.searchsorted(rows, [span.first, span.first + span.rows])
    return rows[first:last] - span.first
