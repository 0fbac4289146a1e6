"""A connection to a database that holds, or is to hold, a release.

Enters: an address. Leaves: answers to statements of ours as Arrow tables; tables written in one
transaction. Must not know: what is asked.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from countveil.address import DUCKDB, POSTGRES, Address
from countveil.errors import CountveilError, MissingExtraError, ReleaseError, TargetError
from countveil.sql.dialects.portable import name_text


class Link(Protocol):
    """What is needed of a database."""

    def fetch(self, text: str) -> Any:
        """The answer to a statement, as an Arrow table."""

    def write(self, table: tuple[str, ...], schema: Any, tables: Iterable[Any]) -> None:
        """Create a table and fill it."""

    def drop(self, table: tuple[str, ...]) -> None:
        """Remove a table."""


def table_name(parts: tuple[str, ...]) -> str:
    """The name of a table, quoted."""
    return ".".join(map(name_text, parts))


def open_for_reading(address: Address) -> Link:
    """A link that can only read."""
    if address.kind == POSTGRES:
        link: Link = _postgres().reading(address.place)
        return link
    if address.kind == DUCKDB:
        from countveil.engines.databases.duckdb_file import DuckdbLink

        return DuckdbLink.reading(address.place)
    raise ReleaseError(
        "A release in SQLite can be asked with the SQL that 'countveil sql --dialect sqlite' "
        "prints; 'countveil query' asks folders, PostgreSQL and DuckDB."
    )


@contextlib.contextmanager
def open_for_writing(address: Address) -> Iterator[Link]:
    """A link in one transaction: all of it is there at the end, or nothing."""
    if address.kind == POSTGRES:
        manager = _postgres().writing(address.place)
    elif address.kind == DUCKDB:
        from countveil.engines.databases.duckdb_file import DuckdbLink

        manager = DuckdbLink.writing(address.place)
    else:
        from countveil.engines.databases.sqlite_file import SqliteLink

        manager = SqliteLink.writing(address.place)
    with manager as link:
        yield link


def _postgres() -> Any:
    try:
        import adbc_driver_postgresql  # noqa: F401 - whether it is there
    except ImportError:
        raise MissingExtraError("the PostgreSQL driver of ADBC", "postgres") from None
    from countveil.engines.databases.postgres import PostgresLink

    return PostgresLink


def first_line(error: Exception) -> str:
    """What a driver says, without the statement that it may repeat."""
    return str(error).strip().split("\n")[0].strip().rstrip(".")


def cannot_write(place: str, error: Exception) -> CountveilError:
    """The target cannot take the release."""
    return TargetError(f"The release could not be written to {place}: {first_line(error)}.")
