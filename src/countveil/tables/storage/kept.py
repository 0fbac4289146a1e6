"""Encoded columns kept in memory while they fit, and then on disk.

Enters: encoded columns, batch after batch; a number of bytes, a folder. Leaves: the same columns
again, as often as they are wanted. Must not know: where they come from.

Once the columns exceed the bytes allowed, all of them go to an encrypted file (see `spill`). So a
source that is slow to read, or that can be read only once, is read once, whatever its size.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from countveil.tables.encoded.encoding import (
    DictionaryColumn,
    EncodedColumn,
    NumberColumn,
    RawColumn,
    dictionary_column,
)
from countveil.tables.storage.spill import Spill

# A column in memory is in the list itself; for one on disk there is a function that reads it.
_Stored = EncodedColumn | Callable[[], EncodedColumn]


class KeptColumns:
    """The columns of batches, by the number of the batch and the place of the column."""

    def __init__(self, most_bytes: int, folder: Path) -> None:
        self.most_bytes = most_bytes
        self._folder = folder
        self._bytes = 0
        self._spill: Spill | None = None
        self._batches: list[list[_Stored]] = []

    def __len__(self) -> int:
        return len(self._batches)

    @property
    def in_memory(self) -> bool:
        """Whether `get` costs next to nothing."""
        return self._spill is None

    def add(self, columns: Sequence[EncodedColumn]) -> None:
        """Keep the columns of the next batch."""
        self._bytes += sum(column.nbytes for column in columns)
        if self._spill is None and self._bytes > self.most_bytes:
            self._spill = Spill(self._folder)
            weakref.finalize(self, self._spill.close)
            self._batches = [_spilled(self._spill, batch) for batch in self._batches]
        self._batches.append(
            list(columns) if self._spill is None else _spilled(self._spill, columns)
        )

    def get(self, number: int, place: int) -> EncodedColumn:
        """A column of a batch."""
        stored = self._batches[number][place]
        return stored() if callable(stored) else stored

    def keep_only(self, count: int) -> None:
        """Forget all batches but the first ones. Their bytes stay on disk, unreadable."""
        del self._batches[count:]


def _spilled(spill: Spill, columns: Sequence[Any]) -> list[_Stored]:
    return [_spill_column(spill, column) for column in columns]


def _spill_column(spill: Spill, column: EncodedColumn) -> Callable[[], EncodedColumn]:
    """Put a column into the spill; the result reads it again."""
    if isinstance(column, RawColumn):
        values = _put_array(spill, column.values)
        return lambda: RawColumn(_get_array(spill, values))
    codes, dtype = spill.put(column.codes.tobytes()), column.codes.dtype
    if isinstance(column, DictionaryColumn):
        dictionary = _put_array(spill, column.dictionary)
        return lambda: dictionary_column(
            np.frombuffer(spill.get(codes), dtype), _get_array(spill, dictionary)
        )
    low, high, kind = column.low, column.high, column.kind
    missing = None if column.missing is None else spill.put(column.missing.tobytes())

    def numbers() -> NumberColumn:
        absent = None if missing is None else np.frombuffer(spill.get(missing), np.bool_)
        return NumberColumn(np.frombuffer(spill.get(codes), dtype), low, high, absent, kind)

    return numbers


def _put_array(spill: Spill, array: Any) -> int:
    sink = pa.BufferOutputStream()
    batch = pa.record_batch([array], ["c"])
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return spill.put(sink.getvalue().to_pybytes())


def _get_array(spill: Spill, number: int) -> Any:
    with pa.ipc.open_stream(pa.py_buffer(spill.get(number))) as reader:
        return reader.read_next_batch().column(0)
