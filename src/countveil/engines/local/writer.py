"""Rows in random order become Parquet files.

Enters: the runs, the layout, a stream per file. Leaves: complete files. Must not know: roles,
draws.

A file holds neighbouring buckets, a row group one bucket. The sizes of buckets are drawn too, and
say nothing about the rows. A dictionary that is written lists values that the release holds, in
their own order; else the writer makes its own from the shuffled rows.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from countveil.engines.contract import WrittenFile
from countveil.engines.local.row_layout import Coded, Layout
from countveil.engines.local.shuffle import Runs
from countveil.randomness import Stream


class Counter:
    """Rows done so far, by all threads, and whether anyone still wants them."""

    def __init__(self) -> None:
        self.rows = 0
        self.stopped = False

    def stop(self) -> None:
        """Nobody does."""
        self.stopped = True


class Writer:
    """Writes files of the same columns."""

    def __init__(self, schema: Any, layout: Layout, runs: Runs, done: Counter) -> None:
        self._layout, self._runs, self._done = layout, runs, done
        self._schema = schema
        self._carried = (
            pa.schema([schema.field(name) for name in layout.carried]) if layout.carried else None
        )
        self._as_written = pa.schema([self._written_field(field) for field in schema])
        # Read back, columns have their plain types; Arrow's own note would name dictionaries.
        self._note = {"ARROW:schema": base64.b64encode(schema.serialize().to_pybytes())}

    def write(self, path: Path, buckets: Sequence[int], stream: Stream) -> WrittenFile:
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
                if self._done.stopped:
                    break
                table = self._shuffled(bucket, stream)
                if table.num_rows:
                    writer.write_table(table, row_group_size=table.num_rows)
                    rows += table.num_rows
                    self._done.rows += table.num_rows
            writer.add_key_value_metadata(self._note)
        return WrittenFile(path, rows)

    def _shuffled(self, bucket: int, stream: Stream) -> Any:
        found = self._runs.bucket(bucket, self._layout.n_words, self._carried)
        rows = found.take(stream.permutation(found.words.shape[1]))
        arrays = [
            self._layout.fields[name].array(rows.words)
            if name in self._layout.fields
            else rows.carried.column(name)
            for name in self._schema.names
        ]
        return pa.Table.from_arrays(arrays, schema=self._as_written)

    def _written_field(self, field: Any) -> Any:
        place = self._layout.fields.get(field.name)
        if place is not None and isinstance(place.column, Coded) and place.column.as_dictionary:
            return pa.field(field.name, pa.dictionary(pa.int32(), field.type))
        return field


def draw_buckets(stream: Stream, n_buckets: int, rows: int) -> Any:
    """A bucket for each row, in the narrowest type: it sorts fastest."""
    drawn = stream.below(n_buckets, rows)
    return drawn.astype(np.uint16 if n_buckets <= 1 << 16 else np.uint32)
