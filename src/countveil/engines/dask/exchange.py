"""The rows of a publication from partitions to files, through the folder of the release.

Enters: the rows of a partition as they are published, each with a random key. Leaves: data files in
the order of the keys. Must not know: true values, how tasks are started.

A task writes the rows that it dealt, in the order of their keys and encrypted, into a file with a
name that no other attempt has, and gives the name to the driver. The driver gives one name for each
partition to those who merge. So whatever becomes of a worker, whichever task is run again, and even
if the partition was different then, every row is taken from exactly one attempt: none comes twice,
none is lost. The same holds for the data files.

Keys are independent of the rows and of each other, so every order of the rows is equally likely.
(Keys have 64 bits. Two rows with the same key, of which a few pairs are expected among ten thousand
million rows, keep the order of their partitions.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from countveil.engines.dask.reading import RowReader
from countveil.engines.partitions.task_inputs import Carried, TaskInputs
from countveil.engines.partitions.tasks import DealTask, working_on
from countveil.randomness import TaskKey, fresh_key
from countveil.release.formats.read_back import check_rows
from countveil.tables.encoded.encoding import from_numpy, to_numpy

FILE_ROWS, _LEAST_FILE_ROWS, _FILE_VALUES = 1 << 20, 1 << 16, 1 << 25
_HALF = np.uint64(32)
_PLACE = np.dtype("<i8")


def files_for(rows: int, columns: int) -> int:
    """How many data files so many rows make: a file is made in memory, so wide rows make more."""
    size = max(_LEAST_FILE_ROWS, min(FILE_ROWS, _FILE_VALUES // max(1, columns)))
    return max(1, -(-rows // size))


class Exchange:
    """What all tasks know who deal, and who merge."""

    def __init__(
        self,
        reader: RowReader,
        read: Sequence[str],
        common: Mapping[str, bytes],
        key: TaskKey,
        folder: Path,
        files: int,
    ) -> None:
        """`read` are the columns to read, `common` the inputs that all tasks share."""
        self._reader, self._read, self._common = reader, tuple(read), dict(common)
        self._key, self._folder, self._files = key, str(folder), files
        self._scratch = key.derived("exchange")

    def deal(self, share: Carried, partition: int, pieces: Sequence[Any]) -> tuple[str, int] | None:
        """Deal to the rows of a partition; the name of the file with them, and their number."""
        inputs = TaskInputs(Carried({**self._common, **share.value}))
        task = DealTask(inputs, self._key, "")
        with working_on(partition):
            dealt = list(task(self._reader.batches(pieces, self._read)))
        if not dealt:
            return None
        table = pa.Table.from_batches(dealt)
        keys = _keys(table)
        order = np.argsort(keys, kind="stable")
        numbers = (keys[order] >> _HALF) * np.uint64(self._files) >> _HALF
        edges = np.searchsorted(numbers, np.arange(self._files + 1).astype(np.uint64))
        ordered = table.take(from_numpy(order))
        name = fresh_key().hex()
        places = np.zeros(self._files + 1, _PLACE)
        with (Path(self._folder) / name).open("xb") as file:
            file.seek(places.nbytes)
            places[0] = places.nbytes
            for number in range(self._files):
                some = ordered.slice(edges[number], edges[number + 1] - edges[number])
                sealed = self._scratch.seal(stored(some), name, str(number))
                places[number + 1] = places[number] + file.write(sealed)
            file.seek(0)
            file.write(places.tobytes())
        return name, table.num_rows

    def merge(
        self, names: Sequence[str], number: int, protected: Sequence[str]
    ) -> tuple[str, int, dict[str, pa.Table]] | None:
        """One data file: its name, its rows, and how often each protected value is in it."""
        rows = pa.concat_tables([self._range(name, number) for name in names])
        if not rows.num_rows:
            return None
        order = np.argsort(_keys(rows), kind="stable")
        # The key is the last column.
        table = rows.select(rows.column_names[:-1]).take(from_numpy(order)).combine_chunks()
        path = Path(self._folder) / f"{fresh_key().hex()}.parquet"
        pq.write_table(table, path, compression="zstd", write_statistics=False, version="2.6")
        check_rows(path, table.num_rows, table.schema)
        counts = {
            name: table.select([name]).group_by(name).aggregate([([], "count_all")])
            for name in protected
        }
        return path.name, table.num_rows, counts

    def _range(self, name: str, number: int) -> pa.Table:
        """The rows of a data file in what a task wrote."""
        with (Path(self._folder) / name).open("rb") as file:
            file.seek(number * _PLACE.itemsize)
            first, last = np.frombuffer(file.read(2 * _PLACE.itemsize), _PLACE).tolist()
            file.seek(first)
            sealed = file.read(last - first)
        content = self._scratch.seal(sealed, name, str(number))
        with pa.ipc.open_stream(pa.py_buffer(content)) as stream:
            table: pa.Table = stream.read_all()
        return table


def _keys(table: pa.Table) -> NDArray[np.uint64]:
    return to_numpy(table.column(table.num_columns - 1).combine_chunks()).view(np.uint64)


def stored(table: pa.Table) -> bytes:
    """A table as bytes, compressed."""
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()
