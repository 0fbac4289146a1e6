"""A SQLite file that is to hold a release.

Enters: a path. Leaves: a `Connection` for writing. Must not know: what is written. Dates and times
become text (`2024-12-31`, `2024-12-31 18:30:00`), truth values 0 and 1.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import math
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from countveil.engines.databases.connections import (
    DATABASE,
    TableName,
    cannot_write,
    check_common_types,
    check_written,
    put_database_in_place,
)
from countveil.errors import ReleaseError, TargetError
from countveil.release import PublishedColumn
from countveil.release.values import BOOLEAN, NUMBER, kind_of
from countveil.system import outcome
from countveil.system.address import quoted_name
from countveil.system.files import remove_dead_files
from countveil.system.process import signals_deferred
from countveil.system.whole_files import pending_place

if TYPE_CHECKING:
    import pyarrow as pa


class SqliteFile:
    """See `Connection`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.written: dict[TableName, int] = {}

    @classmethod
    def reading(cls, place: str) -> SqliteFile:  # noqa: ARG003 - the same for every place
        """Nothing is tallied in SQLite: it lacks functions that questions need."""
        raise ReleaseError(
            "A release in SQLite can be queried with the SQL that 'countveil sql --dialect sqlite' "
            "prints; 'countveil query' reads folders, PostgreSQL and DuckDB."
        )

    @classmethod
    @contextlib.contextmanager
    def writing(cls, place: str) -> Iterator[SqliteFile]:
        """A connection in one transaction. A new file appears when it is complete."""
        # Absolute, so that a name such as :memory: is that of a file.
        path = Path(place).absolute()
        remove_dead_files(path.parent)
        if path.exists():
            with cls._transaction(path, place) as file:
                yield file
                file.commit(path, place)
            return
        with pending_place(path, DATABASE, apart=True) as pending:
            with cls._transaction(pending.path, place) as file:
                yield file
                file.commit(None, place)
            with cls._transaction(pending.path, place) as written:
                check_written(written, file.written, place)
            put_database_in_place(pending)

    @classmethod
    @contextlib.contextmanager
    def _transaction(cls, path: Path, place: str) -> Iterator[SqliteFile]:
        try:
            with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
                connection.execute("BEGIN IMMEDIATE")
                yield cls(connection)
        except sqlite3.Error as error:
            raise cannot_write(place, error) from None

    def commit(self, path: Path | None, place: str) -> None:
        """End the transaction; the tables are then in the file at a path that was there."""
        with signals_deferred():
            self._connection.execute("COMMIT")
            if path is not None:
                outcome.put_in_place(f"the release in {place}", path)

    @staticmethod
    def check_columns(columns: Sequence[PublishedColumn]) -> None:
        """Refuse types that SQLite would change, and names that it would mix up."""
        check_common_types(columns, "SQLite")
        names = [column.name.lower() for column in columns]
        if len(set(names)) < len(names):
            raise TargetError(
                "Two columns differ in upper and lower case alone; SQLite mixes them up."
            )

    def fetch(self, text: str) -> pa.Table:
        """The answer to a statement."""
        import pyarrow as pa

        cursor = self._connection.execute(text)
        names = [column[0] for column in cursor.description]
        return pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in cursor])

    def interrupt(self) -> None:
        """End what SQLite computes for another thread."""
        self._connection.interrupt()

    def exists(self, table: TableName) -> bool:
        """Whether there is a table of this name, which SQLite compares without case."""
        cursor = self._connection.execute(
            "SELECT count(*) FROM sqlite_master WHERE lower(name) = lower(?)", table[-1:]
        )
        return bool(cursor.fetchone()[0])

    def write(self, table: TableName, schema: pa.Schema, tables: Iterable[pa.Table]) -> None:
        """Create a table and fill it."""
        columns = ", ".join(f"{quoted_name((f.name,))} {_affinity(str(f.type))}" for f in schema)
        self._connection.execute(f"CREATE TABLE {quoted_name(table)} ({columns})")
        marks = ", ".join("?" * len(schema))
        self.written[table] = 0
        for some in tables:
            self.written[table] += some.num_rows
            values = [_listed(column) for column in some.columns]
            self._connection.executemany(
                f"INSERT INTO {quoted_name(table)} VALUES ({marks})", zip(*values, strict=True)
            )

    def drop(self, table: TableName) -> None:
        """Remove a table."""
        self._connection.execute(f"DROP TABLE {quoted_name(table)}")


def _affinity(type_name: str) -> str:
    kind = kind_of(type_name)
    if kind == NUMBER:
        return "REAL" if type_name in ("float", "double") else "INTEGER"
    return "INTEGER" if kind == BOOLEAN else "TEXT"


def _listed(column: pa.ChunkedArray[Any]) -> list[Any]:
    try:
        return [_stored(value) for value in column.to_pylist()]
    except OverflowError:
        raise TargetError(
            "A date or time outside the years 1 to 9999 has no usual form in SQLite. DuckDB "
            "keeps it (duckdb:FILE#table)."
        ) from None


def _stored(value: Any) -> Any:
    if isinstance(value, dt.datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, float) and math.isnan(value):
        raise TargetError("SQLite has no NaN (not a number); it would become missing.")
    return value
