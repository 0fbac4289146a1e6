"""A PostgreSQL server that holds, or is to hold, a release, through ADBC.

Enters: a URL without a password. Leaves: a `Connection`. Must not know: what is asked.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import adbc_driver_postgresql.dbapi as adbc

from countveil.engines.databases.connections import (
    TOO_LARGE,
    TableName,
    cannot_write,
    check_common_types,
    first_line,
)
from countveil.errors import QueryError, ReleaseError
from countveil.release import PublishedColumn
from countveil.sql.dialects import POSTGRES, dialect_for
from countveil.sql.interruptible import BackgroundCall, InterruptibleCalls
from countveil.sql.postgres_errors import postgres_reason
from countveil.system import outcome
from countveil.system.address import quoted_name
from countveil.system.process import signals_deferred

if TYPE_CHECKING:
    import pyarrow as pa

# Data exceptions of SQL: a number out of range, a text that cannot become a value.
_DATA_EXCEPTIONS = "22"


class PostgresServer:
    """See `Connection`."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    @classmethod
    def reading(cls, place: str) -> PostgresServer:
        """A connection that can only read."""
        server = cls(_connected(place, autocommit=True))
        # A release is never closed: its connection is closed when it is collected.
        weakref.finalize(server, server._connection.close)
        with server._connection.cursor() as cursor:
            # What a table's functions remark would reach the terminal as it is.
            cursor.execute("SET client_min_messages = error")
            cursor.execute("SET default_transaction_read_only = on")
            cursor.execute("SET standard_conforming_strings = on")
        return server

    @classmethod
    @contextlib.contextmanager
    def writing(cls, place: str) -> Iterator[PostgresServer]:
        """A connection in one transaction."""
        connection = _connected(place, autocommit=False)
        try:
            with contextlib.closing(connection):
                yield cls(connection)
                with signals_deferred():
                    connection.commit()
                    outcome.put_in_place("the release in PostgreSQL", None)
        except adbc.Error as error:
            raise cannot_write("PostgreSQL", error) from None

    @staticmethod
    def check_columns(columns: Sequence[PublishedColumn]) -> None:
        """Refuse types that PostgreSQL would change."""
        check_common_types(columns, "PostgreSQL")

    def fetch(self, text: str) -> pa.Table:
        """The answer to a statement."""
        try:
            calls = InterruptibleCalls(self._connection.adbc_cancel)
            try:
                return calls.run(lambda: self._fetch(text))
            finally:
                calls.end()
        except adbc.Error as error:
            if str(getattr(error, "sqlstate", None) or "").startswith(_DATA_EXCEPTIONS):
                raise QueryError(TOO_LARGE) from None
            raise ReleaseError(
                f"The database does not answer as a release would: {first_line(error)}."
            ) from None

    def interrupt(self) -> None:
        """End what the server computes for another thread."""
        self._connection.adbc_cancel()

    def _fetch(self, text: str) -> pa.Table:
        with self._connection.cursor() as cursor:
            cursor.execute(text)
            answer: pa.Table = cursor.fetch_arrow_table()
            return answer

    def exists(self, table: TableName) -> bool:
        """Whether there is a table of this name."""
        literal = dialect_for(POSTGRES, ()).literal
        schema = literal(table[0]) if len(table) > 1 else "current_schema()"
        counted = self.fetch(
            f"SELECT count(*) FROM information_schema.tables "
            f"WHERE table_name = {literal(table[-1])} AND table_schema = {schema}"
        )
        return bool(counted.column(0)[0].as_py())

    def write(self, table: TableName, schema: pa.Schema, tables: Iterable[pa.Table]) -> None:
        """Create a table and fill it."""
        import pyarrow as pa

        batches = (batch for some in tables for batch in some.to_batches())
        reader = pa.RecordBatchReader.from_batches(schema, batches)
        with self._connection.cursor() as cursor:
            cursor.adbc_ingest(
                table[-1],
                reader,
                mode="create",
                db_schema_name=table[0] if len(table) > 1 else None,
            )

    def drop(self, table: TableName) -> None:
        """Remove a table."""
        with self._connection.cursor() as cursor:
            cursor.execute(f"DROP TABLE {quoted_name(table)}")


def _connected(place: str, *, autocommit: bool) -> Any:
    try:
        return BackgroundCall(lambda: adbc.connect(place, autocommit=autocommit)).result()
    except adbc.Error as error:
        raise ReleaseError(f"PostgreSQL: {postgres_reason(error)}") from None
