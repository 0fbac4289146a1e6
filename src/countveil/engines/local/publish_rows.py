"""The rows of a table on their way into Parquet files.

Enters: a surveyed table, what was drawn, the randomness. Leaves: complete files. Must not know:
groups, ell, where the release goes in the end.

    deal      every row gets a published value for each sensitive column, as was drawn
    pack      a row becomes a few words; text that hardly repeats and rare types stay as they are
    shuffle   every row goes to a random bucket, and each bucket is put in random order
    write     a file contains neighbouring buckets, a row group one bucket

What is written is rebuilt from plain values after the shuffle: no dictionary, statistics, metadata
or order of the source reaches a file. A dictionary that is written lists values of the release in
sorted order. The sizes of buckets are random too, and say nothing about the rows.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from countveil.engines.contract import WrittenFile
from countveil.engines.local.row_layout import Layout, PackedCodes, make_layout
from countveil.engines.local.shuffle import Rows, Shuffle
from countveil.engines.local.surveyed_table import SurveyedTable, rows_inside
from countveil.maths.mechanism import Dealer, PublishedTable
from countveil.randomness import Randomness, Stream
from countveil.tables.progress import Progress
from countveil.tables.readers.blocks import Span
from countveil.tables.storage.memory import MemoryShares
from countveil.tables.storage.parallel import Turns, in_order
from countveil.tables.storage.spill import Spill

BUCKET_ROWS = 1 << 17
_LEAST_BUCKET_ROWS = 1 << 12
_FILE_ROWS = 1 << 22
TWO_FILES_FROM = 1 << 20


def publish_rows(
    table: SurveyedTable,
    names: Sequence[str],
    drawn: Mapping[str, PublishedTable],
    without: NDArray[np.int64],
    randomness: Randomness,
    folder: Path,
    memory: MemoryShares,
    spill_folder: Path,
    progress: Progress,
) -> list[WrittenFile]:
    """Publish these columns of all rows but those with the numbers `without`."""
    dealers = {
        name: Dealer(values, randomness.stream("deal", name)) for name, values in drawn.items()
    }
    stream = randomness.stream("shuffle")
    table.survey(names)
    fields = {field.name: field for field in table.published_schema}
    schema = pa.schema([fields[name] for name in names])
    packer = _Packer(table, names, dealers, without)
    layout = packer.layout
    rows = table.rows - without.size
    spill = None if rows * layout.row_bytes <= memory.rows else Spill(spill_folder)
    try:
        bucket_rows = min(BUCKET_ROWS, memory.bucket // layout.row_bytes)
        n_buckets = max(1, -(-rows // max(_LEAST_BUCKET_ROWS, bucket_rows)))
        raw_schema = pa.schema([schema.field(name) for name in layout.raw]) if layout.raw else None
        shuffle = Shuffle(len(table.spans), n_buckets, layout.n_words, raw_schema, spill)
        packer.pack_all(shuffle, stream, progress)
        return _Writer(schema, layout, shuffle).write_all(folder, rows, stream, progress)
    finally:
        if spill is not None:
            spill.close()


class _Packer:
    """Deals and packs the rows of a table."""

    def __init__(
        self,
        table: SurveyedTable,
        names: Sequence[str],
        dealers: Mapping[str, Dealer],
        without: NDArray[np.int64],
    ) -> None:
        self._table, self._dealers, self._without = table, dealers, without
        surveys = [table.surveys[name] for name in names]
        published = {
            survey.name: dealers[survey.name].published > 0
            if survey.name in dealers
            else survey.counts > table.counts_in(survey.name, without)
            for survey in surveys
            if survey.values is not None
        }
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
        names = [*layout.packed, *layout.raw]
        encoded = self._table.encoded(span, names)
        left_out = rows_inside(span, self._without)
        places = {
            name: np.delete(self._table.places(name, encoded[name], dealer.dtype), left_out)
            for name, dealer in self._dealers.items()
        }
        # Spans take their share of what was drawn one after the other.
        with self._turns.turn(span.number):
            hands = {
                name: dealer.reserve(dealer.count(places[name]))
                for name, dealer in self._dealers.items()
            }
        words = np.zeros((layout.n_words, span.rows), np.uint64)
        for name, packed in layout.packed.items():
            if name not in self._dealers:
                packed.put(encoded[name], words)
        raw = None
        if layout.raw:
            arrays = [self._table.values(name, encoded[name]) for name in layout.raw]
            raw = pa.RecordBatch.from_arrays(arrays, list(layout.raw))
        rows = Rows(words, raw)
        if left_out.size:
            rows = rows.take(np.delete(np.arange(span.rows), left_out))
        for name, hand in hands.items():
            layout.packed[name].put_places(hand.deal(places[name]), rows.words)
        self._table.forget(span, names)
        return rows


class _Writer:
    """Writes files of the same columns."""

    def __init__(self, schema: Any, layout: Layout, shuffle: Shuffle) -> None:
        self._schema, self._layout, self._shuffle = schema, layout, shuffle
        self._as_written = pa.schema([self._written_field(field) for field in schema])
        # Read back, columns have their plain types; Arrow's own note would name dictionaries.
        self._note = {"ARROW:schema": base64.b64encode(schema.serialize().to_pybytes())}
        self._rows_done = 0
        self._stopped = False

    def write_all(
        self, folder: Path, rows: int, stream: Stream, progress: Progress
    ) -> list[WrittenFile]:
        """All buckets, in as many files as so many rows need."""
        n_buckets = self._shuffle.n_buckets
        n_files = min(n_buckets, max(1 + (rows >= TWO_FILES_FROM), -(-rows // _FILE_ROWS)))
        edges = np.arange(n_files + 1) * n_buckets // n_files

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
            for bucket in buckets:
                if self._stopped:
                    break
                table = self._unpacked(self._shuffle.bucket(bucket, stream))
                if table.num_rows:
                    writer.write_table(table, row_group_size=table.num_rows)
                    rows += table.num_rows
                    self._rows_done += table.num_rows
            writer.add_key_value_metadata(self._note)
        return WrittenFile(path, rows)

    def _unpacked(self, rows: Rows) -> Any:
        arrays = [
            self._layout.packed[name].array(rows.words)
            if name in self._layout.packed
            else rows.raw.column(name)
            for name in self._schema.names
        ]
        return pa.Table.from_arrays(arrays, schema=self._as_written)

    def _written_field(self, field: Any) -> Any:
        packed = self._layout.packed.get(field.name)
        if packed is None or not isinstance(packed.column, PackedCodes):
            return field
        if not packed.column.as_dictionary:
            return field
        return pa.field(field.name, pa.dictionary(pa.int32(), field.type))
