"""A SQLite file as a link for writing.

Enters: a path. Leaves: a `Link` that cannot be asked. Must not know: what is written. Dates and
times become text (`2024-12-31`, `2024-12-31 18:30:00`), truth values 0 and 1.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import math
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from countveil.engines.databases.links import cannot_write, table_name
from countveil.errors import TargetError
from countveil.release.values import BOOLEAN, NUMBER, kind_of
from countveil.sql.dialects.portable import name_text


class SqliteLink:
    """See `Link`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    @classmethod
    @contextlib.contextmanager
    def writing(cls, place: str) -> Iterator[SqliteLink]:
        """A link in one transaction; a file that it made goes if it fails."""
        # A name such as :memory: is that of a file, too.
        path = Path(place).absolute()
        new = not path.exists()
        try:
            with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
                connection.execute("BEGIN IMMEDIATE")
                yield cls(connection)
                connection.execute("COMMIT")
            new = False
        except sqlite3.Error as error:
            raise cannot_write(place, error) from None
        finally:
            if new:
                path.unlink(missing_ok=True)

    def fetch(self, text: str) -> Any:
        """The answer to a statement."""
        import pyarrow as pa

        cursor = self._connection.execute(text)
        names = [column[0] for column in cursor.description]
        return pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in cursor])

    def write(self, table: tuple[str, ...], schema: Any, tables: Iterable[Any]) -> None:
        """Create a table and fill it."""
        columns = ", ".join(f"{name_text(f.name)} {_affinity(str(f.type))}" for f in schema)
        self._connection.execute(f"CREATE TABLE {table_name(table)} ({columns})")
        marks = ", ".join("?" * len(schema))
        for some in tables:
            values = [_listed(column) for column in some.columns]
            self._connection.executemany(
                f"INSERT INTO {table_name(table)} VALUES ({marks})", zip(*values, strict=True)
            )

    def drop(self, table: tuple[str, ...]) -> None:
        """Remove a table."""
        self._connection.execute(f"DROP TABLE {table_name(table)}")


def _affinity(type_name: str) -> str:
    kind = kind_of(type_name)
    if kind == NUMBER:
        return "REAL" if type_name in ("float", "double") else "INTEGER"
    return "INTEGER" if kind == BOOLEAN else "TEXT"


def _listed(column: Any) -> list[Any]:
    try:
        return [_stored(value) for value in column.to_pylist()]
    except OverflowError:
        raise TargetError(
            "A date or time outside of the years 1 to 9999 has no usual form in SQLite. DuckDB "
            "keeps it (duckdb:FILE#table)."
        ) from None


def _stored(value: Any) -> Any:
    if isinstance(value, dt.datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, float) and math.isnan(value):
        raise TargetError("SQLite has no number that is not a number (NaN); it would be missing.")
    return value
