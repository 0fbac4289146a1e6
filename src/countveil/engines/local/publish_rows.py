"""The rows of a table on their way into Parquet files.

Enters: a surveyed table, what was drawn, the randomness. Leaves: complete files. Must not know:
groups, ell, where the release goes in the end.

    deal      every row gets a published value for each sensitive column, as was drawn
    pack      a row becomes a few words; text that hardly repeats and rare types stay as they are
    shuffle   every row draws a bucket, uniformly, and each bucket is put in uniformly random
              order: together, a uniform shuffle in which no step touches more than a bucket
    write     a file contains neighbouring buckets, a row group one bucket

What is written is rebuilt from plain values after the shuffle: no dictionary, statistics, metadata
or order of the source reaches a file. A dictionary that is written lists values of the release in
sorted order. The rows of a span, sorted by their buckets, are a run; runs are in memory, or in the
spill, one entry per bucket. The sizes of buckets are random too, and say nothing about the rows.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from countveil.engines.drawn import Drawn
from countveil.engines.local.row_layout import Layout, PackedCodes, make_layout
from countveil.engines.local.surveyed_table import EncodedSpan, SurveyedTable, rows_inside
from countveil.maths.mechanism import Dealer
from countveil.randomness import Randomness, Stream
from countveil.release.draft import WrittenFile
from countveil.release.formats.read_back import check_rows
from countveil.system.process import Turns, in_order, worker_count
from countveil.tables.encoded.encoding import from_numpy
from countveil.tables.progress import Progress
from countveil.tables.readers.blocks import Span
from countveil.tables.storage.memory import MemoryShares
from countveil.tables.storage.spill import Spill

if TYPE_CHECKING:
    from countveil.engines.local.dealt_vectors import Dealt

BUCKET_ROWS = 1 << 17
_LEAST_BUCKET_ROWS = 1 << 12
_FILE_ROWS = 1 << 22
TWO_FILES_FROM = 1 << 20
Words = NDArray[np.uint64]


def publish_rows(
    table: SurveyedTable,
    names: Sequence[str],
    drawn: Drawn,
    randomness: Randomness,
    folder: Path,
    memory: MemoryShares,
    spill_folder: Path,
) -> list[WrittenFile]:
    """Publish these columns of all rows but those that are left out."""
    dealt: list[Dealt] = [
        _DealtColumn(name, Dealer(values, randomness.stream("deal", name)))
        for name, values in drawn.apart.items()
    ]
    if drawn.together or drawn.cases:
        # Loaded only where columns are published together, or persons have several rows.
        from countveil.engines.local.dealt_vectors import dealt_vectors

        dealt += dealt_vectors(drawn, randomness, table)
    stream = randomness.stream("shuffle")
    table.survey(names)
    fields = {field.name: field for field in table.published_schema}
    schema = pa.schema([fields[name] for name in names])
    packer = _Packer(table, names, dealt, drawn.without)
    layout = packer.layout
    rows = table.rows - drawn.without.size
    spill = None if rows * layout.row_bytes <= memory.rows else Spill(spill_folder)
    try:
        bucket_rows = min(BUCKET_ROWS, memory.bucket // layout.row_bytes)
        n_buckets = max(1, -(-rows // max(_LEAST_BUCKET_ROWS, bucket_rows)))
        raw_schema = pa.schema([schema.field(name) for name in layout.raw]) if layout.raw else None
        shuffle = Shuffle(len(table.spans), n_buckets, layout.n_words, raw_schema, spill)
        packer.pack_all(shuffle, stream, table.progress)
        return _Writer(schema, layout, shuffle).write_all(folder, rows, stream, table.progress)
    finally:
        if spill is not None:
            spill.close()


@dataclass(frozen=True, slots=True)
class _DealtColumn:
    """A column that is dealt by itself: its codes are the places of its values."""

    name: str
    dealer: Dealer

    @property
    def names(self) -> tuple[str, ...]:
        """The column."""
        return (self.name,)

    @property
    def read(self) -> tuple[str, ...]:
        """The same."""
        return (self.name,)

    def published(self) -> dict[str, NDArray[np.bool_]]:
        """Which values will be published."""
        return {self.name: self.dealer.published > 0}

    def codes(
        self, table: SurveyedTable, encoded: EncodedSpan, left_out: NDArray[np.int64]
    ) -> NDArray[Any]:
        """The true code of each row."""
        return np.delete(table.places(self.name, encoded[self.name], self.dealer.dtype), left_out)

    def reserve(self, codes: NDArray[Any]) -> Callable[[NDArray[Any]], NDArray[Any]]:
        """Take the share of these rows."""
        return self.dealer.reserve(self.dealer.count(codes)).deal

    def places(self, codes: NDArray[Any]) -> Iterator[tuple[str, NDArray[Any]]]:
        """What each column publishes, by published codes."""
        yield self.name, codes


class _Packer:
    """Deals and packs the rows of a table."""

    def __init__(
        self,
        table: SurveyedTable,
        names: Sequence[str],
        dealt: Sequence[Dealt],
        without: NDArray[np.int64],
    ) -> None:
        self._table, self._dealt, self._without = table, dealt, without
        surveys = [table.surveys[name] for name in names]
        self._sensitive = {name for each in dealt for name in each.names}
        self._read = [name for each in dealt for name in each.read]
        published = {
            survey.name: survey.counts > table.counts_in(survey.name, without)
            for survey in surveys
            if survey.values is not None and survey.name not in self._sensitive
        }
        for each in dealt:
            published |= each.published()
        self.layout: Layout = make_layout(surveys, published, table.rows)
        self._turns = Turns()

    def pack_all(self, shuffle: Shuffle, stream: Stream, progress: Progress) -> None:
        """Send all rows to the shuffle, several spans at a time."""

        def pack(item: tuple[Span, Stream]) -> Span:
            span, span_stream = item
            with self._turns.guarded():
                shuffle.add(span.number, self._packed(span), span_stream)
            return span

        done = 0
        # A stream for each span, so that rows do not depend on which thread is faster.
        for span in in_order(pack, ((span, stream.spawn()) for span in self._table.spans)):
            done += span.rows
            progress("drawing and shuffling", done, self._table.rows)

    def _packed(self, span: Span) -> Rows:
        """The rows of a span that are published, with the sensitive values that they are dealt."""
        layout = self.layout
        as_they_are = (name for name in layout.packed if name not in self._sensitive)
        names = list(dict.fromkeys([*as_they_are, *layout.raw, *self._read]))
        encoded = self._table.encoded(span, names)
        left_out = rows_inside(span, self._without)
        codes = [each.codes(self._table, encoded, left_out) for each in self._dealt]
        # Spans take their share of what was drawn one after the other.
        with self._turns.turn(span.number):
            hands = [each.reserve(true) for each, true in zip(self._dealt, codes, strict=True)]
        words = np.zeros((layout.n_words, span.rows), np.uint64)
        for name, packed in layout.packed.items():
            if name not in self._sensitive:
                packed.put(encoded[name], words)
        raw = None
        if layout.raw:
            arrays = [self._table.values(name, encoded[name]) for name in layout.raw]
            raw = pa.RecordBatch.from_arrays(arrays, list(layout.raw))
        rows = Rows(words, raw)
        if left_out.size:
            rows = rows.take(np.delete(np.arange(span.rows), left_out))
        for each, hand, true in zip(self._dealt, hands, codes, strict=True):
            for name, places in each.places(hand(true)):
                layout.packed[name].put_places(places, rows.words)
        self._table.forget(span, names)
        return rows


class _Writer:
    """Writes files of the same columns."""

    def __init__(self, schema: pa.Schema, layout: Layout, shuffle: Shuffle) -> None:
        self._schema, self._layout, self._shuffle = schema, layout, shuffle
        self._as_written = pa.schema([self._written_field(field) for field in schema])
        # Read back, columns have their plain types; Arrow's own note would name dictionaries.
        self._note = {"ARROW:schema": base64.b64encode(schema.serialize().to_pybytes())}
        self._rows_done = 0
        self._stopped = self._ahead = False

    def write_all(
        self, folder: Path, rows: int, stream: Stream, progress: Progress
    ) -> list[WrittenFile]:
        """All buckets, in as many files as `rows` rows need."""
        n_buckets = self._shuffle.n_buckets
        n_files = min(n_buckets, max(1 + (rows >= TWO_FILES_FROM), -(-rows // _FILE_ROWS)))
        edges = np.arange(n_files + 1) * n_buckets // n_files
        # Each file has a second bucket in memory then, as many as files of all cores would have.
        self._ahead = 2 * n_files <= worker_count()

        def files() -> Iterator[tuple[Path, range, Stream]]:
            for number in range(n_files):
                path = folder / f"part-{number:05d}.parquet"
                yield path, range(edges[number], edges[number + 1]), stream.spawn()

        def report() -> None:
            progress("writing", self._rows_done, rows)

        return list(in_order(lambda file: self._write(*file), files(), report, self._stop))

    def _stop(self) -> None:
        self._stopped = True

    def _write(self, path: Path, buckets: Sequence[int], stream: Stream) -> WrittenFile:
        """One file with the rows of these buckets."""
        rows = 0
        with pq.ParquetWriter(
            path,
            self._as_written,
            compression="zstd",
            write_statistics=False,
            version="2.6",
            store_schema=False,
        ) as writer:
            for table in self._tables(buckets, stream):
                if self._stopped:
                    break
                if table.num_rows:
                    writer.write_table(table, row_group_size=table.num_rows)
                    rows += table.num_rows
                    self._rows_done += table.num_rows
            writer.add_key_value_metadata(self._note)
        if not self._stopped:
            check_rows(path, rows, self._schema)
        return WrittenFile(path, rows)

    def _tables(self, buckets: Sequence[int], stream: Stream) -> Iterator[pa.Table]:
        """The rows of these buckets; where a core is free, the next are made while one writes.

        One bucket after the other draws from the stream, whichever thread it is.
        """

        def table(bucket: int) -> pa.Table:
            return self._unpacked(self._shuffle.bucket(bucket, stream))

        return in_order(table, buckets, workers=1) if self._ahead else map(table, buckets)

    def _unpacked(self, rows: Rows) -> pa.Table:
        arrays = [
            self._layout.packed[name].array(rows.words)
            if name in self._layout.packed
            else rows.raw.column(name)
            for name in self._schema.names
        ]
        return pa.Table.from_arrays(arrays, schema=self._as_written)

    def _written_field(self, field: pa.Field[Any]) -> pa.Field[Any]:
        packed = self._layout.packed.get(field.name)
        if packed is None or not isinstance(packed.column, PackedCodes):
            return field
        if not packed.column.as_dictionary:
            return field
        return pa.field(field.name, pa.dictionary(pa.int32(), field.type))


@dataclass(frozen=True, slots=True)
class Rows:
    """Words, one line per word of a row, and a record batch of the columns that are not packed."""

    words: Words
    raw: Any

    def __len__(self) -> int:
        return int(self.words.shape[1])

    def take(self, order: NDArray[np.int64]) -> Rows:
        """The rows in another order."""
        words = np.empty((self.words.shape[0], order.size), np.uint64)
        for source, target in zip(self.words, words, strict=True):
            np.take(source, order, out=target, mode="clip")
        if self.raw is None:
            return Rows(words, None)
        return Rows(words, self.raw.take(from_numpy(order)))

    def slice(self, start: int, end: int) -> Rows:
        """Neighbouring rows."""
        raw = None if self.raw is None else self.raw.slice(start, end - start)
        return Rows(self.words[:, start:end], raw)


class Shuffle:
    """Rows on their way to random places: `add` every span, then take bucket after bucket."""

    def __init__(
        self,
        n_spans: int,
        n_buckets: int,
        n_words: int,
        raw_schema: pa.Schema | None,
        spill: Spill | None,
    ) -> None:
        """`raw_schema` is that of the columns that are not packed, None without any."""
        self.n_buckets = n_buckets
        self._n_words, self._raw_schema = n_words, raw_schema
        self._spill = spill
        self._runs: list[tuple[Rows, NDArray[np.int64]] | None] = [None] * n_spans
        self._spilled: list[list[tuple[int, int | None, int]]] = [[] for _ in range(n_spans)]

    def add(self, number: int, rows: Rows, stream: Stream) -> None:
        """Send each row of a span to a bucket."""
        buckets = draw_buckets(stream, self.n_buckets, len(rows))
        run = rows.take(np.argsort(buckets, kind="stable"))
        sizes = np.bincount(buckets, minlength=self.n_buckets)
        ends = np.concatenate([[0], np.cumsum(sizes)])
        if self._spill is None:
            self._runs[number] = run, ends
            return
        for bucket in range(self.n_buckets):
            rows = run.slice(int(ends[bucket]), int(ends[bucket + 1]))
            words = self._spill.put(rows.words.tobytes())
            raw = None
            if rows.raw is not None:
                raw = self._spill.put(rows.raw.serialize().to_pybytes())
            self._spilled[number].append((words, raw, len(rows)))

    def bucket(self, bucket: int, stream: Stream) -> Rows:
        """All rows of a bucket, in random order."""
        rows = self._joined([rows for rows in self._rows_of(bucket) if len(rows)])
        return rows.take(stream.permutation(len(rows)))

    def _joined(self, runs: list[Rows]) -> Rows:
        words = np.concatenate(
            [np.zeros((self._n_words, 0), np.uint64), *(rows.words for rows in runs)], axis=1
        )
        if self._raw_schema is None:
            return Rows(words, None)
        batches = [rows.raw for rows in runs]
        together = pa.Table.from_batches(batches, self._raw_schema).combine_chunks()
        # For the stubs, a chunk is chunked itself.
        arrays: list[Any] = [
            column.chunk(0) if column.num_chunks else pa.nulls(0, column.type)
            for column in together.columns
        ]
        return Rows(words, pa.RecordBatch.from_arrays(arrays, schema=self._raw_schema))

    def _rows_of(self, bucket: int) -> list[Rows]:
        """The rows of a bucket, span by span."""
        if self._spill is None:
            return [
                rows.slice(int(ends[bucket]), int(ends[bucket + 1]))
                for rows, ends in (run for run in self._runs if run is not None)
            ]
        runs = []
        for entries in self._spilled:
            if not entries:
                continue
            place, raw_place, size = entries[bucket]
            words = np.frombuffer(self._spill.get(place), np.uint64).reshape(self._n_words, size)
            raw = None
            if raw_place is not None:
                content = pa.py_buffer(self._spill.get(raw_place))
                raw = pa.ipc.read_record_batch(content, self._raw_schema)
            runs.append(Rows(words, raw))
        return runs


def draw_buckets(stream: Stream, n_buckets: int, rows: int) -> NDArray[Any]:
    """A bucket for each row, in the narrowest type: it sorts fastest."""
    buckets = stream.below(n_buckets, rows)
    return buckets.astype(np.uint16 if n_buckets <= 1 << 16 else np.uint32)
