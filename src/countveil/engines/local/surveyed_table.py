"""What was seen of a table, column by column and span by span.

Enters: the blocks of a source, a number of bytes. Leaves: what each column holds, and its pieces,
read again or kept in memory while they are few. Must not know: roles, draws, the order of what is
written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from countveil.tables.encoded.arrow_arrays import from_numpy
from countveil.tables.encoded.encoding import CodedPiece, Piece, to_piece
from countveil.tables.encoded.survey import Survey
from countveil.tables.progress import Progress
from countveil.tables.readers.blocks import Blocks, Span
from countveil.tables.storage.parallel import in_order


class SeenTable:
    """A table whose columns are looked at when they are wanted."""

    def __init__(self, blocks: Blocks, most_kept: int, progress: Progress | None = None) -> None:
        self._blocks = blocks
        self.surveys: dict[str, Survey] = {}
        self._progress = progress
        self._most_kept = most_kept
        self._kept_bytes = 0
        self._kept: dict[tuple[int, str], list[Piece]] | None = (
            None if blocks.read_again_at_once else {}
        )

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self._blocks.rows

    @property
    def schema(self) -> Any:
        """Names and types of the source."""
        return self._blocks.schema

    @property
    def spans(self) -> Sequence[Span]:
        """The spans of the source."""
        return self._blocks.spans

    def kind(self, field: Any) -> Any:
        """The type of a column, as it will be published."""
        survey = self.surveys.get(field.name)
        return field.type if survey is None else survey.kind

    def look(self, names: Sequence[str], *, coded: bool = False) -> None:
        """Learn what columns hold, all of them in one reading."""
        wanted = [
            name
            for name in names
            if name not in self.surveys or (coded and not self.surveys[name].coded)
        ]
        if not wanted:
            return
        fields = {field.name: field for field in self._blocks.schema}
        surveys = {name: Survey(name, fields[name].type, coded=coded) for name in wanted}
        self.surveys.update(surveys)

        def look(span: Span) -> tuple[Span, dict[str, list[Piece]]]:
            return span, self.read(span, wanted)

        done = 0
        for span, pieces in in_order(look, self.spans):
            for name, own in pieces.items():
                for piece in own:
                    surveys[name].see(piece)
            self._keep(span, pieces)
            done += span.rows
            if self._progress is not None:
                self._progress("reading", done, self.rows)
        for survey in surveys.values():
            survey.finish()

    def _keep(self, span: Span, pieces: Mapping[str, list[Piece]]) -> None:
        if self._kept is None:
            return
        for name, own in pieces.items():
            self._kept[span.number, name] = own
            self._kept_bytes += sum(piece.nbytes for piece in own)
        if self._kept_bytes > self._most_kept:
            self._kept = None

    def read(
        self, span: Span, names: Sequence[str], least: int | None = None
    ) -> dict[str, list[Piece]]:
        """The pieces of a span, or of its first rows: batches until there are `least`."""
        seen = self.surveys
        carried = [name for name in names if name in seen and seen[name].carried]
        pieces: dict[str, list[Piece]] = {name: [] for name in names}
        rows = 0
        for batch in self._blocks.read(span, names, carried, least):
            for name, array in batch.items():
                coded = name in seen and seen[name].coded
                pieces[name].append(to_piece(array, coded=coded))
            rows += len(next(iter(batch.values())))
            if least is not None and rows >= least:
                break
        return pieces

    def pieces(self, span: Span, names: Sequence[str]) -> dict[str, list[Piece]]:
        """The pieces of a span: those that were kept, the others read again."""
        kept = self._kept or {}
        found = {name: kept[span.number, name] for name in names if (span.number, name) in kept}
        again = [name for name in names if name not in found]
        return {**found, **self.read(span, again)} if again else found

    def values(self, name: str, pieces: Sequence[Piece]) -> Any:
        """Some rows of a column as an array."""
        survey = self.surveys.get(name)
        arrays = [
            survey.values.take(from_numpy(survey.places(piece)[piece.codes]))
            if survey is not None and isinstance(piece, CodedPiece) and survey.values is not None
            else piece.array()
            for piece in pieces
        ]
        kind = self.kind(self.schema.field(name))
        return pa.concat_arrays(arrays) if arrays else pa.nulls(0, kind)

    def recoded(self, name: str, piece: CodedPiece) -> CodedPiece:
        """A piece with the values that were put in place of the old ones, if any were."""
        survey = self.surveys.get(name)
        if survey is None or not survey.is_renamed:
            return piece
        return survey.renamed(piece)

    def codes(self, survey: Survey, pieces: Sequence[Piece], dtype: Any) -> NDArray[Any]:
        """The positions of some rows' values among the column's."""
        codes = [
            survey.places(piece).astype(dtype).take(piece.codes)
            for piece in pieces
            if isinstance(piece, CodedPiece)
        ]
        return np.concatenate([np.zeros(0, dtype), *codes])

    def lost(self, survey: Survey, without: NDArray[np.int64]) -> NDArray[np.int64]:
        """How often each value is in the rows that are left out."""
        lost = np.zeros(survey.counts.size, np.int64)
        for span in self.spans:
            own = inside(span, without)
            if own.size:
                pieces = self.pieces(span, [survey.name])[survey.name]
                codes = self.codes(survey, pieces, np.int64)[own]
                lost += np.bincount(codes, minlength=lost.size)
        return lost

    def forget(self, span: Span, names: Sequence[str]) -> None:
        """Let go of pieces that are not needed again."""
        if self._kept is not None:
            for name in names:
                self._kept.pop((span.number, name), None)


def inside(span: Span, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Those of the rows that lie in a span, counted from its first."""
    first, last = np.searchsorted(rows, [span.first, span.first + span.rows])
    return rows[first:last] - span.first
