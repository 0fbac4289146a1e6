"""Packed rows in uniformly random order.

Enters: the rows of every span, and a stream for each. Leaves: bucket after bucket, rows in random
order. Must not know: what rows mean.

Every row draws a bucket, uniformly, and each bucket is put in uniformly random order: together, a
uniform shuffle, in which no step touches more rows than a bucket has. The rows of a span, sorted by
their buckets, are a run; runs are in memory, or in the spill, one entry per bucket.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from countveil.randomness import Stream
from countveil.tables.encoded.arrow_arrays import from_numpy
from countveil.tables.storage.spill import Spill

Words = NDArray[np.uint64]


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
        self, n_spans: int, n_buckets: int, n_words: int, raw_schema: Any, spill: Spill | None
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
        arrays = [
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
