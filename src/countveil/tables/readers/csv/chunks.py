"""A CSV file cut into chunks of records, which are parsed in threads.

Enters: a path, the header, how the file is written, which texts mean a missing value. Leaves:
chunks of rows, every column as codes into its different texts, with the types that fit these. Must
not know: what the columns are for, where chunks are kept.

The file is cut after a line end with an even number of quotes before it, and each chunk is parsed
on its own. A record ends there unless an unquoted cell contains a quote. To be sure, a record of
random marks is appended to every chunk: only if it comes out as a record of its own did the chunk
end where a record ends. If not, or if Arrow refuses a chunk, the file is read once more from its
beginning and in order: Arrow's reader then decides what a record is, and which line is wrong. An
error names the number of the line and never its content.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.csv

from countveil.errors import InputError, option
from countveil.randomness import fresh_key
from countveil.system.process import in_order
from countveil.tables import PLAIN_CSV, CsvStyle
from countveil.tables.encoded.encoding import DictionaryColumn, encode_dictionary
from countveil.tables.readers.csv.decoding import csv_bytes, native
from countveil.tables.readers.csv.types import fitting

_LONGEST = 1 << 24
LEAST_BYTES, MOST_BYTES, _CHUNKS = 1 << 20, 1 << 23, 16
LEAST_BYTES_A_COLUMN = 1 << 11
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class IrregularError(Exception):
    """Chunks may have been cut inside a record, or contain a mistake: read the file in order."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some rows: their columns, the types that fit each, and the bytes of the file so far."""

    rows: int
    columns: list[DictionaryColumn]
    fits: list[frozenset[pa.DataType]]
    passed: int


@dataclass(frozen=True, slots=True)
class _Unparsed:
    """The bytes of a chunk, to be joined, and how many bytes of the file were read by then."""

    number: int
    content: list[bytes | memoryview]
    passed: int


@dataclass(frozen=True, slots=True)
class CsvFile:
    """A file and how it is written."""

    path: Path
    header: tuple[str, ...]
    delimiter: str
    missing: tuple[str, ...]
    style: CsvStyle = PLAIN_CSV

    def chunks(self) -> Iterator[Chunk]:
        """The rows, parsed in threads; after an `IrregularError` earlier chunks are not valid."""
        mark = fresh_key().hex()
        ending = (self.delimiter.join([mark] * len(self.header)) + "\n").encode()

        def parse(chunk: _Unparsed) -> Chunk:
            columns = self._parsed(b"".join([*chunk.content, ending]), first=chunk.number == 0)
            if any(column.dictionary[-1].as_py() != mark for column in columns):
                raise IrregularError
            rows = [_without_mark(column) for column in columns]
            return _chunk(rows, chunk.passed, decimal_comma=self.style.decimal_comma)

        yield from in_order(parse, self._unparsed())

    def chunks_in_order(self) -> Iterator[Chunk]:
        """The rows, parsed one after the other."""
        self._check_whole()
        bad: list[Any] = []

        def note(row: Any) -> str:
            bad.append(row)
            return "error"

        try:
            with self._opened() as (stream, raw):
                names = None if self.style.header else list(self.header)
                reader = pa.csv.open_csv(
                    native(stream),
                    pa.csv.ReadOptions(use_threads=False, block_size=_LONGEST, column_names=names),
                    self._parse_options(note),
                    self._convert_options(self.header),
                )
                for batch in reader:
                    yield _chunk(batch.columns, raw.tell(), decimal_comma=self.style.decimal_comma)
        except pa.ArrowInvalid as error:
            self._explain(str(error), bad)

    def _unparsed(self) -> Iterator[_Unparsed]:
        """The chunks: whole records, unless a quote is inside an unquoted cell."""
        number, quotes, rest = 0, 0, b""
        size = min(max(self.path.stat().st_size // _CHUNKS, LEAST_BYTES), MOST_BYTES)
        size = max(size, min(LEAST_BYTES_A_COLUMN * len(self.header), MOST_BYTES))
        with self._readable(), self._opened() as (stream, raw):
            while block := stream.read(size):
                quotes += self._count_quotes(block)
                end = _record_end(block, quotes, self.style.quote.encode())
                if end:
                    if number and (rest + block[:3]).startswith(_BYTE_ORDER_MARK):
                        # Arrow would take it for the mark at the beginning of a file.
                        raise IrregularError
                    yield _Unparsed(number, [rest, memoryview(block)[:end]], raw.tell())
                    number, rest = number + 1, block[end:]
                else:
                    rest += block
                if len(rest) > _LONGEST:
                    raise IrregularError
            if quotes % 2:
                raise self._never_closed()
            if rest:
                # The last record may lack its line end.
                yield _Unparsed(number, [rest, b"\n"], raw.tell())

    def _parsed(self, text: bytes, *, first: bool) -> list[pa.DictionaryArray[Any, Any]]:
        # The header, if there is one, is in the first chunk.
        first = first and self.style.header
        names = [str(place) for place in range(len(self.header))]
        options = pa.csv.ReadOptions(
            use_threads=False, block_size=len(text) + 1, column_names=None if first else names
        )
        try:
            table = pa.csv.read_csv(
                pa.BufferReader(text),
                options,
                self._parse_options(None),
                self._convert_options(self.header if first else names),
            )
        except pa.ArrowInvalid:
            # Not chained: the cause quotes a line of the table.
            raise IrregularError from None
        if table.num_columns != len(self.header) or any(c.num_chunks != 1 for c in table.columns):
            raise IrregularError
        return [column.chunk(0) for column in table.columns]

    def _parse_options(self, on_bad_row: Any) -> Any:
        return pa.csv.ParseOptions(
            delimiter=self.delimiter,
            quote_char=self.style.quote or False,
            double_quote=bool(self.style.quote),
            newlines_in_values=bool(self.style.quote),
            invalid_row_handler=on_bad_row,
        )

    def _convert_options(self, names: Sequence[str]) -> Any:
        return pa.csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.dictionary(pa.int32(), pa.string())),
            strings_can_be_null=True,
            null_values=["", *self.missing],
        )

    def _check_whole(self) -> None:
        """Read the file to its end: an open quote would hide rows."""
        quotes = 0
        with self._readable(), self._opened() as (stream, _):
            while block := stream.read(_LONGEST):
                quotes += self._count_quotes(block)
        if quotes % 2:
            raise self._never_closed()

    def _count_quotes(self, block: bytes) -> int:
        if not self.style.quote:
            return 0
        # Twice as fast as bytes.count.
        return int(np.count_nonzero(np.frombuffer(block, np.uint8) == ord(self.style.quote)))

    def _opened(self) -> contextlib.AbstractContextManager[tuple[Any, Any]]:
        return csv_bytes(self.path, self.style.encoding)

    @contextlib.contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except PermissionError:
            raise
        except (OSError, pa.ArrowException) as error:
            raise InputError(f"{self.path}: the compressed file is damaged or cut off.") from error

    def _never_closed(self) -> InputError:
        return InputError(
            f"{self.path}, line {self._line_of_last_quote()}: a quoted cell is never closed. The "
            f"number of quotes is odd, and here is the last one; the one too many may be above it."
        )

    def _line_of_last_quote(self) -> int:
        """Where the cell begins that is open at the end of the file."""
        line, last, quote = 1, 1, self.style.quote.encode()
        with self._readable(), self._opened() as (stream, _):
            while block := stream.read(_LONGEST):
                if (place := block.rfind(quote)) >= 0:
                    last = line + block.count(b"\n", 0, place)
                line += block.count(b"\n")
        return last

    def _explain(self, message: str, bad: Sequence[Any]) -> NoReturn:
        """One sentence for what Arrow refused, without the line that it quotes."""
        line = re.search(r"Row #(\d+)", message)
        where = f"{self.path}, line {line[1]}" if line else str(self.path)
        if bad:
            first = "header" if self.style.header else "first line"
            why = f"the line has {bad[0].actual_columns} cells, the {first} {len(self.header)}"
        elif "UTF8" in message:
            why = (
                f"it is not UTF-8 text. Name its encoding, such as "
                f"{option('encoding', 'latin-1')}, windows-1252 or utf-16"
            )
        elif "straddl" in message:
            why = f"a line is longer than {_LONGEST:,} bytes"
        else:
            why = "it is not a well-formed CSV file"
        # Not chained: the cause quotes a line of the table.
        raise InputError(f"{where}: {why}.") from None


def _chunk(
    columns: Sequence[pa.DictionaryArray[Any, Any]], passed: int, *, decimal_comma: bool
) -> Chunk:
    encoded = [encode_dictionary(column) for column in columns]
    fits = [fitting(column.dictionary, decimal_comma=decimal_comma) for column in encoded]
    return Chunk(len(columns[0]), encoded, fits, passed)


def _without_mark(column: pa.DictionaryArray[Any, Any]) -> pa.DictionaryArray[Any, Any]:
    """All rows but the last, whose text no other row has."""
    indices, texts = column.indices, column.dictionary
    return pa.DictionaryArray.from_arrays(
        indices.slice(0, len(indices) - 1), texts.slice(0, len(texts) - 1), safe=False
    )


def _record_end(block: bytes, quotes: int, quote: bytes) -> int:
    """The place after the last line end before which the quotes are even; 0 if there is none.

    `quotes` counts those before the end of the block.
    """
    if not quote:
        return block.rfind(b"\n") + 1
    end = len(block)
    while (line_end := block.rfind(b"\n", 0, end)) >= 0:
        quotes -= block.count(quote, line_end, end)
        if quotes % 2 == 0:
            return line_end + 1
        # Inside a quoted cell: continue before the quote that opens it.
        end = line_end
        opening = block.rfind(quote, 0, end)
        if opening < 0:
            return 0
        end, quotes = opening, quotes - 1
    return 0
