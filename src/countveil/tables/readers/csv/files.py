"""CSV files as blocks, with types that hold for every row.

Enters: paths, and what was said about how they are written. Leaves: blocks. Must not know: what the
columns are for.

The first record names the columns and tells the delimiter; without a header the columns are called
column1, column2 and so on. Each column is read as text and gets a
type if every value of it is written as that type writes it. Empty cells are missing. A row with too
many or too few cells, a quote left open or bytes that are not UTF-8 stop the read.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from countveil.errors import InputError
from countveil.tables import PLAIN_CSV, CsvStyle
from countveil.tables.progress import Progress
from countveil.tables.readers.csv.reader import CsvBlocks, Shelf
from countveil.tables.readers.csv.chunks import CsvFile, IrregularError
from countveil.tables.readers.csv.decoding import csv_bytes, not_the_encoding

_FIRST_LOOK, _HEADER_LIMIT = 1 << 16, 1 << 22


def open_csv_files(
    paths: Sequence[Path],
    missing: Sequence[str],
    shelf: Shelf,
    progress: Progress | None = None,
    style: CsvStyle = PLAIN_CSV,
) -> CsvBlocks:
    """Read files of one layout. Cells with one of the texts `missing` are empty."""
    header, delimiter = _read_header(paths[0], style)
    for other in paths[1:]:
        if _read_header(other, style) != (header, delimiter):
            raise InputError(f"{other} has other columns than {paths[0]}.")
    blocks = CsvBlocks(header, shelf, decimal_comma=style.decimal_comma)
    sizes = [path.stat().st_size for path in paths]
    for number, path in enumerate(paths):
        before = sum(sizes[:number])

        def told(passed: int, before: int = before) -> None:
            if progress is not None:
                # How many rows there will be is told by how much of the files has passed.
                share = max(before + passed, 1) / max(sum(sizes), 1)
                progress("parsing", blocks.rows, int(blocks.rows / share))

        file = CsvFile(path, tuple(header), delimiter, tuple(missing), style)
        mark = blocks.mark()
        try:
            for chunk in file.chunks():
                blocks.add(chunk)
                told(chunk.passed)
        except IrregularError:
            blocks.rewind(mark)
            for chunk in file.chunks_in_order():
                blocks.add(chunk)
                told(chunk.passed)
    blocks.finish()
    return blocks


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
    """The delimiter that the first line shows."""
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
    found, times = counts.most_common(1)[0]
    return found if times else ","


def _beginning(path: Path, most: int, style: CsvStyle) -> str:
    """The first characters of a file, from its first line on; the last may have been cut in two."""
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    try:
        with csv_bytes(path, style.encoding) as (stream, _):
            start = stream.read(most)
        text = decoder.decode(start, final=len(start) < most)
    except UnicodeDecodeError as error:
        line = bytes(start[: error.start]).count(b"\n") + 1
        # The cause would quote the bytes; they may be a person's.
        raise not_the_encoding(path, "utf-8", error.start + 1, line) from None
    except PermissionError:
        raise
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{path} cannot be read: it is damaged or cut off.") from error
    return text.replace("\r\n", "\n").replace("\r", "\n").lstrip("\n")


def _looks_cut(text: str, quote: str) -> bool:
    """Whether the first record may go on behind these characters: no line ends outside quotes."""
    quoted = False
    for line in text.split("\n")[:-1]:
        quoted ^= bool(quote) and line.count(quote) % 2 == 1
        if not quoted:
            return False
    return True
