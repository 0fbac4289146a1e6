"""CSV files as Arrow tables, with types that hold for every row.

Enters: paths. Leaves: an Arrow table. Must not know: what the columns are for.

Each column is read as text first. A type is given to it only if every value of it is written as
that type writes it: 007 and +1 stay text, so do codes with leading zeros. Empty cells are missing.
A row with too many or too few cells, a quote left open or bytes that are not UTF-8 stop the read;
the message has the line's number and never its content.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import duckdb
import pyarrow as pa
import pyarrow.csv

from countveil.engines.contract import Progress
from countveil.engines.embedded.connection import connect
from countveil.errors import InputError

_HEADER_LIMIT = 4 * 1024 * 1024
_BLOCK = 1 << 24

# In this order, the first that fits every value of a column is its type. Each is a condition on a
# cell: that it can be read as the type, and is written as the type is written.
_FITS = {
    "BIGINT": "try_cast({c} AS BIGINT)::VARCHAR = {c}",
    # At most 17 digits, without a point at most 15: more would not survive as a number.
    "DOUBLE": (
        "isfinite(try_cast({c} AS DOUBLE)) AND "
        "regexp_full_match({c}, '-?(0|[1-9][0-9]*)?([.][0-9]+)?([eE][+-]?[0-9]+)?') AND "
        "length({c}) - length(regexp_replace({c}, '[0-9]', '', 'g')) <= "
        "CASE WHEN regexp_matches({c}, '[.eE]') THEN 17 ELSE 15 END"
    ),
    "DATE": (
        "try_cast({c} AS DATE)::VARCHAR = {c} AND "
        "regexp_full_match({c}, '[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}')"
    ),
    "TIMESTAMP": (
        "try_cast({c} AS TIMESTAMP) IS NOT NULL AND "
        "regexp_full_match({c}, '[0-9-]{{10}}[ T][0-9:]{{8}}([.][0-9]{{1,6}})?')"
    ),
    "BOOLEAN": "{c} IN ('true', 'false', 'True', 'False', 'TRUE', 'FALSE')",
}
# What a cell of each type must at least look like; a quick look at a few rows rules most out.
_LOOKS = {
    "BIGINT": re.compile(r"-?[0-9]{1,19}"),
    "DOUBLE": re.compile(r"-?[0-9]*([.][0-9]+)?([eE][+-]?[0-9]+)?"),
    "DATE": re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}"),
    "TIMESTAMP": re.compile(r"[0-9-]{10}[ T][0-9:]{8}([.][0-9]{1,6})?"),
    "BOOLEAN": re.compile(r"true|false|True|False|TRUE|FALSE"),
}
_SAMPLE = 1_000
_AT_ONCE = 64


def read_csv_files(
    paths: tuple[Path, ...], missing: Sequence[str] = (), progress: Progress | None = None
) -> pa.Table:
    """Read files of one layout into one table. Cells with one of the texts `missing` are empty."""
    header, delimiter = _read_header(paths[0])
    for other in paths[1:]:
        if _read_header(other)[0] != header:
            raise InputError(f"{other} has other columns than {paths[0]}.")
    names = [f"c{i}" for i in range(len(header))]
    for path in paths:
        _check_whole(path, progress)
    cells = pa.concat_tables(
        _cells(path, header, delimiter, missing).rename_columns(names) for path in paths
    )
    columns: list[pa.ChunkedArray] = []
    connection = connect()
    try:
        # The time to plan a statement grows with the square of its columns, so a wide table is read
        # in pieces.
        for first in range(0, len(header), _AT_ONCE):
            few = cells.select(range(first, min(first + _AT_ONCE, len(header))))
            columns += _typed(connection, few.rename_columns(names[: few.num_columns])).columns
    finally:
        connection.close()
    return pa.Table.from_arrays(columns, names=header)


def _typed(connection: duckdb.DuckDBPyConnection, cells: pa.Table) -> pa.Table:
    """Texts as the type that fits every one of their column."""
    connection.register("cells", cells)
    types = _types(connection, cells)
    # Text stays as it was read; only the other columns are made anew.
    chosen = [f"c{i}::{kind} AS c{i}" for i, kind in enumerate(types) if kind != "VARCHAR"]
    if chosen:
        others = connection.sql(f"SELECT {', '.join(chosen)} FROM cells").to_arrow_table()
        for name in others.column_names:
            cells = cells.set_column(cells.column_names.index(name), name, others[name])
    connection.unregister("cells")
    return cells


def _cells(path: Path, header: list[str], delimiter: str, missing: Sequence[str]) -> pa.Table:
    """All cells of a file as text."""
    try:
        return _parsed(path, header, delimiter, missing=missing)
    except pa.ArrowInvalid:
        # Once more, in order, to learn which line it is.
        _explain(path, header, delimiter)


def _parsed(
    path: Path,
    header: list[str],
    delimiter: str,
    *,
    missing: Sequence[str] = (),
    threads: bool = True,
    on_bad_row: Any = None,
) -> pa.Table:
    with _decompressed(path) as (stream, _):
        return pa.csv.read_csv(
            stream,
            pa.csv.ReadOptions(use_threads=threads, block_size=_BLOCK),
            pa.csv.ParseOptions(
                delimiter=delimiter, newlines_in_values=True, invalid_row_handler=on_bad_row
            ),
            pa.csv.ConvertOptions(
                column_types=dict.fromkeys(header, pa.string()),
                strings_can_be_null=True,
                null_values=["", *missing],
            ),
        )


def _types(connection: duckdb.DuckDBPyConnection, cells: pa.Table) -> list[str]:
    """The type of each column. A sample rules most types out; what is left is tried on all rows."""
    open_types = {place: _plausible(column) for place, column in enumerate(cells.columns)}
    types = ["VARCHAR"] * cells.num_columns
    while waiting := {column: kinds[0] for column, kinds in open_types.items() if kinds}:
        for column, fits in _fitting(connection, waiting).items():
            kind = open_types[column].pop(0)
            if fits:
                types[column], open_types[column] = kind, []
    return [
        "VARCHAR" if kind == "DOUBLE" and _merges(connection, column) else kind
        for column, kind in enumerate(types)
    ]


def _plausible(column: pa.ChunkedArray) -> list[str]:
    """The types whose look the first values have; none if there is no value to be seen."""
    first = column.slice(0, _SAMPLE).drop_null()
    texts = set((first if len(first) else column.drop_null().slice(0, _SAMPLE)).to_pylist())
    return [kind for kind, look in _LOOKS.items() if texts and all(map(look.fullmatch, texts))]


def _merges(connection: duckdb.DuckDBPyConnection, column: int) -> bool:
    """Whether different texts would become one number: 250.0 and 250.00 are codes, not numbers."""
    cell = f"c{column}"
    counts = f"count(DISTINCT {cell}), count(DISTINCT {cell}::DOUBLE)"
    texts, numbers = connection.execute(f"SELECT {counts} FROM cells").fetchall()[0]
    return bool(texts > numbers)


def _fitting(connection: duckdb.DuckDBPyConnection, asked: dict[int, str]) -> dict[int, bool]:
    """Whether the asked type fits all values of its column."""
    tests = [
        # try_cast gives NULL where it fails, which bool_and alone would pass over.
        f"bool_and(c{column} IS NULL OR coalesce({_FITS[kind].format(c=f'c{column}')}, false))"
        for column, kind in asked.items()
    ]
    answers = connection.execute(f"SELECT {', '.join(tests)} FROM cells").fetchall()[0]
    return dict(zip(asked, answers, strict=True))


def _read_header(path: Path) -> tuple[list[str], str]:
    """The names in the first record, and the delimiter that separates them."""
    try:
        with _decompressed(path) as (stream, _):
            first = _text_of(stream.read(_HEADER_LIMIT))
    except UnicodeDecodeError:
        # The cause would quote the bytes; they may be a person's.
        raise InputError(f"{path} is not UTF-8 text. Convert it to UTF-8 first.") from None
    except PermissionError:
        raise
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{path} cannot be read: it is damaged or cut off.") from error
    line = first.lstrip("\n").split("\n", 1)[0]
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


def _text_of(start: bytes) -> str:
    """The beginning of a file as text; the limit may have cut a character in two."""
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    text = decoder.decode(start, final=len(start) < _HEADER_LIMIT)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _check_whole(path: Path, progress: Progress | None) -> None:
    """Read the file to its end: it may be cut off, or a quote left open would swallow rows."""
    quotes = lines = 0
    try:
        size = path.stat().st_size
        with _decompressed(path) as (stream, raw):
            while piece := stream.read(_BLOCK):
                quotes += piece.count(b'"')
                lines += piece.count(b"\n")
                if progress is not None:
                    # How many there will be is told by how much of the file has passed.
                    progress("checking", lines, lines * size // max(raw.tell(), 1))
    except PermissionError:
        raise
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{path}: the compressed file is damaged or cut off.") from error
    if quotes % 2:
        raise InputError(f"{path}: a quoted cell is never closed (the quotes are odd in number).")


@contextlib.contextmanager
def _decompressed(path: Path) -> Iterator[tuple[Any, Any]]:
    """The content of a file, and the file itself."""
    method = {".gz": "gzip", ".zst": "zstd"}.get(path.suffix.lower())
    with path.open("rb") as raw:
        if method is None:
            yield raw, raw
        else:
            with pa.CompressedInputStream(pa.PythonFile(raw, "r"), method) as stream:
                yield stream, raw


def _explain(path: Path, header: list[str], delimiter: str) -> NoReturn:
    """One sentence for what Arrow refused, without the line that it quotes."""
    bad: list[Any] = []

    def note(row: Any) -> str:
        bad.append(row)
        return "error"

    try:
        _parsed(path, header, delimiter, threads=False, on_bad_row=note)
    except pa.ArrowInvalid as error:
        line = re.search(r"Row #(\d+)", str(error))
        where = f"{path}, line {line[1]}" if line else str(path)
        if bad:
            why = f"the line has {bad[0].actual_columns} cells, the header {len(header)}"
        elif "UTF8" in str(error):
            why = "it is not UTF-8 text; convert it to UTF-8 first"
        elif "straddl" in str(error):
            why = f"a line is longer than {_BLOCK:,} bytes"
        else:
            why = "it is not a well-formed CSV file"
        # Not chained: the cause quotes a line of the table.
        raise InputError(f"{where}: {why}.") from None
    raise InputError(f"{path}: it is not a well-formed CSV file.")
