"""The memory of a publication: how much it may take, and the columns that are kept in it.

Enters: a limit that the publisher set, or none; encoded columns, batch after batch. Leaves: numbers
of bytes; the same columns again, as often as they are wanted. Must not know: where they come from.

Once the kept columns exceed the bytes allowed, all of them go to an encrypted file (see `spill`).
So a source that is slow to read, or that can be read only once, is read once, whatever its size.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from countveil.errors import SettingsError
from countveil.system.process import available_memory
from countveil.tables.encoded.encoding import (
    DictionaryColumn,
    EncodedColumn,
    NumberColumn,
    RawColumn,
    dictionary_column,
)

if TYPE_CHECKING:
    from countveil.tables.storage.spill import Spill

# Shares of the room for rows: for columns as they were read, for rows between read and write, and
# for one bucket of rows that are shuffled together.
COLUMNS_SHARE, ROWS_SHARE, BUCKET_SHARE = 0.3, 0.45, 1 / 16

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_LEAST = 300 * 10**6
_PROGRAM = 130 * 10**6
_DUCKDB = 50 * 10**6
_SHARE = 0.5

# A column in memory is in the list itself; for one on disk there is a function that reads it.
_Stored = EncodedColumn | Callable[[], EncodedColumn]


@dataclass(frozen=True, slots=True)
class MemoryShares:
    """Bytes for columns as they were read, for rows between read and write, and for a bucket."""

    columns: int
    rows: int
    bucket: int


def memory_shares(wished: str | int | None, *, with_duckdb: bool = False) -> MemoryShares:
    """What a publication may use. DuckDB itself takes some memory if it is loaded."""
    room = room_for_rows(memory_limit(wished), with_duckdb=with_duckdb)
    shares = (COLUMNS_SHARE, ROWS_SHARE, BUCKET_SHARE)
    return MemoryShares(*(int(share * room) for share in shares))


def memory_limit(wished: str | int | None) -> int:
    """Bytes from a text such as 1GB or 500MB; without one, half of what is free."""
    if wished is None:
        return max(_LEAST, int(_SHARE * available_memory()))
    size = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?)(I?)B?\s*", str(wished).upper())
    if size is None:
        raise SettingsError(f"memory must be a size such as 1GB or 500MB, got {str(wished)!r}.")
    unit = _UNITS[size[2]]
    if size[3]:
        unit = 1024 ** round(len(str(unit)) / 3)
    limit = int(float(size[1]) * unit)
    if limit < _LEAST:
        raise SettingsError(
            f"memory must be at least {_LEAST // 10**6}MB, got {str(wished)!r}: the program itself "
            f"takes about half of that."
        )
    return limit


def room_for_rows(limit: int, *, with_duckdb: bool = False) -> int:
    """What is left of a limit for the table, beside the program and its libraries."""
    return max(limit - _PROGRAM - with_duckdb * _DUCKDB, limit // 3)


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
            # Only here: most tables fit, and the cipher takes time to load.
            from countveil.tables.storage.spill import Spill

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


def _put_array(spill: Spill, array: pa.Array[Any]) -> int:
    sink = pa.BufferOutputStream()
    batch = pa.record_batch([array], ["c"])
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return spill.put(sink.getvalue().to_pybytes())


def _get_array(spill: Spill, number: int) -> pa.Array[Any]:
    with pa.ipc.open_stream(pa.py_buffer(spill.get(number))) as reader:
        batch: pa.RecordBatch = reader.read_next_batch()
        return batch.column(0)
