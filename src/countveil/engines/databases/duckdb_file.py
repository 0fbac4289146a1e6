"""A DuckDB file that holds, or is to hold, a release.

Enters: a path. Leaves: a `Connection`. Must not know: what is asked.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from countveil.engines.databases.connections import TOO_LARGE, TableName, cannot_write
from countveil.errors import QueryError, ReleaseError, TargetError
from countveil.release import PublishedColumn
from countveil.sql.locked_duckdb import UNREADABLE_PATTERN, connect_to_file, is_duckdb_file
from countveil.system.address import quoted_name

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
        """A connection in one transaction; a file that it created is removed if it fails."""
        path = Path(place).absolute()
        new = not path.exists()
        if path.is_file() and not is_duckdb_file(path):
            raise TargetError(f"{place} is not a DuckDB file. Name another file.")
        try:
            with connect_to_file(path, read_only=False) as connection:
                connection.begin()
                yield cls(connection, place)
                connection.commit()
            new = False
        except duckdb.Error as error:
            raise cannot_write(place, error) from None
        finally:
            if new:
                path.unlink(missing_ok=True)

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
        for some in tables:
            self._connection.register("coming", some)
            self._connection.execute(f"INSERT INTO {name} SELECT * FROM coming")
        self._connection.unregister("coming")

    def drop(self, table: TableName) -> None:
        """Remove a table."""
        self._connection.execute(f"DROP TABLE {quoted_name(table)}")
