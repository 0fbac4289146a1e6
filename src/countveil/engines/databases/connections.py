"""A connection to a database that holds, or is to hold, a release.

Enters: an address. Leaves: answers to our own statements as Arrow tables; tables written in one
transaction. Must not know: what is asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol, Self

from countveil.display import visible
from countveil.errors import CountveilError, MissingExtraError, TargetError
from countveil.system.address import DUCKDB, POSTGRES, DatabaseAddress, quoted_name
from countveil.system.whole_files import PendingFile, allow_others, sync_path

if TYPE_CHECKING:
    import pyarrow as pa

    from countveil.release import PublishedColumn

_LONGEST_REMARK = 300
TableName = tuple[str, ...]
DATABASE = "the database"
TOO_LARGE = (
    "A number in the query becomes too large, or a value does not fit. Use smaller numbers, or "
    "cast to DOUBLE."
)
# What PostgreSQL and SQLite hold exactly.
_COMMON_TYPES = {
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "float", "double",
    "string", "large_string", "date32[day]", "timestamp[s]", "timestamp[ms]", "timestamp[us]",
}  # fmt: skip


class Connection(Protocol):
    """What is needed of a database."""

    @classmethod
    def reading(cls, place: str) -> Self:
        """A connection that can only read."""

    @classmethod
    def writing(cls, place: str) -> AbstractContextManager[Self]:
        """A connection in one transaction: all of it is there at the end, or nothing."""

    @staticmethod
    def check_columns(columns: Sequence[PublishedColumn]) -> None:
        """TargetError if the database would not keep the columns exactly."""

    def fetch(self, text: str) -> pa.Table:
        """The answer to a statement, as an Arrow table."""

    def interrupt(self) -> None:
        """End early what another thread asks."""

    def exists(self, table: TableName) -> bool:
        """Whether there is a table of this name."""

    def write(self, table: TableName, schema: pa.Schema, tables: Iterable[pa.Table]) -> None:
        """Create a table and fill it."""

    def drop(self, table: TableName) -> None:
        """Remove a table."""


def connection_class(address: DatabaseAddress) -> type[Connection]:
    """The class of connections for the database of an address."""
    if address.kind == POSTGRES:
        try:
            import adbc_driver_postgresql  # noqa: F401 - whether it is there
        except ImportError:
            raise MissingExtraError("the PostgreSQL driver of ADBC", "postgres") from None
        from countveil.engines.databases.postgres_server import PostgresServer

        return PostgresServer
    if address.kind == DUCKDB:
        from countveil.engines.databases.duckdb_file import DuckdbFile

        return DuckdbFile
    from countveil.engines.databases.sqlite_file import SqliteFile

    return SqliteFile


def manifest_table(table: TableName) -> TableName:
    """The table with the manifest, beside that with the rows."""
    return (*table[:-1], table[-1] + "_manifest")


def check_common_types(columns: Sequence[PublishedColumn], database: str) -> None:
    """Refuse types that only DuckDB keeps."""
    for column in columns:
        if column.type not in _COMMON_TYPES:
            raise TargetError(
                f"Column {column.name!r} has the type {column.type}, which {database} would not "
                f"keep exactly. DuckDB does (duckdb:FILE#table)."
            )


def first_line(error: Exception) -> str:
    """What a driver says, without the statement that it may repeat."""
    return visible(str(error).strip().split("\n")[0].strip().rstrip("."), _LONGEST_REMARK)


def cannot_write(place: str, error: Exception) -> CountveilError:
    """The target cannot take the release."""
    return TargetError(f"The release could not be written to {place}: {first_line(error)}.")


def check_written(reader: Connection, written: Mapping[TableName, int], place: str) -> None:
    """TargetError unless the tables of a new file have so many rows each."""
    for table, rows in written.items():
        counted = reader.fetch(f"SELECT count(*) AS n FROM {quoted_name(table)}").column(0)
        if counted[0].as_py() != rows:
            raise TargetError(f"What was written to {place} cannot be read back.")


def put_database_in_place(pending: PendingFile) -> None:
    """A new database file, closed and complete, comes to its place."""
    try:
        sync_path(pending.path)
        allow_others(pending.path)
    except OSError as error:
        raise TargetError(
            f"The database could not be written: {error.strerror or error}."
        ) from error
    pending.put_in_place()
