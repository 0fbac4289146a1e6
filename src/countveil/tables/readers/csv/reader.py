"""CSV files as blocks, with types that fit every row.

Enters: paths, how the files are written, and where to keep columns. Leaves: blocks like those of
any source. Must not know: what the columns are for.

The first record names the columns and shows the delimiter; without a header the columns are called
column1, column2 and so on. Each column is read as text, kept as codes into its different texts, and
gets a type if every text is written as that type writes it. Empty cells are missing. A row with too
many or too few cells, a quote left open or bytes that are not UTF-8 stop the read.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from countveil.errors import InputError
from countveil.tables import CsvStyle, Reading
from countveil.tables.encoded.encoding import DictionaryColumn, Form, in_form
from countveil.tables.readers.blocks import NO_LABELS, Batch, Span
from countveil.tables.readers.csv.chunks import Chunk, CsvFile, IrregularError
from countveil.tables.readers.csv.decoding import csv_bytes, not_the_encoding
from countveil.tables.readers.csv.types import TEXT, first_fitting, merges, with_point
from countveil.tables.storage.memory import KeptColumns

_FIRST_LOOK, _HEADER_LIMIT = 1 << 16, 1 << 22


def open_csv_files(paths: Sequence[Path], reading: Reading, kept: KeptColumns) -> CsvBlocks:
    """Read files of one layout."""
    style = reading.csv
    header, delimiter = _read_header(paths[0], style)
    for other in paths[1:]:
        if _read_header(other, style) != (header, delimiter):
            raise InputError(f"{other} has other columns than {paths[0]}.")
    blocks = CsvBlocks(header, kept, decimal_comma=style.decimal_comma)
    sizes = [path.stat().st_size for path in paths]

    def report(passed: int) -> None:
        if reading.progress is not None:
            # The share of the bytes read so far shows how many rows to expect.
            share = max(passed, 1) / max(sum(sizes), 1)
            reading.progress("parsing", blocks.rows, int(blocks.rows / share))

    for number, path in enumerate(paths):
        before = sum(sizes[:number])
        file = CsvFile(path, tuple(header), delimiter, reading.missing, style)
        start = len(blocks.spans)
        try:
            for chunk in file.chunks():
                blocks.add(chunk)
                report(before + chunk.passed)
        except IrregularError:
            blocks.rewind(start)
            for chunk in file.chunks_in_order():
                blocks.add(chunk)
                report(before + chunk.passed)
    blocks.finish()
    return blocks


class CsvBlocks:
    """What CSV files contain."""

    labels = NO_LABELS

    def __init__(
        self, header: Sequence[str], kept: KeptColumns, *, decimal_comma: bool = False
    ) -> None:
        self._kept, self._decimal_comma = kept, decimal_comma
        self._names = list(header)
        self._fits: list[list[frozenset[pa.DataType]]] = []
        self._n_texts: list[list[int]] = []
        self.schema: Any = None
        self.rows = 0
        self.spans: list[Span] = []

    @property
    def in_memory(self) -> bool:
        """Whether reading again is so cheap that nothing is gained by keeping what was read."""
        return self._kept.in_memory

    def add(self, chunk: Chunk) -> None:
        """Take the next chunk."""
        if not chunk.rows:
            return
        self._kept.add(chunk.columns)
        self.spans.append(Span(len(self.spans), self.rows, chunk.rows))
        self.rows += chunk.rows
        self._fits.append(chunk.fits)
        self._n_texts.append([len(column.dictionary) for column in chunk.columns])

    def rewind(self, count: int) -> None:
        """Forget all chunks but the first ones."""
        self._kept.keep_only(count)
        self.rows -= sum(span.rows for span in self.spans[count:])
        del self.spans[count:], self._fits[count:], self._n_texts[count:]

    def finish(self) -> None:
        """All chunks were added."""
        kinds = [self._kind(place) for place in range(len(self._names))]
        self.schema = pa.schema(
            [pa.field(name, kind) for name, kind in zip(self._names, kinds, strict=True)]
        )

    def read(
        self, span: Span, columns: Mapping[str, Form], few: int | None = None
    ) -> Iterator[Batch]:
        """The columns of a chunk."""
        batch: Batch = {}
        for name, form in columns.items():
            place = self.schema.get_field_index(name)
            column = self._texts(span.number, place)
            if few is not None:
                column = column.take(slice(few))
            kind = self.schema.field(place).type
            if kind != TEXT:
                texts = column.dictionary
                if self._decimal_comma and kind == pa.float64():
                    texts = with_point(texts)
                column = DictionaryColumn(column.codes, texts.cast(kind), column.counts)
            batch[name] = in_form(column, form)
        yield batch

    def _kind(self, place: int) -> pa.DataType:
        n_texts = sum(sizes[place] for sizes in self._n_texts)
        if not n_texts:
            return TEXT
        kind = first_fitting(fits[place] for fits in self._fits)
        return TEXT if kind == pa.float64() and self._merges(place, n_texts) else kind

    def _merges(self, place: int, n_texts: int) -> bool:
        def dictionaries() -> Iterator[pa.Array[Any]]:
            for number in range(len(self.spans)):
                texts = self._texts(number, place).dictionary
                yield with_point(texts) if self._decimal_comma else texts

        return merges(dictionaries, n_texts)

    def _texts(self, number: int, place: int) -> DictionaryColumn:
        column = self._kept.get(number, place)
        assert isinstance(column, DictionaryColumn)  # noqa: S101 - for the type checker
        return column


def _read_header(path: Path, style: CsvStyle) -> tuple[list[str], str]:
    """The names of the columns, and the delimiter that separates the cells of the first record."""
    first = _beginning(path, _FIRST_LOOK, style)
    if _looks_cut(first, style.quote):
        first = _beginning(path, _HEADER_LIMIT, style)
    line = first.split("\n", 1)[0]
    if not line.strip():
        need = "a header line with the column names" if style.header else "at least one line"
        raise InputError(f"{path} is empty: a CSV needs {need}.")
    delimiter = style.delimiter or _delimiter(path, line, style)
    try:
        lines = csv.reader(
            io.StringIO(first),
            delimiter=delimiter,
            quotechar=style.quote or None,
            quoting=csv.QUOTE_MINIMAL if style.quote else csv.QUOTE_NONE,
            strict=True,
        )
        names = next(lines)
    except csv.Error:
        raise InputError(f"{path}, line 1: a quoted column name is never closed.") from None
    if not style.header:
        names = [f"column{place + 1}" for place in range(len(names))]
    return names, delimiter


def _delimiter(path: Path, line: str, style: CsvStyle) -> str:
    """The delimiter that separates the cells of the first line."""
    if any(ending.lower() in (".tsv", ".tab") for ending in path.suffixes[-2:]):
        return "\t"
    quote = re.escape(style.quote)
    unquoted = re.sub(f"{quote}[^{quote}]*{quote}", "", line) if quote else line
    counts = Counter({mark: unquoted.count(mark) for mark in ",;\t|"})
    if style.decimal_comma and not style.header:
        # A comma in a line of data may be that of a number.
        counts[","] = 0
    if counts[","] and not (style.decimal_comma and counts[";"]):
        return ","
    most_common, times = counts.most_common(1)[0]
    return most_common if times else ","


def _beginning(path: Path, most: int, style: CsvStyle) -> str:
    """The first characters of a file, from its first line on; the last may have been cut in two."""
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    try:
        with csv_bytes(path, style.encoding) as (stream, _):
            start = stream.read(most)
        text = decoder.decode(start, final=len(start) < most)
    except UnicodeDecodeError as error:
        line = bytes(start[: error.start]).count(b"\n") + 1
        # Not chained: the cause quotes the bytes, which may be about a person.
        raise not_the_encoding(path, "utf-8", error.start + 1, line) from None
    except PermissionError:
        raise
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{path} cannot be read: it is damaged or cut off.") from error
    return text.replace("\r\n", "\n").replace("\r", "\n").lstrip("\n")


def _looks_cut(text: str, quote: str) -> bool:
    """Whether the first record may go on after these characters: no line ends outside quotes."""
    quoted = False
    for line in text.split("\n")[:-1]:
        quoted ^= bool(quote) and line.count(quote) % 2 == 1
        if not quoted:
            return False
    return True
