"""CSV files as Arrow tables, with types that hold for every row.

Enters: paths. Leaves: an Arrow table. Must not know: what the columns are for.

Each column is read as text first. A type is given to it only if every value of it is written as
that type writes it: 007 and +1 stay text, so do codes with leading zeros. Empty cells are missing.
A row with too many or too few cells, a quote left open or bytes that are not UTF-8 stop the read;
the message has the line's number and never its content.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
from collections import Counter
from pathlib import Path
from typing import Any, NoReturn

import duckdb
import pyarrow as pa

from countveil.engines.embedded.connection import connect, quoted
from countveil.errors import InputError

_HEADER_LIMIT = 4 * 1024 * 1024

# In this order, the first that fits every value of a column is its type. Each is a condition on a
# cell: that it can be read as the type, and is written as the type is written.
_FITS = {
    "BIGINT": "try_cast({c} AS BIGINT)::VARCHAR = {c}",
    "DOUBLE": (
        "try_cast({c} AS DOUBLE) IS NOT NULL AND "
        "regexp_full_match({c}, '-?(0|[1-9][0-9]*)?([.][0-9]+)?([eE][+-]?[0-9]+)?')"
    ),
    "DATE": "try_cast({c} AS DATE)::VARCHAR = {c}",
    "TIMESTAMP": (
        "try_cast({c} AS TIMESTAMP) IS NOT NULL AND "
        "regexp_full_match({c}, '[0-9-]{{10}}[ T][0-9:]{{8}}([.][0-9]{{1,6}})?')"
    ),
    "BOOLEAN": "{c} IN ('true', 'false', 'True', 'False', 'TRUE', 'FALSE')",
}
_SAMPLE = 1_000


def read_csv_files(paths: tuple[Path, ...]) -> pa.Table:
    """Read files of one layout into one table."""
    header, delimiter = _read_header(paths[0])
    for other in paths[1:]:
        if _read_header(other)[0] != header:
            raise InputError(f"{other} has other columns than {paths[0]}.")
    connection = connect([path.parent for path in paths])
    try:
        _load(connection, paths, len(header), delimiter)
        types = _types(connection, len(header))
        chosen = ", ".join(f"c{i}::{kind} AS c{i}" for i, kind in enumerate(types))
        table = connection.sql(f"SELECT {chosen} FROM cells").to_arrow_table()
    finally:
        connection.close()
    return table.rename_columns(header)


def _load(
    connection: duckdb.DuckDBPyConnection, paths: tuple[Path, ...], n_columns: int, delimiter: str
) -> None:
    """All cells as text, in a table of DuckDB's."""
    columns = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(n_columns))
    files = ", ".join(quoted(str(path.resolve())) for path in paths)
    try:
        connection.execute(
            f"CREATE TABLE cells AS SELECT * FROM read_csv([{files}], auto_detect = false, "
            f"header = true, delim = {quoted(delimiter)}, quote = '\"', escape = '\"', "
            f"nullstr = '', columns = {{{columns}}}, strict_mode = true, null_padding = false, "
            f"ignore_errors = false)"
        )
    except duckdb.Error as error:
        _explain(error, paths)


def _types(connection: duckdb.DuckDBPyConnection, n_columns: int) -> list[str]:
    """The type of each column. A sample rules most types out; what is left is tried on all rows."""
    sample = f"(SELECT * FROM cells LIMIT {_SAMPLE})"
    every = {column: list(_FITS) for column in range(n_columns)}
    open_types = {
        column: [kind for kind, fit in zip(_FITS, answers, strict=True) if fit is not False]
        for column, answers in _fitting(connection, sample, every).items()
    }
    types = ["VARCHAR"] * n_columns
    while waiting := {column: kinds[:1] for column, kinds in open_types.items() if kinds}:
        for column, (fit,) in _fitting(connection, "cells", waiting).items():
            kind = open_types[column].pop(0)
            if fit is not False:
                # NULL: the column has no value at all, and stays text.
                types[column] = kind if fit else "VARCHAR"
                open_types[column] = []
    return types


def _fitting(
    connection: duckdb.DuckDBPyConnection, cells: str, asked: dict[int, list[str]]
) -> dict[int, tuple[bool | None, ...]]:
    """Whether each asked type fits all values of its column; None where there is no value."""
    tests = [
        # try_cast gives NULL where it fails, which bool_and alone would pass over.
        f"bool_and(coalesce({_FITS[kind].format(c=f'c{column}')}, false)) "
        f"FILTER (WHERE c{column} IS NOT NULL)"
        for column, kinds in asked.items()
        for kind in kinds
    ]
    if not tests:
        return {}
    found = connection.execute(f"SELECT {', '.join(tests)} FROM {cells}").fetchall()
    answers = iter(found[0])
    return {column: tuple(next(answers) for _ in kinds) for column, kinds in asked.items()}


def _read_header(path: Path) -> tuple[list[str], str]:
    """The names in the first record, and the delimiter that separates them."""
    try:
        with _open_text(path) as text:
            first = text.read(_HEADER_LIMIT)
    except UnicodeDecodeError:
        # The cause would quote the bytes; they may be a person's.
        raise InputError(f"{path} is not UTF-8 text. Convert it to UTF-8 first.") from None
    except (OSError, EOFError, pa.ArrowException) as error:
        raise InputError(f"{path} cannot be read: it is damaged or cut off.") from error
    line = first.lstrip("\n").split("\n", 1)[0]
    if not line.strip():
        raise InputError(f"{path} is empty: a CSV needs a header line with the column names.")
    is_tsv = ".tsv" in path.name.lower()
    candidates = Counter({mark: line.count(mark) for mark in ",;\t|"})
    delimiter = "\t" if is_tsv else "," if candidates[","] else candidates.most_common(1)[0][0]
    if not is_tsv and not candidates[delimiter]:
        delimiter = ","
    names = next(csv.reader(io.StringIO(first), delimiter=delimiter))
    return names, delimiter


def _open_text(path: Path) -> io.TextIOBase:
    lower = path.name.lower()
    raw: Any
    if lower.endswith(".gz"):
        raw = gzip.GzipFile(path, "rb")
    elif lower.endswith(".zst"):
        raw = pa.CompressedInputStream(pa.OSFile(str(path), "rb"), "zstd")
    else:
        raw = pa.OSFile(str(path), "rb")
    return io.TextIOWrapper(raw, encoding="utf-8-sig", newline=None)


def _explain(error: duckdb.Error, paths: tuple[Path, ...]) -> NoReturn:
    """One sentence for DuckDB's error, without the line it quotes."""
    text = str(error)
    if isinstance(error, duckdb.InterruptException):
        raise KeyboardInterrupt from None
    path = next((path for path in paths if str(path.resolve()) in text), paths[0])
    line = re.search(r"CSV Error on Line: (\d+)", text)
    where = f"{path}, line {line[1]}" if line else str(path)
    cells = re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", text)
    if cells:
        why = f"the line has {cells[2]} cells, the header {cells[1]}"
    elif "unicode" in text or "utf-8" in text:
        why = "it is not UTF-8 text; convert it to UTF-8 first"
    elif "unterminated quote" in text:
        why = "a quoted cell is never closed"
    elif "GZIP" in text or "zstd" in text.lower() or "ZSTD" in text:
        why = "the compressed file is damaged or ends too early"
    elif isinstance(error, duckdb.OutOfMemoryException):
        why = "the table does not fit into memory"
    else:
        why = "it is not a well-formed CSV file"
    raise InputError(f"{where}: {why}.") from None
