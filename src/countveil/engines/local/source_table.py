"""The publisher's table: counted, dealt, shuffled, written.

Enters: a source description; later what was drawn, and the randomness. Leaves: histograms and
Parquet files. Must not know: groups, ell, where the release goes in the end.

    look      every column is read once: its values or its range; kept in memory while it is small
    pack      a row becomes a few words, its sensitive values as they were dealt
    scatter   every row draws a bucket, uniformly; runs of rows lie in memory or in the spill
    write     every bucket is put in random order, uniformly: together, a uniform shuffle

What is written is rebuilt from plain values after the shuffle: no dictionary, statistics, metadata
or order of the source reaches a file.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from countveil.engines.contract import Result, WrittenFile
from countveil.engines.local.row_layout import Layout, make_layout
from countveil.engines.local.shuffle import Rows, Runs
from countveil.engines.local.surveyed_table import SeenTable, inside
from countveil.engines.local.writer import Counter, Writer, draw_buckets
from countveil.errors import InputError
from countveil.maths.mechanism import Dealer, PublishedTable
from countveil.randomness import Randomness, Stream
from countveil.release.values import python_values
from countveil.tables import PLAIN_CSV, Column, CsvStyle, Source
from countveil.tables.counted import CodedColumn, ColumnProfile, Histogram, Repeats
from countveil.tables.encoded.encoding import (
    Piece,
    length,
    some_rows,
    to_coded,
)
from countveil.tables.encoded.profile import coded_column, column_profile, is_countable, spread
from countveil.tables.progress import Progress
from countveil.tables.readers.blocks import Blocks, Span
from countveil.tables.readers.csv.reader import Shelf
from countveil.tables.readers.open import open_blocks
from countveil.tables.readers.row_filter import part_of
from countveil.tables.storage.memory_limit import memory_limit, room_for_rows
from countveil.tables.storage.parallel import Turnstile, in_order
from countveil.tables.storage.spill import Spill

# Shares of the memory limit: for the table as it was read, for the rows between read and write.
_KEPT_SHARE, _ROWS_SHARE = 0.3, 0.45
_BUCKET_ROWS = 1 << 17
_FILE_ROWS = 1 << 22
_TWO_FILES_FROM = 1 << 20
_SAMPLED_SPANS = 8


def open_source_table(
    source: Source,
    missing: Sequence[str] = (),
    *,
    csv: CsvStyle = PLAIN_CSV,
    where: str | None = None,
    columns: Sequence[str] = (),
    memory: str | int | None = None,
    spill: Path | None = None,
    progress: Progress | None = None,
) -> EmbeddedSource:
    """Open a source, or the rows of it that meet `where` and the named `columns`.

    Texts in `missing` mean a missing value; `spill` is for what needs a disk.
    """
    # A condition is decided by DuckDB, which is not loaded otherwise.
    limit = room_for_rows(memory_limit(memory), with_duckdb=where is not None)
    shelf = Shelf(int(_KEPT_SHARE * limit), spill or Path(tempfile.gettempdir()))
    blocks = part_of(open_blocks(source, missing, shelf, progress, csv), where, columns)
    return EmbeddedSource(blocks, limit, spill, progress)


class EmbeddedSource:
    """A table with the verbs of the contract."""

    warnings: Sequence[str] = ()

    def __init__(
        self, blocks: Blocks, limit: int, spill: Path | None, progress: Progress | None = None
    ) -> None:
        self._seen = SeenTable(blocks, int(_KEPT_SHARE * limit), progress)
        self._limit, self._spill = limit, spill
        self._labels: Mapping[str, Mapping[str, str]] = getattr(blocks, "labels", {})

    @property
    def labels(self) -> Mapping[str, Mapping[str, str]]:
        """What the source itself says that codes stand for."""
        known = self._seen.schema.names
        return {name: labels for name, labels in self._labels.items() if name in known}

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self._seen.rows

    @property
    def columns(self) -> Sequence[Column]:
        """Names and types."""
        return [Column(field.name, str(self._seen.kind(field))) for field in self._seen.schema]

    def histogram(self, column: str, without: NDArray[np.int64] | None = None) -> Histogram:
        """Count the values of a column, leaving out some rows."""
        kind = self._seen.schema.field(column).type
        if not is_countable(kind):
            raise InputError(
                f"Column {column!r} holds nested or special values ({str(kind)[:60]}), which "
                f"cannot be counted. Flatten or convert it first."
            )
        self._seen.look([column], coded=True)
        survey = self._seen.surveys[column]
        counts = survey.counts
        if without is not None:
            counts = counts - self._seen.lost(survey, without)
        return Histogram(_domain_values(column, survey.values), counts)

    def repeats(self, column: str) -> Repeats:
        """How often the values of a column come again."""
        found = self.histogram(column)
        first = int(len(found.values) > 0 and found.values[0] is None)
        known = found.counts[first:]
        missing = int(found.counts[:first].sum())
        return Repeats(missing, int((known > 1).sum()), int(known.max(initial=0)))

    def codes(self, column: str) -> NDArray[np.int64]:
        """The position of every row's value among the values of the column's histogram."""
        self._seen.look([column], coded=True)
        survey = self._seen.surveys[column]
        spans = [self._seen.pieces(span, [column])[column] for span in self._seen.spans]
        return np.concatenate([self._seen.codes(survey, pieces, np.int64) for pieces in spans])

    def sample(self, most: int, columns: Sequence[str]) -> Mapping[str, CodedColumn]:
        """Those of the columns that hold plain values, of some rows, evenly spread."""
        kinds = {field.name: field.type for field in self._seen.schema}
        names = [name for name in columns if is_countable(kinds[name])]
        spans = self._seen.spans
        if len(spans) <= _SAMPLED_SPANS:
            # They will be wanted again, and are kept.
            self._seen.look(names)
            parts = [self._seen.pieces(span, names) for span in spans]
        else:
            places = np.linspace(0, len(spans) - 1, _SAMPLED_SPANS).astype(int)
            least = -(-most // _SAMPLED_SPANS)
            parts = [self._seen.read(spans[place], names, least) for place in places]
        sizes = [sum(map(length, next(iter(part.values()), []))) for part in parts]
        rows = spread(sizes, most)
        return {
            name: coded_column(
                [
                    self._seen.recoded(name, to_coded(piece))
                    for part, own in zip(parts, rows, strict=True)
                    for piece in some_rows(part[name], own)
                ]
            )
            for name in names
        }

    def on_sample(
        self,
        most: int,
        columns: Sequence[str],
        look: Callable[[Mapping[str, CodedColumn]], Result],
    ) -> Result:
        """What `look` finds in a sample."""
        return look(self.sample(most, columns))

    def profiles(self, columns: Sequence[str]) -> Mapping[str, ColumnProfile]:
        """Those of the columns that hold plain values, at a glance."""
        kinds = {field.name: field.type for field in self._seen.schema}
        names = [name for name in columns if is_countable(kinds[name])]
        self._seen.look(names, coded=True)
        seen = self._seen.surveys
        return {name: column_profile(seen[name].values, seen[name].counts) for name in names}

    def unique_rows(self, columns: Sequence[str]) -> int:
        """How many rows are alone with their combination of values of these columns."""
        together = np.zeros(self.rows, np.int64)
        self._seen.look(columns, coded=True)
        for name in columns:
            joint = together * self._seen.surveys[name].counts.size + self.codes(name)
            together = np.unique(joint, return_inverse=True)[1].astype(np.int64)
        return int((np.bincount(together) == 1).sum())

    def recode(self, column: str, values: Sequence[str | None]) -> None:
        """Put a text in place of each value of the column's histogram."""
        self._seen.look([column], coded=True)
        self._seen.surveys[column].rename(values)

    def publish(
        self,
        columns: Sequence[Column],
        drawn: Mapping[str, PublishedTable],
        without: NDArray[np.int64],
        randomness: Randomness,
        folder: str | Path,
        progress: Progress,
    ) -> list[WrittenFile]:
        """Deal, shuffle and write."""
        folder = Path(folder)
        dealers = {
            name: Dealer(table, randomness.stream("deal", name)) for name, table in drawn.items()
        }
        shuffle = randomness.stream("shuffle")
        names = [column.name for column in columns]
        self._seen.look(names)
        layout = self._layout(names, dealers, without)
        rows = self.rows - without.size
        fits = rows * layout.row_bytes <= _ROWS_SHARE * self._limit
        spill = None if fits else Spill(self._spill or folder)
        try:
            most = self._limit // 16 // layout.row_bytes
            n_buckets = max(1, -(-rows // max(1 << 12, min(_BUCKET_ROWS, most))))
            runs = Runs(len(self._seen.spans), n_buckets, spill)
            self._scatter(layout, dealers, without, shuffle, runs, n_buckets, progress)
            schema = pa.schema(
                [pa.field(name, self._seen.kind(self._seen.schema.field(name))) for name in names]
            )
            done = Counter()
            writer = Writer(schema, layout, runs, done)
            return _write(writer, n_buckets, rows, shuffle, folder, done, progress)
        finally:
            if spill is not None:
                spill.close()

    def _layout(
        self, names: Sequence[str], dealers: Mapping[str, Dealer], without: NDArray[np.int64]
    ) -> Layout:
        surveys = [self._seen.surveys[name] for name in names]
        used = {
            survey.name: dealers[survey.name].published > 0
            if survey.name in dealers
            else survey.counts > self._seen.lost(survey, without)
            for survey in surveys
            if survey.values is not None
        }
        return make_layout(surveys, used, self.rows)

    def _scatter(
        self,
        layout: Layout,
        dealers: Mapping[str, Dealer],
        without: NDArray[np.int64],
        shuffle: Stream,
        runs: Runs,
        n_buckets: int,
        progress: Progress,
    ) -> None:
        """Pack all rows, deal their sensitive values and send each row to a bucket."""
        names = [*layout.fields, *layout.carried]
        order = Turnstile()

        def scatter(item: tuple[Span, Stream]) -> Span:
            span, stream = item
            with order.guarded():
                pieces = self._seen.pieces(span, names)
                codes = {
                    name: np.delete(
                        self._seen.codes(self._seen.surveys[name], pieces[name], dealer.dtype),
                        inside(span, without),
                    )
                    for name, dealer in dealers.items()
                }
                with order.turn(span.number):
                    hands = {
                        name: dealer.reserve(dealer.count(codes[name]))
                        for name, dealer in dealers.items()
                    }
                rows = self._packed(layout, pieces, dealers, span, without)
                for name, hand in hands.items():
                    layout.fields[name].put_codes(hand.deal(codes[name]), rows.words)
                size = rows.words.shape[1]
                runs.add(span.number, rows, draw_buckets(stream, n_buckets, size))
                self._seen.forget(span, names)
            return span

        done = 0
        for span in in_order(scatter, ((span, shuffle.spawn()) for span in self._seen.spans)):
            done += span.rows
            progress("drawing and shuffling", done, self.rows)

    def _packed(
        self,
        layout: Layout,
        pieces: Mapping[str, list[Piece]],
        dealers: Mapping[str, Dealer],
        span: Span,
        without: NDArray[np.int64],
    ) -> Rows:
        """The rows of a span that stay, but for what is dealt."""
        words = np.zeros((layout.n_words, span.rows), np.uint64)
        for name, field in layout.fields.items():
            if name not in dealers:
                field.put(pieces[name], words)
        carried = None
        if layout.carried:
            arrays = [self._seen.values(name, pieces[name]) for name in layout.carried]
            carried = pa.RecordBatch.from_arrays(arrays, list(layout.carried))
        rows = Rows(words, carried)
        gone = inside(span, without)
        return rows.take(np.delete(np.arange(span.rows), gone)) if gone.size else rows


def _write(
    writer: Writer,
    n_buckets: int,
    rows: int,
    shuffle: Stream,
    folder: Path,
    done: Counter,
    progress: Progress,
) -> list[WrittenFile]:
    n_files = min(n_buckets, max(1 + (rows >= _TWO_FILES_FROM), -(-rows // _FILE_ROWS)))
    edges = np.arange(n_files + 1) * n_buckets // n_files

    def files() -> Iterator[tuple[Path, range, Stream]]:
        for number in range(n_files):
            path = folder / f"part-{number:05d}.parquet"
            yield path, range(edges[number], edges[number + 1]), shuffle.spawn()

    return list(
        in_order(
            lambda file: writer.write(*file),
            files(),
            lambda: progress("writing", done.rows, rows),
            done.stop,
        )
    )


def _domain_values(column: str, values: Any) -> list[Any]:
    """The values of a sensitive column, of which none may stand for two."""
    try:
        return python_values(values)
    except (pa.ArrowInvalid, ValueError, OverflowError):
        raise InputError(
            f"Column {column!r} holds times finer than a microsecond, or outside the years 1 to "
            f"9999, and cannot be protected as it is. Round them first."
        ) from None
