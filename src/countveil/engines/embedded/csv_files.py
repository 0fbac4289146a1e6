"""CSV files as blocks, with types that hold for every row.

Enters: paths. Leaves: blocks. Must not know: what the columns are for.

The first record names the columns and tells the delimiter. Each column is read as text and gets a
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

from countveil.engines.contract import Progress
from countveil.engines.embedded.csv_blocks import CsvBlocks, Shelf
from countveil.engines.embedded.csv_chunks import CsvFile, IrregularError, decompressed
from countveil.errors import InputError

_FIRST_LOOK, _HEADER_LIMIT = 1 << 16, 1 << 22


def open_csv_files(
    paths: Sequence[Path], missing: Sequence[str], shelf: Shelf, progress: Progress | None = None
) -> CsvBlocks:
    """Read files of one layout. Cells with one of the texts `missing` are empty."""
    header, delimiter = _read_header(paths[0])
    for other in paths[1:]:
        if _read_header(other)[0] != header:
            raise InputError(f"{other} has other columns than {paths[0]}.")
    blocks = CsvBlocks(header, shelf)
    sizes = [path.stat().st_size for path in paths]
    for number, path in enumerate(paths):
        before = sum(sizes[:number])

        def told(passed: int, before: int = before) -> None:
            if progress is not None:
                # How many rows there will be is told by how much of the files has passed.
                share = max(before + passed, 1) / max(sum(sizes), 1)
                progress("parsing", blocks.rows, int(blocks.rows / share))

        file = CsvFile(path, tuple(header), delimiter, tuple(missing))
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


def _read_header(path: Path) -> tuple[list[str], str]:
    """The names in the first record, and the delimiter that separates them."""
    first = _beginning(path, _FIRST_LOOK)
    if _looks_cut(first):
        first = _beginning(path, _HEADER_LIMIT)
    line = first.split("\n", 1)[0]
    if not line.strip():
        raise InputError(f"{path} is empty: a CSV needs a header line with the column names.")
    is_tsv = ".tsv" in path.name.lower()
    unquoted = re.sub(r'"[^"]*"', "", line)
    candidates = Counter({mark: unquoted.count(mark) for mark in ",;\t|"})
    delimiter = "\t" if is_tsv else "," if candidates[","] else candidates.most_common(1)[0][0]
    if not is_tsv and not candidates[delimiter]:
        delimiter = ","
    try:
        names = next(csv.reader(io.StringIO(first), delimiter=delimiter, strict=True))
    except csv.Error:
        raise InputError(f"{path}, line 1: a quoted column name is never closed.") from None
    return names, delimiter


def _beginning(path: Path, most: int) -> str:
    """The first characters of a file, from its first line on; the last may have been cut in two."""
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    try:
        with decompressed(path) as (stream, _):
            start = stream.read(most)
        text = decoder.decode(start, final=len(start) < most)
    except UnicodeDecodeError:
        # The cause would quote the bytes; they may be a person's.
        raise InputError(f"{path} is not UTF-8 text. Convert it to UTF-8 first.") from None
    except PermissionError:
        raise
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{path} cannot be read: it is damaged or cut off.") from error
    return text.replace("\r\n", "\n").replace("\r", "\n").lstrip("\n")


def _looks_cut(text: str) -> bool:
    """Whether the first record may go on behind these characters: no line ends outside quotes."""
    quoted = False
    for line in text.split("\n")[:-1]:
        quoted ^= line.count('"') % 2 == 1
        if not quoted:
            return False
    return True
