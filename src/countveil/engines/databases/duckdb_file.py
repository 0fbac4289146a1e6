"""A DuckDB file that holds, or is to hold, a release.

Enters: a path. Leaves: a `Connection`. Must not know: what is asked.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from countveil.engines.databases.connections import (
    DATABASE,
    TOO_LARGE,
    TableName,
    cannot_write,
    check_written,
    put_database_in_place,
)
from countveil.errors import QueryError, ReleaseError, TargetError
from countveil.release import PublishedColumn
from countveil.sql.locked_duckdb import UNREADABLE_PATTERN, connect_to_file, is_duckdb_file
from countveil.system import outcome
from countveil.system.address import quoted_name
from countveil.system.files import remove_dead_files
from countveil.system.process import signals_deferred
from countveil.system.whole_files import pending_place

if TYPE_CHECKING:
    import pyarrow as pa

# DuckDB refuses what it does not have, but these it would cut to microseconds.
_CUT_TYPE = "duration[ns]"
_EXISTS = (
    "SELECT count(*) FROM information_schema.tables "
    "WHERE table_name = ? AND table_schema = coalesce(?, current_schema())"
)


class DuckdbFile:
    """See `Connection`."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, place: str) -> None:
        self._connection, self._place = connection, place
        self.written: dict[TableName, int] = {}

    @classmethod
    def reading(cls, place: str) -> DuckdbFile:
        """A connection that can read this file and reach nothing else."""
        path = Path(place)
        if not path.is_file():
            raise ReleaseError(f"There is no DuckDB file at {place}.")
        if not is_duckdb_file(path):
            raise ReleaseError(f"{place} cannot be read: it is not a DuckDB file.")
        try:
            return cls(connect_to_file(path), place)
        except duckdb.Error:
            raise ReleaseError(
                f"{place} cannot be read: it is not a DuckDB file, or another program has it open."
            ) from None

    @classmethod
    @contextlib.contextmanager
    def writing(cls, place: str) -> Iterator[DuckdbFile]:
        """A connection in one transaction. A new file appears when it is complete.

        A file that is there is changed where it is: until the transaction is in DuckDB's log beside
        it (.wal), the tables are not there, and from then on they are.
        """
        path = Path(place).absolute()
        if path.is_file() and not is_duckdb_file(path):
            raise TargetError(f"{place} is not a DuckDB file. Name another file.")
        remove_dead_files(path.parent)
        if path.exists():
            with cls._transaction(path, place) as file:
                yield file
                file.commit(path)
            return
        with pending_place(path, DATABASE, apart=True) as pending:
            with cls._transaction(pending.path, place) as file:
                yield file
                file.commit(None)
            with cls._transaction(pending.path, place, read_only=True) as written:
                check_written(written, file.written, place)
            put_database_in_place(pending)

    @classmethod
    @contextlib.contextmanager
    def _transaction(
        cls, path: Path, place: str, *, read_only: bool = False
    ) -> Iterator[DuckdbFile]:
        try:
            with connect_to_file(path, read_only=read_only) as connection:
                connection.begin()
                yield cls(connection, place)
        except duckdb.Error as error:
            raise cannot_write(place, error) from None

    def commit(self, path: Path | None) -> None:
        """End the transaction; the tables are then in the file at a path that was there.

        A new file has no path yet: what is only in the log would not come along.
        """
        with signals_deferred():
            self._connection.commit()
            if path is not None:
                outcome.put_in_place(f"the release in {self._place}", path)
        if path is None:
            self._connection.execute("CHECKPOINT")

    @staticmethod
    def check_columns(columns: Sequence[PublishedColumn]) -> None:
        """Refuse what DuckDB would change without saying so."""
        for column in columns:
            if column.type == _CUT_TYPE:
                raise TargetError(
                    f"Column {column.name!r} has the type {column.type}, which DuckDB would cut to "
                    f"microseconds."
                )

    def fetch(self, text: str) -> pa.Table:
        """The answer to a statement."""
        try:
            answer: pa.Table = self._connection.sql(text).to_arrow_table()
        except duckdb.InterruptException:
            raise KeyboardInterrupt from None
        except (duckdb.OutOfRangeException, duckdb.ConversionException):
            raise QueryError(TOO_LARGE) from None
        except duckdb.InvalidInputException:
            raise QueryError(UNREADABLE_PATTERN) from None
        except duckdb.Error:
            raise ReleaseError(f"{self._place} does not hold the release that was named.") from None
        return answer

    def interrupt(self) -> None:
        """End what DuckDB computes for another thread."""
        self._connection.interrupt()

    def exists(self, table: TableName) -> bool:
        """Whether there is a table of this name."""
        schema = table[0] if len(table) > 1 else None
        counted = self._connection.execute(_EXISTS, [table[-1], schema]).fetchall()
        return bool(counted[0][0])

    def write(self, table: TableName, schema: pa.Schema, tables: Iterable[pa.Table]) -> None:
        """Create a table and fill it; a schema that is not there is created too."""
        name = quoted_name(table)
        if len(table) > 1:
            self._connection.execute(f"CREATE SCHEMA IF NOT EXISTS {quoted_name(table[:1])}")
        self._connection.register("coming", schema.empty_table())
        self._connection.execute(f"CREATE TABLE {name} AS SELECT * FROM coming")
        self.written[table] = 0
        for some in tables:
            self._connection.register("coming", some)
            self._connection.execute(f"INSERT INTO {name} SELECT * FROM coming")
            self.written[table] += some.num_rows
        self._connection.unregister("coming")

    def drop(self, table: TableName) -> None:
        """Remove a table."""
        self._connection.execute(f"DROP TABLE {quoted_name(table)}")
