"""Names of columns for the shell's completion.

Enters: a command line that is being typed. Leaves: names that would fit. Must not know: any
command. Only the names in a file's head are read, never a row; whatever goes wrong, there is no
completion, and no message.
"""

from __future__ import annotations

import csv
import os
import shlex
from pathlib import Path

from countveil.display import visible

# Where the shells put the line that is being typed.
_LINES = ("COMP_WORDS", "_TYPER_COMPLETE_ARGS")
_DELIMITERS = ",;\t|"
_LONGEST_HEADER = 1 << 20


def column_names(incomplete: str) -> list[str]:
    """The columns of the table on the command line that begin like this."""
    try:
        names = _names_in(_table_typed())
    except Exception:  # noqa: BLE001 - nobody asked for anything yet, so nothing may fail
        return []
    return [n for n in names if n.startswith(incomplete) and visible(n) == n]


def column_equals(incomplete: str) -> list[str]:
    """Likewise, for options that say something about a column."""
    return [f"{name}=" for name in column_names(incomplete)]


def _table_typed() -> Path:
    """The first word of the line that is a file. The line is not complete, so it is not parsed."""
    line = next(filter(None, map(os.environ.get, _LINES)), "")
    words = [Path(word) for word in shlex.split(line)[2:]]
    return next(word for word in words if word.is_file())


def _names_in(table: Path) -> list[str]:
    if table.suffix.lower() in (".parquet", ".pq"):
        import pyarrow.parquet as pq

        return list(pq.read_schema(table).names)
    if table.suffix.lower() not in (".csv", ".tsv", ".txt", ".tab"):
        return []
    with table.open(encoding="utf-8-sig") as file:
        line = file.readline(_LONGEST_HEADER)
    delimiter = max(_DELIMITERS, key=line.count)
    return next(csv.reader([line], delimiter=delimiter), [])
