"""A look at some rows, and the repeats of a column, by tasks that give no row to the driver.

Enters: rows of partitions. Leaves: what a function says of a sample; how often values occur more
than once. Must not know: why it is asked.

What goes from one task to another is encrypted: a worker may put it on its disk.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from countveil.engines.dask.exchange import stored
from countveil.engines.dask.reading import RowReader, evenly_spread
from countveil.engines.partitions.tasks import RESULT, LookTask
from countveil.randomness import TaskKey, fresh_key
from countveil.tables.encoded.encoding import to_numpy

VALUE, TIMES = "value", "times"
# Values that one task puts together. More of them are counted slice by slice.
SLICE_VALUES = 1 << 24


class Sealed:
    """Rows on their way from one task to another."""

    def __init__(self, table: pa.Table, key: TaskKey) -> None:
        self._label = fresh_key().hex()
        self._content = key.seal(stored(table), "sealed", self._label)

    def table(self, key: TaskKey) -> pa.Table:
        """The rows again."""
        content = key.seal(self._content, "sealed", self._label)
        with pa.ipc.open_stream(pa.py_buffer(content)) as stream:
            table: pa.Table = stream.read_all()
        return table


class Sampling:
    """What all tasks know who take a sample, and the one that looks at it."""

    def __init__(self, reader: RowReader, names: Sequence[str], key: TaskKey) -> None:
        self._reader, self._names, self._key = reader, tuple(names), key

    def sampled(self, rows: int, most: int, pieces: Sequence[Any]) -> Sealed:
        """Some rows of a partition, which has so many."""
        batches = evenly_spread(self._reader.batches(pieces, self._names), rows, most)
        schema = pa.schema([self._reader.schema.field(name) for name in self._names])
        return Sealed(pa.Table.from_batches(list(batches), schema), self._key)

    def looked_at(self, task: LookTask, *samples: Sealed) -> Any:
        """What is said of all samples together."""
        rows = pa.concat_tables([sample.table(self._key) for sample in samples])
        (result,) = task(iter(rows.combine_chunks().to_batches()))
        return pickle.loads(result.column(RESULT)[0].as_py())  # noqa: S301 - our own task's


class Repeating:
    """What all tasks know who count how often each value of a column occurs, in one slice."""

    def __init__(
        self, reader: RowReader, column: str, key: TaskKey, slices: int, number: int
    ) -> None:
        self._reader, self._column, self._key = reader, column, key
        self._slices, self._number = slices, number

    def counted(self, pieces: Sequence[Any]) -> Sealed:
        """The values of a partition."""
        kind = self._reader.schema.field(self._column).type
        arrays = [batch.column(0) for batch in self._reader.batches(pieces, [self._column])]
        values = pa.chunked_array(arrays, kind)
        if self._slices > 1:
            values = values.filter(pa.array(self._here(values)))
        ones = pa.array(np.ones(len(values), np.int64))
        return Sealed(_summed(pa.table({VALUE: values, TIMES: ones})), self._key)

    def joined(self, *counts: Sealed) -> Sealed:
        """The values of some partitions."""
        return Sealed(_summed(pa.concat_tables([c.table(self._key) for c in counts])), self._key)

    def repeats(self, *counts: Sealed) -> tuple[int, int, int, int]:
        """Rows without a value, values that repeat, the most rows of one, different values."""
        table = _summed(pa.concat_tables([each.table(self._key) for each in counts]))
        times = to_numpy(table.column(TIMES).combine_chunks())
        known = to_numpy(pc.is_valid(table.column(VALUE)).combine_chunks()).astype(bool)
        return (
            int(times[~known].sum()),
            int((times[known] > 1).sum()),
            int(times[known].max(initial=0)),
            int(known.sum()),
        )

    def _here(self, values: pa.ChunkedArray[Any]) -> NDArray[np.bool_]:
        """Whether a value belongs to this slice; equal ones always do, or do not."""
        from countveil.sql.locked_duckdb import connect
        from countveil.tables.readers.row_filter import for_duckdb

        connection = connect()
        connection.register("batch", pa.table({VALUE: for_duckdb(values)}))
        text = f"SELECT hash({VALUE}) % {self._slices} = {self._number} FROM batch"
        return to_numpy(connection.sql(text).to_arrow_table().column(0).combine_chunks()).astype(
            np.bool_
        )


def _summed(table: pa.Table) -> pa.Table:
    summed = table.group_by(VALUE).aggregate([(TIMES, "sum")])
    return summed.select([VALUE, f"{TIMES}_sum"]).rename_columns([VALUE, TIMES])
