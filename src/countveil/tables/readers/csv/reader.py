"""The rows of CSV files, typed, in as much memory as there is.

Enters: the chunks of the files, a number of bytes, a folder. Leaves: blocks as those of any source.
Must not know: how a CSV is parsed, what the columns are for.

A chunk is kept as codes: a few bytes for each cell. What exceeds the bytes allowed goes, encrypted,
through a file that nobody else can open. So a CSV file is parsed once, whatever its size.
"""

from __future__ import annotations

import weakref
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from countveil.tables.encoded.arrow_arrays import from_numpy
from countveil.tables.encoded.encoding import CodedPiece
from countveil.tables.readers.blocks import Span
from countveil.tables.readers.csv.chunks import Chunk
from countveil.tables.readers.csv.types import TEXT, first_fitting, merges, with_point
from countveil.tables.storage.spill import Spill

_DICTIONARY = pa.schema([pa.field("texts", pa.string())])


class Shelf:
    """Coded columns of chunks: in memory while they fit, then all of them on disk."""

    def __init__(self, most_bytes: int, folder: Path) -> None:
        self.most_bytes, self.folder = most_bytes, folder
        self._bytes = 0
        self._spill: Spill | None = None
        self._chunks: list[list[CodedPiece | _PutAside]] = []

    @property
    def in_memory(self) -> bool:
        """Whether to get a column costs next to nothing."""
        return self._spill is None

    def add(self, columns: Sequence[CodedPiece]) -> None:
        """Keep the columns of the next chunk."""
        self._bytes += sum(piece.nbytes for piece in columns)
        if self._spill is None and self._bytes > self.most_bytes:
            self._spill = Spill(self.folder)
            weakref.finalize(self, self._spill.close)
            self._chunks = [self._aside(self._spill, chunk) for chunk in self._chunks]
        self._chunks.append(
            list(columns) if self._spill is None else self._aside(self._spill, columns)
        )

    def get(self, number: int, place: int) -> CodedPiece:
        """A column of a chunk."""
        kept = self._chunks[number][place]
        return kept if isinstance(kept, CodedPiece) else kept.fetch()

    def keep_only(self, count: int) -> None:
        """Forget all chunks but the first ones. What lies on disk stays there, unreadable."""
        del self._chunks[count:]

    def __len__(self) -> int:
        return len(self._chunks)

    @staticmethod
    def _aside(spill: Spill, columns: Sequence[Any]) -> list[Any]:
        return [_PutAside(spill, piece) for piece in columns]


class _PutAside:
    """A column of a chunk that lies in the spill."""

    __slots__ = ("_codes", "_dictionary", "_dtype", "_size", "_spill")

    def __init__(self, spill: Spill, piece: CodedPiece) -> None:
        batch = pa.RecordBatch.from_arrays([piece.dictionary], schema=_DICTIONARY)
        self._spill = spill
        self._dtype, self._size = piece.codes.dtype, len(piece.dictionary)
        self._codes = spill.put(piece.codes.tobytes())
        self._dictionary = spill.put(batch.serialize().to_pybytes())

    def fetch(self) -> CodedPiece:
        """The column again."""
        codes = np.frombuffer(self._spill.get(self._codes), self._dtype)
        content = pa.py_buffer(self._spill.get(self._dictionary))
        dictionary = pa.ipc.read_record_batch(content, _DICTIONARY).column(0)
        return CodedPiece(codes, dictionary, np.bincount(codes, minlength=self._size + 1))


class CsvBlocks:
    """What CSV files hold."""

    def __init__(self, header: Sequence[str], shelf: Shelf, *, decimal_comma: bool = False) -> None:
        self._shelf, self._decimal_comma = shelf, decimal_comma
        self._names = list(header)
        self._fits: list[list[frozenset[Any]]] = []
        self._n_texts: list[list[int]] = []
        self.schema: Any = None
        self.rows = 0
        self.spans: list[Span] = []

    @property
    def read_again_at_once(self) -> bool:
        """Whether nothing is gained by keeping what was read."""
        return self._shelf.in_memory

    def add(self, chunk: Chunk) -> None:
        """Take the next chunk."""
        if not chunk.rows:
            return
        self._shelf.add(chunk.columns)
        self.spans.append(Span(len(self.spans), self.rows, chunk.rows))
        self.rows += chunk.rows
        self._fits.append(chunk.fits)
        self._n_texts.append([len(piece.dictionary) for piece in chunk.columns])

    def mark(self) -> int:
        """Where the chunks end now."""
        return len(self.spans)

    def rewind(self, mark: int) -> None:
        """Forget the chunks since then."""
        self._shelf.keep_only(mark)
        self.rows -= sum(span.rows for span in self.spans[mark:])
        del self.spans[mark:], self._fits[mark:], self._n_texts[mark:]

    def finish(self) -> None:
        """All chunks were added."""
        kinds = [self._kind(place) for place in range(len(self._names))]
        self.schema = pa.schema(
            [pa.field(name, kind) for name, kind in zip(self._names, kinds, strict=True)]
        )

    def read(
        self,
        span: Span,
        columns: Sequence[str],
        plain_text: Collection[str] = (),
        few: int | None = None,
    ) -> Iterator[dict[str, Any]]:
        """The columns of a chunk."""
        found = {}
        for name in columns:
            place = self.schema.get_field_index(name)
            piece = self._shelf.get(span.number, place)
            kind = self.schema.field(place).type
            if self._decimal_comma and kind == pa.float64():
                piece = replace(piece, dictionary=with_point(piece.dictionary))
            found[name] = _array(piece, kind, name in plain_text, few)
        yield found

    def _kind(self, place: int) -> Any:
        n_texts = sum(sizes[place] for sizes in self._n_texts)
        if not n_texts:
            return TEXT
        kind = first_fitting(fits[place] for fits in self._fits)
        return TEXT if kind == pa.float64() and merges(self._texts(place), n_texts) else kind

    def _texts(self, place: int) -> Any:
        def parts() -> Iterator[Any]:
            for number in range(len(self._shelf)):
                texts = self._shelf.get(number, place).dictionary
                yield with_point(texts) if self._decimal_comma else texts

        return parts


def _array(piece: CodedPiece, kind: Any, plain: bool, few: int | None) -> Any:
    codes = piece.codes[:few]
    lacking = codes == len(piece.dictionary)
    missing = lacking if lacking.any() else None
    indices = codes.astype(np.int32)
    if missing is not None:
        indices[missing] = 0
    places = from_numpy(indices, missing)
    if kind != TEXT:
        return piece.dictionary.cast(kind).take(places)
    if plain:
        return piece.dictionary.take(places)
    return pa.DictionaryArray.from_arrays(places, piece.dictionary, safe=False)
