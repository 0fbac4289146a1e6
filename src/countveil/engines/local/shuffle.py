"""Packed rows on their way to random places.

Enters: per span its rows, sorted by the bucket that each row drew. Leaves: bucket after bucket, the
rows of all spans. Must not know: what rows mean, how buckets are drawn.

A run is what one span left: in memory as it is, or in the spill, one piece per bucket.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from countveil.tables.encoded.arrow_arrays import from_numpy
from countveil.tables.storage.spill import Spill

Words = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Rows:
    """Words, one line per word of a row, and a record batch of what is carried beside them."""

    words: Words
    carried: Any

    def take(self, order: NDArray[np.int64]) -> Rows:
        """The rows in another order."""
        words = np.empty((self.words.shape[0], order.size), np.uint64)
        for source, target in zip(self.words, words, strict=True):
            np.take(source, order, out=target, mode="clip")
        if self.carried is None:
            return Rows(words, None)
        return Rows(words, self.carried.take(from_numpy(order)))

    def part(self, start: int, end: int) -> Rows:
        """Neighbouring rows."""
        carried = None if self.carried is None else self.carried.slice(start, end - start)
        return Rows(self.words[:, start:end], carried)


class Runs:
    """The runs of all spans."""

    def __init__(self, n_spans: int, n_buckets: int, spill: Spill | None) -> None:
        self._n_buckets = n_buckets
        self._spill = spill
        self._runs: list[tuple[Rows, NDArray[np.int64]] | None] = [None] * n_spans
        self._stored: list[list[tuple[int, int | None, int]]] = [[] for _ in range(n_spans)]

    def add(self, number: int, rows: Rows, buckets: NDArray[Any]) -> None:
        """Keep the rows of a span, which drew these buckets."""
        ordered = rows.take(np.argsort(buckets, kind="stable"))
        sizes = np.bincount(buckets, minlength=self._n_buckets)
        ends = np.concatenate([[0], np.cumsum(sizes)])
        if self._spill is None:
            self._runs[number] = ordered, ends
            return
        stored = self._stored[number]
        for bucket in range(self._n_buckets):
            part = ordered.part(int(ends[bucket]), int(ends[bucket + 1]))
            words = self._spill.put(part.words.tobytes())
            carried = None
            if part.carried is not None:
                carried = self._spill.put(part.carried.serialize().to_pybytes())
            stored.append((words, carried, part.words.shape[1]))

    def bucket(self, bucket: int, n_words: int, carried: Any) -> Rows:
        """All rows of a bucket, in the order of the source; `carried` is the schema."""
        parts = [part for part in self._parts(bucket, n_words, carried) if part.words.shape[1]]
        words = np.concatenate(
            [np.zeros((n_words, 0), np.uint64), *(part.words for part in parts)], axis=1
        )
        if not carried:
            return Rows(words, None)
        batches = [part.carried for part in parts]
        together = pa.Table.from_batches(batches, carried).combine_chunks()
        arrays = [
            column.chunk(0) if column.num_chunks else pa.nulls(0, column.type)
            for column in together.columns
        ]
        return Rows(words, pa.RecordBatch.from_arrays(arrays, schema=carried))

    def _parts(self, bucket: int, n_words: int, carried: Any) -> list[Rows]:
        if self._spill is None:
            return [
                rows.part(int(ends[bucket]), int(ends[bucket + 1]))
                for rows, ends in (run for run in self._runs if run is not None)
            ]
        parts = []
        for stored in self._stored:
            if not stored:
                continue
            place, beside, size = stored[bucket]
            words = np.frombuffer(self._spill.get(place), np.uint64).reshape(n_words, size)
            batch = None
            if beside is not None:
                batch = pa.ipc.read_record_batch(pa.py_buffer(self._spill.get(beside)), carried)
            parts.append(Rows(words, batch))
        return parts
