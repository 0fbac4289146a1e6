"""The rows of a stream, which comes only once, as blocks that can be read again and again.

Enters: record batches one after the other, a number of bytes, a folder. Leaves: blocks as those of
any source. Must not know: where the stream comes from, what the columns are for.

Batches are put together to spans; text that repeats is kept as codes. What exceeds the bytes
allowed goes, encrypted, through a file that nobody else can open. So a database is asked once,
whatever its size, and all that is published is of one moment.
"""

from __future__ import annotations

import weakref
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from countveil.tables.encoded.arrow_arrays import plain_array, plain_schema
from countveil.tables.progress import Progress
from countveil.tables.readers.blocks import Span
from countveil.tables.storage.spill import Spill

_SPAN_ROWS, _SPAN_BYTES = 1 << 17, 1 << 26
_REPEATS = 0.5
_WHOLE_BELOW = float(1 << 53)


class StreamBlocks:
    """What a stream held."""

    def __init__(
        self,
        schema: Any,
        batches: Iterable[Any],
        most_bytes: int,
        folder: Path,
        *,
        missing: Sequence[str] = (),
        progress: Progress | None = None,
        labels: Mapping[str, Mapping[str, str]] | None = None,
        whole_numbers: bool = False,
    ) -> None:
        """With `whole_numbers`, floating point that holds none but whole numbers becomes these."""
        self.labels = labels or {}
        self.rows = 0
        self.spans: list[Span] = []
        self.schema = plain_schema(schema.remove_metadata())
        self._most_bytes, self._folder, self._bytes = most_bytes, folder, 0
        self._spill: Spill | None = None
        self._kept: list[list[Any]] = []
        self._whole = {f.name for f in self.schema if whole_numbers and f.type == pa.float64()}
        waiting: list[list[Any]] = []
        rows = size = 0
        for batch in batches:
            columns = [plain_array(column, missing) for column in batch.columns]
            waiting.append(columns)
            rows += batch.num_rows
            size += sum(column.nbytes for column in columns)
            if rows >= _SPAN_ROWS or size >= _SPAN_BYTES:
                self._add(waiting, rows)
                waiting, rows, size = [], 0, 0
            if progress is not None:
                progress("reading", self.rows + rows, 0)
        if rows:
            self._add(waiting, rows)
        for name in self._whole:
            place = self.schema.get_field_index(name)
            self.schema = self.schema.set(place, pa.field(name, pa.int64()))

    @property
    def read_again_at_once(self) -> bool:
        """Whether nothing is gained by keeping what was read."""
        return self._spill is None

    def read(
        self,
        span: Span,
        columns: Sequence[str],
        plain_text: Collection[str] = (),
        few: int | None = None,
    ) -> Iterator[dict[str, Any]]:
        """The columns of a span."""
        del few
        found = {}
        for name in columns:
            kept = self._kept[span.number][self.schema.get_field_index(name)]
            array = kept if self._spill is None else _fetched(self._spill, kept)
            if name in self._whole:
                array = array.cast(pa.int64())
            if name in plain_text and pa.types.is_dictionary(array.type):
                array = array.dictionary.take(array.indices)
            found[name] = array
        yield found

    def _add(self, batches: Sequence[Sequence[Any]], rows: int) -> None:
        columns = [_joined(parts) for parts in zip(*batches, strict=True)]
        for field, column in zip(self.schema, columns, strict=True):
            if field.name in self._whole and not _is_whole(column):
                self._whole.discard(field.name)
        self.spans.append(Span(len(self.spans), self.rows, rows))
        self.rows += rows
        self._bytes += sum(column.nbytes for column in columns)
        if self._spill is None and self._bytes > self._most_bytes:
            self._spill = Spill(self._folder)
            weakref.finalize(self, self._spill.close)
            self._kept = [[_aside(self._spill, c) for c in kept] for kept in self._kept]
        spill = self._spill
        self._kept.append(columns if spill is None else [_aside(spill, c) for c in columns])


def _joined(parts: Sequence[Any]) -> Any:
    """Neighbouring arrays as one; text as codes where it repeats."""
    plain = [p.dictionary.take(p.indices) if pa.types.is_dictionary(p.type) else p for p in parts]
    if pa.types.is_string(plain[0].type):
        # All of them in one dictionary: the texts themselves need not be copied.
        coded = pa.chunked_array(plain).dictionary_encode().combine_chunks()
        if len(coded.dictionary) <= _REPEATS * len(coded):
            return coded
    return pa.concat_arrays(plain)


def _is_whole(column: Any) -> bool:
    sound = pc.and_(pc.equal(pc.floor(column), column), pc.less(pc.abs(column), _WHOLE_BELOW))
    return bool(pc.all(sound).as_py() is not False)


def _aside(spill: Spill, column: Any) -> int:
    sink = pa.BufferOutputStream()
    batch = pa.record_batch([column], ["c"])
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return spill.put(sink.getvalue().to_pybytes())


def _fetched(spill: Spill, number: int) -> Any:
    with pa.ipc.open_stream(pa.py_buffer(spill.get(number))) as reader:
        return reader.read_next_batch().column(0)
