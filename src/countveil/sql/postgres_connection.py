"""One transaction on a PostgreSQL server, for reading, that Ctrl-C can end at any moment.

Enters: an address without a password. Leaves: schemas and record batches. Must not know: what is
asked, or what the columns are for.

ADBC is used through its plain interface. The one that follows Python's rules for databases imports
pandas and Polars where they are installed, which takes longer than many a table to read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import adbc_driver_manager
import adbc_driver_postgresql
import pyarrow as pa

from countveil.sql.interruptible import BackgroundCall, InterruptibleCalls

BATCH_BYTES = str(8 << 20)
# What functions of a table remark would reach the terminal as it is.
_NO_REMARKS = "SET LOCAL client_min_messages = error"
_ONE_MOMENT = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"


class PostgresReading:
    """A connection in a read-only transaction, with the database as it is at one moment."""

    def __init__(self, place: str, tick: Callable[[], object] | None = None) -> None:
        """`tick` is called while the server is waited for; if it raises, the wait is over."""
        self._reader: Any = None
        # A server that does not answer cannot be cancelled: the thread is left behind.
        self._handles = BackgroundCall(lambda: _connected(place)).result(tick)
        self._statement = self._handles[-1]
        self._calls = InterruptibleCalls(self._statement.cancel, tick)
        try:
            self._statement.set_options(**{"adbc.postgresql.batch_size_hint_bytes": BATCH_BYTES})
            for text in (_ONE_MOMENT, _NO_REMARKS):
                self._statement.set_sql_query(text)
                self._calls.run(self._statement.execute_update)
        except BaseException:
            self.close()
            raise

    def ask(self, text: str) -> Any:
        """Send a query; its schema."""
        self._close_reader()
        self._statement.set_sql_query(text)
        stream, _ = self._calls.run(self._statement.execute_query)
        self._reader = pa.RecordBatchReader.from_stream(stream)
        return self._reader.schema

    def batches(self) -> Iterator[Any]:
        """The rows of the query; while a batch is worked on, the next one is fetched."""
        return self._calls.each(self._reader.read_next_batch)

    def close(self) -> None:
        """End the transaction, and whatever the server is still busy with."""
        if self._calls.end():
            self._close_reader()
            for handle in reversed(self._handles):
                handle.close()

    def _close_reader(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None


def _connected(place: str) -> tuple[Any, Any, Any]:
    database = adbc_driver_postgresql.connect(place)
    connection = adbc_driver_manager.AdbcConnection(database)
    connection.set_autocommit(False)
    return database, connection, adbc_driver_manager.AdbcStatement(connection)
