"""A DuckDB file as a link.

Enters: a path. Leaves: a `Link`. Must not know: what is asked.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import duckdb

from countveil.engines.databases.links import cannot_write, table_name
from countveil.errors import QueryError, ReleaseError, TargetError
from countveil.tables.readers.duckdb import is_duckdb_file

_CONFIG: dict[str, Any] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}


class DuckdbLink:
    """See `Link`."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, place: str) -> None:
        self._connection, self._place = connection, place

    @classmethod
    def reading(cls, place: str) -> DuckdbLink:
        """A link that can read this file and reach nothing else."""
        path = Path(place).absolute()
        if not path.is_file():
            raise ReleaseError(f"There is no DuckDB file at {place}.")
        if not is_duckdb_file(path):
            raise ReleaseError(f"{place} cannot be read: it is no DuckDB file.")
        try:
            connection = duckdb.connect(str(path), read_only=True, config=_CONFIG)
            connection.execute("SET enable_external_access = false")
            connection.execute("SET lock_configuration = true")
        except duckdb.Error:
            raise ReleaseError(
                f"{place} cannot be read: it is no DuckDB file, or another program writes to it."
            ) from None
        return cls(connection, place)

    @classmethod
    @contextlib.contextmanager
    def writing(cls, place: str) -> Iterator[DuckdbLink]:
        """A link in one transaction; a file that it made goes if it fails."""
        # A name such as :memory: is that of a file, too.
        path = Path(place).absolute()
        new = not path.exists()
        if path.is_file() and not is_duckdb_file(path):
            raise TargetError(f"{place} is a file, and no DuckDB file. Name another one.")
        try:
            with duckdb.connect(str(path), config=_CONFIG) as connection:
                connection.begin()
                yield cls(connection, place)
                connection.commit()
            new = False
        except duckdb.Error as error:
            raise cannot_write(place, error) from None
        finally:
            if new:
                path.unlink(missing_ok=True)

    def fetch(self, text: str) -> Any:
        """The answer to a statement."""
        try:
            return self._connection.sql(text).to_arrow_table()
        except duckdb.InterruptException:
            raise KeyboardInterrupt from None
        except (duckdb.OutOfRangeException, duckdb.ConversionException):
            raise QueryError(
                "A number in the query becomes too large, or a value does not fit. Use smaller "
                "numbers, or cast to DOUBLE."
            ) from None
        except duckdb.Error:
            raise ReleaseError(f"{self._place} does not hold the release that was named.") from None

    def write(self, table: tuple[str, ...], schema: Any, tables: Iterable[Any]) -> None:
        """Create a table and fill it."""
        name = table_name(table)
        empty = schema.empty_table()
        self._connection.register("coming", empty)
        self._connection.execute(f"CREATE TABLE {name} AS SELECT * FROM coming")
        for some in tables:
            self._connection.register("coming", some)
            self._connection.execute(f"INSERT INTO {name} SELECT * FROM coming")
        self._connection.unregister("coming")

    def drop(self, table: tuple[str, ...]) -> None:
        """Remove a table."""
        self._connection.execute(f"DROP TABLE {table_name(table)}")
