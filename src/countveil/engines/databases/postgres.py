"""A PostgreSQL server as a link, through ADBC.

Enters: a URL without a password. Leaves: a `Link`. Must not know: what is asked.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterable, Iterator
from typing import Any

import adbc_driver_postgresql.dbapi as adbc

from countveil.engines.databases.links import cannot_write, first_line, table_name
from countveil.errors import QueryError, ReleaseError
from countveil.sql.interruptible import Conversation, Waiting
from countveil.sql.postgres_errors import postgres_reason

# Data exceptions of SQL: a number out of range, a text that is none.
_DATA_EXCEPTIONS = "22"


class PostgresLink:
    """See `Link`."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    @classmethod
    def reading(cls, place: str) -> PostgresLink:
        """A link that can only read."""
        link = cls(_connected(place, autocommit=True))
        # Nobody closes a release; its connection goes with it.
        weakref.finalize(link, link._connection.close)
        with link._connection.cursor() as cursor:
            cursor.execute("SET default_transaction_read_only = on")
            cursor.execute("SET standard_conforming_strings = on")
        return link

    @classmethod
    @contextlib.contextmanager
    def writing(cls, place: str) -> Iterator[PostgresLink]:
        """A link in one transaction."""
        connection = _connected(place, autocommit=False)
        try:
            with contextlib.closing(connection):
                yield cls(connection)
                connection.commit()
        except adbc.Error as error:
            raise cannot_write("PostgreSQL", error) from None

    def fetch(self, text: str) -> Any:
        """The answer to a statement."""
        try:
            talk = Conversation(self._connection.adbc_cancel)
            try:
                return talk.wait(lambda: self._fetch(text))
            finally:
                talk.end()
        except adbc.Error as error:
            if str(getattr(error, "sqlstate", None) or "").startswith(_DATA_EXCEPTIONS):
                raise QueryError(
                    "A number in the query becomes too large, or a value does not fit. Use smaller "
                    "numbers, or cast to DOUBLE."
                ) from None
            raise ReleaseError(
                f"The database does not answer as a release would: {first_line(error)}."
            ) from None

    def _fetch(self, text: str) -> Any:
        with self._connection.cursor() as cursor:
            cursor.execute(text)
            return cursor.fetch_arrow_table()

    def write(self, table: tuple[str, ...], schema: Any, tables: Iterable[Any]) -> None:
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

    def drop(self, table: tuple[str, ...]) -> None:
        """Remove a table."""
        with self._connection.cursor() as cursor:
            cursor.execute(f"DROP TABLE {table_name(table)}")


def _connected(place: str, *, autocommit: bool) -> Any:
    try:
        return Waiting(lambda: adbc.connect(place, autocommit=autocommit)).result()
    except adbc.Error as error:
        raise ReleaseError(f"PostgreSQL: {postgres_reason(error)}") from None
